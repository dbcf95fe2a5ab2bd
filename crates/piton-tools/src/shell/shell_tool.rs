//! `shell`: a command line, run by `sh`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use piton_core::event::{ArgumentRole, EffectClass, Handle, ToolSpec};
use piton_core::id::{CallId, TurnId};
use piton_core::permit::grants::Needs;
use serde::Deserialize;

use super::line::{Line, Reads, Walls};
use super::plain::Plain;
use super::supervised::Supervised;
use crate::contract::{
    Arguments, Finished, Job, Prepared, Refusal, Settled, Site, Tidying, Tool, parse_arguments,
};
use crate::files::Place;
use crate::sandbox::Rules;
use crate::supervise::Supervisor;

/// Longest command line, in bytes: the kernel takes no longer argument (128 KiB with its NUL).
const COMMAND_BYTES_MAX: usize = 128 * 1024 - 1;

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "Command line for `sh -c`. There is no terminal and no input."},
        "timeout_s": {"type": "integer", "minimum": 1, "maximum": 3600, "description": "Seconds until it is stopped. Default: 120."},
        "needs": {
            "type": "object",
            "description": "What to open in the sandbox for this command. Only when a result told you to: the user is asked, unless a rule gives it.",
            "properties": {
                "network": {"type": "array", "items": {"type": "string"}, "description": "Hosts, each as HOST:PORT."},
                "write": {"type": "array", "items": {"type": "string"}, "description": "Places to write to; each begins with / or ~/."},
                "read": {"type": "array", "items": {"type": "string"}, "description": "Closed places to read."},
                "sockets": {"type": "array", "items": {"type": "string"}, "description": "Unix sockets, by their paths."},
                "env": {"type": "array", "items": {"type": "string"}, "description": "Variables that are withheld."},
                "devices": {"type": "array", "items": {"type": "string"}, "description": "Devices, by their paths."},
                "preset": {"type": "string", "enum": ["git-ssh", "git-https", "cargo", "npm", "pip", "go", "docker"], "description": "All that this program usually needs, beside your own hosts."}
            },
            "additionalProperties": false
        },
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
        "needs": {
            "type": "object",
            "description": "What to open in the sandbox for this command. Only when a result told you to: the user is asked, unless a rule gives it.",
            "properties": {
                "network": {"type": "array", "items": {"type": "string"}, "description": "Hosts, each as HOST:PORT."},
                "write": {"type": "array", "items": {"type": "string"}, "description": "Places to write to; each begins with / or ~/."},
                "read": {"type": "array", "items": {"type": "string"}, "description": "Closed places to read."},
                "sockets": {"type": "array", "items": {"type": "string"}, "description": "Unix sockets, by their paths."},
                "env": {"type": "array", "items": {"type": "string"}, "description": "Variables that are withheld."},
                "devices": {"type": "array", "items": {"type": "string"}, "description": "Devices, by their paths."},
                "preset": {"type": "string", "enum": ["git-ssh", "git-https", "cargo", "npm", "pip", "go", "docker"], "description": "All that this program usually needs, beside your own hosts."}
            },
            "additionalProperties": false
        },
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
    needs: Option<Needs>,
    dir: Option<String>,
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
        let rules = match &self.supervised {
            Some(supervised) => Some(supervised.0.rules()),
            None => self.plain.rules(),
        };
        ToolSpec::new("shell", description, self.schema(), effect)
            .confining(rules.is_some_and(Rules::confines))
            .freeing(rules.is_some_and(Rules::free_what_is_approved))
            .holding_hosts(self.supervised.as_ref().is_some_and(|it| it.0.holds_hosts()))
            .with_roles([
                ("command", ArgumentRole::CommandLine),
                ("dir", ArgumentRole::Directory),
                ("needs", ArgumentRole::Needs),
            ])
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

fn look(site: &Site, schema: &str, arguments: &Arguments) -> Result<Line, Refusal> {
    let wanted: ShellArguments = parse_arguments(schema, arguments)?;
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
    if let Some(Err(fault)) = wanted.needs.map(Needs::grants) {
        return Err(Refusal(format!("the needs of this call cannot be met: {fault}")));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_and_struct_agree() {
        crate::contract::arguments::assert_agree::<ShellArguments>(SUPERVISED_SCHEMA);
    }
}
