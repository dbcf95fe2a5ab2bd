//! Asking a person on the terminal, whatever the standard streams are connected to.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};

use tokio::sync::mpsc;

use crate::render::visible::visible;

/// Lines typed ahead that are kept.
const LINES_MAX: usize = 16;

/// The terminal this process was started on.
#[derive(Debug)]
pub(crate) struct Terminal {
    device: File,
    lines: Option<mpsc::Receiver<String>>,
}

impl Terminal {
    /// The terminal, if there is one.
    pub(crate) fn open() -> Option<Self> {
        let device = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        Some(Self { device, lines: None })
    }

    /// Shows a question.
    pub(crate) fn show(&mut self, question: &str) {
        // A terminal that cannot be written to cannot be read from either; reading will tell.
        self.device.write_all(visible(question).as_bytes()).unwrap_or_default();
    }

    /// Waits for the next typed line; `None` when the terminal is gone or its end was typed.
    pub(crate) async fn line(&mut self) -> Option<String> {
        if self.lines.is_none() {
            self.lines = self.device.try_clone().ok().map(read_lines);
        }
        self.lines.as_mut()?.recv().await
    }
}

/// Reads on a thread of its own: a terminal cannot be waited for in any other way that every
/// platform has. The thread ends with the process.
fn read_lines(device: File) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(LINES_MAX);
    std::thread::spawn(move || {
        for line in BufReader::new(device).lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}
