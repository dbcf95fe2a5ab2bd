//! A server that goes on when the terminal is closed: this program, started again.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use piton_agent::Environment;

use super::place::{Place, Record};
use crate::report::Fault;

/// What this process was told.
const BACKGROUND: &str = "--background";
/// What the server itself is told instead.
const IN_BACKGROUND: &str = "--in-background";
/// How often it is looked whether it serves.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Longest wait until it serves.
const START_WAIT: Duration = Duration::from_secs(20);

/// Starts it, and waits until it serves; or what it said instead.
pub(super) async fn start(
    place: &Place,
    environment: &Environment,
) -> Result<Result<Record, String>, Fault> {
    let path = place.talk();
    let talk = File::create(&path).map_err(Fault::Runtime)?;
    let told = |it: OsString| if it == BACKGROUND { IN_BACKGROUND.into() } else { it };
    let mut server = Command::new("/proc/self/exe");
    environment.give_keys(&mut server);
    let mut server = server
        .args(std::env::args_os().skip(1).map(told))
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
        if let Some(record) = place.running().filter(|record| record.pid == server.id()) {
            return Ok(Ok(record));
        }
        if ended.is_some() || START_WAIT < begun.elapsed() {
            let said = fs::read_to_string(&path).unwrap_or_default();
            return Ok(Err(said.trim_end().to_owned()));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
