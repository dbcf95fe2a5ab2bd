//! Files by which a program is made to run others although nobody names them to it, or by which an agent is told
//! what to do.
//!
//! `git status` runs what the configuration of a repository says. A repository need not be called
//! `.git`: any directory with the right files is one as soon as git runs in it, or is told of it.
//! Knows names only, so any file with such a name counts. A directory is a repository of git only
//! with a `HEAD`, and that name counts too: so the last file that makes a repository is noticed.
//!
//! The one list of such names: the sandbox protects the same ones.

use std::path::{Component, Path};

use super::path::folded;

/// What shells, editors and agents run or obey, wherever it lies; some of it is a directory.
pub const OBEYED: [&str; 20] = [
    ".agents",
    ".claude",
    ".codex",
    ".cursor",
    ".envrc",
    ".gemini",
    ".hg/hgrc",
    ".hg/hgrc-not-shared",
    ".jj/repo/config.toml",
    ".mcp.json",
    ".opencode",
    ".piton",
    ".sl/config",
    ".vscode/settings.json",
    ".vscode/tasks.json",
    "AGENTS.md",
    "CLAUDE.local.md",
    "CLAUDE.md",
    "GEMINI.md",
    "QWEN.md",
];

/// What programs run or obey in a user's own directory.
pub const OF_USER: [&str; 75] = [
    ".bash_aliases",
    ".bash_completion",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".config/Code/User",
    ".config/Cursor/User",
    ".config/VSCodium/User",
    ".config/autostart",
    ".config/direnv",
    ".config/emacs",
    ".config/environment.d",
    ".config/fish",
    ".config/gdb",
    ".config/git",
    ".config/helix",
    ".config/hypr",
    ".config/i3",
    ".config/kitty",
    ".config/nvim",
    ".config/plasma-workspace",
    ".config/sway",
    ".config/systemd",
    ".config/tmux",
    ".config/zed",
    ".config/zsh",
    ".cshrc",
    ".emacs",
    ".emacs.d",
    ".emacs.el",
    ".exrc",
    ".gdbinit",
    ".gitconfig",
    ".gvimrc",
    ".i3",
    ".inputrc",
    ".kshrc",
    ".lldbinit",
    ".local/bin",
    ".local/share/applications",
    ".local/share/bash-completion",
    ".local/share/dbus-1",
    ".local/share/nvim",
    ".local/share/systemd",
    ".login",
    ".nanorc",
    ".npmrc",
    ".nvm",
    ".oh-my-zsh",
    ".pam_environment",
    ".profile",
    ".pyenv/shims",
    ".screenrc",
    ".tcshrc",
    ".tmux.conf",
    ".vim",
    ".vimrc",
    ".vscode-server",
    ".xinitrc",
    ".xprofile",
    ".xserverrc",
    ".xsession",
    ".xsessionrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "bin",
    "go/bin",
];

/// Directories of programs that keep versions.
const DIRECTORIES: [&str; 5] = [".git", ".hg", ".jj", ".sl", "git~1"];

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
pub fn is_one(path: &str) -> bool {
    let names: Vec<String> = path.split('/').map(plainest).collect();
    let known = |names: &[&str], name: &String| names.contains(&name.as_str());
    OBEYED.iter().any(|obeyed| leads_through(&names, obeyed))
        || names.iter().any(|name| known(&DIRECTORIES, name))
        || names.last().is_some_and(|file| known(&FILES, file) || known(&HOOKS, file))
}

/// Whether the names of `place` stand somewhere in a path, one behind the other.
fn leads_through(path: &[String], place: &str) -> bool {
    let parts = place.split('/').count();
    let is_it = |names: &[String]| {
        names.iter().zip(place.split('/')).all(|(name, part)| name.eq_ignore_ascii_case(part))
    };
    path.windows(parts).any(is_it)
}

/// Whether a place is one that a name stands for, or lies below one. In the name `*` is one directory of any name,
/// and `**` any number of them.
pub fn stands_for(name: &Path, place: &Path) -> bool {
    let names: Vec<_> = name.components().collect();
    let places: Vec<_> = place.components().collect();
    holds(&names, &places)
}

fn holds(names: &[Component<'_>], places: &[Component<'_>]) -> bool {
    let Some((first, rest)) = names.split_first() else { return true };
    if *first == Component::Normal("**".as_ref()) {
        return (0..=places.len()).any(|passed| holds(rest, places.get(passed..).unwrap_or(&[])));
    }
    let is_any = *first == Component::Normal("*".as_ref());
    places
        .split_first()
        .is_some_and(|(place, left)| (is_any || place == first) && holds(rest, left))
}

/// The name that some file system takes this one for: without capital letters, letters that cannot
/// be seen, dots and blanks at its end, and what stands behind a colon.
fn plainest(name: &str) -> String {
    let name = name.split(':').next().unwrap_or(name);
    let seen = name.chars().filter(|letter| letter.is_ascii() || letter.is_alphanumeric());
    let seen: String = seen.collect();
    folded(seen.trim_end_matches(['.', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_stars_stands_for_places_and_what_is_below_them() {
        let cases = [
            ("/w/own", "/w/own", true),
            ("/w/own", "/w/own/a", true),
            ("/w/own", "/w/owner", false),
            ("/w/*/own", "/w/a/own", true),
            ("/w/*/own", "/w/a/b/own", false),
            ("/w/**/own", "/w/own", true),
            ("/w/**/own", "/w/a/b/own/c", true),
            ("/w/**/own", "/x/a/own", false),
            ("/w/*", "/w", false),
        ];
        for (name, place, expected) in cases {
            assert_eq!(stands_for(Path::new(name), Path::new(place)), expected, "{name} {place}");
        }
    }
}
