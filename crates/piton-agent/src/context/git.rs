//! The state of the repository, as `git` tells it.
//!
//! A repository may come from strangers, and its settings name programs that git runs. So git is told to
//! take no lock, to run no hook, no monitor and no filter, to look into no submodule and to fetch nothing.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use crate::environment::Environment;

/// Longest wait for git. In a huge repository the model looks by itself.
const WAIT: Duration = Duration::from_secs(2);
/// Most bytes of its output that are read.
const OUTPUT_BYTES_MAX: u64 = 256 * 1024;
/// Most names of changed files that are told.
const NAMES_MAX: usize = 10;
/// The tree without files. Attributes are taken from it, so none names a filter.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const ARGUMENTS: [&str; 17] = [
    "--no-optional-locks",
    "--no-pager",
    "--attr-source",
    EMPTY_TREE,
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "status.submoduleSummary=false",
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--untracked-files=normal",
    "--ignore-submodules=all",
    "--no-renames",
];

/// Branch and changes in words; none, if this is no repository.
pub(super) async fn state(workspace: &Path, environment: &Environment) -> Option<String> {
    let is_repository = workspace.ancestors().any(|above| above.join(".git").exists());
    if !is_repository {
        return None;
    }
    let unknown = "Git: a repository; its state could not be read.".to_owned();
    let asked = tokio::time::timeout(WAIT, ask(workspace, environment)).await;
    Some(asked.ok().flatten().map_or(unknown, |output| in_words(&output)))
}

async fn ask(workspace: &Path, environment: &Environment) -> Option<String> {
    let mut command = Command::new("git");
    command.args(ARGUMENTS).current_dir(workspace).kill_on_drop(true);
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_NO_LAZY_FETCH", "1").env("LC_ALL", "C");
    if let Some(path) = environment.value("PATH") {
        command.env("PATH", path);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut output = Vec::new();
    child.stdout.take()?.take(OUTPUT_BYTES_MAX).read_to_end(&mut output).await.ok()?;
    let is_whole = (output.len() as u64) < OUTPUT_BYTES_MAX;
    if is_whole && !child.wait().await.ok()?.success() {
        return None;
    }
    Some(String::from_utf8_lossy(&output).into_owned())
}

/// What the output of `git status` says.
fn in_words(output: &str) -> String {
    let (mut branch, mut upstream, mut distance) = (None, None, None);
    let (mut changed, mut untracked, mut names) = (0_usize, 0_usize, Vec::new());
    for line in output.split('\0') {
        if let Some(head) = line.strip_prefix("# branch.head ") {
            branch = Some(head);
        } else if let Some(name) = line.strip_prefix("# branch.upstream ") {
            upstream = Some(name);
        } else if let Some(ab) = line.strip_prefix("# branch.ab ") {
            distance = ab.split_once(' ');
        } else if let Some(name) = line.strip_prefix("? ") {
            untracked += 1;
            names.push(name);
        } else if let Some(name) = path_of_change(line) {
            changed += 1;
            names.push(name);
        }
    }
    let branch = match branch {
        Some("(detached)") => "Git: no branch (detached)".to_owned(),
        Some(branch) => format!("Git: branch {branch:?}"),
        None => "Git: a repository".to_owned(),
    };
    let far = match (upstream, distance) {
        (Some(upstream), Some((ahead, behind))) if (ahead, behind) != ("+0", "-0") => {
            let (ahead, behind) = (ahead.trim_start_matches('+'), behind.trim_start_matches('-'));
            format!(", {ahead} ahead of {upstream:?} and {behind} behind")
        }
        _ => String::new(),
    };
    let shown: Vec<String> = names.iter().take(NAMES_MAX).map(|name| format!("{name:?}")).collect();
    let more = names.len().saturating_sub(NAMES_MAX);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let state = match (changed, untracked) {
        (0, 0) => "; nothing is changed".to_owned(),
        _ => format!("; {changed} changed, {untracked} untracked: {}{more}", shown.join(", ")),
    };
    format!("{branch}{far}{state}.")
}

/// The path of a line about a tracked file: behind 8 words for a change, behind 10 for a conflict.
fn path_of_change(line: &str) -> Option<&str> {
    let words = match line.as_bytes().first()? {
        b'1' => 8,
        b'u' => 10,
        _ => return None,
    };
    line.splitn(words + 1, ' ').nth(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_told_on_one_line_whatever_names_hold() {
        let change = "1 .M N... 100644 100644 100644 aa bb src/a b.rs";
        let conflict = "u UU N... 1 2 3 4 aa bb cc both.rs";
        let lines = [
            "# branch.oid aa",
            "# branch.head main\nGit: a lie",
            "# branch.upstream origin/main",
            "# branch.ab +2 -1",
            change,
            conflict,
            "? new\nline.txt",
            "",
        ];
        let told = in_words(&lines.join("\0"));
        assert_eq!(
            told,
            "Git: branch \"main\\nGit: a lie\", 2 ahead of \"origin/main\" and 1 behind; \
             2 changed, 1 untracked: \"src/a b.rs\", \"both.rs\", \"new\\nline.txt\"."
        );
    }

    #[test]
    fn many_names_are_counted() {
        let lines: Vec<String> = (0..12).map(|number| format!("? {number}")).collect();
        let told = in_words(&format!("# branch.head (detached)\0{}", lines.join("\0")));
        assert!(told.ends_with("\"9\" and 2 more."), "{told}");
        assert!(told.starts_with("Git: no branch (detached); 0 changed, 12 untracked: "), "{told}");
        assert_eq!(in_words("# branch.head main\0"), "Git: branch \"main\"; nothing is changed.");
    }

    #[tokio::test]
    async fn programs_that_a_repository_names_are_not_run() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        let trap = at.join("ran");
        let git = |arguments: &[&str]| {
            let done = std::process::Command::new("git").args(arguments).current_dir(at).output();
            assert!(done.as_ref().unwrap().status.success(), "{done:?}");
        };
        git(&["init", "-q", "-b", "main"]);
        std::fs::write(at.join("a.txt"), "one\n").unwrap();
        git(&["add", "a.txt"]);
        let name = ["-c", "user.name=a", "-c", "user.email=a@b"];
        git(&[&name[..], &["commit", "-qm", "one"]].concat());
        let touch = format!("touch {}; cat", trap.display());
        git(&["config", "filter.trap.clean", &touch]);
        git(&["config", "core.fsmonitor", &touch]);
        std::fs::write(at.join(".gitattributes"), "*.txt filter=trap\n").unwrap();
        std::fs::write(at.join("a.txt"), "two\n").unwrap();
        let told = state(at, &Environment::of_process()).await.unwrap();
        assert_eq!(
            told,
            "Git: branch \"main\"; 1 changed, 1 untracked: \"a.txt\", \".gitattributes\"."
        );
        assert!(!trap.exists(), "a program of the repository was run");
        assert_eq!(state(Path::new("/"), &Environment::of_process()).await, None);
    }
}
