//! Commands that only look, really run behind their wall: they work, and nothing else does.
//!
//! Every attempt to get through is also made without the wall, where it must succeed.

mod hostile;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use piton_core::event::{Handle, Permissions};
use piton_core::id::{CallId, ConversationId, TurnId};
use piton_tools::sandbox::{Kernel, Rules, When};
use piton_tools::{Asker, Closed, Consent, Finished, Job, Progress, Shell, Site, Tool as _};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The lines that the core lets run unasked.
const HARMLESS: &str = include_str!("../../../piton-permit/src/tests/looks/harmless.txt");
/// More of them, with options that would write or run something without a wall.
const WALLED: &str = include_str!("../../../piton-permit/src/tests/looks/walled.txt");
/// The workspace in them.
const WORKSPACE: &str = "/h/ws";
/// What a shell says of a program that is not there.
const NO_PROGRAM: i32 = 127;

/// A workspace, and a place outside it.
struct Room {
    site: Arc<Site>,
    tool: Shell,
    outside: PathBuf,
    directory: TempDir,
}

impl Room {
    fn new() -> Self {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["work", "outside"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        fs::write(root.join("outside/secret"), "SECRET\n").unwrap();
        let site = Site {
            workspace: root.join("work"),
            scratch: std::env::temp_dir(),
            conversation: ConversationId::new("c"),
            permissions: Permissions::default(),
            closed: Closed::default(),
        };
        let rules = Rules { when: When::Unapproved, ..Rules::none() };
        let tool = Shell::plain(Vec::new(), rules);
        Self { site: Arc::new(site), tool, outside: root.join("outside"), directory }
    }

    async fn run(&self, line: &str, consent: Consent) -> Finished {
        let line = line.replace("$OUT", &self.outside.display().to_string());
        let arguments = json!({ "command": line }).as_object().unwrap().clone();
        let job = Job {
            site: self.site.clone(),
            call: CallId { turn: TurnId(1), step: 1, index: 0 },
            arguments: Arc::new(arguments),
            grants: piton_core::event::Grants::default(),
            handle: Handle::None,
            consent,
            cancel: CancellationToken::new(),
            asker: Asker::default(),
            progress: Progress::default(),
        };
        self.tool.run(job).await
    }

    fn work(&self, name: &str) -> PathBuf {
        self.site.workspace.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.work(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Runs git outside any wall, with nobody's settings.
    fn git(&self, arguments: &[&str]) {
        let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        let mut command = Command::new("git");
        command.args(who).args(arguments).current_dir(&self.site.workspace);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    /// Two commits, and something that is not committed.
    fn fill(&self) {
        self.write("a.txt", "line one\nline two\nline two\n");
        self.write("b.txt", "line one\nline three\n");
        self.write("data.json", "{\"name\": \"x\", \"list\": [1, 2]}\n");
        self.write("src/main.rs", "fn main() {\n    help();\n}\n\nfn help() {}\n");
        self.git(&["init", "-q", "-b", "main"]);
        self.git(&["add", "."]);
        self.git(&["commit", "-q", "-m", "First"]);
        self.write("b.txt", "line one\nline 3\n");
        self.git(&["commit", "-q", "-a", "-m", "Second"]);
        self.write("a.txt", "line one\nline two\nline two\nline four\n");
        self.write("new.txt", "");
    }

    /// All that is there, with contents and modes.
    fn picture(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![self.directory.path().to_owned()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let metadata = path.symlink_metadata().unwrap();
                let content = fs::read(&path).unwrap_or_default();
                let (mode, at) = (metadata.permissions().mode(), metadata.modified().unwrap());
                found.push(format!("{} {mode:o} {at:?} {content:?}", path.display()));
                if metadata.is_dir() {
                    open.push(path);
                }
            }
        }
        found.sort();
        found
    }
}

/// Whether this kernel has the wall.
fn can_hold() -> bool {
    let kernel = Kernel::ask();
    if !kernel.has_wall() {
        eprintln!("skipped: this kernel lacks what the sandbox needs ({kernel:?})");
    }
    kernel.has_wall()
}

fn is_installed(program: &str) -> bool {
    let places = ["/usr/local/bin", "/usr/bin", "/bin"];
    places.iter().any(|place| Path::new(place).join(program).exists())
}

#[tokio::test]
async fn what_only_looks_works_behind_the_wall_as_without_one() {
    if !can_hold() || !is_installed("git") {
        return;
    }
    let room = Room::new();
    room.fill();
    for line in HARMLESS.lines() {
        let line = line.replace(WORKSPACE, &room.site.workspace.display().to_string());
        let free = room.run(&line, Consent::WordForWord).await;
        if free.exit_code == Some(NO_PROGRAM) {
            eprintln!("skipped, not installed: {line}");
            continue;
        }
        let before = room.picture();
        let walled = room.run(&line, Consent::OnlyLooks).await;
        assert!(room.picture() == before, "{line} changed something");
        assert_eq!(walled.exit_code, free.exit_code, "{line}: {}", walled.text);
        // Where a program is found depends on where it is looked for.
        let same = |text: &str| text.replace("/usr/bin/", "/bin/");
        assert_eq!(same(&walled.text), same(&free.text), "{line}");
    }
}

#[tokio::test]
async fn options_that_are_not_looked_at_change_nothing_behind_the_wall() {
    if !can_hold() || !is_installed("git") {
        return;
    }
    let filled = || {
        let room = Room::new();
        room.fill();
        room.write("x", "#!/bin/sh\necho ran > ran\n");
        fs::set_permissions(room.work("x"), fs::Permissions::from_mode(0o755)).unwrap();
        room
    };
    let (walled, free) = (filled(), filled());
    let before = walled.picture();
    for line in WALLED.lines() {
        walled.run(line, Consent::OnlyLooks).await;
        assert!(walled.picture() == before, "{line} changed something");
        free.run(line, Consent::WordForWord).await;
    }
    for name in ["ran", "copy"] {
        assert!(free.work(name).exists(), "without a wall they make {name}");
    }
}

/// What the list would never let through, should it be wrong: each succeeds without a wall.
const ATTEMPTS: [(&str, &str); 16] = [
    ("write in the workspace", "echo x > new-file"),
    ("append in the workspace", "echo x >> a.txt"),
    ("make a directory", "mkdir d"),
    ("remove", "rm b.txt"),
    ("rename", "mv data.json c.txt"),
    ("link", "ln a.txt hard"),
    ("mode", "chmod 600 a.txt"),
    ("time", "touch -d 2001-01-01 src/main.rs"),
    ("write outside", "echo x > $OUT/new"),
    ("write for a moment", "f=$(mktemp) && rm $f"),
    ("read outside", "cat $OUT/secret"),
    ("list outside", "ls $OUT"),
    ("read through a link", "cat to-secret"),
    ("environment of others", "cat /proc/$PPID/environ > /dev/null"),
    ("signal", "sleep 0 & kill -0 $PPID"),
    ("a program of the workspace", "./program"),
];

#[tokio::test]
async fn nothing_that_changes_or_reaches_out_gets_through() {
    if !can_hold() || !is_installed("git") {
        return;
    }
    for (name, line) in ATTEMPTS {
        let room = Room::new();
        room.fill();
        std::os::unix::fs::symlink(room.outside.join("secret"), room.work("to-secret")).unwrap();
        room.write("program", "#!/bin/sh\necho ran\n");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(room.work("program"), mode).unwrap();
        let before = room.picture();
        let refused = room.run(line, Consent::OnlyLooks).await;
        assert_ne!(refused.exit_code, Some(0), "{name} got through: {}", refused.text);
        assert!(!refused.text.contains("SECRET"), "{name}: {}", refused.text);
        assert!(room.picture() == before, "{name} changed something");
        let free = room.run(line, Consent::WordForWord).await;
        assert_eq!(free.exit_code, Some(0), "{name} must work: {}", free.text);
    }
}

#[tokio::test]
async fn git_looks_in_a_worktree_whose_repository_is_elsewhere() {
    if !can_hold() || !is_installed("git") {
        return;
    }
    let room = Room::new();
    room.fill();
    room.git(&["worktree", "add", "-q", "../linked"]);
    let workspace = room.directory.path().canonicalize().unwrap().join("linked");
    let site = Arc::new(Site { workspace, ..(*room.site).clone() });
    let linked = Room { site, ..room };
    let status = linked.run("git status --short --branch", Consent::OnlyLooks).await;
    assert_eq!((status.exit_code, status.text.as_str()), (Some(0), "## linked\n"));
    let outside = linked.run("cat ../work/a.txt", Consent::OnlyLooks).await;
    assert_ne!(outside.exit_code, Some(0), "{}", outside.text);
}

#[tokio::test]
async fn it_sees_few_variables_and_added_directories_and_is_told_how_to_ask() {
    if !can_hold() {
        return;
    }
    let room = Room::new();
    let seen = room.run("/usr/bin/env", Consent::OnlyLooks).await.text;
    assert!(!seen.contains("HOME=") && !seen.contains("CARGO"), "{seen}");
    let directories = vec![room.outside.display().to_string()];
    let permissions = Permissions { directories, ..Permissions::default() };
    let site = Arc::new(Site { permissions, ..(*room.site).clone() });
    let added = Room { site, ..Room::new() };
    let line = format!("cat {}/secret", room.outside.display());
    assert_eq!(added.run(&line, Consent::OnlyLooks).await.text, "SECRET\n");
    let refused = room.run("cat $OUT/secret", Consent::OnlyLooks).await.text;
    assert!(refused.contains("to ask the user instead, put `env` in front"), "{refused}");
}

#[tokio::test]
async fn without_a_wall_a_look_is_not_run() {
    let room = Room::new();
    let open = Room { tool: Shell::plain(Vec::new(), Rules::none()), ..room };
    assert!(!open.tool.spec().confines);
    let finished = open.run("ls", Consent::OnlyLooks).await;
    assert!(finished.text.starts_with("not run: nobody was asked"), "{}", finished.text);
}
