//! A small picture of what changed: the lines that differ, a few around them.

use std::ops::Range;
use std::time::{Duration, Instant};

use piton_core::event::{Diff, FilePreview, Preview};
use piton_core::summary::name_on_one_line;
use similar::{
    Algorithm, ChangeTag, DiffOp, TextDiff, capture_diff_slices_deadline, group_diff_ops,
};

use crate::contract::{Finished, OUTPUT_BYTES_MAX, excerpt};

/// Equal lines shown on each side.
const CONTEXT_LINES: usize = 3;
/// What the model is shown.
const SHOWN: Bounds = Bounds { changed_lines: 20, places: 8, line_bytes: 160 };
/// What is kept for people: all of it.
const WHOLE: Bounds =
    Bounds { changed_lines: usize::MAX, places: usize::MAX, line_bytes: usize::MAX };
/// Longest difference that is kept whole, in bytes. The old content of a longer one is kept all the same, to
/// take the change back.
const WHOLE_BYTES_MAX: usize = 1024 * 1024;
/// In the place of a difference between contents that are not both text.
const NOT_TEXT: &str = "[not text]\n";
/// Room kept for the note on files that are not shown, in bytes.
const NOTE_BYTES_MAX: usize = 128;
/// How long the smallest difference is looked for. Then a larger one has to do.
const LOOKED_FOR: Duration = Duration::from_millis(100);

/// How much of a difference is shown.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Most removed and most added lines in a row.
    changed_lines: usize,
    /// Most places.
    places: usize,
    /// Longest line, in bytes.
    line_bytes: usize,
}

/// The result of a change: `did` says what was done, and the places follow in which the texts differ. The
/// model sees an extract of a long difference; the whole is kept for people.
pub(crate) fn report(did: &str, old: &str, new: &str) -> Finished {
    let (shown, whole) = differences(old, new);
    let full = Some(format!("{did}\n{whole}").into_bytes());
    let full = full.filter(|full| whole != shown && full.len() <= WHOLE_BYTES_MAX);
    Finished { full, ..Finished::ok(format!("{did}\n{shown}")) }
}

/// One of several files that were changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compared<'a> {
    pub(crate) path: &'a str,
    /// Absent if there was no file.
    pub(crate) old: Option<&'a [u8]>,
    /// Absent if the file is gone.
    pub(crate) new: Option<&'a [u8]>,
}

impl<'a> Compared<'a> {
    /// In front of what is different in it.
    fn heading(&self) -> String {
        let what = match (self.old, self.new) {
            (None, _) => "Add",
            (Some(_), Some(_)) => "Update",
            (Some(_), None) => "Delete",
        };
        format!("*** {what} File: {}\n", name_on_one_line(self.path))
    }

    /// Both contents as texts; `None` if one of them is not text.
    fn texts(&self) -> Option<(&'a str, &'a str)> {
        let text = |content: Option<&'a [u8]>| str::from_utf8(content.unwrap_or_default()).ok();
        Some((text(self.old)?, text(self.new)?))
    }
}

/// All places in which two contents of a file differ, below a heading with its path; nothing if they are
/// equal. Absent is a file that is not there.
pub fn difference(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Option<String> {
    let file = Compared { path, old, new };
    let places = match file.texts() {
        _ if old == new => return None,
        Some((old, new)) => differences(old, new).1,
        None => NOT_TEXT.to_owned(),
    };
    Some(format!("{}{places}", file.heading()))
}

/// The same for several files: a heading for each, and below it the places in which it differs.
pub(crate) fn report_all(did: &str, files: &[Compared<'_>]) -> Finished {
    let (mut text, mut whole, mut left_out) = (format!("{did}\n"), format!("{did}\n"), 0);
    for file in files {
        let (shown, all) = match file.texts() {
            Some((old, new)) => differences(old, new),
            None => (NOT_TEXT.to_owned(), NOT_TEXT.to_owned()),
        };
        let heading = file.heading();
        if text.len() + heading.len() + shown.len() <= OUTPUT_BYTES_MAX - NOTE_BYTES_MAX {
            text.push_str(&heading);
            text.push_str(&shown);
        } else {
            left_out += 1;
        }
        whole.push_str(&heading);
        whole.push_str(&all);
    }
    if 0 < left_out {
        excerpt::note(
            &mut text,
            format_args!("[{left_out} more files were changed as the patch says]\n"),
        );
    }
    let full = Some(whole).filter(|whole| *whole != text && whole.len() <= WHOLE_BYTES_MAX);
    Finished { full: full.map(String::into_bytes), ..Finished::ok(text) }
}

/// What a change of several files would do, and what would be lost by it.
pub(crate) fn preview_all(files: &[Compared<'_>]) -> Preview {
    let mut all = Preview::default();
    let mut text = String::new();
    for file in files {
        let one = preview(file.old, file.new.unwrap_or_default());
        text.push_str(&file.heading());
        match &one.diff {
            Some(diff) => {
                text.push_str(&diff.text);
                if 0 < diff.lines_left_out {
                    let told = format_args!("[{} lines are not shown]\n", diff.lines_left_out);
                    excerpt::note(&mut text, told);
                    text.push_str(&diff.end);
                }
            }
            None => text.push_str(NOT_TEXT),
        }
        let replaced = one.bytes_replaced.map(|bytes| all.bytes_replaced.unwrap_or(0) + bytes);
        all.bytes_replaced = replaced.or(all.bytes_replaced);
        all.bytes_written += one.bytes_written;
        all.lines_lost += one.lines_lost;
        all.lines_new += one.lines_new;
        all.files.push(FilePreview {
            path: file.path.to_owned(),
            bytes_replaced: one.bytes_replaced,
            bytes_written: file.new.map(|_| one.bytes_written),
            lines_lost: one.lines_lost,
            lines_new: one.lines_new,
        });
    }
    Preview { diff: Some(Diff::bounded(&text)), ..all }
}

/// The places in which two texts differ: bounded, and whole.
fn differences(old: &str, new: &str) -> (String, String) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let deadline = Some(Instant::now() + LOOKED_FOR);
    let changes = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline);
    let places = group_diff_ops(changes, CONTEXT_LINES);
    let text = |bounds| pictured(&places, (&old, &new), bounds);
    (text(SHOWN), text(WHOLE))
}

fn pictured(places: &[Vec<DiffOp>], (old, new): (&[&str], &[&str]), bounds: Bounds) -> String {
    let mut text = String::new();
    for place in places.iter().take(bounds.places) {
        text.push_str(&heading(place));
        for change in place {
            let (_, removed, added) = change.as_tag_tuple();
            if let DiffOp::Equal { .. } = change {
                push(&mut text, ' ', (old, removed), bounds);
            } else {
                push(&mut text, '-', (old, removed), bounds);
                push(&mut text, '+', (new, added), bounds);
            }
        }
    }
    if bounds.places < places.len() {
        let rest = places.len() - bounds.places;
        excerpt::note(&mut text, format_args!("[{rest} more places]\n"));
    }
    text
}

/// What a change would replace, and what would be lost by it.
pub(crate) fn preview(old: Option<&[u8]>, new: &[u8]) -> Preview {
    let bytes = |content: &[u8]| u64::try_from(content.len()).unwrap_or(u64::MAX);
    let (bytes_replaced, bytes_written) = (old.map(bytes), bytes(new));
    let sizes = Preview { bytes_replaced, bytes_written, ..Preview::default() };
    let texts = (str::from_utf8(old.unwrap_or_default()), str::from_utf8(new));
    let (Ok(old), Ok(new)) = texts else { return sizes };
    let compared = TextDiff::configure().timeout(LOOKED_FOR).diff_lines(old, new);
    let (mut lines_lost, mut lines_new) = (0, 0);
    for change in compared.iter_all_changes() {
        match change.tag() {
            ChangeTag::Delete => lines_lost += 1,
            ChangeTag::Insert => lines_new += 1,
            ChangeTag::Equal => {}
        }
    }
    let text = compared.unified_diff().context_radius(CONTEXT_LINES).to_string();
    Preview { lines_lost, lines_new, diff: Some(Diff::bounded(&text)), ..sizes }
}

/// Which lines of both texts a place has.
fn heading(place: &[DiffOp]) -> String {
    let lines = |range: fn(&DiffOp) -> Range<usize>| {
        let first = place.first().map_or(0, |change| range(change).start);
        let end = place.last().map_or(0, |change| range(change).end);
        format!("{},{}", first + 1, end - first)
    };
    format!("@@ -{} +{} @@\n", lines(DiffOp::old_range), lines(DiffOp::new_range))
}

fn push(text: &mut String, mark: char, (all, range): (&[&str], Range<usize>), bounds: Bounds) {
    let lines = all.get(range).unwrap_or_default();
    for line in lines.iter().take(bounds.changed_lines) {
        text.push(mark);
        text.push_str(&excerpt::line(line, bounds.line_bytes));
        text.push('\n');
    }
    if bounds.changed_lines < lines.len() {
        let rest = lines.len() - bounds.changed_lines;
        excerpt::note(text, format_args!("{mark}[{rest} more lines]\n"));
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn extract(old: &str, new: &str) -> String {
        differences(old, new).0
    }

    #[test]
    fn what_the_model_is_not_shown_is_kept_for_people() {
        let short = report("edited `a`", "a\n", "b\n");
        assert_eq!(short.text, "edited `a`\n@@ -1,1 +1,1 @@\n-a\n+b\n");
        assert_eq!(short.full, None);
        let long = report("replaced `a`", &"x\n".repeat(30), "y\n");
        assert!(long.text.contains("-[10 more lines]"), "{}", long.text);
        let full = String::from_utf8(long.full.unwrap()).unwrap();
        assert!(full.starts_with("replaced `a`\n@@ -1,30 +1,1 @@\n-x\n"), "{full}");
        assert_eq!(full.matches("-x\n").count(), 30);
        assert_eq!(report("replaced `a`", &"x\n".repeat(600_000), "y\n").full, None);
    }

    #[test]
    fn contents_of_a_file_are_compared_below_its_name() {
        let compared = |old: Option<&str>, new: Option<&str>| {
            difference("a\nb", old.map(str::as_bytes), new.map(str::as_bytes)).unwrap_or_default()
        };
        assert_eq!(compared(Some("x"), Some("x")), "");
        assert_eq!(compared(None, None), "");
        let updated = compared(Some("x\n"), Some("y\n"));
        assert_eq!(updated, "*** Update File: a\\nb\n@@ -1,1 +1,1 @@\n-x\n+y\n");
        assert!(compared(Some("x\n"), None).starts_with("*** Delete File: "));
        assert!(compared(None, Some("")).starts_with("*** Add File: "));
        let binary = difference("a", Some(&[0xff]), Some(b"x"));
        assert_eq!(binary.as_deref(), Some("*** Update File: a\n[not text]\n"));
    }

    fn check(old: &str, new: &str, expected: Expect) {
        expected.assert_eq(&extract(old, new));
    }

    #[test]
    fn shows_what_differs_between_what_is_equal() {
        check(
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
            "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
            expect![[r"
                @@ -2,7 +2,7 @@
                 2
                 3
                 4
                -5
                +five
                 6
                 7
                 8
            "]],
        );
    }

    #[test]
    fn a_preview_says_what_is_lost_and_what_is_new() {
        let shown = preview(Some(b"a\nb\nc\n"), b"a\nB\nc");
        assert_eq!((shown.bytes_replaced, shown.bytes_written), (Some(6), 5));
        assert_eq!((shown.lines_lost, shown.lines_new), (2, 2));
        let diff = "@@ -1,3 +1,3 @@\n a\n-b\n-c\n+B\n+c\n\\ No newline at end of file\n";
        assert_eq!(shown.diff.unwrap().text, diff);
        let made = preview(None, b"a\n");
        assert_eq!((made.bytes_replaced, made.lines_lost, made.lines_new), (None, 0, 1));
        let binary = preview(Some(b"\xff"), b"a\n");
        assert_eq!((binary.bytes_replaced, binary.diff), (Some(1), None));
    }

    #[test]
    fn repeated_lines_are_not_counted_twice() {
        check(
            "a\na\n",
            "a\na\na\n",
            expect![[r"
                @@ -1,2 +1,3 @@
                 a
                 a
                +a
            "]],
        );
    }

    #[test]
    fn a_large_change_is_bounded() {
        let old = "x\n".repeat(1_000);
        let new = "y".repeat(10_000) + "\n";
        let text = extract(&old, &new.repeat(1_000));
        assert!(text.contains("-[980 more lines]"));
        assert!(text.contains("+[980 more lines]"));
        assert!(text.len() < 2 * 21 * 200, "{}", text.len());
    }

    #[test]
    fn two_places_are_two_and_what_is_between_them_is_not_shown() {
        let lines: Vec<String> = (0..40).map(|n| n.to_string()).collect();
        let old = lines.join("\n") + "\n";
        let new = old.replace("\n5\n", "\nfive\n").replace("\n30\n", "\n30\nnew\n");
        check(
            &old,
            &new,
            expect![[r"
                @@ -3,7 +3,7 @@
                 2
                 3
                 4
                -5
                +five
                 6
                 7
                 8
                @@ -29,6 +29,7 @@
                 28
                 29
                 30
                +new
                 31
                 32
                 33
            "]],
        );
        let old = "x\n1\n2\n3\n4\n5\n6\n7\n8\n".repeat(100);
        assert!(extract(&old, &old.replace('x', "y")).ends_with("[92 more places]\n"));
    }
}
