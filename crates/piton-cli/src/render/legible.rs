//! Text that a person decides on: no letter of it is unseen, and no gap pushes something off the screen.

use piton_core::permit::is_unseen;
use piton_core::summary::without_gaps;

/// Letters that can be seen, and tabulators; others are written out.
pub(crate) fn legible(text: &str) -> String {
    let mut shown = String::new();
    for letter in text.chars() {
        if letter.is_ascii_graphic() || [' ', '\t'].contains(&letter) {
            shown.push(letter);
        } else if is_unseen(letter) {
            shown.extend(letter.escape_default());
        } else {
            shown.extend(letter.escape_debug());
        }
    }
    without_gaps(&shown)
}
