//! What a person decides on, as data: the call, its paths, and what it would change. Faces lay it out.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest difference that is kept of a change, in bytes.
pub const DIFF_BYTES_MAX: usize = 32 * 1024;
/// Longest text in the arguments of a question, in bytes. Of a longer one the beginning and the end
/// are kept.
pub const ARGUMENT_BYTES_MAX: usize = 4 * 1024;
/// Longest arguments of a question, in bytes. Arguments behind that are counted and left out.
pub const ARGUMENTS_BYTES_MAX: usize = 16 * 1024;

/// What a question for permission is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The tool.
    pub tool: String,
    /// The arguments of the call: a JSON object, as text. Long ones are shortened, and say so.
    pub arguments: Arc<str>,
    /// How many arguments were left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub arguments_left_out: u64,
    /// The path that the call names, as the model wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What was found there before the question was asked.
    #[serde(default, skip_serializing_if = "Found::is_nothing")]
    pub found: Found,
}

/// What looking at the world tells about a call that has not started. Nothing is touched by looking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// The path that the call works on, relative to the workspace, behind all links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The real path of the workspace, if the recorded one leads there through a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// What the call would change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Box<Preview>>,
    /// Why the call could not start as things were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What hooks said of the call; absent if none was asked. Absent in entries of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<HookVerdict>,
}

/// What hooks said of a call. Without a reason against it, none of them denied it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookVerdict {
    /// Why a hook denies the call. The model reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<String>,
}

/// What a call would do to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preview {
    /// Size of the content that would be replaced, in bytes; absent if there is no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_replaced: Option<u64>,
    /// Size of the new content, in bytes.
    pub bytes_written: u64,
    /// Lines that would be lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines_lost: u64,
    /// Lines that would be new.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines_new: u64,
    /// The difference; absent if one of the contents is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<Diff>,
    /// The files, if the call changes several. What is said above is then said of all of them
    /// together, and the difference has a heading for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FilePreview>,
}

/// What a call that changes several files would do to one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilePreview {
    /// The file, relative to the workspace.
    pub path: String,
    /// Size of the content that would be replaced, in bytes; absent if there is no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_replaced: Option<u64>,
    /// Size of the new content, in bytes; absent if the file would be removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<u64>,
    /// Lines that would be lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines_lost: u64,
    /// Lines that would be new.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines_new: u64,
}

/// A unified difference of texts, without file names. Of several files each has a line in front that
/// begins with `***`, as no line of a difference does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diff {
    /// The difference, or its beginning.
    pub text: String,
    /// How many lines are missing between the beginning and the end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines_left_out: u64,
    /// The end of a difference that is too long.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub end: String,
}

impl Found {
    /// Whether nothing is known.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Whether both lead to the same place.
    pub fn is_same_place(&self, other: &Self) -> bool {
        (&self.path, &self.workspace) == (&other.path, &other.workspace)
    }
}

impl Diff {
    /// A difference within bounds: whole lines from its beginning and from its end.
    pub fn bounded(text: &str) -> Self {
        if text.len() <= DIFF_BYTES_MAX {
            return Self { text: text.to_owned(), lines_left_out: 0, end: String::new() };
        }
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let end_bytes_max = DIFF_BYTES_MAX / 4;
        let first = fitting(lines.iter(), DIFF_BYTES_MAX - end_bytes_max);
        let last = fitting(lines.iter().skip(first).rev(), end_bytes_max);
        let left_out = lines.len() - first - last;
        Self {
            text: lines.iter().take(first).copied().collect(),
            lines_left_out: u64::try_from(left_out).unwrap_or(u64::MAX),
            end: lines.iter().skip(first + left_out).copied().collect(),
        }
    }
}

/// How many lines fit into so many bytes.
fn fitting<'a>(lines: impl Iterator<Item = &'a &'a str>, bytes_max: usize) -> usize {
    let mut bytes = 0;
    let fits = |line: &&&str| {
        bytes += line.len();
        bytes <= bytes_max
    };
    lines.take_while(fits).count()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_difference_keeps_its_beginning_and_its_end() {
        let lines: Vec<String> = (0..5_000).map(|number| format!("+line {number}\n")).collect();
        let text = lines.concat();
        let diff = Diff::bounded(&text);
        assert!(diff.text.starts_with("+line 0\n") && diff.end.ends_with("+line 4999\n"));
        assert!(diff.text.len() + diff.end.len() <= DIFF_BYTES_MAX);
        let kept = diff.text.lines().count() + diff.end.lines().count();
        assert_eq!(diff.lines_left_out, 5_000 - kept as u64);
        let whole = Diff::bounded("-a\n+b\n");
        assert_eq!((whole.text.as_str(), whole.lines_left_out), ("-a\n+b\n", 0));
        let one = "+".repeat(DIFF_BYTES_MAX + 1);
        assert_eq!(Diff::bounded(&one).lines_left_out, 1);
    }
}
