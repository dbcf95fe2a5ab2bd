//! Patches of several files, as text: `*** Begin Patch` to `*** End Patch`.
//!
//! Knows the text and no file. It is read here and not beside the tool, because permission rules judge
//! the paths that the tool will change: with one reader for both, no path can hide from the rules.

use std::fmt;

/// Most files that one patch may change.
pub const PATCH_FILES_MAX: usize = 100;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";
/// In front of a place in a file.
const PLACE: &str = "@@";

/// What a patch does with one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section<'a> {
    /// The file, as it was written.
    pub path: &'a str,
    /// What is done with it.
    pub deed: Deed<'a>,
    /// The line of the patch at which this begins, from 1.
    pub line: usize,
}

/// What is done with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed<'a> {
    /// It is made, with these lines.
    Add(Vec<&'a str>),
    /// It is removed.
    Delete,
    /// Parts of it are replaced, and it may get another name.
    Update {
        /// The new name.
        to: Option<&'a str>,
        /// The parts, from the front to the end.
        hunks: Vec<Hunk<'a>>,
    },
}

/// A part of a file that is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// Lines of the file that stand before it, the outermost first.
    pub places: Vec<&'a str>,
    /// What is there and what is to be there.
    pub lines: Vec<HunkLine<'a>>,
    /// Whether the file ends behind it.
    pub at_end: bool,
    /// The line of the patch at which it begins, from 1.
    pub line: usize,
}

/// A line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HunkLine<'a> {
    /// Is there, and stays.
    Same(&'a str),
    /// Is there, and goes.
    Lost(&'a str),
    /// Comes.
    New(&'a str),
}

/// Why a text is no patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchFault {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for PatchFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the patch: {}", self.line, self.why)
    }
}

/// Reads a patch.
pub fn read(text: &str) -> Result<Vec<Section<'_>>, PatchFault> {
    let mut lines = Lines::of(text);
    lines.begin()?;
    let mut sections = Vec::new();
    loop {
        let Some((line, heading)) = lines.next() else {
            return fault(lines.last, format!("`{END}` is missing"));
        };
        let heading = heading.trim_end();
        if heading == END {
            break;
        }
        if let Some(path) = heading.strip_prefix(ADD) {
            let (path, deed) = (named(path, line)?, Deed::Add(lines.added()?));
            sections.push(Section { path, deed, line });
        } else if let Some(path) = heading.strip_prefix(DELETE) {
            sections.push(Section { path: named(path, line)?, deed: Deed::Delete, line });
        } else if let Some(path) = heading.strip_prefix(UPDATE) {
            let (path, deed) = (named(path, line)?, lines.updated(line)?);
            sections.push(Section { path, deed, line });
        } else if !heading.is_empty() {
            let expected = format!("expected `{ADD} PATH`, `{UPDATE} PATH`, `{DELETE} PATH`");
            return fault(line, format!("{expected} or `{END}`, found `{heading}`"));
        }
    }
    if sections.is_empty() {
        return fault(lines.last, "it names no file".into());
    }
    if PATCH_FILES_MAX < sections.len() {
        let why = format!("it names more than {PATCH_FILES_MAX} files: make several patches");
        return fault(lines.last, why);
    }
    Ok(sections)
}

/// All paths that a patch names, in order; `None` if the text is no patch.
pub fn paths(text: &str) -> Option<Vec<&str>> {
    let mut paths = Vec::new();
    for Section { path, deed, .. } in read(text).ok()? {
        paths.push(path);
        if let Deed::Update { to: Some(to), .. } = deed {
            paths.push(to);
        }
    }
    Some(paths)
}

fn fault<T>(line: usize, why: String) -> Result<T, PatchFault> {
    Err(PatchFault { line, why })
}

fn named(path: &str, line: usize) -> Result<&str, PatchFault> {
    let path = path.trim();
    if path.is_empty() { fault(line, "a path is missing".into()) } else { Ok(path) }
}

/// The lines of a patch, each with its number.
struct Lines<'a> {
    lines: std::iter::Peekable<std::iter::Enumerate<std::str::Lines<'a>>>,
    /// The number of the last line that was taken.
    last: usize,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        Self { lines: text.lines().enumerate().peekable(), last: 1 }
    }

    fn next(&mut self) -> Option<(usize, &'a str)> {
        let (place, line) = self.lines.next()?;
        self.last = place + 1;
        Some((self.last, line))
    }

    /// The next line, if it belongs to the same file.
    fn next_inside(&mut self) -> Option<(usize, &'a str)> {
        let (_, line) = self.lines.peek()?;
        let is_heading = [ADD, DELETE, UPDATE, END].iter().any(|it| line.starts_with(it));
        if is_heading { None } else { self.next() }
    }

    fn begin(&mut self) -> Result<(), PatchFault> {
        loop {
            match self.next() {
                Some((_, line)) if line.trim() == BEGIN => return Ok(()),
                Some((_, line)) if line.trim().is_empty() => {}
                Some(_) | None => {
                    return fault(self.last, format!("a patch begins with `{BEGIN}`"));
                }
            }
        }
    }

    /// The lines of a new file.
    fn added(&mut self) -> Result<Vec<&'a str>, PatchFault> {
        let (mut lines, mut blank) = (Vec::new(), 0);
        while let Some((number, line)) = self.next_inside() {
            if let Some(text) = line.strip_prefix('+') {
                lines.extend(std::iter::repeat_n("", std::mem::take(&mut blank)));
                lines.push(text);
            } else if line.trim().is_empty() {
                // Within the file a line without its mark; behind it only air.
                blank += 1;
            } else {
                let why = format!("each line of a new file begins with `+`, found `{line}`");
                return fault(number, why);
            }
        }
        Ok(lines)
    }

    /// The new name and the changes of a file.
    fn updated(&mut self, heading: usize) -> Result<Deed<'a>, PatchFault> {
        let (mut to, mut hunks) = (None, Vec::new());
        let (mut hunk, mut blank) = (Hunk::default(), 0);
        while let Some((number, line)) = self.next_inside() {
            if let Some(path) = line.strip_prefix(MOVE) {
                if to.is_some() || !hunks.is_empty() || hunk != Hunk::default() {
                    return fault(number, format!("`{MOVE}` stands once, below `{UPDATE}`"));
                }
                to = Some(named(path, number)?);
            } else if line.trim_end() == END_OF_FILE {
                (hunk.at_end, blank) = (true, 0);
                finish(&mut hunks, &mut hunk)?;
            } else if let Some(place) = line.strip_prefix(PLACE) {
                if !hunk.lines.is_empty() {
                    finish(&mut hunks, &mut hunk)?;
                }
                blank = 0;
                hunk.begin(number);
                hunk.places.extend(told_place(place));
            } else if line.is_empty() {
                // Within a hunk an empty line that stays; behind it only air.
                blank += 1;
            } else {
                hunk.begin(number);
                let inner = std::iter::repeat_n(HunkLine::Same(""), std::mem::take(&mut blank));
                hunk.lines.extend(inner);
                hunk.lines.push(hunk_line(number, line)?);
            }
        }
        if hunk.line != 0 {
            finish(&mut hunks, &mut hunk)?;
        }
        if hunks.is_empty() && to.is_none() {
            return fault(heading, "nothing is to be changed in this file".into());
        }
        Ok(Deed::Update { to, hunks })
    }
}

impl Hunk<'_> {
    fn begin(&mut self, line: usize) {
        if self.line == 0 {
            self.line = line;
        }
    }
}

/// Ends a hunk.
fn finish<'a>(hunks: &mut Vec<Hunk<'a>>, hunk: &mut Hunk<'a>) -> Result<(), PatchFault> {
    let hunk = std::mem::take(hunk);
    if !hunk.lines.iter().any(|line| !matches!(line, HunkLine::Same(_))) {
        let why = "no line of this hunk begins with `-` or `+`: it changes nothing";
        return fault(hunk.line.max(1), why.into());
    }
    hunks.push(hunk);
    Ok(())
}

fn hunk_line(number: usize, line: &str) -> Result<HunkLine<'_>, PatchFault> {
    let mut letters = line.chars();
    match letters.next() {
        Some(' ') => Ok(HunkLine::Same(letters.as_str())),
        Some('-') => Ok(HunkLine::Lost(letters.as_str())),
        Some('+') => Ok(HunkLine::New(letters.as_str())),
        Some(_) | None => fault(
            number,
            format!("a line of a hunk begins with a blank, `-`, `+` or `@@`, found `{line}`"),
        ),
    }
}

/// The line that a `@@` names; none if it names none. Numbers of lines, as other tools write them, are
/// not needed: `@@ -1,2 +3,4 @@ fn main() {`.
fn told_place(place: &str) -> Option<&str> {
    let text = place.strip_prefix(' ').unwrap_or(place).trim_end();
    let text = match text.split_once(PLACE) {
        Some((numbers, behind)) if is_numbers(numbers) => behind.trim(),
        Some(("", "")) => "",
        Some(_) | None => text,
    };
    (!text.trim().is_empty()).then_some(text)
}

fn is_numbers(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('-') && text.chars().all(|letter| "-+, 0123456789".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        read(text).expect_err(text).to_string()
    }

    #[test]
    fn a_patch_says_what_is_done_with_each_file() {
        let text = "*** Begin Patch\n*** Add File: a b.txt\n+one\n+\n+three\n\n\
             *** Delete File: old.rs\n*** Update File: src/x.rs\n*** Move to: src/y.rs\n\
             @@ mod a\n@@ fn b() {\n same\n-lost\n+new\n\n*** End of File\n@@\n-x\n*** End Patch\n";
        let sections = read(text).unwrap();
        let hunk = Hunk {
            places: vec!["mod a", "fn b() {"],
            lines: vec![HunkLine::Same("same"), HunkLine::Lost("lost"), HunkLine::New("new")],
            at_end: true,
            line: 10,
        };
        let other = Hunk { lines: vec![HunkLine::Lost("x")], line: 17, ..Hunk::default() };
        let expected = [
            Section { path: "a b.txt", deed: Deed::Add(vec!["one", "", "three"]), line: 2 },
            Section { path: "old.rs", deed: Deed::Delete, line: 7 },
            Section {
                path: "src/x.rs",
                deed: Deed::Update { to: Some("src/y.rs"), hunks: vec![hunk, other] },
                line: 8,
            },
        ];
        assert_eq!(sections, expected);
        assert_eq!(paths(text).unwrap(), ["a b.txt", "old.rs", "src/x.rs", "src/y.rs"]);
    }

    #[test]
    fn numbers_of_lines_are_read_over() {
        for (written, place) in [
            ("@@", None),
            ("@@ ", None),
            ("@@ -1,2 +3,4 @@", None),
            ("@@ -1 +3 @@ fn a() {", Some("fn a() {")),
            ("@@ fn a() { // @@ here", Some("fn a() { // @@ here")),
            ("@@     indented", Some("    indented")),
        ] {
            assert_eq!(told_place(written.strip_prefix(PLACE).unwrap()), place, "{written}");
        }
    }

    #[test]
    fn what_is_no_patch_is_told_by_line() {
        let within = |text: &str| format!("*** Begin Patch\n{text}\n*** End Patch");
        assert!(refused("").contains("begins with `*** Begin Patch`"));
        assert!(refused("hello").starts_with("line 1 of the patch: a patch begins with"));
        assert!(
            refused("*** Begin Patch\n*** Delete File: a").contains("`*** End Patch` is missing")
        );
        assert!(refused(&within("")).contains("names no file"));
        assert!(refused(&within("*** Delete File:  ")).contains("line 2 of the patch: a path"));
        assert!(
            refused(&within("*** Add File: a\none")).contains("line 3 of the patch: each line")
        );
        let update = |text: &str| refused(&within(&format!("*** Update File: a\n{text}")));
        assert!(update("").contains("nothing is to be changed"));
        assert!(update("@@\nx").contains("line 4 of the patch: a line of a hunk begins with"));
        assert!(update("@@\n same").contains("line 3 of the patch: no line of this hunk"));
        assert!(update("-x\n*** Move to: b").contains("stands once"));
        let many = "*** Delete File: a\n".repeat(PATCH_FILES_MAX + 1);
        assert!(refused(&within(&many)).contains("more than 100 files"));
        assert_eq!(paths("no"), None);
    }
}
