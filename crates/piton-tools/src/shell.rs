//! `shell`: a command line, run by `sh`.
//!
//! Knows arguments and how a result reads. With a supervisor a command outlives the agent
//! ([`supervised`]). Without one [`process`] keeps it in check and [`capture`] keeps its output in
//! bounds, and nobody knows what became of it when the agent dies.

pub(crate) mod capture;
mod command_tool;
mod input;
mod process;
mod supervised;
mod told;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use piton_core::event::{EffectClass, Handle, Outcome, ToolSpec};
use piton_core::id::{CallId, TurnId};
use serde::Deserialize;

use self::capture::Captured;
pub use self::capture::SPILL_BYTES_MAX;
pub use self::command_tool::{
    CommandDefinition, CommandTool, NEEDS_INPUT_CODE, Program,
    TIMEOUT_S_DEFAULT as COMMAND_TIMEOUT_S_DEFAULT,
};
pub(crate) use self::input::Input;
use self::process::{Command, End, Ended};
use self::supervised::Supervised;
pub(crate) use self::supervised::{
    WORDS_WITHIN, chance, finished as finished_of, finished_with, listening, name_of,
    wait_for_words,
};
pub(crate) use self::told::{exit_code, told_of};
use crate::arguments::parse;
use crate::sandbox::Rules;
use crate::supervise::Supervisor;
use crate::workspace::Place;
use crate::{Arguments, Finished, Job, Prepared, Refusal, Settled, Site, Tidying, Tool, blocking};

/// How long a command may run if the call does not say, in seconds.
const TIMEOUT_S_DEFAULT: u64 = 120;
/// The same with a supervisor: the call returns much sooner, and the command goes on.
const SUPERVISED_TIMEOUT_S_DEFAULT: u64 = 600;
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

const SUPERVISED_SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "Command line for `sh -c`. There is no terminal and no input unless you ask for it."},
        "timeout_s": {"type": "integer", "minimum": 1, "maximum": 3600, "description": "Seconds until it is stopped. Default: 600, or no limit with keep."},
        "wait_s": {"type": "integer", "minimum": 0, "maximum": 600, "description": "Seconds until this call returns although the command goes on. Default: 60. For a server: 2, and keep."},
        "input": {"type": "boolean", "description": "Keep its input open, for shell_write. This call then returns as soon as it has printed something and is silent. Default: false."},
        "keep": {"type": "boolean", "description": "Let it go on when the turn is interrupted or discarded. Default: false."},
        "terminal": {"type": "boolean", "description": "Give it a terminal of 80 by 24 letters, with its input open; for programs that want one. Default: false."},
        "dir": {"type": "string", "description": "Directory to run in, relative to the workspace. Default: the workspace."}
    },
    "required": ["command"],
    "additionalProperties": false
}"#;

/// The tool.
#[derive(Clone, Debug, Default)]
pub struct Shell {
    supervised: Option<Supervised>,
    /// For commands that end with the agent; supervisors have rules of their own.
    plain: Plain,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShellArguments {
    command: String,
    timeout_s: Option<u64>,
    wait_s: Option<u64>,
    keep: Option<bool>,
    input: Option<bool>,
    terminal: Option<bool>,
    dir: Option<String>,
}

/// What is to run, and where.
#[derive(Debug)]
struct Line {
    command: String,
    directory: PathBuf,
    timeout_s: Option<u64>,
    wait_s: Option<u64>,
    keep: bool,
    /// What it reads.
    input: Reads,
    walls: Walls,
}

impl Line {
    /// The directory from the workspace, behind all links.
    fn place(&self, site: &Site) -> Option<String> {
        let place = self.directory.strip_prefix(&site.workspace).ok()?.to_str()?;
        Some(if place.is_empty() { "." } else { place }.to_owned())
    }
}

/// What a command reads.
#[derive(Clone, Debug)]
enum Reads {
    /// Nothing.
    Nothing,
    /// This.
    Bytes(Input),
    /// What it is given later.
    Later,
    /// The same, on a terminal.
    Terminal,
}

/// Whether a command is confined where the rules say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walls {
    Up,
    Down,
}

impl Reads {
    /// What is there from the beginning.
    fn bytes(self) -> Option<Input> {
        match self {
            Self::Bytes(input) => Some(input),
            Self::Nothing | Self::Later | Self::Terminal => None,
        }
    }
}

impl Shell {
    /// Commands outlive the agent.
    pub fn supervised(supervisor: Arc<Supervisor>) -> Self {
        Self { supervised: Some(Supervised(supervisor)), ..Self::default() }
    }

    /// Commands end with the agent, do not see these variables, and are confined by these rules.
    pub fn plain(hidden: Vec<OsString>, rules: Rules) -> Self {
        Self { supervised: None, plain: Plain::new(hidden, rules) }
    }

    fn schema(&self) -> &'static str {
        if self.supervised.is_some() { SUPERVISED_SCHEMA } else { SCHEMA }
    }
}

#[async_trait]
impl Tool for Shell {
    fn spec(&self) -> ToolSpec {
        let shows = "Runs a command line with sh in the workspace and shows its output, stdout and \
                     stderr together. A long output is shown in extracts.";
        let (description, effect) = match &self.supervised {
            Some(_) => (
                format!(
                    "{shows} A command that takes long goes on when the call returns: wait for it \
                     with shell_wait, write to it with shell_write, stop it with shell_stop."
                ),
                EffectClass::Supervised,
            ),
            // Nobody can know what became of a command whose agent died.
            None => (
                format!(
                    "{shows} Send long-running programs to the background with their output in a \
                     file."
                ),
                EffectClass::Once,
            ),
        };
        ToolSpec::new("shell", description, self.schema(), effect)
    }

    async fn prepare(
        &self,
        site: &Site,
        call: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        // In place: resolving a path takes microseconds.
        let line = look(site, self.schema(), arguments)?;
        let prepared = match &self.supervised {
            Some(_) => Supervised::prepare(site, call)?,
            None => Prepared::default(),
        };
        Ok(Prepared { path: line.place(site), ..prepared })
    }

    async fn run(&self, job: Job) -> Finished {
        let line = match look(&job.site, self.schema(), &job.arguments) {
            Ok(line) => line,
            Err(refusal) => return refusal.into(),
        };
        match &self.supervised {
            Some(supervised) => supervised.run(job, line).await,
            None => self.plain.run(job, line).await,
        }
    }

    async fn settle(&self, _: &Site, _: &Arguments, handle: &Handle) -> Settled {
        match &self.supervised {
            Some(supervised) => supervised.settle(handle).await,
            None => Settled::Unknown(
                "the command was started, then the agent died: it may have run in part, to its \
                 end, or still be running"
                    .into(),
            ),
        }
    }

    fn forget(&self, _: &Site, handle: &Handle) {
        if let Some(supervised) = &self.supervised {
            supervised.forget(handle);
        }
    }

    fn tidy(&self, site: &Site, needed: &[Handle]) -> Tidying {
        match &self.supervised {
            Some(supervised) => supervised.tidy(site, needed),
            None => Box::pin(std::future::ready(())),
        }
    }

    async fn leave_turn(&self, site: &Site, turn: TurnId) -> Vec<String> {
        match &self.supervised {
            Some(supervised) => supervised.leave_turn(site, turn).await,
            None => Vec::new(),
        }
    }
}

/// How a command runs that ends with the agent.
#[derive(Clone, Debug, Default)]
struct Plain {
    hidden: Arc<[OsString]>,
    rules: Option<Arc<Rules>>,
}

impl Plain {
    fn new(hidden: Vec<OsString>, rules: Rules) -> Self {
        Self { hidden: hidden.into(), rules: Some(Arc::new(rules)) }
    }

    async fn run(&self, job: Job, line: Line) -> Finished {
        let timeout = Duration::from_secs(line.timeout_s.unwrap_or(TIMEOUT_S_DEFAULT));
        let policy = self.rules.as_ref().map_or(Ok(None), |rules| rules.policy(&job));
        let sandbox = match policy {
            Ok(sandbox) => sandbox.filter(|_| line.walls == Walls::Up),
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
            let ended = process::run(&command, &wire_end);
            Ok(match ended {
                Ok(ended) => finished(ended, &command),
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

fn look(site: &Site, schema: &str, arguments: &Arguments) -> Result<Line, Refusal> {
    let wanted: ShellArguments = parse(schema, arguments)?;
    let command = wanted.command;
    if command.trim().is_empty() || command.contains('\0') {
        return Err(Refusal("an empty command, or one with a NUL, cannot be run".into()));
    }
    if COMMAND_BYTES_MAX < command.len() {
        return Err(Refusal(format!(
            "the command has {} bytes, more than {COMMAND_BYTES_MAX}: write a script with \
             write_file and run that",
            command.len()
        )));
    }
    let directory: PathBuf = {
        let place = Place::locate(site, wanted.dir.as_deref().unwrap_or("."))?;
        place.open_directory(site)?;
        place.absolute(site)
    };
    let (timeout_s, wait_s) = (wanted.timeout_s, wanted.wait_s);
    let (keep, walls) = (wanted.keep.unwrap_or(false), Walls::Up);
    let input = match (wanted.terminal, wanted.input) {
        (Some(true), _) => Reads::Terminal,
        (_, Some(true)) => Reads::Later,
        (_, _) => Reads::Nothing,
    };
    Ok(Line { command, directory, timeout_s, wait_s, keep, input, walls })
}

fn finished(ended: Ended, command: &Command) -> Finished {
    let Ended { end, status, output, left_open } = ended;
    let mut notes = Vec::new();
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
            notes.push(told::timed_out(command.timeout.as_secs()));
            (Outcome::Failed, None)
        }
        End::Cancelled => {
            notes.push(told::STOPPED.to_owned());
            (Outcome::Cancelled, None)
        }
    };
    let Captured { mut text, full } = output.into_extract(&notes);
    if let Some(policy) = command.sandbox.as_ref().filter(|_| code.is_some_and(|code| code != 0)) {
        policy.explain(&mut text);
    }
    Finished { outcome, text, exit_code: code, full, asks: None, quotes: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_and_struct_agree() {
        crate::arguments::assert_agree::<ShellArguments>(SUPERVISED_SCHEMA);
    }
}
