//! A command that ends with the agent: started, watched and stopped by a thread of it.

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use piton_core::event::Outcome;

use super::capture::Captured;
use super::end_notes::{self, exit_code, told_of};
use super::line::Line;
use super::process::{self, Command, End, Ended};
use super::protected;
use crate::contract::{Finished, Job, blocking};
use crate::sandbox::{RanCommand, Rules};
use crate::supervise::record::guard::{Instead, PutBack, Watch};

/// How long a command may run if the call does not say, in seconds.
const TIMEOUT_S_DEFAULT: u64 = 120;

/// How a command runs that ends with the agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Plain {
    hidden: Arc<[OsString]>,
    rules: Option<Arc<Rules>>,
}

impl Plain {
    pub(super) fn new(hidden: Vec<OsString>, rules: Rules) -> Self {
        Self { hidden: hidden.into(), rules: Some(Arc::new(rules)) }
    }

    pub(super) fn rules(&self) -> Option<&Rules> {
        self.rules.as_deref()
    }

    pub(super) async fn run(&self, job: Job, line: Line) -> Finished {
        let timeout = Duration::from_secs(line.timeout_s.unwrap_or(TIMEOUT_S_DEFAULT));
        let policy = self.rules.as_ref().map_or(Ok(None), |rules| line.walls.policy(rules, &job));
        let sandbox = match policy {
            Ok(sandbox) => sandbox,
            Err(lacking) => return Finished::failed(format!("not run: {lacking}")),
        };
        let command = Command {
            line: line.command,
            directory: line.directory,
            timeout,
            scratch: job.site.scratch.clone(),
            hidden: self.hidden.clone(),
            sandbox,
            input: line.input.bytes(),
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
            let watch = command.sandbox.as_ref().map(|policy| Watch::begin(policy, None));
            let ended = process::run(&command, &wire_end);
            let put_back = watch.map(|watch| watch.settle(Instead::Dropped).0).unwrap_or_default();
            Ok(match ended {
                Ok(ended) => finished(ended, &command, &put_back),
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
}

fn finished(ended: Ended, command: &Command, put_back: &[PutBack]) -> Finished {
    let Ended { end, status, output, left_open } = ended;
    let mut notes = protected::passing_notes(put_back);
    if left_open {
        notes.push(
            "[a background process still holds the output, which is not read any further: send \
             it to a file instead]"
                .to_owned(),
        );
    }
    let (outcome, code) = match end {
        End::Exited => {
            notes.extend(status.and_then(|status| told_of(status, output.is_empty())));
            (Outcome::Ok, status.and_then(exit_code))
        }
        End::TimedOut => {
            notes.push(end_notes::timed_out(command.timeout.as_secs()));
            (Outcome::Failed, None)
        }
        End::Cancelled => {
            notes.push(end_notes::STOPPED.to_owned());
            (Outcome::Cancelled, None)
        }
    };
    let Captured { mut text, printed, full } = output.into_extract(&notes);
    if let (Some(policy), Some(code)) = (&command.sandbox, code) {
        let (line, directory, has_failed) = (&command.line, &command.directory, code != 0);
        let ran = RanCommand { command: line, directory, has_failed, refused: &[] };
        policy.explain(ran, &mut text);
    }
    let note_bytes = text.len().saturating_sub(printed);
    Finished { exit_code: code, note_bytes, full, ..Finished::new(outcome, text) }
}
