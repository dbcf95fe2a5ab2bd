//! What the arguments of a tool mean to rules, as the tool declares.

use super::argument::compiled;
use super::command::{Matcher, Pattern};
use crate::rule::PermissionRule;
use crate::tool::{Alike, ArgumentRole, Tool};

/// The argument that has a command line, in tools that do not declare one.
const COMMAND: &str = "command";
/// The argument that has a path, in tools that do not declare one.
const PATH: &str = "path";
/// The argument that says where a command line runs, in tools that do not declare one.
const DIRECTORY: &str = "dir";

/// What a tool does with its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Runs a command line.
    Commands,
    /// Types a text into a command that runs.
    Typing,
    /// Works on paths, and on nothing else.
    Paths,
    /// Works neither on paths nor on commands.
    Pathless,
    /// Nothing is declared: any text may be a path or a command line.
    Unknown,
}

/// The roles of a tool's arguments, by the names of the arguments.
#[derive(Clone, Debug)]
pub(super) struct Roles<'a> {
    pub(super) tool: &'a str,
    pub(super) kind: Kind,
    /// Has a command line, or what is typed into one.
    pub(super) written: &'a str,
    /// Says where a command line runs.
    pub(super) directory: &'a str,
    /// Have paths.
    pub(super) paths: Vec<&'a str>,
    /// Have patches, which name paths.
    pub(super) patches: Vec<&'a str>,
    /// Have paths that the tool does not confine to the workspace by itself, or addresses.
    leading_out: Vec<&'a str>,
    /// Have addresses.
    pub(super) addresses: Vec<&'a str>,
    /// Says which openings in the wall a call asks for.
    pub(super) needs: Option<&'a str>,
    /// Whether the tool says all that.
    pub(super) is_declared: bool,
    /// The name under which rules of this tool speak of its command line.
    ruled: &'a str,
    alike: Alike<'a>,
}

impl<'a> Roles<'a> {
    /// Of a tool.
    pub(super) fn of(tool: &Tool<'a>) -> Self {
        let having = |role: ArgumentRole| {
            let all = tool.roles.iter().filter(move |(_, other)| *other == role);
            all.map(|(name, _)| *name)
        };
        let line = having(ArgumentRole::CommandLine).next();
        let typed = having(ArgumentRole::CommandInput).next();
        let free = having(ArgumentRole::Path);
        let paths: Vec<_> = free.clone().chain(having(ArgumentRole::WorkspacePath)).collect();
        let patches: Vec<_> = having(ArgumentRole::Patch).collect();
        let kind = match (line, typed) {
            _ if tool.roles.is_empty() => Kind::Unknown,
            // A role of a newer version: nothing is known of it.
            _ if having(ArgumentRole::Unknown).next().is_some() => Kind::Unknown,
            (Some(_), _) => Kind::Commands,
            (None, Some(_)) => Kind::Typing,
            (None, None) if paths.is_empty() && patches.is_empty() => Kind::Pathless,
            (None, None) => Kind::Paths,
        };
        Self {
            tool: tool.name,
            kind,
            written: line.or(typed).unwrap_or(COMMAND),
            directory: having(ArgumentRole::Directory).next().unwrap_or(DIRECTORY),
            paths: if paths.is_empty() { vec![PATH] } else { paths },
            patches,
            leading_out: free.chain(having(ArgumentRole::Address)).collect(),
            addresses: having(ArgumentRole::Address).collect(),
            needs: having(ArgumentRole::Needs).next(),
            is_declared: !tool.roles.is_empty(),
            ruled: line.unwrap_or(COMMAND),
            alike: tool.alike,
        }
    }

    /// The argument that says where the tool works.
    pub(super) fn place(&self) -> &'a str {
        match self.kind {
            Kind::Commands => self.directory,
            Kind::Typing | Kind::Paths | Kind::Pathless | Kind::Unknown => {
                self.paths.first().copied().unwrap_or(PATH)
            }
        }
    }

    /// Whether a path in this argument may lead anywhere, or an address does.
    pub(super) fn may_lead_out(&self, argument: &str) -> bool {
        self.leading_out.contains(&argument)
    }

    /// Whether this argument has a path.
    pub(super) fn is_path(&self, argument: &str) -> bool {
        self.paths.contains(&argument)
    }

    /// Whether a rule for the shell is held against a tool of another name: it runs command lines, or
    /// types into them. What is not to be run there is not to be run here either. In the same way a
    /// rule for a tool that changes one file is held against one that takes patches.
    pub(super) fn borrows(&self, rule: &PermissionRule) -> bool {
        let runs = matches!(self.kind, Kind::Commands | Kind::Typing);
        let as_shell = rule.tool == self.alike.shell && rule.tool != self.tool && runs;
        as_shell || self.borrows_edits(rule)
    }

    /// Whether a rule for a tool that changes one file is held against this one.
    pub(super) fn borrows_edits(&self, rule: &PermissionRule) -> bool {
        let is_edit = self.alike.edits.contains(&rule.tool.as_str());
        is_edit && rule.tool != self.tool && !self.patches.is_empty()
    }

    /// Whether a rule speaks of the command line of this tool by this name.
    pub(super) fn is_ruled(&self, rule: &PermissionRule, argument: &str) -> bool {
        // A rule for several tools cannot know what each of them calls its command line.
        argument == self.ruled || rule.tool != self.tool && argument == COMMAND
    }

    fn form<'r>(&self, rule: &'r PermissionRule) -> Option<&'r String> {
        let mut forms = rule.arguments.iter().filter(|(name, _)| self.is_ruled(rule, name));
        forms.next().map(|(_, form)| form)
    }

    /// Whether a rule is about some commands only.
    pub(super) fn says_commands(&self, rule: &PermissionRule) -> bool {
        rule.command.is_some() || self.form(rule).is_some()
    }

    /// What a rule says of commands; `None` if nobody knows what was meant by it.
    pub(super) fn matcher(&self, rule: &PermissionRule) -> Option<Matcher> {
        let words = match &rule.command {
            Some(command) => Some(Pattern::read(command)?),
            None => None,
        };
        let form = match self.form(rule) {
            Some(pattern) => Some(compiled(pattern, rule.effect).ok()?),
            None => None,
        };
        Some(Matcher::new(words, form))
    }
}

/// Whether a rule is for the tool of this name.
pub(super) fn is_named(rule: &PermissionRule, tool: &str) -> bool {
    rule.tool == tool || rule.tool == "*"
}
