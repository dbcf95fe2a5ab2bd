//! What can be shown where: whether colours are wanted, and how much room there is. Asked anew each time,
//! because windows change their size.

use std::env;
use std::ffi::OsString;
use std::os::fd::AsFd;

use crate::render::paint::Style;

/// The width of a terminal that does not tell its own, in columns.
const COLUMNS: usize = 80;
/// The height of a terminal that does not tell its own, in lines.
const ROWS: usize = 24;
/// Fewest columns that something is laid out for; a narrower window breaks the lines itself.
const COLUMNS_MIN: usize = 20;

/// How much room a terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// Looks for terminals: none if the person wants none, or if the terminal obeys nothing.
pub(crate) fn style() -> Style {
    if is_dumb() || set("NO_COLOR").is_some() { Style::Plain } else { Style::Coloured }
}

/// Whether the terminal obeys nothing.
pub(crate) fn is_dumb() -> bool {
    set("TERM").is_none_or(|term| term == "dumb")
}

/// Whether the terminal may show a notification: the console of a kernel has no place for one.
pub(crate) fn may_notify() -> bool {
    style() == Style::Coloured && set("TERM").is_some_and(|term| term != "linux")
}

fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Whether a terminal lays out lines anew when its window becomes narrower. Most do.
pub(crate) fn lays_out_anew() -> bool {
    let is_old = env::var_os("TERM").is_none_or(|term| term == "linux");
    !is_old && env::var_os("XTERM_VERSION").is_none()
}

/// The room that a terminal has now.
pub(crate) fn size(terminal: impl AsFd) -> Size {
    let told = rustix::termios::tcgetwinsize(terminal).ok();
    let of = |told: Option<u16>, usual| told.map(usize::from).filter(|it| 0 < *it).unwrap_or(usual);
    let columns = of(told.map(|size| size.ws_col), COLUMNS).max(COLUMNS_MIN);
    Size { columns, rows: of(told.map(|size| size.ws_row), ROWS) }
}
