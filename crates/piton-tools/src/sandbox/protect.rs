//! What programs outside the wall run or obey later, and no confined command changes: settings and hooks of git,
//! of editors and of shells, and instructions for agents.
//!
//! Names may have `*` for one directory of any name: repositories below a repository are as many as there are.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::looks::worktree::named_in;

mod named;

/// What is protected in a workspace, and in directories that were added to it.
const NAMES: [&str; 24] = [
    ".agents",
    ".claude",
    ".codex",
    ".cursor",
    ".envrc",
    ".gemini",
    ".git",
    ".git/commondir",
    ".git/config",
    ".git/config.worktree",
    ".git/hooks",
    ".git/info/attributes",
    ".git/worktrees/*/commondir",
    ".git/worktrees/*/config.worktree",
    ".git/worktrees/*/gitdir",
    ".mcp.json",
    ".opencode",
    ".piton",
    ".vscode",
    "AGENTS.md",
    "CLAUDE.local.md",
    "CLAUDE.md",
    "GEMINI.md",
    "QWEN.md",
];
/// What is protected in the repository of a submodule.
const OF_SUBMODULE: [&str; 5] =
    ["commondir", "config", "config.worktree", "hooks", "info/attributes"];
/// Where such repositories are: a name of a submodule may have slashes.
const SUBMODULES: [&str; 4] =
    [".git/modules/*", ".git/modules/*/*", ".git/modules/*/*/*", ".git/modules/*/*/*/*"];
/// What programs run or obey that work in the user's own directory, where that is a workspace.
const OF_USER: [&str; 17] = [
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".config/autostart",
    ".config/environment.d",
    ".config/fish",
    ".config/git",
    ".config/systemd",
    ".gitconfig",
    ".local/bin",
    ".npmrc",
    ".profile",
    ".xprofile",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];
/// Of those, what is a directory whose other files are nobody's concern: what counts is that it is no file or link.
const WAYS: [&str; 2] = [".git", ".vscode"];
/// The files of the second one.
const EDITOR: [&str; 2] = [".vscode/settings.json", ".vscode/tasks.json"];
/// What is protected in the repository of a worktree, wherever it lies.
const OF_REPOSITORY: [&str; 4] = ["config", "config.worktree", "hooks", "info/attributes"];
/// What says in a worktree's own place which repository it belongs to.
const OF_WORKTREE: [&str; 3] = ["commondir", "config.worktree", "gitdir"];
/// Most places that are found. A repository with more submodules is protected in part.
const FOUND_MAX: usize = 1_000;

/// What is protected below these places, and `more`: names below each of them, or whole places.
pub(super) fn places(roots: &[PathBuf], more: &[PathBuf], user: Option<&Path>) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for root in roots {
        if let Some(user) = user.filter(|user| user.starts_with(root)) {
            places.extend(OF_USER.map(|name| user.join(name)));
        }
        for submodule in SUBMODULES.map(|name| root.join(name)) {
            places.extend(OF_SUBMODULE.map(|name| submodule.join(name)));
        }
        let named = named::by_repository(root);
        places.extend(named.into_iter().filter(|place| place.starts_with(root)));
        // A whole place stays what it is.
        let names = NAMES.iter().chain(&EDITOR).map(Path::new);
        places.extend(names.chain(more.iter().map(PathBuf::as_path)).map(|name| root.join(name)));
        if let Some(own) = named_in(&root.join(".git"), "gitdir: ", root) {
            let common = named_in(&own.join("commondir"), "", &own);
            let common =
                common.into_iter().flat_map(|place| OF_REPOSITORY.map(|it| place.join(it)));
            places.extend(common.chain(OF_WORKTREE.map(|it| own.join(it))));
        }
    }
    // What is a link is another place as well: both count.
    let behind = |place: &PathBuf| place.canonicalize().ok().filter(|real| real != place);
    let real: Vec<_> = places.iter().filter_map(behind).collect();
    places.extend(real);
    places.sort();
    places.dedup();
    places
}

/// What of these places is there, by name. Directories that only lead to others are left out.
pub(crate) fn found(places: &[PathBuf]) -> Vec<PathBuf> {
    // What is named as it is comes first: many others leave no room for the rest.
    let (starred, exact): (Vec<_>, Vec<_>) = places.iter().partition(|place| has_star(place));
    let mut found: Vec<_> = exact.into_iter().cloned().collect();
    found.extend(starred.into_iter().flat_map(|place| expand(place)));
    found.retain(|place| {
        let kind = place.symlink_metadata();
        kind.is_ok_and(|kind| !(is_way(place) && kind.is_dir()))
    });
    found.truncate(FOUND_MAX);
    found.sort();
    found.dedup();
    found
}

/// Whether a place stands for several.
pub(crate) fn has_star(place: &Path) -> bool {
    place.components().any(|part| part == Component::Normal("*".as_ref()))
}

/// Whether a place, as a directory, only leads to others: what else is in it is nobody's concern.
pub(crate) fn is_way(place: &Path) -> bool {
    WAYS.iter().any(|way| place.ends_with(way))
}

/// All names that a place with stars stands for. Whether they are there is another question.
pub(crate) fn expand(place: &Path) -> Vec<PathBuf> {
    let mut open = vec![PathBuf::new()];
    for part in place.components() {
        if part != Component::Normal("*".as_ref()) {
            for place in &mut open {
                place.push(part);
            }
            continue;
        }
        let entries = open.iter().flat_map(|it| fs::read_dir(it).into_iter().flatten().flatten());
        let directories = entries.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir()));
        open = directories.take(FOUND_MAX).map(|entry| entry.path()).collect();
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(root: &Path, more: &[&str]) -> String {
        let more: Vec<_> = more.iter().map(PathBuf::from).collect();
        let found = found(&places(&[root.to_owned()], &more, None));
        let name = |path: &PathBuf| path.strip_prefix(root).unwrap().display().to_string();
        found.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_others_obey_is_found_where_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        assert_eq!(names(&root, &[]), "");
        for place in [".git/hooks", ".git/modules/a/hooks", ".git/modules/b", ".vscode", "x"] {
            fs::create_dir_all(root.join(place)).unwrap();
        }
        for file in
            [".git/config", ".git/modules/b/config", ".vscode/tasks.json", ".vscode/x", "own"]
        {
            fs::write(root.join(file), "").unwrap();
        }
        assert_eq!(
            names(&root, &["own"]),
            ".git/config .git/hooks .git/modules/a/hooks .git/modules/b/config .vscode/tasks.json own"
        );
    }

    #[test]
    fn a_worktree_protects_what_its_repository_obeys() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (work, own) = (root.join("work"), root.join("main/.git/worktrees/work"));
        fs::create_dir_all(&own).unwrap();
        fs::create_dir(&work).unwrap();
        fs::write(work.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(root.join("main/.git/config"), "").unwrap();
        let found = found(&places(std::slice::from_ref(&work), &[], None));
        assert_eq!(
            found,
            [root.join("main/.git/config"), own.join("commondir"), work.join(".git")]
        );
    }
}
