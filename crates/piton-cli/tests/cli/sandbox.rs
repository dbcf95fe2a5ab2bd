//! Commands in the sandbox (F15): what they try to do outside, and what they must be able to do.
//!
//! Every attempt is also made without a sandbox, where it must succeed: an attempt that fails by
//! itself proves nothing. Most of them are rows of the [`table`]; here is what needs more than a row.

mod apart;
mod attempt;
mod hidden;
mod hosts;
mod limits;
mod looks;
mod obeyed;
mod openings;
mod protected;
mod query;
mod stopped;
mod table;

use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use piton_core::event::{Handle, Outcome, PermissionMode, Permissions};
use piton_core::id::{CallId, ConversationId, TurnId};
use piton_tools::sandbox::{Kernel, Rules, When};
use piton_tools::supervise::Supervisor;
use piton_tools::{Arguments, Asker, Consent, Finished, Job, Progress, Shell, Site, Tool as _};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use self::attempt::attempt;
use self::stopped::parent;
pub(crate) use self::table::picture;
use crate::faults::can_trace;
use crate::world::{PROGRAM, program, wait_until};

/// Whose numbers an ordinary user has here.
const NOBODY: &str = "65534";
/// Says that these tests are run again by an ordinary user.
const AGAIN: &str = "PITON_AS_NOBODY";

const CALL: CallId = CallId { turn: TurnId(1), step: 1, index: 0 };

/// A workspace, a place outside it, and commands that run in the one and look at the other.
struct Cell {
    tool: Shell,
    site: Arc<Site>,
    outside: PathBuf,
    _directories: [TempDir; 2],
}

impl Cell {
    fn new(when: When) -> Self {
        Self::with(Rules { when, network: false, ..Rules::none() })
    }

    fn with(rules: Rules) -> Self {
        // Not in the temporary directory, where every command may write.
        let away = tempfile::tempdir_in("/var/tmp").unwrap();
        let directory = TempDir::new().unwrap();
        let outside = away.path().canonicalize().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir(root.join("work")).unwrap();
        fs::create_dir(outside.join("dir")).unwrap();
        fs::write(outside.join("file"), "outside\n").unwrap();
        let supervisor = Supervisor::new(program(), outside.join("calls"), Vec::new());
        let site = Site {
            workspace: root.join("work"),
            scratch: root.clone(),
            conversation: ConversationId::new("c"),
            permissions: Permissions {
                mode: PermissionMode::Auto,
                rules: Vec::new(),
                ..Permissions::default()
            },
            closed: piton_tools::Closed::default(),
        };
        Self {
            tool: Shell::supervised(Arc::new(supervisor.sandbox(rules))),
            site: Arc::new(site),
            outside,
            _directories: [away, directory],
        }
    }

    async fn run(&self, command: &str) -> Finished {
        self.run_with(&self.tool, command).await
    }

    async fn run_with(&self, tool: &Shell, command: &str) -> Finished {
        let outside = self.outside.display();
        let command = format!("OUT={outside}; {command}");
        let arguments = json!({ "command": command }).as_object().unwrap().clone();
        let handle = tool.prepare(&self.site, CALL, &arguments).await.unwrap().handle;
        tool.run(self.job(arguments, handle)).await
    }

    fn job(&self, arguments: Arguments, handle: Handle) -> Job {
        Job {
            site: self.site.clone(),
            call: CALL,
            arguments: Arc::new(arguments),
            handle,
            consent: Consent::Widely,
            grants: piton_core::event::Grants::default(),
            cancel: CancellationToken::new(),
            asker: Asker::default(),
            progress: Progress::default(),
        }
    }

    fn work(&self, name: &str) -> PathBuf {
        self.site.workspace.join(name)
    }
}

/// Whether the kernel can hold what these tests are about.
pub(crate) fn can_hold() -> bool {
    let kernel = Kernel::ask();
    let can = kernel.landlock.is_some_and(|version| 6 <= version) && kernel.filters;
    if !can {
        eprintln!("skipped: this kernel lacks what the sandbox needs ({kernel:?})");
    }
    can
}

/// Signals every thread of the two processes above the command, which are its supervisors.
const STOP_SUPERVISORS: &str = "p=$$; for n in 1 2; do
    p=$(sed 's/.*) . \\([0-9]*\\) .*/\\1/' /proc/$p/stat)
    for t in /proc/$p/task/*; do kill -STOP ${t##*/} 2> /dev/null && echo stopped $t; done
done; test -n \"$p\" && echo tried; sleep 100";

/// Signals all wardens that can be signalled, and says how many.
const SIGNAL_WARDENS: &str = "n=0; for d in /proc/[0-9]*; do
    words=$(cat $d/cmdline 2> /dev/null | tr '\\0' ' ')
    case \"$words\" in 'piton supervise warden '*) ;; *) continue;; esac
    kill -SIGNAL ${d#/proc/} 2> /dev/null && n=$((n + 1))
done; echo $n";

// F15
#[tokio::test]
async fn f15_no_command_stops_its_supervisor() {
    if !can_hold() {
        return;
    }
    let cell = Cell::new(When::Always);
    let arguments = json!({ "command": STOP_SUPERVISORS, "timeout_s": 2 });
    let arguments = arguments.as_object().unwrap().clone();
    let handle = cell.tool.prepare(&cell.site, CALL, &arguments).await.unwrap().handle;
    let stopped = cell.tool.run(cell.job(arguments, handle)).await;
    assert!(
        stopped.text.contains("tried") && !stopped.text.contains("stopped /"),
        "{}",
        stopped.text
    );
    assert_eq!(stopped.outcome, Outcome::Failed, "the time is up: {}", stopped.text);
}

// F15
#[tokio::test]
async fn f15_a_warden_that_is_killed_or_stopped_is_replaced() {
    if !can_hold() {
        return;
    }
    let cell = Cell::new(When::Always);
    for signal in ["STOP", "KILL"] {
        let hit = cell.run(&SIGNAL_WARDENS.replace("SIGNAL", signal)).await;
        assert_eq!((hit.exit_code, hit.text.trim()), (Some(0), "1"), "{signal}");
        let next = cell.run("echo goes on").await;
        assert_eq!((next.exit_code, next.text.trim()), (Some(0), "goes on"), "{signal}");
    }
}

// A tracer stops all that it follows, again and again.
#[tokio::test]
async fn commands_in_the_sandbox_can_be_traced() {
    if !can_hold() || !can_trace() {
        return;
    }
    let mut cell = Cell::new(When::Always);
    let wrapper = cell.outside.join("traced");
    let words = "strace -D -f -qq -e trace=all -o /dev/null";
    let line = format!("#!/bin/sh\nexec {words} '{}' \"$@\"\n", env!("CARGO_BIN_EXE_piton"));
    fs::write(&wrapper, line).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    let supervisor = Supervisor::new(wrapper, cell.outside.join("calls"), Vec::new());
    let rules = Rules { when: When::Always, network: false, ..Rules::none() };
    cell.tool = Shell::supervised(Arc::new(supervisor.sandbox(rules)));
    for _ in 0..10 {
        let done = cell.run("echo runs").await;
        assert_eq!((done.exit_code, done.text.trim()), (Some(0), "runs"), "{}", done.text);
    }
}

// With a record open it would hold the lock that tells whether somebody looks after the command.
#[tokio::test]
async fn what_starts_commands_keeps_none_of_their_files() {
    if !can_hold() {
        return;
    }
    // Those that this process got from its own parent go to every process below it.
    let inherited = open_files("self");
    let is_own = |file: &String| {
        file == "/dev/null" || file.starts_with("socket:") || inherited.contains(file)
    };
    let cell = Cell::new(When::Always);
    for command in ["sleep 100 > /dev/null 2>&1 & echo begun", "echo next"] {
        let done = cell.run(command).await;
        assert_eq!(done.exit_code, Some(0), "{}", done.text);
        // A moment later than the command, it hears that the one before has ended.
        wait_until(|| {
            let files = files_of_wardens();
            !files.is_empty() && files.iter().all(is_own)
        });
    }
}

/// What the wardens of this process have open.
fn files_of_wardens() -> Vec<String> {
    let me = i32::try_from(std::process::id()).unwrap();
    let is_below = |pid| std::iter::successors(Some(pid), |pid| parent(*pid)).any(|pid| pid == me);
    let mut files = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_str().unwrap().parse() else { continue };
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if words.starts_with(b"piton\0supervise\0warden\0") && is_below(pid) {
            files.extend(open_files(&pid.to_string()));
        }
    }
    files
}

/// What a process has open; nothing, if it is gone.
fn open_files(pid: &str) -> Vec<String> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = open.filter_map(|file| fs::read_link(file.path()).ok());
    links.map(|link| link.display().to_string()).collect()
}

#[tokio::test]
async fn sockets_of_this_machine_can_be_refused_too() {
    if !can_hold() {
        return;
    }
    let target = Target::new();
    let open = Cell::new(When::Always).run(&target.attempt("unix")).await;
    assert_eq!(open.exit_code, Some(0), "{}", open.text);
    let rules = Rules { when: When::Always, unix_sockets: false, ..Rules::none() };
    let shut = Cell::with(rules.clone()).run(&target.attempt("unix")).await;
    assert_eq!(shut.exit_code, Some(101), "{}", shut.text);
    let network = Cell::with(rules).run(&target.attempt("udp")).await;
    assert_eq!(network.exit_code, Some(0), "{}", network.text);
}

/// Work, and the command that does it.
type Row = (&'static str, &'static str);

/// What developers do all day must go on.
const WORK: [Row; 16] = [
    (
        "own limits",
        "ulimit -n 64 && nice -n 1 prlimit --core=0 ionice -c 3 true && prlimit --pid $PPID > /dev/null",
    ),
    ("own processors", "taskset 1 true && chrt --batch 0 true"),
    ("write", "echo x > f && test $(cat f) = x"),
    ("directories", "mkdir -p a/b && echo x > a/b/f && mv a/b c && rm -r a c"),
    ("links", "echo x > f && ln f h && ln -s f l && echo y > l && grep -q y h"),
    ("modes", "echo true > s && chmod +x s && ./s"),
    ("temporary files", "t=$(mktemp) && echo x > $t && grep -q x $t && rm $t"),
    ("here documents", "cat <<EOF | grep -q x\nx\nEOF"),
    ("nothing", "echo x > /dev/null && cat /dev/null"),
    ("own output", "echo x > /dev/stdout && echo y > /dev/stderr && echo z > /proc/self/fd/1"),
    ("pipes", "mkfifo p && (echo x > p &) && grep -q x p"),
    ("shared memory", "f=/dev/shm/piton-$$ && echo x > $f && rm $f"),
    ("read", "test -r /etc/passwd && cat $OUT/file && ls $OUT / > /dev/null"),
    ("children", "(sleep 100 & kill $!; wait $!); test $? = 143"),
    ("own process", "cat /proc/self/environ > /dev/null && grep -q Name /proc/$$/status"),
    ("programs", "env true && sh -c 'exit 0' && test -n \"$(id -u)\""),
];

#[tokio::test]
async fn work_goes_on_in_the_sandbox() {
    for (name, command) in WORK {
        let done = Cell::new(When::Unapproved).run(command).await;
        assert_eq!(done.exit_code, Some(0), "{name}: {}", done.text);
    }
}

#[tokio::test]
async fn one_command_can_stop_what_another_has_started() {
    let cell = Cell::new(When::Unapproved);
    let begun = cell.run("sleep 100 > /dev/null 2>&1 & echo $! > pid").await;
    assert_eq!(begun.exit_code, Some(0), "{}", begun.text);
    let stopped = cell.run("kill $(cat pid)").await;
    assert_eq!(stopped.exit_code, Some(0), "{}", stopped.text);
}

#[tokio::test]
async fn what_is_closed_is_neither_read_nor_written() {
    if !can_hold() {
        return;
    }
    let away = tempfile::tempdir_in("/var/tmp").unwrap();
    let secret = away.path().canonicalize().unwrap().join("secret");
    fs::create_dir(&secret).unwrap();
    fs::write(secret.join("key"), "canary\n").unwrap();
    fs::write(away.path().join("beside"), "beside\n").unwrap();
    let read = format!("cat {}/key", secret.display());
    assert_eq!(Cell::new(When::Always).run(&read).await.text, "canary\n");
    let (closed, write) = (vec![secret.clone()], vec![away.path().to_owned()]);
    let cell = Cell::with(Rules { when: When::Always, closed, write, ..Rules::none() });
    let link = format!("ln -s {} s; cat s/key", secret.display());
    let hard = format!("ln {}/key h; cat h", secret.display());
    let write = format!("echo x > {}/new", secret.display());
    let mv = format!("mv -T {} moved; cat moved/key", secret.display());
    for command in [&read, &link, &hard, &write, &mv] {
        let refused = cell.run(command).await;
        assert_ne!(refused.exit_code, Some(0), "{command}: {}", refused.text);
        assert!(!refused.text.contains("canary"), "{command}: {}", refused.text);
    }
    let beside = cell.run(&format!("cat {}", away.path().join("beside").display())).await;
    assert_eq!(beside.text, "beside\n");
    assert_eq!(fs::read_dir(&secret).unwrap().count(), 1);
}

#[tokio::test]
async fn a_workspace_that_has_become_a_link_opens_nothing() {
    if !can_hold() {
        return;
    }
    let cell = Cell::new(When::Always);
    let root = cell.site.workspace.parent().unwrap();
    // The workspace lies in the temporary directory, where a command can replace it.
    let swap = format!("cd {} && mv work old && ln -s $OUT work", root.display());
    let arguments = json!({ "command": "echo x > new" }).as_object().unwrap().clone();
    let handle = cell.tool.prepare(&cell.site, CALL, &arguments).await.unwrap().handle;
    // Where there are namespaces, it cannot: the workspace is a mount.
    if cell.run(&swap).await.exit_code != Some(0) {
        let root = root.to_owned();
        fs::rename(root.join("work"), root.join("old")).unwrap();
        std::os::unix::fs::symlink(&cell.outside, root.join("work")).unwrap();
    }
    let refused = cell.tool.prepare(&cell.site, CALL, &arguments).await.unwrap_err();
    assert!(refused.0.contains("outside the workspace"), "{refused}");
    let job = cell.job(arguments, handle);
    assert!(cell.tool.run(job).await.text.contains("outside the workspace"));
    assert!(!cell.outside.join("new").exists());
}

#[tokio::test]
async fn commands_that_end_with_the_agent_are_confined_too() {
    if !can_hold() {
        return;
    }
    let cell = Cell::new(When::Never);
    let rules = Rules { when: When::Always, ..Rules::none() };
    let plain = Shell::plain(Vec::new(), rules);
    let refused = cell.run_with(&plain, "echo x > $OUT/new").await;
    assert_ne!(refused.exit_code, Some(0));
    assert!(refused.text.contains("[the sandbox did not let it go on"), "{}", refused.text);
    let done = cell.run_with(&plain, "echo x > f; echo done").await;
    assert_eq!((done.exit_code, done.text.as_str()), (Some(0), "done\n"));
    assert!(cell.work("f").exists() && !cell.outside.join("new").exists());
}

/// Somebody outside, to be reached or not.
struct Target {
    udp: UdpSocket,
    directory: TempDir,
}

impl Target {
    fn new() -> Self {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        Self { udp, directory: TempDir::new().unwrap() }
    }

    /// A command that makes an attempt at this target.
    fn attempt(&self, name: &str) -> String {
        let program = std::env::current_exe().unwrap();
        let (udp, socket) = (self.udp.local_addr().unwrap(), self.directory.path().join("socket"));
        format!(
            "RUST_BACKTRACE=0 PITON_ATTEMPT='{name} {udp} {}' {} --exact sandbox::makes_an_attempt",
            socket.display(),
            program.display()
        )
    }
}

/// Not a test of its own: commands in the sandbox run this binary with a word in its environment.
#[test]
fn makes_an_attempt() {
    let Ok(words) = std::env::var("PITON_ATTEMPT") else { return };
    let words: Vec<_> = words.split(' ').collect();
    attempt(words.try_into().unwrap());
}

/// Runs tests of a module again, as an ordinary user.
fn again_as_nobody(module: &str, names: &[&str]) {
    if std::env::var_os(AGAIN).is_some() || !rustix::process::geteuid().is_root() {
        return;
    }
    // An ordinary user may not reach the directory that they were built in.
    let reached = TempDir::new().unwrap();
    fs::set_permissions(reached.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let [piton, tests] = ["piton", "tests"].map(|name| reached.path().join(name));
    for (from, to) in [(program(), &piton), (std::env::current_exe().unwrap(), &tests)] {
        fs::hard_link(&from, to).or_else(|_| fs::copy(&from, to).map(drop)).unwrap();
    }
    for name in names {
        let done = Command::new("setpriv")
            .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
            .arg(&tests)
            .args(["--exact", &format!("sandbox::{module}::{name}")])
            .env(AGAIN, "1")
            .env(PROGRAM, &piton)
            .env("HOME", "/tmp")
            .current_dir(reached.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{name}: {said}");
        assert!(said.contains("1 passed"), "{name}: {said}");
    }
}
