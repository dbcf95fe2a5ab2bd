//! The lines that a screen has in the end, of what was written to it: enough of a terminal to see whether
//! something is left behind that should be gone.

/// The text on a screen of so many columns, without looks. It scrolls for ever, and does not lay out anew.
pub(crate) fn screen(written: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column) = (0_usize, 0_usize);
    let mut letters = written.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' => column = 0,
            '\n' => row += 1,
            '\x1b' => {
                assert_eq!(letters.next(), Some('['), "an unknown code");
                let mut number = String::new();
                let code = loop {
                    match letters.next().unwrap() {
                        digit if digit.is_ascii_digit() || digit == ';' => number.push(digit),
                        code => break code,
                    }
                };
                match code {
                    'm' => {}
                    'A' => row = row.checked_sub(1).unwrap(),
                    'K' => lines[row].truncate(column),
                    _ => panic!("an unknown code {code}"),
                }
            }
            letter => {
                assert!(!letter.is_control(), "{letter:?}");
                if column == columns {
                    (row, column) = (row + 1, 0);
                }
                lines.resize(lines.len().max(row + 1), Vec::new());
                let width = lines[row].len().max(column + 1);
                lines[row].resize(width, ' ');
                lines[row][column] = letter;
                column += 1;
            }
        }
        lines.resize(lines.len().max(row + 1), Vec::new());
    }
    lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned()).collect()
}
