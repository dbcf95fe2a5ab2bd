//! Asking a person on the terminal, whatever the standard streams are connected to.

use std::fs::File;
use std::future::pending;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetpgrp, tcsetattr,
};
use tokio::net::unix::pipe::{OpenOptions, Receiver};

use crate::render::fold::fold;
use crate::render::paint::{Painted, Style};
use crate::render::visible::visible;
use crate::screen::{self, Size};

/// Longest piece that is read at once, in bytes. A terminal gives a line in pieces of this size.
const PIECE_BYTES_MAX: usize = 4096;

/// Where every terminal finds itself.
const DEVICE: &str = "/dev/tty";

/// The terminal this process was started on.
#[derive(Debug)]
pub(crate) struct Terminal {
    device: File,
    /// The same terminal to read from, once somebody wants to. Nothing is read before it is wanted: what was
    /// typed stays in the kernel, for another reader or to be forgotten.
    keyboard: Option<Receiver>,
    /// What was typed and not taken yet.
    typed: Vec<u8>,
    /// How the terminal was set before single keys were wanted.
    lines: Option<Termios>,
    /// How the terminal was set before something was typed that must not be seen.
    shown: Option<Termios>,
    /// Whether it was said that the terminal is gone.
    said_gone: bool,
}

/// Whether what is typed is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echo {
    On,
    Off,
}

/// What a person typed.
#[derive(Debug)]
pub(crate) enum Typed {
    /// A key, as the bytes that it sends.
    Key(Vec<u8>),
    /// A line.
    Line(String),
    /// Nothing, and nothing more will come: the terminal is gone, or its end was typed.
    Nothing,
}

/// A key that sends several bytes, an arrow for instance, and what comes behind it. `keys` is what comes behind
/// an escape; none if no such key follows there.
pub(crate) fn named_key(keys: &[u8]) -> Option<(&[u8], &[u8])> {
    let [b'[' | b'O', tail @ ..] = keys else { return None };
    let end = tail.iter().position(|byte| (0x40..=0x7e).contains(byte));
    Some(tail.split_at(end.map_or(tail.len(), |end| end + 1)))
}

impl Terminal {
    /// The terminal, if there is one.
    pub(crate) fn open() -> io::Result<Self> {
        let device = File::options().read(true).write(true).open(DEVICE)?;
        let (typed, said_gone) = (Vec::new(), false);
        Ok(Self { device, keyboard: None, typed, lines: None, shown: None, said_gone })
    }

    /// Whether a person sits at it: it is where we read from, and where we talk to.
    pub(crate) fn is_sat_at() -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Its screen, for a program that is shown there.
    pub(crate) fn screen() -> io::Result<File> {
        File::options().write(true).open(DEVICE)
    }

    /// Whether we are in its foreground. In the background, reading from it would stop us.
    pub(crate) fn is_ours(&self) -> bool {
        tcgetpgrp(&self.device).is_ok_and(|group| group == getpgrp())
    }

    /// Shows what is typed from now on, or not.
    pub(crate) fn echo(&mut self, echo: Echo) {
        let set = |termios: &Termios| {
            // A terminal that cannot be set shows what is typed; that is for the person to see.
            tcsetattr(&self.device, OptionalActions::Now, termios).unwrap_or_default();
        };
        match (echo, &self.shown) {
            (Echo::Off, None) => {
                let Ok(now) = tcgetattr(&self.device) else { return };
                let mut hidden = now.clone();
                hidden.local_modes.remove(LocalModes::ECHO);
                set(&hidden);
                self.shown = Some(now);
            }
            (Echo::On, Some(before)) => {
                set(before);
                self.shown = None;
            }
            (Echo::Off, Some(_)) | (Echo::On, None) => {}
        }
    }

    /// Shows a question from the beginning of a line on, in lines that fit.
    pub(crate) fn show(&mut self, question: &str) {
        self.show_behind(0, question);
    }

    /// Shows the rest of a line of which so many columns are taken, and what follows on it.
    pub(crate) fn show_behind(&mut self, used: usize, text: &str) {
        let shown = fold(&visible(text), self.size().columns, used);
        // A terminal that cannot be written to cannot be read from either; reading will tell.
        self.device.write_all(shown.as_bytes()).unwrap_or_default();
    }

    /// Shows text that is laid out.
    pub(crate) fn paint(&mut self, painted: &Painted) {
        self.device.write_all(painted.as_str().as_bytes()).unwrap_or_default();
    }

    /// Takes away the line that the cursor is on, or goes below it where that cannot be done.
    pub(crate) fn leave_line(&mut self, style: Style) {
        let left: &[u8] = match style {
            Style::Coloured => b"\r\x1b[K",
            Style::Plain => b"\n",
        };
        self.device.write_all(left).unwrap_or_default();
    }

    /// Puts the cursor behind so many columns of its line.
    pub(crate) fn go_to_column(&mut self, columns: usize) {
        let moved = if columns == 0 { "\r".to_owned() } else { format!("\r\x1b[{columns}C") };
        self.device.write_all(moved.as_bytes()).unwrap_or_default();
    }

    /// How much room there is now.
    pub(crate) fn size(&self) -> Size {
        screen::size(&self.device)
    }

    /// How it is set now.
    pub(crate) fn modes(&self) -> Option<Termios> {
        tcgetattr(&self.device).ok()
    }

    /// Sets it as it was, where a line editor is left in the middle of a line.
    pub(crate) fn give_back(&self, modes: &Termios) {
        // A terminal that is gone needs nothing.
        tcsetattr(&self.device, OptionalActions::Now, modes).unwrap_or_default();
    }

    /// Waits for the next typed line; `None` when the terminal is gone or its end was typed.
    pub(crate) async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.typed.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.typed.drain(..=end).collect();
                return Some(String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned());
            }
            let piece = self.piece().await?;
            self.typed.extend(piece);
        }
    }

    /// From now on single keys count, and nothing that was typed before. Ctrl-C stays a signal. A
    /// terminal that cannot be set goes on with lines, whose first letters count.
    pub(crate) fn want_keys(&mut self) {
        if self.lines.is_some() {
            return;
        }
        self.lines = tcgetattr(&self.device).ok();
        if let Some(lines) = &self.lines {
            let mut keys = lines.clone();
            keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            self.set(&keys);
        }
    }

    /// Lines count again.
    pub(crate) fn want_lines(&mut self) {
        if let Some(lines) = self.lines.take() {
            self.set(&lines);
        }
    }

    /// What was typed and not taken is meant for nobody any more.
    pub(crate) fn forget_typed(&mut self) {
        // In the background nothing is typed for us, and whoever touches the terminal is stopped.
        if self.is_ours() {
            tcflush(&self.device, QueueSelector::IFlush).unwrap_or_default();
        }
        self.typed.clear();
    }

    /// Waits for whichever is wanted: a key or a line. That the terminal is gone is said once: whoever waits for
    /// several things would hear of nothing else any more.
    pub(crate) async fn typed(&mut self) -> Typed {
        if self.said_gone {
            return pending().await;
        }
        let typed = if self.lines.is_some() {
            self.piece().await.map(Typed::Key)
        } else {
            self.line().await.map(Typed::Line)
        };
        // The end of a line that was typed is not the end of the terminal.
        self.said_gone = typed.is_none() && tcgetpgrp(&self.device).is_err();
        typed.unwrap_or(Typed::Nothing)
    }

    fn set(&mut self, modes: &Termios) {
        // What cannot be set stays as it was, which still works: with lines.
        tcsetattr(&self.device, OptionalActions::Flush, modes).unwrap_or_default();
        self.forget_typed();
    }

    /// Waits for what is typed next. May be dropped and called again.
    async fn piece(&mut self) -> Option<Vec<u8>> {
        if self.keyboard.is_none() {
            self.keyboard = keyboard().ok();
        }
        let keyboard = self.keyboard.as_ref()?;
        let mut piece = vec![0; PIECE_BYTES_MAX];
        loop {
            keyboard.readable().await.ok()?;
            match keyboard.try_read(&mut piece) {
                Ok(bytes @ 1..) => {
                    piece.truncate(bytes);
                    return Some(piece);
                }
                Err(error) if is_passing(error.kind()) => {}
                Ok(0) | Err(_) => return None,
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Whoever comes behind us expects lines, and to see them.
        self.want_lines();
        self.echo(Echo::On);
    }
}

/// The terminal for a reader that never waits in place. An opening of its own: the others wait. It is no
/// pipe, but is read like one.
fn keyboard() -> io::Result<Receiver> {
    OpenOptions::new().unchecked(true).open_receiver(DEVICE)
}

/// Whether there was merely nothing to read.
fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
