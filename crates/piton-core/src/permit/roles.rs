//! What the arguments of a tool mean to rules: as its spec declares, or by its name if it declares
//! nothing.
//!
//! Specs in journals of older versions declare nothing. For those the names of the tools of that time
//! decide, so that a stored conversation is decided as it was then.

use super::argument::compiled;
use super::command::{Matcher, Pattern};
use crate::event::{ArgumentRole, PermissionRule, ToolSpec};

/// The tool that runs command lines. Its rules that forbid hold for every tool that declares a command
/// line.
pub const SHELL: &str = "shell";
/// The tool that writes to what a command reads, which may be a shell.
const SHELL_INPUT: &str = "shell_write";
/// The tools that change one file. Their rules that forbid hold for every tool that takes a patch.
const CHANGING: [&str; 2] = ["edit_file", "write_file"];
/// The argument that has a command line, in tools that do not declare one.
const COMMAND: &str = "command";
/// The argument that has a path, in tools that do not declare one.
const PATH: &str = "path";
/// The argument that says where a command line runs, in tools that do not declare one.
const DIRECTORY: &str = "dir";
/// The argument that is typed into a command, in the tool of old that does this.
const TYPED: &str = "text";

/// Tools of old that work on `path` and on nothing else.
const FILE_TOOLS: [&str; 6] = ["edit_file", "glob", "grep", "list_dir", "read_file", "write_file"];
/// Tools of old whose texts are for people, models or a terminal.
const PATHLESS_TOOLS: [&str; 4] = ["ask_user", "delegate", "shell_stop", "shell_wait"];

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
    /// Whether the spec says all that, and not the name of the tool.
    pub(super) is_declared: bool,
    /// The name under which rules of this tool speak of its command line.
    ruled: &'a str,
}

impl<'a> Roles<'a> {
    /// Of a tool.
    pub(super) fn of(tool: &'a ToolSpec) -> Self {
        if tool.roles.is_empty() { Self::by_name(&tool.name) } else { Self::declared(tool) }
    }

    fn by_name(tool: &'a str) -> Self {
        let kind = match tool {
            SHELL => Kind::Commands,
            SHELL_INPUT => Kind::Typing,
            _ if FILE_TOOLS.contains(&tool) => Kind::Paths,
            _ if PATHLESS_TOOLS.contains(&tool) => Kind::Pathless,
            _ => Kind::Unknown,
        };
        Self {
            tool,
            kind,
            written: if kind == Kind::Typing { TYPED } else { COMMAND },
            directory: DIRECTORY,
            paths: vec![PATH],
            patches: Vec::new(),
            leading_out: Vec::new(),
            addresses: Vec::new(),
            is_declared: false,
            ruled: COMMAND,
        }
    }

    fn declared(tool: &'a ToolSpec) -> Self {
        let having = |role: ArgumentRole| {
            let all = tool.roles.iter().filter(move |(_, other)| **other == role);
            all.map(|(name, _)| name.as_str())
        };
        let line = having(ArgumentRole::CommandLine).next();
        let typed = having(ArgumentRole::CommandInput).next();
        let free = having(ArgumentRole::Path);
        let paths: Vec<_> = free.clone().chain(having(ArgumentRole::WorkspacePath)).collect();
        let patches: Vec<_> = having(ArgumentRole::Patch).collect();
        let kind = match (line, typed) {
            // A role of a newer version: nothing is known of it.
            _ if having(ArgumentRole::Unknown).next().is_some() => Kind::Unknown,
            (Some(_), _) => Kind::Commands,
            (None, Some(_)) => Kind::Typing,
            (None, None) if paths.is_empty() && patches.is_empty() => Kind::Pathless,
            (None, None) => Kind::Paths,
        };
        Self {
            tool: &tool.name,
            kind,
            written: line.or(typed).unwrap_or(COMMAND),
            directory: having(ArgumentRole::Directory).next().unwrap_or(DIRECTORY),
            paths: if paths.is_empty() { vec![PATH] } else { paths },
            patches,
            leading_out: free.chain(having(ArgumentRole::Address)).collect(),
            addresses: having(ArgumentRole::Address).collect(),
            is_declared: true,
            ruled: line.unwrap_or(COMMAND),
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
        let as_shell = rule.tool == SHELL && self.tool != SHELL && runs;
        as_shell || self.borrows_edits(rule)
    }

    /// Whether a rule for a tool that changes one file is held against this one.
    pub(super) fn borrows_edits(&self, rule: &PermissionRule) -> bool {
        CHANGING.contains(&rule.tool.as_str()) && rule.tool != self.tool && !self.patches.is_empty()
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
