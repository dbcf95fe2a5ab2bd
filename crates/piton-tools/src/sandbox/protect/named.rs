//! Files of a workspace that its repository names, and that git obeys from then on: directories of hooks, included
//! settings, and the files that say where the repositories of submodules are.
//!
//! Settings are read roughly: a name too many is protected, no more.

use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

/// Most of a file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 256 * 1024;
/// Most places that are named.
const NAMED_MAX: usize = 64;

/// What the repository at `root` names.
pub(super) fn by_repository(root: &Path) -> Vec<PathBuf> {
    let repository = root.join(".git");
    let settings = read(&repository.join("config"));
    // Hooks are named from the workspace on, and settings from the file on that includes them.
    let hooks = values(&settings, "hookspath").map(|value| root.join(value));
    let included = values(&settings, "path").map(|value| repository.join(value));
    let modules = read(&root.join(".gitmodules"));
    let submodules = values(&modules, "path").map(|value| root.join(value).join(".git"));
    let named = hooks.chain(included).chain(submodules).map(|place| plain(&place));
    named.filter(|place| place != root).take(NAMED_MAX).collect()
}

fn read(file: &Path) -> String {
    let mut bytes = Vec::new();
    // Neither a link nor a pipe, which would never end.
    if file.symlink_metadata().is_ok_and(|it| it.is_file())
        && let Ok(file) = File::open(file)
    {
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).unwrap_or_default();
    }
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
        let named = by_repository(root);
        let wanted = [".husky/_", "shared.cfg"].map(|name| root.join(name));
        assert!(wanted.iter().all(|place| named.contains(place)), "{named:?}");
        assert!(named.contains(&root.join("lib/a/.git")) && named.contains(&"/etc/x".into()));
        assert!(by_repository(&root.join("none")).is_empty());
    }
}
