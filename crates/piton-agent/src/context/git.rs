//! The state of the repository, as `git` tells it.
//!
//! A repository may come from strangers, and its settings name programs that git runs. So git is told to
//! take no lock, to run no hook, no monitor and no filter, to look into no submodule and to fetch nothing.
//! Filters are named by its settings, so they are asked for first, and each is replaced by nothing.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

/// Longest wait for git. In a huge repository the model looks by itself.
const WAIT: Duration = Duration::from_secs(2);
/// Most bytes of its output that are read.
const OUTPUT_BYTES_MAX: u64 = 256 * 1024;
/// Most names of changed files that are told.
const NAMES_MAX: usize = 10;
/// The tree without files. Attributes are taken from it, so none names a filter.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// How git ends that finds no setting of a name.
const NONE_FOUND: i32 = 1;
/// Most filters that settings may name.
const FILTERS_MAX: usize = 64;
/// A variable with nothing in it: what stands in place of a filter.
const NOTHING: &str = "PITON_NOTHING";
/// What every call of git begins with.
const CAREFULLY: [&str; 12] = [
    "--no-optional-locks",
    "--no-pager",
    "--attr-source",
    EMPTY_TREE,
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.attributesFile=/dev/null",
    // A directory that only looks like a repository has settings too.
    "-c",
    "safe.bareRepository=explicit",
];
const STATUS: [&str; 9] = [
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
const FILTERS: [&str; 5] = ["config", "--null", "--name-only", "--get-regexp", "^filter\\."];

/// Branch and changes in words; none, if this is no repository. Git is looked for along `path` only: no command may
/// have put a program there.
pub(super) async fn state(workspace: &Path, path: &OsStr) -> Option<String> {
    let is_repository = workspace.ancestors().any(|above| above.join(".git").exists());
    if !is_repository {
        return None;
    }
    let unknown = "Git: a repository; its state could not be read.".to_owned();
    let asked = tokio::time::timeout(WAIT, ask(workspace, path)).await;
    Some(asked.ok().flatten().map_or(unknown, |output| in_words(&output)))
}

async fn ask(workspace: &Path, path: &OsStr) -> Option<String> {
    let mut filters = git(workspace, path);
    filters.args(CAREFULLY).args(FILTERS);
    let (found, code) = output_of(filters).await?;
    let is_known = code == 0 || code == NONE_FOUND;
    if !is_known || OUTPUT_BYTES_MAX <= found.len() as u64 {
        return None;
    }
    let mut status = git(workspace, path);
    status.args(without_filters(&found)?).args(CAREFULLY).args(STATUS);
    let (output, code) = output_of(status).await?;
    (code == 0).then(|| String::from_utf8_lossy(&output).into_owned())
}

/// Arguments that put nothing in place of each filter among these keys; none if there are too many.
fn without_filters(keys: &[u8]) -> Option<Vec<OsString>> {
    let keys = keys.split(|byte| *byte == 0).filter(|key| !key.is_empty());
    let names: BTreeSet<&[u8]> =
        keys.filter_map(|key| key.get(..key.iter().rposition(|byte| *byte == b'.')?)).collect();
    if FILTERS_MAX < names.len() {
        return None;
    }
    let nothing = |name: &&[u8], what: &str| {
        let mut argument = b"--config-env=".to_vec();
        argument.extend(*name);
        argument.extend(format!(".{what}={NOTHING}").bytes());
        OsString::from_vec(argument)
    };
    let of = ["clean", "smudge", "process", "required"];
    Some(names.iter().flat_map(|name| of.map(|what| nothing(name, what))).collect())
}

/// Git, found along a path, in a workspace, without a word of its own to anybody.
fn git(workspace: &Path, path: &OsStr) -> Command {
    let mut command = Command::new("git");
    command.current_dir(workspace).kill_on_drop(true).env(NOTHING, "");
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_NO_LAZY_FETCH", "1").env("LC_ALL", "C");
    // Older builds of git know nothing of that, and fetch by one of these.
    command.env("GIT_ALLOW_PROTOCOL", "none");
    command.env("PATH", path);
    command
}

/// What a command prints, or the beginning of it, and how it ended: with 0, if there was too much to hear it out.
async fn output_of(mut command: Command) -> Option<(Vec<u8>, i32)> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut output = Vec::new();
    child.stdout.take()?.take(OUTPUT_BYTES_MAX).read_to_end(&mut output).await.ok()?;
    let is_whole = (output.len() as u64) < OUTPUT_BYTES_MAX;
    let code = if is_whole { child.wait().await.ok()?.code()? } else { 0 };
    Some((output, code))
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
    use crate::environment::Environment;

    fn path() -> OsString {
        std::env::var_os("PATH").unwrap()
    }

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

    /// A repository with one changed file, and settings that name a program which leaves a trace.
    struct Hostile {
        directory: tempfile::TempDir,
    }

    impl Hostile {
        fn new() -> Self {
            let hostile = Self { directory: tempfile::tempdir().unwrap() };
            hostile.git(&["init", "-q", "-b", "main"]);
            hostile.write("a.txt", "one\n");
            hostile.git(&["add", "a.txt"]);
            let name = ["-c", "user.name=a", "-c", "user.email=a@b"];
            hostile.git(&[&name[..], &["commit", "-qm", "one"]].concat());
            hostile.write("a.txt", "two\n");
            hostile
        }

        fn at(&self) -> &Path {
            self.directory.path()
        }

        fn git(&self, arguments: &[&str]) {
            let mut git = std::process::Command::new("git");
            let done = git.args(arguments).current_dir(self.at()).output();
            assert!(done.as_ref().unwrap().status.success(), "{done:?}");
        }

        fn write(&self, path: &str, text: &str) {
            std::fs::write(self.at().join(path), text).unwrap();
        }

        fn program(&self) -> String {
            format!("touch {}; cat", self.at().join(".git/ran").display())
        }

        fn ran(&self) -> bool {
            std::fs::remove_file(self.at().join(".git/ran")).is_ok()
        }
    }

    // Each of them runs when git is asked without care: else the test would show nothing.
    #[tokio::test]
    async fn programs_that_a_repository_names_are_not_run() {
        for (key, attributes) in [
            ("filter.trap.clean", ".gitattributes"),
            ("filter.trap.clean", ".git/info/attributes"),
            ("filter.trap.process", ".git/info/attributes"),
            ("filter.trap.clean", "elsewhere"),
            ("core.fsmonitor", ".gitattributes"),
        ] {
            let hostile = Hostile::new();
            hostile.git(&["config", key, &hostile.program()]);
            hostile.git(&["config", "filter.trap.required", "true"]);
            hostile.git(&["config", "filter.of=another.clean", &hostile.program()]);
            std::fs::create_dir_all(hostile.at().join(".git/info")).unwrap();
            hostile.write(attributes, "*.txt filter=trap\n");
            if attributes == "elsewhere" {
                hostile.git(&["config", "core.attributesFile", "elsewhere"]);
            }
            let told = state(hostile.at(), &path()).await.unwrap();
            assert!(told.starts_with("Git: branch \"main\"; 1 changed, "), "{told}");
            assert!(!hostile.ran(), "{key} was run, by {attributes}");
            let mut git = std::process::Command::new("git");
            git.args(["status", "--porcelain"]).current_dir(hostile.at()).output().unwrap();
            assert!(hostile.ran(), "{key} is no program, by {attributes}");
        }
        assert_eq!(state(Path::new("/"), &path()).await, None);
    }

    #[tokio::test]
    async fn a_program_of_the_workspace_is_not_taken_for_git() {
        let hostile = Hostile::new();
        hostile.write(
            "git",
            &format!("#!/bin/sh\ntouch {}\n", hostile.at().join(".git/ran").display()),
        );
        let program = hostile.at().join("git");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        let path = format!("{}:.::{}", hostile.at().display(), std::env::var("PATH").unwrap());
        let environment = Environment::new("/".into(), [("PATH".into(), path.into())]);
        let path = environment.path_without(&[hostile.at().to_owned()]);
        let told = state(hostile.at(), &path).await.unwrap();
        assert!(told.contains("1 changed, 1 untracked") && !hostile.ran(), "{told}");
    }

    #[test]
    fn filters_are_told_by_their_keys() {
        let told = without_filters(b"filter.a.b=c.clean\0filter.a.b=c.required\0").unwrap();
        let told: Vec<_> = told.iter().map(|it| it.to_str().unwrap()).collect();
        assert_eq!(told.len(), 4);
        assert_eq!(told[0], "--config-env=filter.a.b=c.clean=PITON_NOTHING");
        let many: Vec<u8> =
            (0..65).flat_map(|number| format!("filter.{number}.clean\0").into_bytes()).collect();
        assert_eq!(without_filters(&many), None);
    }
}
