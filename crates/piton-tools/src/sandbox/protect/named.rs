//! Files of a workspace that others name, and that are obeyed from then on: directories of hooks, included settings,
//! the files that say where the repositories of submodules are, and what instructions name.
//!
//! All is read roughly: a name too many is protected, no more.

use std::path::{Component, Path, PathBuf};

use super::reading::read;

/// Most of a file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 256 * 1024;
/// Most places that are named.
const NAMED_MAX: usize = 1_000;
/// Instructions that may name others.
const INSTRUCTIONS: [&str; 5] =
    ["AGENTS.md", "CLAUDE.local.md", "CLAUDE.md", "GEMINI.md", "QWEN.md"];
/// What ends a sentence or a bracket, and no path.
const BEHIND_NAMES: &[char] =
    &['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '*', '_', '`', '>'];
/// Settings of git in a user's own directory.
const OF_USER: [&str; 2] = [".config/git/config", ".gitconfig"];

/// What the repository of a workspace names, its instructions, and the user's own settings of git.
pub(super) fn by_workspace(root: &Path, user: Option<&Path>) -> Vec<PathBuf> {
    let repository = root.join(".git");
    let settings = text_of(&repository.join("config"));
    let own = OF_USER.iter().filter_map(|name| user.map(|user| text_of(&user.join(name))));
    let own: Vec<_> = own.collect();
    // Hooks are named from the workspace on, and settings from the file on that includes them.
    let hooks = own.iter().chain([&settings]).flat_map(|text| values(text, "hookspath"));
    let hooks = hooks.map(|value| root.join(value));
    let included = values(&settings, "path").map(|value| repository.join(value));
    let modules = text_of(&root.join(".gitmodules"));
    let submodules = values(&modules, "path").map(|value| root.join(value).join(".git"));
    let named = hooks.chain(included).chain(submodules).map(|place| plain(&place));
    let named = named.chain(by_instructions(root));
    named.filter(|place| !root.starts_with(place)).take(NAMED_MAX).collect()
}

/// Files that instructions name with an `@`, and those that these name.
fn by_instructions(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = INSTRUCTIONS.map(|name| root.join(name)).into();
    let mut looked = 0;
    while let Some(file) = found.get(looked).filter(|_| found.len() < NAMED_MAX) {
        let text = text_of(file);
        let directory = file.parent().unwrap_or(root);
        let words = text.split_whitespace().filter_map(|word| word.split_once('@'));
        let names = words.map(|(_, name)| name.trim_end_matches(BEHIND_NAMES));
        let places = names.map(|name| plain(&directory.join(name))).filter(|it| it.is_file());
        let new: Vec<_> = places.filter(|place| !found.contains(place)).collect();
        found.extend(new);
        looked += 1;
    }
    found.split_off(INSTRUCTIONS.len())
}

fn text_of(file: &Path) -> String {
    let bytes = read(file, FILE_BYTES_MAX).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The values of a setting, in whatever section.
fn values<'a>(settings: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    let pairs = settings.lines().filter_map(|line| line.split_once('='));
    let named = pairs.filter(move |(name, _)| name.trim().eq_ignore_ascii_case(key));
    named.map(|(_, value)| value.trim().trim_matches('"')).filter(|value| !value.is_empty())
}

/// A path without detours.
fn plain(place: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in place.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn hooks_included_settings_and_submodules_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(
            root.join(".git/config"),
            "[core]\n\thooksPath = .husky/_\n[include]\n\tpath = \"../shared.cfg\"\n\tpath = /etc/x\n",
        )
        .unwrap();
        fs::write(root.join(".gitmodules"), "[submodule \"a\"]\n\tpath = lib/a\n\turl = x\n")
            .unwrap();
        let named = by_workspace(root, None);
        let wanted = [".husky/_", "shared.cfg"].map(|name| root.join(name));
        assert!(wanted.iter().all(|place| named.contains(place)), "{named:?}");
        assert!(named.contains(&root.join("lib/a/.git")) && named.contains(&"/etc/x".into()));
        assert!(by_workspace(&root.join("none"), None).is_empty());
    }

    #[test]
    fn what_instructions_name_is_named_and_what_that_names() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("docs/deep")).unwrap();
        fs::write(root.join("AGENTS.md"), "Read @docs/style.md, (@none.md) and mail me@x.org.\n")
            .unwrap();
        fs::write(root.join("docs/style.md"), "See @deep/more.md and @../AGENTS.md.\n").unwrap();
        fs::write(root.join("docs/deep/more.md"), "x\n").unwrap();
        let wanted = ["docs/style.md", "docs/deep/more.md"].map(|name| root.join(name));
        assert_eq!(by_workspace(root, None), wanted);
    }

    #[test]
    fn hooks_that_the_users_own_settings_name_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let (root, user) = (directory.path().join("work"), directory.path());
        fs::write(user.join(".gitconfig"), "[core]\n\thooksPath = .githooks\n").unwrap();
        assert_eq!(by_workspace(&root, Some(user)), [root.join(".githooks")]);
    }
}
