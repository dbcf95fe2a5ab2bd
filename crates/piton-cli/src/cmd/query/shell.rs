//! A command that the person runs, by `!command` in a chat or in the text of a command of theirs.

use std::io::{self, PipeReader, Read as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use piton_agent::Settings;
use tokio::sync::mpsc;

/// Most output that is kept, in bytes; the end of it counts.
const KEPT_BYTES_MAX: usize = 32 * 1024;
/// Bytes that are read at once.
const PIECE_BYTES: usize = 4 * 1024;
/// Pieces that are read ahead of the screen.
const PIECES_MAX: usize = 16;

/// What a command says.
enum Said {
    Piece(Vec<u8>),
    End(io::Result<ExitStatus>),
}

/// A command that runs.
#[derive(Debug)]
pub(in crate::cmd) struct Running {
    said: mpsc::Receiver<Said>,
    child: Arc<Mutex<Child>>,
    kept: Vec<u8>,
    is_cut: bool,
    end: Option<io::Result<ExitStatus>>,
}

/// What is known of a command that has ended.
#[derive(Debug)]
pub(in crate::cmd) struct Ended {
    /// What it printed, or the end of it.
    pub(in crate::cmd) output: String,
    /// How it ended, in words.
    pub(in crate::cmd) how: String,
    pub(in crate::cmd) is_ok: bool,
}

/// The words behind a command of the user: parameters of the shell, never a part of what it reads.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cmd) struct Words<'a> {
    /// The name that messages of the shell begin with.
    pub(in crate::cmd) name: &'a str,
    pub(in crate::cmd) all: &'a str,
}

impl Running {
    /// Starts it where the person is. It has no input.
    pub(in crate::cmd) fn start(
        command: &str,
        words: Words<'_>,
        settings: &Settings,
    ) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let here = settings.directory().map_err(io::Error::other)?;
        let name = if words.name.is_empty() { "sh" } else { words.name };
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command, name]).args(words.all.split_whitespace());
        if !words.all.is_empty() {
            shell.env("ARGUMENTS", words.all);
        }
        shell.current_dir(here).stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let child = Arc::new(Mutex::new(shell.spawn()?));
        // It holds the other end of the pipe, which would never close.
        drop(shell);
        let (sender, said) = mpsc::channel(PIECES_MAX);
        let waited = child.clone();
        std::thread::spawn(move || read(reader, &waited, &sender));
        Ok(Self { said, child, kept: Vec::new(), is_cut: false, end: None })
    }

    /// What it prints next; nothing once it has ended.
    pub(in crate::cmd) async fn next(&mut self) -> Option<Vec<u8>> {
        match self.said.recv().await? {
            Said::Piece(piece) => {
                self.kept.extend(&piece);
                let more = self.kept.len().saturating_sub(KEPT_BYTES_MAX);
                self.is_cut |= 0 < more;
                self.kept.drain(..more);
                Some(piece)
            }
            Said::End(end) => {
                self.end = Some(end);
                None
            }
        }
    }

    /// Ends it, if it has not ended.
    pub(in crate::cmd) fn kill(&self) {
        // Whoever has it waits for an end that is near.
        if let Ok(mut child) = self.child.try_lock() {
            child.kill().unwrap_or_default();
        }
    }

    pub(in crate::cmd) fn ended(self) -> Ended {
        let is_ok = matches!(&self.end, Some(Ok(status)) if status.success());
        let how = match self.end {
            Some(Ok(status)) => status.to_string(),
            Some(Err(error)) => error.to_string(),
            None => "stopped".into(),
        };
        let cut = if self.is_cut { "[the beginning is left out]\n" } else { "" };
        let output = format!("{cut}{}", String::from_utf8_lossy(&self.kept).trim_end());
        Ended { output, how, is_ok }
    }
}

/// Reads what a command prints to the end, and waits for it.
fn read(mut reader: PipeReader, child: &Mutex<Child>, sender: &mpsc::Sender<Said>) {
    let mut piece = vec![0; PIECE_BYTES];
    while let Ok(bytes @ 1..) = reader.read(&mut piece) {
        let piece = piece.get(..bytes).unwrap_or_default().to_vec();
        if sender.blocking_send(Said::Piece(piece)).is_err() {
            break;
        }
    }
    let end = match child.lock() {
        Ok(mut child) => child.wait(),
        Err(error) => Err(io::Error::other(error.to_string())),
    };
    sender.blocking_send(Said::End(end)).unwrap_or_default();
}
