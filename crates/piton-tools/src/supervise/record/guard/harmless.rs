//! What is new at a protected place and asks nothing of anybody: settings that git itself writes into every new
//! repository, and what was set aside before.

use std::path::Path;

use super::restore::is_aside;
use super::scene::{Content, Difference, Thing};

/// What `git init` writes, without the values, which are yes, no or a number.
const NAMES: [&str; 7] = [
    "repositoryformatversion",
    "filemode",
    "bare",
    "logallrefupdates",
    "ignorecase",
    "precomposeunicode",
    "symlinks",
];
/// What the values are.
const VALUES: [&str; 4] = ["true", "false", "0", "1"];

/// Whether a new file says nothing that anybody could obey.
pub(super) fn is_harmless(difference: &Difference) -> bool {
    let Difference { place, before: None, after: Some(Thing::File { content, .. }) } = difference
    else {
        return false;
    };
    if is_aside(place) {
        return true;
    }
    let Content::Whole(bytes) = content else { return false };
    let text = str::from_utf8(&bytes.0).unwrap_or_default();
    if is_of_worktree(place, text) {
        return true;
    }
    let is_settings = place.ends_with(Path::new(".git/config"));
    is_settings && str::from_utf8(&bytes.0).is_ok_and(|text| text.lines().all(is_plain))
}

fn is_plain(line: &str) -> bool {
    let line = line.trim();
    let is_setting = line
        .split_once(" = ")
        .is_some_and(|(name, value)| NAMES.contains(&name) && VALUES.contains(&value));
    line.is_empty() || line == "[core]" || is_setting
}

/// Whether a file is what `git worktree add` writes: that the repository is the one around it, or where the new
/// worktree lies.
fn is_of_worktree(place: &Path, text: &str) -> bool {
    let is_own = place.parent().and_then(Path::parent).is_some_and(|it| it.ends_with("worktrees"));
    let is_line = text.ends_with('\n') && text.lines().count() == 1;
    let says_so = (place.ends_with("commondir") && text == "../..\n")
        || (place.ends_with("gitdir") && is_line && text.ends_with("/.git\n"));
    is_own && says_so
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervise::record::change::Raw;

    #[test]
    fn only_what_git_writes_by_itself_is_harmless() {
        let harmless = |place: &str, text: &str| {
            let content = Content::Whole(Raw(text.into()));
            let after = Some(Thing::File { mode: 0o644, owner: [0, 0], content });
            is_harmless(&Difference { place: place.into(), before: None, after })
        };
        let usual = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
                     \tlogallrefupdates = true\n";
        assert!(harmless("/w/.git/config", usual));
        assert!(!harmless("/w/.git/hooks/config", usual));
        for more in
            ["\tfsmonitor = x\n", "[alias]\n", "\tbare = x\n", "\tbare = false\\\n", "# x\n"]
        {
            assert!(!harmless("/w/.git/config", &format!("{usual}{more}")), "{more}");
        }
    }

    #[test]
    fn what_git_writes_for_a_new_worktree_is_harmless() {
        let says = |name: &str, text: &str| {
            is_of_worktree(&Path::new("/w/.git/worktrees/x").join(name), text)
        };
        assert!(says("commondir", "../..\n") && says("gitdir", "/w/other/.git\n"));
        assert!(!says("commondir", "../../evil\n") && !says("config.worktree", "../..\n"));
        assert!(!says("gitdir", "/w/other/.git\n/x/.git\n"));
        assert!(!is_of_worktree(Path::new("/w/.git/commondir"), "../..\n"));
    }
}
