//! Tables: columns side by side where they fit, else one row below the other.

use anstyle::{Effects, Style as Look};
use pulldown_cmark::Alignment;

use crate::render::paint::{Line, Page, Span, Style, width};
use crate::render::wrap::wrap;

/// Least columns of a cell that is narrowed.
const CELL_COLUMNS_MIN: usize = 8;
/// Columns between two cells.
const BETWEEN_COLUMNS: usize = 3;

/// A table as it was written.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    /// The first one is the heading.
    rows: Vec<Vec<Line>>,
    /// Cells of the row that is being read.
    pub(super) cells: Vec<Line>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, ..Self::default() }
    }

    /// The row is read; `left_over` is what it has more than the heading.
    pub(super) fn end_row(&mut self, left_over: Option<&str>) {
        let mut row = std::mem::take(&mut self.cells);
        if let (Some(cell), Some(left_over)) = (row.last_mut(), left_over) {
            cell.push(Span::plain(&format!(" | {left_over}")));
        }
        self.rows.push(row);
    }

    /// Its lines, within so many columns where that is possible.
    pub(super) fn lines(&self, columns: usize, page: Page) -> Vec<Line> {
        match self.widths(columns) {
            Some(widths) => self.side_by_side(&widths, page),
            None => self.stacked(columns),
        }
    }

    /// How wide each column is; nothing if they do not fit side by side.
    fn widths(&self, columns: usize) -> Option<Vec<usize>> {
        let count = self.alignments.len();
        let widest = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max()
        };
        let mut widths: Vec<usize> =
            (0..count).map(|column| widest(column).unwrap_or(0).max(1)).collect();
        let room = columns.checked_sub(BETWEEN_COLUMNS * count.saturating_sub(1))?;
        // The widest ones give way, down to the width that all of them have then.
        let most = (CELL_COLUMNS_MIN..=room.max(CELL_COLUMNS_MIN))
            .rev()
            .find(|most| widths.iter().map(|width| *width.min(most)).sum::<usize>() <= room)?;
        for width in &mut widths {
            *width = (*width).min(most);
        }
        Some(widths)
    }

    fn side_by_side(&self, widths: &[usize], page: Page) -> Vec<Line> {
        let dim = Look::new().effects(Effects::DIMMED);
        let mut lines = Vec::new();
        for (place, row) in self.rows.iter().enumerate() {
            lines.extend(self.row(row, widths, page));
            if place == 0 {
                let (bar, cross) = match page.style {
                    Style::Coloured => ("─", "─┼─"),
                    Style::Plain => ("-", "-|-"),
                };
                let bars: Vec<String> = widths.iter().map(|width| bar.repeat(*width)).collect();
                lines.push(vec![Span::new(&bars.join(cross), dim)]);
            }
        }
        lines
    }

    fn row(&self, row: &[Line], widths: &[usize], page: Page) -> Vec<Line> {
        let dim = Look::new().effects(Effects::DIMMED);
        let between = match page.style {
            Style::Coloured => " │ ",
            Style::Plain => " | ",
        };
        let empty = Line::new();
        let cells: Vec<Vec<Line>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| wrap(row.get(column).unwrap_or(&empty), *width))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        (0..height)
            .map(|place| {
                let mut line = Line::new();
                for (column, (cell, columns)) in cells.iter().zip(widths).enumerate() {
                    if 0 < column {
                        line.push(Span::new(between, dim));
                    }
                    let alignment = self.alignments.get(column).copied();
                    let piece = cell.get(place).unwrap_or(&empty);
                    line.extend(aligned(piece, *columns, alignment.unwrap_or(Alignment::None)));
                }
                line
            })
            .collect()
    }

    /// One row below the other, each cell behind its heading.
    fn stacked(&self, columns: usize) -> Vec<Line> {
        let bold = Look::new().effects(Effects::BOLD);
        let Some((heading, rows)) = self.rows.split_first() else { return Vec::new() };
        let mut lines = Vec::new();
        for (place, row) in rows.iter().enumerate() {
            if 0 < place {
                lines.push(Line::new());
            }
            for (column, cell) in row.iter().enumerate() {
                let mut line = heading.get(column).cloned().unwrap_or_default();
                line.push(Span::new(": ", bold));
                line.extend(cell.iter().cloned());
                lines.extend(wrap(&line, columns));
            }
        }
        if rows.is_empty() {
            lines.extend(heading.iter().flat_map(|cell| wrap(cell, columns)));
        }
        lines
    }
}

/// The cells that a row has more than there are columns, which the parser leaves out.
pub(super) fn left_over_cells(row: &str, columns: usize) -> Option<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut is_escaped = false;
    for letter in row.chars() {
        match cells.last_mut() {
            Some(cell) if letter != '|' || is_escaped => cell.push(letter),
            Some(_) | None => cells.push(String::new()),
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    let cells: Vec<&str> = cells.iter().skip(columns).map(|cell| cell.trim()).collect();
    let left_over = cells.join(" | ");
    let left_over = left_over.trim_end_matches([' ', '|']);
    (!left_over.is_empty()).then(|| left_over.to_owned())
}

fn aligned(cell: &Line, columns: usize, alignment: Alignment) -> Line {
    let room = columns.saturating_sub(width(cell));
    let before = match alignment {
        Alignment::Right => room,
        Alignment::Center => room / 2,
        Alignment::Left | Alignment::None => 0,
    };
    let mut line = vec![Span::plain(&" ".repeat(before))];
    line.extend(cell.iter().cloned());
    line.push(Span::plain(&" ".repeat(room - before)));
    line
}
