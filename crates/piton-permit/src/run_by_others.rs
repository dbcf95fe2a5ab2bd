//! Files by which a program is made to run others although nobody names them to it.
//!
//! `git status` runs what the configuration of a repository says. A repository need not be called
//! `.git`: any directory with the right files is one as soon as git runs in it, or is told of it.
//! Knows names only, so any file with such a name counts. A directory is a repository of git only
//! with a `HEAD`, and that name counts too: so the last file that makes a repository is noticed.

use super::path::folded;

/// Directories of programs that keep versions.
const DIRECTORIES: [&str; 5] = [".git", ".hg", ".jj", ".sl", "git~1"];

/// What shells, editors and agents run or obey, wherever it lies; some of it is a directory.
const OBEYED: [&str; 14] = [
    ".agents",
    ".claude",
    ".codex",
    ".cursor",
    ".envrc",
    ".gemini",
    ".mcp.json",
    ".opencode",
    ".piton",
    "agents.md",
    "claude.local.md",
    "claude.md",
    "gemini.md",
    "qwen.md",
];

/// What an editor runs, in the directory of its settings.
const EDITOR: [&str; 2] = ["settings.json", "tasks.json"];

/// What makes a directory one of git's, and what git takes orders from.
const FILES: [&str; 6] =
    [".gitconfig", "commondir", "config", "config.worktree", "git-rebase-todo", "head"];

/// Programs that git runs by their name, in whichever directory its configuration names.
const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Whether a path without detours may be such a file.
pub(super) fn is_one(path: &str) -> bool {
    let names: Vec<String> = path.split('/').map(plainest).collect();
    let known = |names: &[&str], name: &String| names.contains(&name.as_str());
    let is_in = |part: &[String]| {
        let [directory, file] = part else { return false };
        directory == ".vscode" && known(&EDITOR, file)
    };
    names.iter().any(|name| known(&DIRECTORIES, name) || known(&OBEYED, name))
        || names.windows(2).any(is_in)
        || names.last().is_some_and(|file| known(&FILES, file) || known(&HOOKS, file))
}

/// The name that some file system takes this one for: without capital letters, letters that cannot
/// be seen, dots and blanks at its end, and what stands behind a colon.
fn plainest(name: &str) -> String {
    let name = name.split(':').next().unwrap_or(name);
    let seen = name.chars().filter(|letter| letter.is_ascii() || letter.is_alphanumeric());
    let seen: String = seen.collect();
    folded(seen.trim_end_matches(['.', ' ']))
}
