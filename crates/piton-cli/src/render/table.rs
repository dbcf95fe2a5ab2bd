//! Rows of cells as aligned columns.

use unicode_width::UnicodeWidthStr as _;

use super::paint::{Page, Span};
use super::wrap::wrap;

/// Fewest columns that the last cell of a row is folded into; with fewer, the row is folded as a whole.
const LAST_COLUMNS_MIN: usize = 16;
/// What stands between two cells.
const GAP: &str = "  ";

/// Rows with columns as wide as their widest cell on a terminal. The last one is not padded. On a page, a
/// row that is too wide goes on in the next line: below its last cell, or else two columns from the edge.
pub(crate) fn table<const COLUMNS: usize>(
    rows: &[[String; COLUMNS]],
    page: Option<Page>,
) -> String {
    let mut widths = [0; COLUMNS];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let before: usize = widths.iter().rev().skip(1).map(|width| width + GAP.len()).sum();
    let columns = page.map_or(usize::MAX, |page| page.columns);
    let mut text = String::new();
    for row in rows {
        let cells: Vec<_> =
            row.iter().zip(widths).map(|(cell, width)| padded(cell, width)).collect();
        let line = cells.join(GAP);
        let line = line.trim_end();
        let folded = if line.width() <= columns {
            line.to_owned()
        } else if before + LAST_COLUMNS_MIN <= columns {
            let last = row.last().map_or("", |cell| cell.as_str());
            let head = line.strip_suffix(last.trim_end()).unwrap_or_default();
            format!("{head}{}", hanging(last, columns, before, before))
        } else {
            let cells: Vec<_> = row.iter().filter(|cell| !cell.is_empty()).cloned().collect();
            hanging(&cells.join(GAP), columns, 0, GAP.len())
        };
        text.push_str(&folded);
        text.push('\n');
    }
    text
}

/// The text in lines: the first one begins behind `used` columns, the others `indent` columns from the edge.
fn hanging(text: &str, columns: usize, used: usize, indent: usize) -> String {
    let room = columns.saturating_sub(used.max(indent));
    let lines = wrap(&[Span::plain(text)], room);
    let lines = lines.into_iter().map(|line| line.iter().map(Span::text).collect::<String>());
    lines.collect::<Vec<_>>().join(&format!("\n{}", " ".repeat(indent)))
}

fn padded(cell: &str, width: usize) -> String {
    format!("{cell}{}", " ".repeat(width.saturating_sub(cell.width())))
}

#[cfg(test)]
mod tests {
    use super::super::paint::Style;
    use super::*;

    #[test]
    fn letters_that_take_two_columns_count_as_two() {
        let rows = [["a", "b"], ["日本", "x"]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows, None), "a     b\n日本  x\n");
    }

    #[test]
    fn a_row_that_is_too_wide_goes_on_in_the_next_line() {
        let rows = [["ID", "WHAT"], ["abc", "one two three four five"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        let page = |columns| Some(Page { columns, style: Style::Plain });
        assert_eq!(table(&rows, page(22)), "ID   WHAT\nabc  one two three\n     four five\n");
        assert_eq!(table(&rows, page(20)), "ID   WHAT\nabc  one two three\n  four five\n");
        assert_eq!(table(&rows, page(28)), table(&rows, None));
    }
}
