//! Rows of cells as aligned columns.

use unicode_width::UnicodeWidthStr as _;

/// Rows with columns as wide as their widest cell on a terminal. The last one is not padded.
pub(crate) fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let mut widths = [0; COLUMNS];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let mut text = String::new();
    for row in rows {
        let cells: Vec<_> =
            row.iter().zip(widths).map(|(cell, width)| padded(cell, width)).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn padded(cell: &str, width: usize) -> String {
    format!("{cell}{}", " ".repeat(width.saturating_sub(cell.width())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_take_two_columns_count_as_two() {
        let rows = [["a", "b"], ["日本", "x"]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "a     b\n日本  x\n");
    }
}
