//! A server that goes on when the terminal is closed: this program, started again.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::place::Place;
use crate::output::Output;
use crate::report::{Fault, Report};

/// What the server is not told again.
const BACKGROUND: &str = "--background";
/// How often it is looked whether it serves.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Longest wait until it serves.
const START_WAIT: Duration = Duration::from_secs(20);
/// The last line of what it says when it serves.
const LAST_LINE: &str = "For a program:";

/// Starts it, and repeats what it says until it serves.
pub(super) async fn start(place: &Place, output: &mut Output) -> Result<Report, Fault> {
    let path = place.talk();
    let talk = File::create(&path).map_err(Fault::Runtime)?;
    let arguments = std::env::args_os().skip(1).filter(|it| it != BACKGROUND);
    let mut server = Command::new("/proc/self/exe")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(talk)
        // Ctrl-C in this terminal is not meant for it.
        .process_group(0)
        .spawn()
        .map_err(Fault::Runtime)?;
    let begun = tokio::time::Instant::now();
    loop {
        // Looked at before its words are read: what it said before its end is told.
        let ended = server.try_wait().map_err(Fault::Runtime)?;
        let said = fs::read_to_string(&path).unwrap_or_default();
        if ended.is_some() || START_WAIT < begun.elapsed() {
            return Ok(Report::misuse(said.trim_end()));
        }
        if said.contains(LAST_LINE) {
            if !output.is_watched()
                && let Some(record) = place.running()
            {
                output.data(&format!("{}\n", record.url));
            }
            output.talk(&said.trim_end().replace("Ctrl-C ends it", "piton serve stop ends it"));
            return Ok(Report::ok("done"));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
