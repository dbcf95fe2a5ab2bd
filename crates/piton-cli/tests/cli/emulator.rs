//! What a terminal shows in the end of what was written to it: as text, and as a picture.

use std::fmt::Write as _;

use vt100::{Callbacks, Cell, Color, Parser, Screen};

/// Rows of the screen: more than any test writes, so that nothing scrolls away.
const ROWS: u16 = 4_000;
/// Size of a letter in a picture, in pixels.
const LETTER: (f32, f32) = (8.4, 18.0);
/// Space around the letters of a picture, in pixels.
const MARGIN: f32 = 12.0;
/// Colours of a picture: the letters, the ground, and the eight colours of a terminal.
const INK: &str = "#d8dee9";
const GROUND: &str = "#1b2029";
const COLOURS: [&str; 8] =
    ["#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#e5e9f0"];

/// Notices codes that a plain terminal does not know.
struct Strict;

impl Callbacks for Strict {
    fn unhandled_control(&mut self, _: &mut Screen, code: u8) {
        panic!("an unknown control character {code}");
    }

    fn unhandled_csi(
        &mut self,
        _: &mut Screen,
        private: Option<u8>,
        _: Option<u8>,
        _: &[&[u16]],
        code: char,
    ) {
        // Modes such as "what comes is pasted" are left alone by a terminal that does not know them.
        assert_eq!(private, Some(b'?'), "an unknown code {code}");
    }
}

fn shown(written: &str, columns: usize) -> Parser<Strict> {
    let columns = u16::try_from(columns).unwrap();
    let mut parser = Parser::new_with_callbacks(
        ROWS.try_into().unwrap(),
        columns.try_into().unwrap(),
        0,
        Strict,
    );
    parser.process(written.as_bytes());
    assert!(parser.screen().cursor_position().0 < ROWS - 1, "longer than the screen");
    parser
}

/// The text on a screen of so many columns, without looks.
pub(crate) fn screen(written: &str, columns: usize) -> Vec<String> {
    let parser = shown(written, columns);
    let rows = usize::from(parser.screen().cursor_position().0) + 1;
    let width = u16::try_from(columns).unwrap();
    parser.screen().rows(0, width).take(rows).map(|row| row.trim_end().to_owned()).collect()
}

/// The lines that were wider than the window, so that the terminal broke them, as it shows them.
pub(crate) fn broken_by_terminal(written: &str, columns: u16) -> Vec<String> {
    let parser = shown(written, columns.into());
    let rows: Vec<String> = parser.screen().rows(0, columns).collect();
    let row = |row: &u16| parser.screen().row_wrapped(*row);
    (0..ROWS - 1).filter(row).map(|row| rows[usize::from(row)..][..2].join("⏎")).collect()
}

/// The same as a picture (SVG).
pub(crate) fn picture(written: &str, columns: u16) -> String {
    let parser = shown(written, columns.into());
    let rows = screen(written, columns.into()).iter().rposition(|row| !row.is_empty()).unwrap() + 1;
    let rows = u16::try_from(rows).unwrap();
    let width = f32::from(columns).mul_add(LETTER.0, 2.0 * MARGIN);
    let height = f32::from(rows).mul_add(LETTER.1, 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{GROUND}\"/>\n"
    );
    for row in 0..rows {
        let mut column = 0;
        while let Some((text, look, cells)) = run(parser.screen(), row, column) {
            let text = text.trim_end();
            if !text.is_empty() {
                let x = f32::from(column).mul_add(LETTER.0, MARGIN);
                let y = (f32::from(row) + 0.75).mul_add(LETTER.1, MARGIN);
                writeln!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" xml:space=\"preserve\"{look}>{text}</text>"
                )
                .unwrap();
            }
            column += cells;
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Neighbours of the same look: their text, the look, and how many cells they fill.
fn run(screen: &Screen, row: u16, begin: u16) -> Option<(String, String, u16)> {
    let wanted = look(screen.cell(row, begin)?);
    let (mut text, mut cells) = (String::new(), 0);
    while let Some(cell) = screen.cell(row, begin + cells).filter(|cell| look(cell) == wanted) {
        match cell.contents() {
            "" if cell.is_wide_continuation() => {}
            "" => text.push(' '),
            "<" => text.push_str("&lt;"),
            "&" => text.push_str("&amp;"),
            letter => text.push_str(letter),
        }
        cells += 1;
    }
    Some((text, wanted, cells))
}

/// The attributes of a letter.
fn look(cell: &Cell) -> String {
    let colour = match cell.fgcolor() {
        Color::Default => INK.to_owned(),
        Color::Idx(index) => COLOURS[usize::from(index) % COLOURS.len()].to_owned(),
        Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
    };
    let mut look = format!(" fill=\"{colour}\"");
    for (is, attribute) in [
        (cell.bold(), " font-weight=\"bold\""),
        (cell.dim(), " opacity=\"0.6\""),
        (cell.italic(), " font-style=\"italic\""),
        (cell.underline(), " text-decoration=\"underline\""),
    ] {
        if is {
            look.push_str(attribute);
        }
    }
    look
}
