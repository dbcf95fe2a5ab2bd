//! The standard streams: data to one, talk to the other. No other file touches them.

use std::io::{self, IsTerminal as _, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::render::lines::Line;
use crate::render::visible::{visible, visible_json};

/// The looks of the spinner, one after the other.
const FRAMES: [&str; 4] = ["|", "/", "-", "\\"];
/// Goes back to the beginning of the line and empties it.
const CLEAR_LINE: &str = "\r\x1b[K";

/// The width of a terminal that does not tell its own.
const COLUMNS: usize = 80;

/// In which form data goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// The standard streams.
#[derive(Debug)]
pub(crate) struct Output {
    data: Data,
    /// Whether data goes to a terminal; anywhere else it goes out exactly as it is.
    on_terminal: bool,
    /// Whether the last data ended a line.
    line_ended: bool,
    spinner: Spinner,
}

/// What has become of standard output. Whatever it is, the turn goes on.
#[derive(Debug)]
enum Data {
    Open,
    /// Nobody is reading any more, and nobody misses anything.
    Closed,
    /// Somebody is, and something is missing.
    Lost(io::Error),
}

#[derive(Debug)]
struct Spinner {
    possible: bool,
    shown: bool,
    frame: usize,
}

impl Default for Output {
    fn default() -> Self {
        let spinner = Spinner { possible: io::stderr().is_terminal(), shown: false, frame: 0 };
        let on_terminal = io::stdout().is_terminal();
        Self { data: Data::Open, on_terminal, line_ended: true, spinner }
    }
}

impl Output {
    /// Writes text that is data.
    pub(crate) fn data(&mut self, text: &str) {
        if self.on_terminal { self.put(&visible(text)) } else { self.put(text) }
    }

    /// Writes a line of data for programs.
    pub(crate) fn json(&mut self, line: &Line<'_>) {
        let text = line.text() + "\n";
        if self.on_terminal { self.put(&visible_json(&text)) } else { self.put(&text) }
    }

    /// Whether somebody watches the data come.
    pub(crate) fn is_watched(&self) -> bool {
        self.on_terminal
    }

    /// Why some of the data could not be written, if that is so.
    pub(crate) fn lost(&self) -> Option<&io::Error> {
        match &self.data {
            Data::Lost(error) => Some(error),
            Data::Open | Data::Closed => None,
        }
    }

    /// Whether nobody reads the data any more, or something of it is lost: more would be in vain.
    pub(crate) fn is_over(&self) -> bool {
        let stdout = io::stdout();
        // Asked for nothing, the kernel tells of errors alone.
        let mut ends = [PollFd::new(&stdout, PollFlags::empty())];
        let polled = poll(&mut ends, Some(&Timespec::default())).is_ok();
        let is_gone = polled && ends.iter().any(|end| end.revents().contains(PollFlags::ERR));
        is_gone || !matches!(self.data, Data::Open)
    }

    /// Ends the line of data that was begun, if one was.
    pub(crate) fn end_line(&mut self) {
        if !self.line_ended {
            self.data("\n");
        }
    }

    /// Says something to the person.
    pub(crate) fn talk(&mut self, text: &str) {
        self.rest();
        self.say(&format!("{}\n", visible(text)));
    }

    /// Whether turning the spinner would show something.
    pub(crate) fn can_spin(&self) -> bool {
        self.spinner.possible && self.line_ended
    }

    /// Turns the spinner one further.
    pub(crate) fn spin(&mut self, label: &str) {
        if !self.can_spin() {
            return;
        }
        let frame = FRAMES.get(self.spinner.frame % FRAMES.len()).copied().unwrap_or_default();
        let label = visible(label);
        // Behind the frame and a blank; in the last column some terminals go to the next line.
        let label = cut(&label, columns().saturating_sub(3));
        self.spinner.frame += 1;
        self.spinner.shown = true;
        self.say(&format!("{CLEAR_LINE}{frame} {label}"));
    }

    /// Takes the spinner away.
    pub(crate) fn rest(&mut self) {
        if std::mem::take(&mut self.spinner.shown) {
            self.say(CLEAR_LINE);
        }
    }

    fn put(&mut self, text: &str) {
        let Some(last) = text.chars().next_back() else { return };
        self.rest();
        self.line_ended = last == '\n';
        if matches!(self.data, Data::Open) {
            let mut stdout = io::stdout().lock();
            let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
            self.data = match written {
                Ok(()) => Data::Open,
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Data::Closed,
                Err(error) => Data::Lost(error),
            };
        }
    }

    /// Talk that nobody can hear is lost, and that is all.
    #[expect(clippy::unused_self, reason = "the streams are written to through this value only")]
    fn say(&mut self, text: &str) {
        let mut stderr = io::stderr().lock();
        stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()).unwrap_or_default();
    }
}

/// How wide the terminal of the talk is now.
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| 0 < *columns).unwrap_or(COLUMNS)
}

/// As much of a line as surely fits: a row that wraps could not be cleared any more. Letters beyond
/// ASCII may take two columns.
fn cut(line: &str, columns: usize) -> &str {
    let line = line.lines().next().unwrap_or_default();
    let mut used = 0;
    for (place, letter) in line.char_indices() {
        used += if letter.is_ascii() && letter != '\t' { 1 } else { 2 };
        if columns < used {
            return line.get(..place).unwrap_or_default();
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_to_what_fits() {
        for (line, columns, fits) in [
            ("shell: make", 80, "shell: make"),
            ("shell: make", 11, "shell: make"),
            ("shell: make", 10, "shell: mak"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本"),
            ("one\ntwo", 80, "one"),
            ("x", 0, ""),
        ] {
            assert_eq!(cut(line, columns), fits, "{line} in {columns}");
        }
    }
}
