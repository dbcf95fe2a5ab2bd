//! The standard streams: data to one, talk to the other. No other file touches them.

use std::io::{self, IsTerminal as _, Write};

/// The looks of the spinner, one after the other.
const FRAMES: [&str; 4] = ["|", "/", "-", "\\"];
/// Goes back to the beginning of the line and empties it.
const CLEAR_LINE: &str = "\r\x1b[K";

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
    /// Nobody may be reading any more. That is no reason to stop the turn.
    data_open: bool,
    /// Whether the last data ended a line.
    line_ended: bool,
    spinner: Spinner,
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
        Self { data_open: true, line_ended: true, spinner }
    }
}

impl Output {
    /// Writes data as it is.
    pub(crate) fn data(&mut self, text: &str) {
        let Some(last) = text.chars().next_back() else { return };
        self.rest();
        self.line_ended = last == '\n';
        if self.data_open {
            let mut stdout = io::stdout().lock();
            let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
            self.data_open = written.is_ok();
        }
    }

    /// Writes a line of data.
    pub(crate) fn line(&mut self, text: &str) {
        self.data(&format!("{text}\n"));
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
        self.say(&format!("{text}\n"));
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

    /// Talk that nobody can hear is lost, and that is all.
    #[expect(clippy::unused_self, reason = "the streams are written to through this value only")]
    fn say(&mut self, text: &str) {
        let mut stderr = io::stderr().lock();
        stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()).unwrap_or_default();
    }
}
