//! `shell`: a command line, run by `sh`.
//!
//! Knows arguments and how a result reads. [`process`] keeps the command in check, [`capture`] keeps
//! its output in bounds.

mod capture;
mod process;

use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use async_trait::async_trait;
use piton_core::event::{EffectClass, Handle, Outcome, ToolSpec};
use serde::Deserialize;

use self::capture::Captured;
pub use self::capture::SPILL_BYTES_MAX;
use self::process::{Command, End, Ended};
use crate::arguments::parse;
use crate::workspace::Place;
use crate::{Arguments, Finished, Job, Prepared, Refusal, Settled, Site, Tool, blocking};

/// How long a command may run if the call does not say, in seconds.
const TIMEOUT_S_DEFAULT: u64 = 120;
/// Longest command line, in bytes: the kernel takes no longer argument (128 KiB with its NUL).
const COMMAND_BYTES_MAX: usize = 128 * 1024 - 1;

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "Command line for `sh -c`. There is no terminal and no input."},
        "timeout_s": {"type": "integer", "minimum": 1, "maximum": 3600, "description": "Seconds until it is stopped. Default: 120."},
        "dir": {"type": "string", "description": "Directory to run in, relative to the workspace. Default: the workspace."}
    },
    "required": ["command"],
    "additionalProperties": false
}"#;

/// The tool.
#[derive(Clone, Copy, Debug)]
pub struct Shell;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShellArguments {
    command: String,
    timeout_s: Option<u64>,
    dir: Option<String>,
}

#[async_trait]
impl Tool for Shell {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "shell".into(),
            description: "Runs a command line with sh in the workspace and shows its output, \
                          stdout and stderr together. A long output is shown in extracts. Send \
                          long-running programs to the background with their output in a file."
                .into(),
            parameters: SCHEMA.into(),
            // The seam for the supervisor: once commands outlive the agent, this becomes
            // `Supervised`, `prepare` names the job's directory in the handle, and `settle`
            // attaches again. Until then nobody can know what became of a command whose agent died.
            effect: EffectClass::Once,
        }
    }

    async fn prepare(&self, site: &Site, arguments: &Arguments) -> Result<Prepared, Refusal> {
        // In place: resolving a path takes microseconds.
        look(site, arguments)?;
        Ok(Prepared::default())
    }

    async fn run(&self, job: Job) -> Finished {
        let (command, timeout) = match look(&job.site, &job.arguments) {
            Ok(ready) => ready,
            Err(refusal) => return refusal.into(),
        };
        if job.cancel.is_cancelled() {
            return Finished::cancelled("stopped before the command was started");
        }
        // The wire to the thread that minds the command. A byte means "stop". The end of the wire,
        // which also comes when this future is dropped, means that nobody waits any more.
        let (wire_end, mut wire) = match io::pipe() {
            Ok(pipe) => pipe,
            Err(error) => return Finished::failed(format!("the command did not start: {error}")),
        };
        let minding = blocking::whole(move || {
            let ended = process::run(&command, &wire_end);
            Ok(match ended {
                Ok(ended) => finished(ended, timeout),
                Err(error) => Finished::failed(format!("the command did not start: {error}")),
            })
        });
        tokio::pin!(minding);
        let result = tokio::select! {
            biased;
            result = &mut minding => result,
            () = job.cancel.cancelled() => {
                // If nobody listens, the command has ended: its result is on its way.
                drop(wire.write_all(&[1]));
                minding.await
            }
        };
        result.unwrap_or_else(Finished::from)
    }

    async fn settle(&self, _: &Site, _: &Arguments, _: &Handle) -> Settled {
        Settled::Unknown(
            "the command was started, then the agent died: it may have run in part, to its end, \
             or still be running"
                .into(),
        )
    }
}

fn look(site: &Site, arguments: &Arguments) -> Result<(Command, Duration), Refusal> {
    let wanted: ShellArguments = parse(SCHEMA, arguments)?;
    let line = wanted.command;
    if line.trim().is_empty() || line.contains('\0') {
        return Err(Refusal("an empty command, or one with a NUL, cannot be run".into()));
    }
    if COMMAND_BYTES_MAX < line.len() {
        return Err(Refusal(format!(
            "the command has {} bytes, more than {COMMAND_BYTES_MAX}: write a script with \
             write_file and run that",
            line.len()
        )));
    }
    let directory: PathBuf = {
        let place = Place::locate(site, wanted.dir.as_deref().unwrap_or("."))?;
        place.open_directory(site)?;
        place.absolute(site)
    };
    let timeout = Duration::from_secs(wanted.timeout_s.unwrap_or(TIMEOUT_S_DEFAULT));
    Ok((Command { line, directory, timeout, scratch: site.scratch.clone() }, timeout))
}

fn finished(ended: Ended, timeout: Duration) -> Finished {
    let Ended { end, status, output, left_open } = ended;
    let mut notes = Vec::new();
    if left_open {
        notes.push(
            "[a background process still holds the output, which is not read any further: send \
             it to a file instead]"
                .to_owned(),
        );
    }
    let (outcome, exit_code) = match end {
        End::Exited => {
            notes.extend(told(status, output.is_empty()));
            (Outcome::Ok, status.and_then(exit_code))
        }
        End::TimedOut => {
            notes.push(format!(
                "[stopped after {} s, with everything it had started; give a longer timeout_s, or \
                 send it to the background]",
                timeout.as_secs()
            ));
            (Outcome::Failed, None)
        }
        End::Cancelled => {
            notes.push("[stopped on request, with everything it had started]".to_owned());
            (Outcome::Cancelled, None)
        }
    };
    let Captured { text, full } = output.into_extract(&notes);
    Finished { outcome, text, exit_code, full }
}

/// What to say about the way it ended; nothing if the output says it all.
fn told(status: Option<ExitStatus>, silent: bool) -> Option<String> {
    let status = status?;
    match (status.code(), silent) {
        (Some(0), false) => None,
        (Some(0), true) => Some("[exit code 0, no output]".into()),
        (Some(code), _) => Some(format!("[exit code {code}]")),
        // The standard library knows the names of the signals.
        (None, _) => Some(format!("[killed by {status}]")),
    }
}

/// The exit code; for a command that was killed what a shell makes of it, 128 and the signal.
fn exit_code(status: ExitStatus) -> Option<i32> {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_and_struct_agree() {
        crate::arguments::assert_agree::<ShellArguments>(SCHEMA);
    }

    #[test]
    fn the_end_of_a_command_is_told() {
        let told = |raw, silent| told(Some(ExitStatus::from_raw(raw)), silent).unwrap_or_default();
        assert_eq!(told(0, false), "");
        assert_eq!(told(0, true), "[exit code 0, no output]");
        assert_eq!(told(3 << 8, false), "[exit code 3]");
        assert_eq!(told(9, false), "[killed by signal: 9 (SIGKILL)]");
        assert_eq!(exit_code(ExitStatus::from_raw(9)), Some(137));
    }
}
