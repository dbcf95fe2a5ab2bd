//! Files of a workspace that others name, and that are obeyed from then on: directories of hooks, included settings,
//! the files that say where the repositories of submodules are, and what instructions name.
//!
//! A place counts before anything is there: what is made there later is obeyed as well.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::git_config::{Setting, parse};
use super::reading::read;
use super::repository::GIT;
use super::settings::{Settings, from};
use crate::contract::real_path::{Lead, real};

/// Most of a file with instructions that is read, in bytes.
const INSTRUCTIONS_BYTES_MAX: u64 = 1024 * 1024;
/// Most of `.gitmodules` that is read, in bytes.
const MODULES_BYTES_MAX: u64 = 1024 * 1024;
/// Most places that instructions or `.gitmodules` name.
const NAMED_MAX: usize = 1_000;
/// Instructions that may name others.
const INSTRUCTIONS: [&str; 6] =
    [".claude/CLAUDE.md", "AGENTS.md", "CLAUDE.local.md", "CLAUDE.md", "GEMINI.md", "QWEN.md"];
/// What ends a sentence or a bracket, and no path.
const BEHIND_NAMES: &[char] =
    &['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '*', '_', '`', '>'];
/// What may stand in front of a name.
const BEFORE_NAMES: &[char] = &['(', '[', '{', '"', '\'', '*', '_', '`', '<', ':'];
/// Settings of git in a user's own directory.
const OF_USER: [&str; 2] = [".config/git/config", ".gitconfig"];
/// Settings of git for the whole machine.
const OF_MACHINE: &str = "/etc/gitconfig";
/// Variables that say where git's settings are: a directory with those of the user, and a file.
const VARIABLES: [(&str, &str); 2] = [("XDG_CONFIG_HOME", "git/config"), ("GIT_CONFIG_GLOBAL", "")];

/// What the settings of a workspace's repositories name, its instructions, and the user's own settings of git.
pub(super) fn by_workspace(root: &Path, user: Option<&Path>, settings: &[PathBuf]) -> Vec<PathBuf> {
    let files = settings_of_user(user);
    let files = files.iter().chain(settings);
    let mut named: Vec<_> = files.flat_map(|file| by_settings(file, root, user)).collect();
    let modules = read(&root.join(".gitmodules"), MODULES_BYTES_MAX).unwrap_or_default();
    let modules = parse(&modules).into_iter().filter(|it| it.is("submodule", "path"));
    let modules = modules.filter_map(|it| it.path()).take(NAMED_MAX);
    named.extend(modules.map(|path| root.join(path).join(GIT)));
    named.extend(by_instructions(root, user));
    let leads = named.iter().flat_map(|place| {
        let Lead { place, links } = Lead::of(place);
        links.into_iter().chain([place])
    });
    let places: BTreeSet<_> = leads.filter(|place| !root.starts_with(place)).collect();
    places.into_iter().collect()
}

/// The files with a user's settings of git, and those of the machine.
fn settings_of_user(user: Option<&Path>) -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from(OF_MACHINE)];
    files.extend(OF_USER.iter().filter_map(|name| user.map(|user| user.join(name))));
    for (variable, name) in VARIABLES {
        let place = std::env::var_os(variable).map(PathBuf::from);
        let place = place.filter(|place| place.is_absolute());
        files.extend(place.map(|place| if name.is_empty() { place } else { place.join(name) }));
    }
    files
}

/// What a file of settings names: hooks and included settings.
fn by_settings(file: &Path, root: &Path, user: Option<&Path>) -> Vec<PathBuf> {
    let settings = Settings::read(file, user);
    // Hooks are named from the directory on that git works for: that of a submodule is named itself.
    let beside = file.parent().unwrap_or(root);
    let worktrees = settings.all.iter().filter(|it| it.is("core", "worktree"));
    let worktrees = worktrees.filter_map(Setting::path).map(|path| beside.join(path));
    let bases: Vec<_> = worktrees.chain([root.to_owned()]).collect();
    let hooks: Vec<_> = settings.paths("core", "hookspath").collect();
    let hooks = bases.iter().flat_map(|base| hooks.iter().map(|path| from(base, path, user)));
    hooks.chain(settings.included.iter().cloned()).collect()
}

/// Files that instructions name with an `@`, and those that these name.
fn by_instructions(root: &Path, user: Option<&Path>) -> Vec<PathBuf> {
    let mut named: Vec<_> = INSTRUCTIONS.map(|name| root.join(name)).into();
    let mut seen: BTreeSet<_> = named.iter().map(|place| real(place)).collect();
    let mut looked = 0;
    while let Some(file) = named.get(looked).filter(|_| named.len() < NAMED_MAX) {
        let bytes = read(file, INSTRUCTIONS_BYTES_MAX).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let directory = file.parent().unwrap_or(root).to_owned();
        for (before, name) in text.split_whitespace().filter_map(|word| word.split_once('@')) {
            let name = name.trim_end_matches(BEHIND_NAMES);
            let place = from(&directory, Path::new(name), user);
            // A command may make what is not there. In an address there is a word in front.
            let is_missing = || {
                let is_name = before.chars().all(|letter| BEFORE_NAMES.contains(&letter));
                is_name && !name.is_empty() && fs::metadata(&place).is_err()
            };
            if (place.is_file() || is_missing()) && seen.insert(real(&place)) {
                named.push(place);
            }
        }
        looked += 1;
    }
    named.split_off(INSTRUCTIONS.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Site {
        _directory: tempfile::TempDir,
        root: PathBuf,
    }

    impl Site {
        fn new(files: &[(&str, &str)]) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path().canonicalize().unwrap();
            for (name, text) in files {
                let file = root.join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            Self { _directory: directory, root }
        }

        /// What is named in the workspace `work`, whose user has the directory around it.
        fn named(&self) -> Vec<String> {
            let work = self.root.join("work");
            let named = by_workspace(&work, Some(&self.root), &[work.join(".git/config")]);
            let name =
                |it: &PathBuf| it.strip_prefix(&self.root).unwrap_or(it).display().to_string();
            named.iter().map(name).collect()
        }
    }

    #[test]
    fn hooks_included_settings_and_submodules_are_named() {
        let site = Site::new(&[
            (
                "work/.git/config",
                "[core] hooksPath = .husky/_ # ours\n[include]\n\tpath = \"../shared.cfg\"\n\tpath = /etc/x\n",
            ),
            ("work/shared.cfg", "[includeIf \"onbranch:x\"] path = ~/work/deep.cfg ; more\n"),
            ("work/.gitmodules", "[submodule \"a\"]\n\tpath = lib/a\n\turl = x\n"),
        ]);
        assert_eq!(
            site.named(),
            ["/etc/x", "work/.husky/_", "work/deep.cfg", "work/lib/a/.git", "work/shared.cfg"]
        );
    }

    #[test]
    fn hooks_of_a_submodule_are_named_from_its_own_directory() {
        let site = Site::new(&[(
            "work/.git/config",
            "[core]\n\tworktree = ../../work/lib\n\thooksPath = own\n",
        )]);
        assert_eq!(site.named(), ["work/lib/own", "work/own"]);
    }

    #[test]
    fn what_instructions_name_is_named_and_what_that_names() {
        let site = Site::new(&[
            ("work/AGENTS.md", "Read @docs/style.md, (@none.md), @docs and mail me@x.org.\n"),
            ("work/docs/style.md", "See @deep/more.md and @../AGENTS.md or @~/work/own.md.\n"),
            ("work/docs/deep/more.md", "x\n"),
            ("work/.claude/CLAUDE.md", "And \"@../notes.md\".\n"),
        ]);
        let wanted = ["docs/deep/more.md", "docs/style.md", "none.md", "notes.md", "own.md"];
        assert_eq!(site.named(), wanted.map(|name| format!("work/{name}")));
    }

    #[test]
    fn a_link_on_the_way_counts_and_what_it_leads_to() {
        let site = Site::new(&[("work/AGENTS.md", "@docs/l/s.md"), ("work/real/s.md", "")]);
        fs::create_dir(site.root.join("work/docs")).unwrap();
        std::os::unix::fs::symlink("../real", site.root.join("work/docs/l")).unwrap();
        assert_eq!(site.named(), ["work/docs/l", "work/real/s.md"]);
    }

    #[test]
    fn what_the_users_own_settings_name_is_named() {
        let site = Site::new(&[
            (".gitconfig", "[core]\n\thooksPath = .githooks\n"),
            (".config/git/config", "[include] path = ~/work/shared.cfg\n"),
        ]);
        assert_eq!(site.named(), ["work/.githooks", "work/shared.cfg"]);
    }
}
