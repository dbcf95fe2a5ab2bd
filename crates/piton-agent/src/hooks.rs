//! Hooks of the settings file: `[[hooks.before_tool]]` and its like.
//!
//! Only the user's own file can have them. A repository must not bring programs that run as soon as
//! a user opens it.

mod news;
mod run;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use piton::hooks::{Hooks, Occasion, Opinion, Told};
use piton_core::permit::names_tool;
use piton_tools::Program;
use schemars::JsonSchema;
use serde::Deserialize;

use self::run::{Hook, Ran, run};
use crate::command_tools::{WrittenCommand, line_or_words};

/// How long a hook may take if nothing else is said, in seconds.
const TIMEOUT_SECONDS_DEFAULT: u64 = 10;
/// The longest that a hook may take, in seconds. Turns wait for hooks.
const TIMEOUT_SECONDS_MAX: u64 = 60;
/// Most warnings that are kept for a person.
const WARNINGS_MAX: usize = 100;

/// Hooks as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenHooks {
    /// Commands that are asked before a tool runs, and may deny the call: tables with `command`, `tool` and `timeout_seconds` (`piton help hooks`).
    #[schemars(extend("default" = []))]
    before_tool: Vec<WrittenHook>,
    /// Commands that are told what came of a tool.
    #[schemars(extend("default" = []))]
    after_tool: Vec<WrittenHook>,
    /// Commands that are told when you are asked something.
    #[schemars(extend("default" = []))]
    question: Vec<WrittenHook>,
    /// Commands that are told when a turn is over.
    #[schemars(extend("default" = []))]
    turn_end: Vec<WrittenHook>,
}

/// A hook as written.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WrittenHook {
    /// The tool that it is for; `*` stands for any letters. Without it, every tool.
    tool: Option<String>,
    /// A list is a program with its arguments; a text is a line for `sh`.
    #[schemars(schema_with = "line_or_words")]
    command: WrittenCommand,
    /// Longest time that it may take, in seconds: 1 to 60.
    #[serde(default = "timeout_seconds")]
    timeout_seconds: u64,
}

fn timeout_seconds() -> u64 {
    TIMEOUT_SECONDS_DEFAULT
}

/// The hooks that are meant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HookSet {
    before_tool: Vec<Hook>,
    after_tool: Vec<Hook>,
    question: Vec<Hook>,
    turn_end: Vec<Hook>,
}

impl HookSet {
    /// The hooks that are meant; the first one that makes no sense is told.
    pub(crate) fn read(written: WrittenHooks) -> Result<Self, String> {
        let WrittenHooks { before_tool, after_tool, question, turn_end } = written;
        if turn_end.iter().any(|hook| hook.tool.is_some()) {
            return Err("hooks.turn_end: a turn has no tool; leave tool out".into());
        }
        Ok(Self {
            before_tool: all("before_tool", before_tool)?,
            after_tool: all("after_tool", after_tool)?,
            question: all("question", question)?,
            turn_end: all("turn_end", turn_end)?,
        })
    }

    /// The tools whose calls are looked at before they run, as patterns.
    pub(crate) fn hooked(&self) -> Vec<String> {
        let tools: BTreeSet<&String> = self.before_tool.iter().map(|hook| &hook.tool).collect();
        tools.into_iter().cloned().collect()
    }

    /// The hooks that want to hear of something.
    fn hearing(&self, occasion: &Occasion) -> impl Iterator<Item = &Hook> {
        let (hooks, tool) = match occasion {
            Occasion::BeforeTool(call) => (&self.before_tool, Some(&call.tool)),
            Occasion::AfterTool { call, .. } => (&self.after_tool, Some(&call.tool)),
            Occasion::Question { call, .. } => (&self.question, Some(&call.tool)),
            Occasion::TurnEnded(_) | Occasion::TurnBroke { .. } => (&self.turn_end, None),
        };
        let is_for = move |hook: &&Hook| tool.is_none_or(|tool| names_tool(&hook.tool, tool));
        hooks.iter().filter(is_for)
    }
}

fn all(list: &str, written: Vec<WrittenHook>) -> Result<Vec<Hook>, String> {
    let read = |hook: WrittenHook| {
        let WrittenHook { tool, command: WrittenCommand(program), timeout_seconds } = hook;
        let empty = match &program {
            Program::Line(line) => line.trim().is_empty(),
            Program::Words(words) => words.first().is_none_or(String::is_empty),
        };
        if empty {
            return Err(format!("hooks.{list}: command is empty"));
        }
        if tool.as_ref().is_some_and(|tool| tool.trim().is_empty()) {
            return Err(format!("hooks.{list}: tool is empty; leave it out for every tool"));
        }
        if !(1..=TIMEOUT_SECONDS_MAX).contains(&timeout_seconds) {
            return Err(format!(
                "hooks.{list}: timeout_seconds is 1 to {TIMEOUT_SECONDS_MAX}, not {timeout_seconds}"
            ));
        }
        let tool = tool.unwrap_or_else(|| "*".into());
        Ok(Hook { tool, program, timeout: Duration::from_secs(timeout_seconds) })
    };
    written.into_iter().map(read).collect()
}

/// Runs the hooks of an agent.
#[derive(Debug)]
pub(crate) struct AgentHooks {
    hooks: HookSet,
    /// Variables that hold keys. No hook gets them.
    hidden: Vec<OsString>,
    // A lock, because turns run in any task.
    warnings: Mutex<Vec<String>>,
}

impl AgentHooks {
    pub(crate) fn new(hooks: HookSet, hidden: Vec<OsString>) -> Self {
        Self { hooks, hidden, warnings: Mutex::default() }
    }

    /// What a person should hear, and has not heard yet.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn warn(&self, news: &[String]) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        let room = WARNINGS_MAX.saturating_sub(warnings.len());
        warnings.extend(news.iter().take(room).cloned());
    }

    async fn run(&self, hook: &Hook, input: &str, workspace: &Path) -> Result<Ran, String> {
        run(hook, input, workspace, &self.hidden).await
    }
}

#[async_trait]
impl Hooks for AgentHooks {
    async fn before_tool(&self, told: &Told) -> Opinion {
        let input = news::in_json(told);
        let mut opinion = Opinion::default();
        for hook in self.hooks.hearing(&told.occasion) {
            let ran = self.run(hook, &input, &told.workspace).await;
            match ran.and_then(|ran| ran.verdict()) {
                Ok(None) => {}
                Ok(Some(reason)) => {
                    opinion.denied = Some(reason);
                    break;
                }
                Err(why) => opinion.warnings.push(format!("{why}; it denied nothing")),
            }
        }
        self.warn(&opinion.warnings);
        opinion
    }

    fn listens(&self, occasion: &Occasion) -> bool {
        self.hooks.hearing(occasion).next().is_some()
    }

    async fn tell(&self, told: Told) -> Vec<String> {
        let input = news::in_json(&told);
        let runs = self.hooks.hearing(&told.occasion).map(|hook| async {
            let ran = self.run(hook, &input, &told.workspace).await;
            ran.and_then(|ran| ran.fault().map_or(Ok(()), Err)).err()
        });
        let warnings: Vec<String> = join_all(runs).await.into_iter().flatten().collect();
        self.warn(&warnings);
        warnings
    }
}

#[cfg(test)]
mod tests;
