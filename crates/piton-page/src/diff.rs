//! Differences of texts as tables: a row for each line, with numbers and signs that are not copied along.

use maud::{Markup, PreEscaped, html};
use piton_core::difference::{self, DiffLine, LineIs};
use piton_core::view::{Diff, EditView};
use similar::{ChangeTag, TextDiff};

use crate::code::Painter;

/// Rows that are shown at once; the rest opens.
const ROWS_SHOWN_MAX: usize = 40;
/// Most rows in a card. The rest is loaded by a click.
const ROWS_MAX: usize = 2_000;
/// Most rows that are drawn where all of a difference is wanted. The rest is told by its number.
const ROWS_WHOLE_MAX: usize = 50_000;
/// Longest texts that are compared, in bytes: comparing takes time that grows faster than they do.
const COMPARED_BYTES_MAX: usize = 256 * 1024;
/// Lines around a change.
const AROUND: usize = 3;

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    /// Which lines follow, or a remark.
    Hunk,
    Lost,
    New,
    Same,
}

/// A row before it is coloured.
#[derive(Clone, Debug)]
struct Row {
    is: Is,
    old: Option<u64>,
    new: Option<u64>,
    text: String,
    /// How many lines it stands for: a tool may have left some out.
    lines: u64,
}

impl Row {
    fn new(is: Is, (old, new): (Option<u64>, Option<u64>), text: &str) -> Self {
        Self { is, old, new, text: text.to_owned(), lines: 1 }
    }
}

/// A difference as a table, and how many lines it adds and takes.
pub(crate) struct Table {
    rows: Vec<Row>,
    path: String,
    /// Lines that the difference itself does not have.
    left_out: u64,
}

/// How much of a table is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent<'a> {
    /// What fits a card. The rest is loaded from this address, into an element of this name.
    Card {
        /// What the names of the elements begin with.
        id: &'a str,
        /// Where all of it is.
        all: &'a str,
    },
    /// All of it.
    Whole,
}

impl Table {
    /// Of a kept difference.
    pub(crate) fn of_diff(diff: &Diff, path: &str) -> Self {
        let mut rows = unified(&diff.text);
        if 0 < diff.lines_left_out {
            let text = format!("{} lines are not shown here", diff.lines_left_out);
            rows.push(Row::new(Is::Hunk, (None, None), &text));
            rows.extend(unified(&diff.end));
        }
        Self { rows, path: path.to_owned(), left_out: diff.lines_left_out }
    }

    /// Of a difference as a tool tells it.
    pub(crate) fn of_unified(text: &str, path: &str) -> Self {
        Self { rows: unified(text), path: path.to_owned(), left_out: 0 }
    }

    /// Of a question, with every line that is recorded: the arguments of a call that writes a whole file have
    /// lines that the difference left out.
    pub(crate) fn of_question(
        diff: Option<&Diff>,
        edit: Option<&EditView>,
        path: &str,
    ) -> Option<Self> {
        match (diff, edit) {
            (Some(diff), Some(edit)) if 0 < diff.lines_left_out && is_new_file(diff) => {
                Some(Self::of_edit(edit))
            }
            (Some(diff), _) => Some(Self::of_diff(diff, path)),
            (None, edit) => edit.map(Self::of_edit),
        }
    }

    /// Of what an edit says; lines have numbers if it says all of the file.
    pub(crate) fn of_edit(edit: &EditView) -> Self {
        let old = edit.old.as_deref().unwrap_or_default();
        let is_whole = edit.old.is_none();
        let rows = if old.len() + edit.new.len() <= COMPARED_BYTES_MAX {
            compared(old, &edit.new)
        } else {
            let lines = |text: &str, is| -> Vec<Row> {
                text.lines().map(|line| Row::new(is, (None, None), line)).collect()
            };
            [lines(old, Is::Lost), lines(&edit.new, Is::New)].concat()
        };
        let number = |number: Option<u64>| number.filter(|_| is_whole);
        let rows =
            rows.into_iter().map(|row| Row { old: number(row.old), new: number(row.new), ..row });
        Self { rows: rows.collect(), path: edit.path.clone(), left_out: 0 }
    }

    /// How many lines are new, and how many are lost. Lines that a tool left out count too.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let count = |is| {
            let rows = self.rows.iter().filter(|row| row.is == is);
            rows.map(|row| row.lines).fold(0, u64::saturating_add)
        };
        (count(Is::New), count(Is::Lost))
    }

    /// Whether it is short enough to be shown without being asked for.
    pub(crate) fn is_short(&self) -> bool {
        self.rows.len() <= ROWS_SHOWN_MAX
    }

    /// The table, under a name that says what it is.
    pub(crate) fn html(&self, what: &str, extent: Extent<'_>) -> Markup {
        let most = match extent {
            Extent::Card { .. } => ROWS_MAX,
            Extent::Whole => ROWS_WHOLE_MAX,
        };
        let mut paint = Paint::new(&self.path);
        let rows: Vec<Markup> = self.rows.iter().take(most).map(|row| paint.row(row)).collect();
        let at_once = match extent {
            Extent::Card { .. } => ROWS_SHOWN_MAX,
            Extent::Whole => most,
        };
        let (shown, rest) = rows.split_at(rows.len().min(at_once));
        let name = format!("{what} {}", crate::visible::visible(&self.path));
        let more = self.rows.len() - rows.len();
        html! {
            div.diff tabindex="0" role="region" aria-label=(name) {
                table { caption.sr { (name) } tbody { @for row in shown { (row) } } }
            }
            @if !rest.is_empty() {
                details.more {
                    summary { (rest.len()) " more lines" }
                    div.diff tabindex="0" role="region" aria-label={ "The rest of " (name) } {
                        table { tbody { @for row in rest { (row) } } }
                    }
                }
            }
            @match extent {
                Extent::Card { id, all } if 0 < more || 0 < self.left_out => {
                    details.more id={ (id) "-all" } {
                        summary { "All " (lines(self.rows.len(), self.left_out)) " lines" }
                        div.call-body { a.call-note data-load href=(all) { "All of it" } }
                    }
                },
                Extent::Whole if 0 < more => p.call-note { (more) " more lines are not shown here" },
                Extent::Card { .. } | Extent::Whole => {},
            }
        }
    }
}

/// How many lines there are, with those that were left out.
fn lines(rows: usize, left_out: u64) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX).saturating_add(left_out)
}

/// Whether a difference is that of a file which was not there.
fn is_new_file(diff: &Diff) -> bool {
    diff.text.starts_with("@@ -0,0 ")
}

/// Colours of both sides.
struct Paint {
    old: Painter,
    new: Painter,
}

impl Paint {
    fn new(path: &str) -> Self {
        let painter = Painter::of_file(path);
        Self { old: painter.clone(), new: painter }
    }

    fn row(&mut self, row: &Row) -> Markup {
        let (class, sign, text) = match row.is {
            Is::Hunk => ("hunk", "", html! { (crate::visible::visible(&row.text)) }.into_string()),
            Is::Lost => ("del", "−", self.old.line(&row.text)),
            Is::New => ("add", "+", self.new.line(&row.text)),
            Is::Same => {
                self.old.line(&row.text);
                ("same", "", self.new.line(&row.text))
            }
        };
        html! {
            tr class=(class) {
                td.no { @if let Some(number) = row.old { (number) } }
                td.no { @if let Some(number) = row.new { (number) } }
                td.sg { (sign) }
                td.src { (PreEscaped(text)) }
            }
        }
    }
}

fn compared(old: &str, new: &str) -> Vec<Row> {
    let diff = TextDiff::from_lines(old, new);
    let mut rows = Vec::new();
    let number = |index: Option<usize>| index.and_then(|it| u64::try_from(it + 1).ok());
    for (place, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if 0 < place {
            rows.push(Row::new(Is::Hunk, (None, None), "…"));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let is = match change.tag() {
                ChangeTag::Delete => Is::Lost,
                ChangeTag::Insert => Is::New,
                ChangeTag::Equal => Is::Same,
            };
            let (old, new) = (number(change.old_index()), number(change.new_index()));
            let text = change.value().trim_end_matches(['\n', '\r']);
            rows.push(Row::new(is, (old, new), text));
        }
    }
    rows
}

/// Rows of a difference in the unified form.
fn unified(text: &str) -> Vec<Row> {
    let row = |DiffLine { is, old, new, text }: DiffLine<'_>| {
        let is = match is {
            LineIs::Lost => Is::Lost,
            LineIs::New => Is::New,
            LineIs::Same => Is::Same,
            LineIs::Heading | LineIs::Remark => Is::Hunk,
        };
        let left_out = difference::left_out(text).filter(|_| old.is_none() && new.is_none());
        Row { lines: left_out.unwrap_or(1), ..Row::new(is, (old, new), text) }
    };
    difference::unified(text).into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[Row]) -> Vec<String> {
        let number =
            |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |it| it.to_string());
        let row = |row: &Row| {
            format!("{:?} {} {} {}", row.is, number(row.old), number(row.new), row.text)
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn a_table_cannot_be_left_by_what_is_in_it() {
        let diff =
            Diff { text: "@@ -1 +1 @@\n-</td><script>\u{202e}\n+b\n".into(), ..Diff::default() };
        let table = Table::of_diff(&diff, "a\"><b.rs");
        let html = table.html("Changes in", Extent::Whole).into_string();
        assert_eq!(table.counts(), (1, 1));
        assert!(
            !html.contains("<script") && !html.contains('\u{202e}') && !html.contains("\"><b"),
            "{html}"
        );
    }

    #[test]
    fn texts_are_compared_line_by_line() {
        let (old, new): (String, String) = ("a\nb\nc\n".into(), "a\nB\nc\n".into());
        assert_eq!(
            rows(&compared(&old, &new)),
            ["Same 1 1 a", "Lost 2 - b", "New - 2 B", "Same 3 3 c"]
        );
    }
}
