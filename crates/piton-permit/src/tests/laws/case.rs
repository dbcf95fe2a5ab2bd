//! A call with rules, made from numbers.

use std::fmt;

use serde_json::json;

use super::super::{WORKSPACE, tool};
use super::lines::{Made, command, line};
use super::tape::Tape;
use crate::command::Pattern;
use crate::*;

/// Most rules of a case.
const RULES_MAX: usize = 6;

/// A rule, and the words that it was made of.
#[derive(Clone, Debug)]
pub(super) struct Ruled {
    pub(super) rule: PermissionRule,
    /// What it names; none if it names no command, or nothing that can be read.
    words: Option<Vec<String>>,
    /// Whether more may follow.
    open: bool,
}

impl Ruled {
    /// Whether it is for every command line.
    pub(super) fn is_bare(&self) -> bool {
        self.rule.command.is_none()
            && self.rule.path.is_none()
            && self.rule.arguments.is_empty()
            && ["shell", "*"].contains(&self.rule.tool.as_str())
    }

    /// Whether it is for a command, as far as its words go.
    pub(super) fn names(&self, words: &[String]) -> bool {
        let is_shell = ["shell", "*"].contains(&self.rule.tool.as_str());
        let named = self
            .words
            .as_ref()
            .is_some_and(|own| if self.open { words.starts_with(own) } else { words == own });
        is_shell && (named || self.is_bare())
    }

    /// Whether it is for exactly one command.
    pub(super) fn is_exact(&self) -> bool {
        self.words.is_some() && !self.open
    }
}

/// A call and what stands for and against it.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) made: Made,
    pub(super) rules: Vec<Ruled>,
    pub(super) mode: PermissionMode,
    pub(super) confines: bool,
    /// Whether more is typed into it later.
    pub(super) goes_on: bool,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?} in {:?}, walls {}", self.made, self.mode, self.confines)?;
        let mut rules = self.rules.iter();
        rules.try_for_each(|it| writeln!(f, "  {}", serde_json::to_string(&it.rule).unwrap()))
    }
}

impl Case {
    pub(super) fn new(numbers: &[u64]) -> Self {
        let tape = &mut Tape::new(numbers);
        let made = line(tape);
        let rules = (0..tape.below(RULES_MAX)).map(|_| ruled(tape, &made)).collect();
        let mode = match tape.below(6) {
            0 | 1 => PermissionMode::Ask,
            2 => PermissionMode::Auto,
            3 => PermissionMode::AcceptEdits,
            4 => PermissionMode::ReadOnly,
            _ => PermissionMode::Plan,
        };
        let (confines, goes_on) = (!tape.is_one_in(4), tape.is_one_in(6));
        Self { made, rules, mode, confines, goes_on }
    }

    pub(super) fn tool(&self) -> Tool<'static> {
        tool("shell", Does::Act).confining(self.confines)
    }

    pub(super) fn arguments(&self) -> String {
        self.arguments_of(&self.made.text)
    }

    pub(super) fn arguments_of(&self, text: &str) -> String {
        if self.goes_on {
            json!({ "command": text, "input": true }).to_string()
        } else {
            json!({ "command": text }).to_string()
        }
    }

    pub(super) fn permissions(&self) -> Permissions {
        let rules = self.rules.iter().map(|it| it.rule.clone()).collect();
        Permissions { mode: self.mode, rules, ..Permissions::default() }
    }

    /// The rules that allow.
    pub(super) fn allows(&self) -> impl Iterator<Item = &Ruled> {
        self.rules.iter().filter(|it| it.rule.effect == RuleEffect::Allow)
    }

    pub(super) fn verdict(&self, permissions: &Permissions) -> RuleEffect {
        permit(permissions, WORKSPACE, self.tool(), &self.arguments())
    }

    pub(super) fn is_free(&self, permissions: &Permissions) -> bool {
        runs_free(permissions, WORKSPACE, self.tool(), &self.arguments())
    }

    pub(super) fn is_look(&self, permissions: &Permissions) -> bool {
        is_look(permissions, WORKSPACE, self.tool(), &self.arguments())
    }
}

/// A rule, mostly about what the line does.
pub(super) fn ruled(tape: &mut Tape<'_>, made: &Made) -> Ruled {
    let known: Vec<&Vec<String>> = made.known().collect();
    let own = if known.is_empty() || tape.is_one_in(3) {
        command(tape)
    } else {
        known[tape.below(known.len())].clone()
    };
    let effect = tape.below(5);
    let effect = [RuleEffect::Allow, RuleEffect::Allow, RuleEffect::Allow, RuleEffect::Deny]
        .get(effect)
        .copied()
        .unwrap_or(RuleEffect::Ask);
    let mut ruled = about(&own, tape.below(8), effect);
    ruled.rule.confined = [None, None, None, Some(true), Some(false)][tape.below(5)];
    ruled.rule.tool = tape.one(&["shell", "shell", "shell", "*", "other"]).to_owned();
    if tape.is_one_in(12) {
        ruled.rule.path = Some(tape.one(&[".", "src", "src/**", "**/.env"]).to_owned());
    }
    if tape.is_one_in(12) {
        let form = tape.one(&["git .*", ".*", "(", "rm .*"]).to_owned();
        ruled.rule.arguments.insert("command".into(), form);
    }
    ruled
}

/// A rule about a command, in one of several ways.
pub(super) fn about(own: &[String], way: usize, effect: RuleEffect) -> Ruled {
    let (command, words, open) = match way {
        0 | 1 => (Pattern::exactly(own), Some(own.to_vec()), false),
        2 | 3 => (Pattern::program(own), Some(own[..1].to_vec()), true),
        4 => {
            let words = own.get(..2).unwrap_or(own);
            (Pattern::exactly(words).map(|it| it + " *"), Some(words.to_vec()), true)
        }
        5 => (Some("*".into()), Some(Vec::new()), true),
        6 => (Some("a $x".into()), None, false),
        _ => (None, None, false),
    };
    // What cannot be written as a rule names nothing.
    let (command, words) = match (command, way) {
        (None, 0..=4) => (Some("a $x".into()), None),
        (command, _) => (command, words),
    };
    let rule = PermissionRule { command, ..PermissionRule::of_tool("shell", effect) };
    Ruled { rule, words, open }
}
