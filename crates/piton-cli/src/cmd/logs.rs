//! `piton logs`: what a command has printed, and with `-f` what it prints.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use piton::commands::{Commands, KeptState, Printed};
use piton_agent::Settings;
use piton_tools::WITHHELD_TEXT;
use piton_tools::supervise::{HEAD_BYTES, TAIL_BYTES};

use crate::flags::Logs;
use crate::output::Output;
use crate::report::{CommandFault, Fault, Report};

/// How often to look for more.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Most bytes read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// Shows it.
pub(crate) async fn run(
    logs: &Logs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    if logs.raw {
        output.leave_raw();
    }
    let commands = Commands::new(settings.calls());
    let mut kept = commands.find(&logs.command).map_err(CommandFault::from)?;
    if kept.intent.secret {
        // The secret may be in the output.
        output.talk(WITHHELD_TEXT);
        return Ok(Report::ok("done"));
    }
    let fault = |source| CommandFault::Closed { name: Commands::name(&kept), source };
    let out = commands.output(&kept).map_err(fault)?;
    let Printed { start, emptied, .. } = Printed::look(&out, &kept.intent).map_err(fault)?;
    if emptied {
        output.talk("This output was emptied by its command; what it had printed before is lost.");
    }
    let mut printer = Printer { at: start, rest: Vec::new() };
    loop {
        // Looked at before its output is read: what was printed before the end is shown.
        let is_running = kept.state.goes_on();
        let fault = |source| CommandFault::Closed { name: Commands::name(&kept), source };
        printer.print(&out, output).map_err(fault)?;
        if !logs.follow || !is_running || output.is_over() {
            break;
        }
        tokio::time::sleep(LOOK_EVERY).await;
        match commands.find(&Commands::name(&kept)) {
            Ok(found) if found.name == kept.name => kept = found,
            // Its conversation has its end, so its record is gone; the open file is not.
            Ok(_) | Err(_) => kept.state = KeptState::InDoubt,
        }
    }
    printer.end(output);
    output.end_line();
    Ok(Report::ok("done"))
}

/// How far the output was shown.
#[derive(Debug)]
struct Printer {
    at: u64,
    /// The beginning of a character whose rest has not come yet.
    rest: Vec<u8>,
}

impl Printer {
    fn print(&mut self, out: &File, output: &mut Output) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let length = out.metadata()?.len();
            if length < self.at {
                output.end_line();
                output.talk("[emptied by its command; it goes on from its new beginning]");
                self.at = 0;
            }
            self.jump(length, output);
            // Not across the edge behind which the middle may be gone.
            let most = HEAD_BYTES.checked_sub(self.at).filter(|most| 0 < *most);
            let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(CHUNK_BYTES);
            let Some(chunk) = chunk.get_mut(..most.min(CHUNK_BYTES)) else { return Ok(()) };
            let count = out.read_at(chunk, self.at)?;
            if count == 0 {
                return Ok(());
            }
            self.at += count as u64;
            self.rest.extend(chunk.iter().take(count));
            // A character that is cut off at the end waits for its rest.
            let whole = self.rest.len() - cut_off(&self.rest);
            let text: Vec<u8> = self.rest.drain(..whole).collect();
            output.data(&String::from_utf8_lossy(&text));
        }
    }

    /// Nothing comes any more.
    fn end(&mut self, output: &mut Output) {
        output.data(&String::from_utf8_lossy(&std::mem::take(&mut self.rest)));
    }

    /// Passes over what is gone from the middle of a long output.
    fn jump(&mut self, length: u64, output: &mut Output) {
        let tail = length.saturating_sub(TAIL_BYTES);
        if HEAD_BYTES <= self.at && self.at < tail {
            output.end_line();
            output.talk(&format!("[... {} bytes left out ...]", tail - self.at));
            self.at = tail;
        }
    }
}

/// How many bytes at the end are the beginning of a character.
fn cut_off(bytes: &[u8]) -> usize {
    let is_begun = |bytes: &&[u8]| str::from_utf8(bytes).is_err_and(|e| e.error_len().is_none());
    let last = bytes.utf8_chunks().last().map(|chunk| chunk.invalid());
    last.filter(is_begun).map_or(0, <[u8]>::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_become_a_character_waits() {
        for (bytes, expected) in [
            (&b""[..], 0),
            (b"ab", 0),
            (b"a\xe2", 1),
            (b"a\xe2\x82", 2),
            (b"a\xe2\x82\xac", 0),
            (b"\xffx\xe2\x82", 2),
            (b"\xff\xe2", 1),
            (b"a\xff", 0),
            (b"\xe2\x82x", 0),
        ] {
            assert_eq!(cut_off(bytes), expected, "{bytes:?}");
        }
    }
}
