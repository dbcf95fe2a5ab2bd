//! `!command`: a command that the person runs. Its output goes along with the next message.

use std::io::{self, Read as _};
use std::process::{Command, Stdio};

use piton_agent::Settings;
use tokio::sync::mpsc;

use crate::cmd::query::attach::Attached;
use crate::cmd::query::stage::Stage;
use crate::report::{Fault, InputFault};

/// Most output that goes along, in bytes; the end of it counts.
const KEPT_BYTES_MAX: usize = 32 * 1024;
/// Bytes that are read at once.
const PIECE_BYTES: usize = 4 * 1024;
/// Pieces that are read ahead of the screen.
const PIECES_MAX: usize = 16;

/// What a command says.
enum Said {
    Piece(Vec<u8>),
    /// It has ended, with these words.
    End(String),
}

/// Runs a command and shows what it prints. Ctrl-C reaches the command too.
pub(super) async fn run(
    command: &str,
    settings: &Settings,
    stage: &mut Stage<'_>,
) -> Result<Attached, Fault> {
    let mut said = start(command, settings).map_err(InputFault::Command)?;
    let mut kept = Vec::new();
    let end = loop {
        tokio::select! {
            biased;
            // The command gets it from the terminal as well, and decides what to do.
            _ = stage.signals.next() => {}
            next = said.recv() => match next {
                Some(Said::Piece(piece)) => {
                    stage.output.data(&String::from_utf8_lossy(&piece));
                    kept.extend(piece);
                    let more = kept.len().saturating_sub(KEPT_BYTES_MAX);
                    kept.drain(..more);
                }
                Some(Said::End(end)) => break end,
                None => break String::new(),
            },
        }
    };
    stage.output.end_line();
    stage.output.talk(&format!("[{end}] goes along with your next message"));
    let text = format!("$ {command}\n{}\n[{end}]\n", String::from_utf8_lossy(&kept).trim_end());
    Ok(Attached::text("a command of the user".into(), text))
}

fn start(command: &str, settings: &Settings) -> io::Result<mpsc::Receiver<Said>> {
    let (mut reader, writer) = io::pipe()?;
    let here = settings.directory().map_err(io::Error::other)?;
    let mut child = Command::new("sh")
        .args(["-c", command])
        .current_dir(here)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()?;
    let (sender, said) = mpsc::channel(PIECES_MAX);
    std::thread::spawn(move || {
        let mut piece = vec![0; PIECE_BYTES];
        while let Ok(bytes @ 1..) = reader.read(&mut piece) {
            let piece = piece.get(..bytes).unwrap_or_default().to_vec();
            if sender.blocking_send(Said::Piece(piece)).is_err() {
                return;
            }
        }
        let end = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        sender.blocking_send(Said::End(end)).unwrap_or_default();
    });
    Ok(said)
}
