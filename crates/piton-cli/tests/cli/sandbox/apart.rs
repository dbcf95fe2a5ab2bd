//! What namespaces hold: modes, owners and times outside, memory of others, and what programs outside obey. As
//! root and as an ordinary user.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use piton_tools::sandbox::{Limits, Rules, When, try_namespaces};

use super::attempt::attempt;
use super::{Cell, Row, again_as_nobody, can_hold};
use crate::world::program;

/// Whether there are namespaces here.
fn are_apart() -> bool {
    let can = try_namespaces(&program()).unwrap();
    if let Err(why) = &can {
        eprintln!("skipped: no namespaces here ({why})");
    }
    can.is_ok() && can_hold()
}

const OUTSIDE: [Row; 9] = [
    ("mode", "chmod 600 $OUT/file"),
    ("mode of a directory", "chmod 700 $OUT/dir"),
    ("mode by number", "exec 3< $OUT/file && chmod 600 /proc/self/fd/3"),
    ("mode from there", "cd $OUT && chmod 600 file"),
    ("mode by another root", "chmod 600 /proc/self/root$OUT/file"),
    ("mode by the root of the parent", "chmod 600 /proc/$PPID/root$OUT/file"),
    ("owner", "chown $(id -u):$(id -g) $OUT/file"),
    ("time", "touch -d 2001-01-01 $OUT/file"),
    ("time of a directory", "touch -d 2001-01-01 $OUT/dir"),
];

/// Attempts at what others obey, in a workspace that has some of it.
const PROTECTED: [Row; 20] = [
    ("append", "echo x >> .git/config"),
    ("git config", "git config --file .git/config core.pager x"),
    ("unlink", "rm -f .git/config && test ! -e .git/config"),
    ("rename over", "echo x > new && mv -f new .git/config"),
    ("truncate", "truncate -s 0 .git/config"),
    ("mode", "chmod 700 .git/config"),
    ("time", "touch -d 2001-01-01 .git/config"),
    ("hook", "echo x > .git/hooks/post-commit"),
    ("hook from there", "cd .git/hooks && echo x > post-commit"),
    ("another .git", "mv -T .git x && mkdir .git"),
    ("hooks become a link", "mv -T .git/hooks h && ln -s ../h .git/hooks"),
    ("exchange", "PITON_ATTEMPT=\"exchange - $PWD\" ATTEMPTS"),
    ("hard link", "ln .git/config h && echo x >> h"),
    ("another root", "echo x >> /proc/self/root$PWD/.git/config"),
    ("root of the parent", "echo x >> /proc/$PPID/root$PWD/.git/config"),
    ("open directory", "exec 3< .git && echo x >> /proc/self/fd/3/config"),
    ("the workspace itself", "d=$PWD && cd .. && mv -T $d old && mkdir $d"),
    ("above the workspace", "d=$(dirname $PWD) && cd / && mv -T $d $d.old && mkdir $d"),
    ("instructions", "echo x >> AGENTS.md"),
    ("tasks of an editor", "mv -T .vscode v && mkdir .vscode"),
];

/// A workspace with something of everything.
fn furnished(when: When) -> Cell {
    let cell = Cell::with(Rules { when, ..Rules::none() });
    for place in [".git/hooks", ".vscode"] {
        fs::create_dir_all(cell.work(place)).unwrap();
    }
    for file in [".git/config", ".git/HEAD", ".vscode/tasks.json", "AGENTS.md"] {
        fs::write(cell.work(file), "[core]\n").unwrap();
    }
    cell
}

/// What others would obey now.
fn obeyed(cell: &Cell) -> Vec<String> {
    let files = [".git/config", ".git/hooks/post-commit", ".vscode/tasks.json", "AGENTS.md"];
    let look = |name: &str| {
        let text = fs::read_to_string(cell.work(name)).ok();
        let mode = cell.work(name).metadata().ok().map(|it| (it.mode(), it.ino(), it.mtime()));
        format!("{name} {text:?} {mode:?}")
    };
    files.map(look).into()
}

#[tokio::test]
async fn f15_nothing_outside_changes_its_mode_owner_or_time() {
    if !are_apart() {
        return;
    }
    for (name, command) in OUTSIDE {
        let free = Cell::new(When::Never).run(command).await;
        assert_eq!(free.exit_code, Some(0), "{name} must work: {}", free.text);
        let cell = Cell::new(When::Always);
        let look = |name: &str| {
            let metadata = cell.outside.join(name).metadata().unwrap();
            (metadata.mode(), metadata.ctime(), metadata.ctime_nsec())
        };
        let before = (look("file"), look("dir"));
        let refused = cell.run(command).await;
        assert_ne!(refused.exit_code, Some(0), "{name} got through: {}", refused.text);
        assert_eq!((look("file"), look("dir")), before, "{name}");
    }
}

#[tokio::test]
async fn f15_what_others_obey_is_locked() {
    if !are_apart() {
        return;
    }
    let binary = format!(
        "{} --exact sandbox::apart::makes_an_exchange",
        std::env::current_exe().unwrap().display()
    );
    for (name, command) in PROTECTED {
        let command = command.replace("ATTEMPTS", &binary);
        let free = furnished(When::Never).run(&command).await;
        assert_eq!(free.exit_code, Some(0), "{name} must work: {}", free.text);
        let cell = furnished(When::Always);
        let before = obeyed(&cell);
        let refused = cell.run(&command).await;
        assert_ne!(refused.exit_code, Some(0), "{name} got through: {}", refused.text);
        assert_eq!(obeyed(&cell), before, "{name}");
    }
}

/// Not a test of its own, as its neighbour is not.
#[test]
fn makes_an_exchange() {
    let Ok(words) = std::env::var("PITON_ATTEMPT") else { return };
    let words: Vec<_> = words.split(' ').collect();
    attempt(words.try_into().unwrap());
}

// A person saves a file outside: the kernel then takes the mount away.
#[tokio::test]
async fn what_was_replaced_outside_is_locked_again_for_the_next_command() {
    if !are_apart() {
        return;
    }
    let cell = furnished(When::Always);
    assert_eq!(cell.run("true").await.exit_code, Some(0));
    fs::write(cell.work("new"), "[user]\n").unwrap();
    fs::rename(cell.work("new"), cell.work(".git/config")).unwrap();
    fs::write(cell.work(".envrc"), "mine\n").unwrap();
    for command in ["echo x >> .git/config", "echo x >> .envrc"] {
        let refused = cell.run(command).await;
        assert_ne!(refused.exit_code, Some(0), "{command} got through: {}", refused.text);
    }
    assert_eq!(fs::read_to_string(cell.work(".git/config")).unwrap(), "[user]\n");
}

#[tokio::test]
async fn what_is_not_protected_goes_on_as_before() {
    for command in [
        "git init -q . && git -c user.name=n -c user.email=e commit -q --allow-empty -m x",
        "git init -q sub && cd sub && git config user.name n && git config user.email e && \
         echo x > f && git add f && git commit -q -m x && git checkout -q -b other && git gc -q",
        "mkdir -p a/b && mv a/b c && echo x > c/f && ln c/f c/h && ln -s c l && mv c d && rm -r a d",
        "mkdir a b && echo x > a/f && mv a/f b/f && ln b/f a/g && mkdir a/d && mv a/d b && rm -r a b",
    ] {
        let done = Cell::new(When::Always).run(command).await;
        assert_eq!(done.exit_code, Some(0), "{command}: {}", done.text);
    }
    // In a repository that was there before.
    let cell = Cell::new(When::Always);
    let git = |arguments: &str| {
        let done =
            Command::new("git").args(arguments.split(' ')).current_dir(cell.work("")).status();
        assert!(done.unwrap().success(), "{arguments}");
    };
    git("init -q .");
    git("config user.name n");
    git("config user.email e");
    let work = "echo x > f && git add f && git commit -q -m x && git checkout -q -b other && \
                echo y > f && git commit -q -a -m y && git tag t && git stash list && git gc -q";
    let done = cell.run(work).await;
    assert_eq!(done.exit_code, Some(0), "{}", done.text);
    assert!(!done.text.contains("put back"), "{}", done.text);
    git("diff --quiet other HEAD");
}

#[tokio::test]
async fn f15_no_memory_of_others_is_reached() {
    if !are_apart() {
        return;
    }
    for (when, expected) in [(When::Never, true), (When::Always, false)] {
        let made = Command::new("ipcmk").args(["-M", "4096"]).output().unwrap();
        let said = String::from_utf8(made.stdout).unwrap();
        let number = said.rsplit(' ').next().unwrap().trim().to_owned();
        let removed = Cell::new(when).run(&format!("ipcrm -m {number}")).await;
        assert_eq!(removed.exit_code == Some(0), expected, "{}", removed.text);
        if !expected {
            let gone = Command::new("ipcrm").args(["-m", &number]).status().unwrap();
            assert!(gone.success(), "it was still there");
        }
    }
}

// Without a network, a server of the command's own is reached, and no other.
#[tokio::test]
async fn a_command_without_network_has_a_loopback_of_its_own() {
    if !are_apart() {
        return;
    }
    let serve = "python3 -c 'import socket, threading; s = socket.create_server((\"127.0.0.1\", 0)); \
                 threading.Thread(target=lambda: s.accept()[0].send(b\"own\")).start(); \
                 print(socket.create_connection(s.getsockname()).recv(3).decode())'";
    let own = Cell::new(When::Always).run(serve).await;
    assert_eq!(own.text.trim(), "own", "{}", own.text);
}

#[tokio::test]
async fn an_ordinary_user_starts_no_more_processes_than_the_settings_allow() {
    if !are_apart() {
        return;
    }
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: root's processes are bounded by a cgroup, where there is one");
        return;
    }
    let start = "n=0; while [ $n -lt 150 ]; do sleep 3 & n=$((n+1)); done; echo all";
    for (processes, expected) in [(None, true), (Some(64), false)] {
        let limits = Limits { processes, ..Limits::default() };
        let cell = Cell::with(Rules { when: When::Always, limits, ..Rules::none() });
        let done = cell.run(start).await;
        assert_eq!(done.text.contains("all"), expected, "{processes:?}: {}", done.text);
    }
}

/// The tests above that a user without rights makes another way.
const AS_NOBODY: [&str; 7] = [
    "an_ordinary_user_starts_no_more_processes_than_the_settings_allow",
    "f15_nothing_outside_changes_its_mode_owner_or_time",
    "f15_what_others_obey_is_locked",
    "what_was_replaced_outside_is_locked_again_for_the_next_command",
    "what_is_not_protected_goes_on_as_before",
    "f15_no_memory_of_others_is_reached",
    "a_command_without_network_has_a_loopback_of_its_own",
];

#[test]
fn all_of_that_holds_for_an_ordinary_user() {
    again_as_nobody("apart", &AS_NOBODY);
}
