//! Commands in the sandbox (F15): what they try to do outside, and what they must be able to do.
//!
//! Every attempt is also made without a sandbox, where it must succeed: an attempt that fails by
//! itself proves nothing. Where this machine does not let it succeed, because it takes root or a
//! program that is not there, the test says so.

mod attempt;
mod looks;
mod query;

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;

use piton_core::event::{Handle, PermissionMode, Permissions};
use piton_core::id::{CallId, ConversationId, TurnId};
use piton_tools::sandbox::{Kernel, Rules, When};
use piton_tools::supervise::Supervisor;
use piton_tools::{Arguments, Asker, Consent, Finished, Job, Progress, Shell, Site, Tool as _};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use self::attempt::{abstract_name, attempt};

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
        let supervisor = Supervisor::new(
            PathBuf::from(env!("CARGO_BIN_EXE_piton")),
            outside.join("calls"),
            Vec::new(),
        );
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
            consent: Consent::Given,
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
fn can_hold() -> bool {
    let kernel = Kernel::ask();
    let can = kernel.landlock.is_some_and(|version| 6 <= version) && kernel.filters;
    if !can {
        eprintln!("skipped: this kernel lacks what the sandbox needs ({kernel:?})");
    }
    can
}

/// An attempt: its name, and a command that exits with 0 if it got through.
type Row = (&'static str, &'static str);

const FILES: [Row; 26] = [
    ("write", "echo x > $OUT/new"),
    ("append", "echo x >> $OUT/file"),
    ("write through a link", "ln -s $OUT/file l; echo x > l"),
    ("write through a linked directory", "ln -s $OUT d; echo x > d/new"),
    ("write through a hard link", "ln $OUT/file h && echo x > h"),
    ("write through /proc/self/root", "echo x > /proc/self/root/$OUT/new"),
    ("write through /proc/self/cwd", "cd $OUT && echo x > /proc/self/cwd/new"),
    ("write through an open file", "exec 3< $OUT/file && echo x > /proc/self/fd/3"),
    ("write from elsewhere", "cd $OUT && echo x > new"),
    ("write behind ..", "echo x > ../../..$OUT/new"),
    ("write as a daemon", "setsid sh -c 'echo x > $0/new' $OUT < /dev/null"),
    ("truncate", "truncate -s 0 $OUT/file"),
    ("truncate by opening", ": > $OUT/file"),
    ("overwrite with dd", "dd if=/dev/zero of=$OUT/file bs=1 count=1 conv=notrunc"),
    ("remove", "rm -f $OUT/file && test ! -e $OUT/file"),
    ("remove a directory", "rmdir $OUT/dir"),
    ("make a directory", "mkdir $OUT/new"),
    ("make a link", "ln -s x $OUT/new"),
    ("make a pipe", "mkfifo $OUT/new"),
    ("rename out", "echo x > f; mv -T f $OUT/new"),
    ("rename in", "mv -T $OUT/file f && test ! -e $OUT/file"),
    ("rename outside", "mv -T $OUT/file $OUT/other"),
    ("link out", "echo x > f; ln f $OUT/new"),
    ("exchange a directory", "mkdir d; mv -T $OUT/dir d/dir"),
    ("edit in place", "sed -i s/o/x/ $OUT/file"),
    (
        "change what commands are recorded with",
        "for l in $OUT/calls/*/*/log; do echo x >> $l; done",
    ),
];

/// Attempts that not every machine lets succeed without a sandbox.
const PRIVILEGED: [Row; 8] = [
    ("mount", "mkdir m && mount -t tmpfs none m"),
    ("bind", "mkdir m && mount --bind $OUT m && echo x > m/new"),
    ("user namespace", "unshare --user true"),
    ("mount namespace", "unshare --mount true"),
    ("network namespace", "unshare --user --net true"),
    ("namespaces of the parent", "nsenter --target $PPID --mount true"),
    ("another root", "chroot $OUT /bin/true 2> /dev/null; test $? != 125 && echo x > $OUT/new"),
    ("make a device", "mknod disk b 7 0"),
];

#[tokio::test]
async fn f15_no_command_changes_a_file_outside() {
    if !can_hold() {
        return;
    }
    for (name, command) in FILES {
        let got_through = Cell::new(When::Never).run(command).await;
        assert_eq!(got_through.exit_code, Some(0), "{name} must work: {}", got_through.text);
        let cell = Cell::new(When::Always);
        let before = picture(&cell.outside);
        let refused = cell.run(command).await;
        assert_ne!(refused.exit_code, Some(0), "{name} got through: {}", refused.text);
        assert_eq!(picture(&cell.outside), before, "{name}");
    }
}

#[tokio::test]
async fn f15_no_command_gets_rights_that_go_around_the_walls() {
    if !can_hold() {
        return;
    }
    for (name, command) in PRIVILEGED {
        let free = Cell::new(When::Never).run(command).await;
        if free.exit_code != Some(0) {
            eprintln!("not possible here, sandbox or not: {name}: {}", free.text);
        }
        let refused = Cell::new(When::Always).run(command).await;
        assert_ne!(refused.exit_code, Some(0), "{name} got through: {}", refused.text);
    }
    let cell = Cell::new(When::Always);
    let status = cell.run("grep NoNewPrivs /proc/self/status").await;
    assert_eq!(status.text, "NoNewPrivs:\t1\n");
}

/// Attempts of a program, by name; the second ones may need root.
const CALLS: [&str; 7] =
    ["tcp", "tcp6-socket", "udp", "udp-socket6", "netlink", "abstract-socket", "environment"];
const ROOT_CALLS: [&str; 4] = ["raw", "packet", "io-uring", "take-file"];

#[tokio::test]
async fn f15_no_command_reaches_the_network_or_another_process() {
    if !can_hold() {
        return;
    }
    let target = Target::new();
    for name in CALLS.into_iter().chain(ROOT_CALLS) {
        let command = target.attempt(name);
        let free = Cell::new(When::Never).run(&command).await;
        if ROOT_CALLS.contains(&name) && free.exit_code != Some(0) {
            eprintln!("not possible here, sandbox or not: {name}");
        } else {
            assert_eq!(free.exit_code, Some(0), "{name} must work: {}", free.text);
        }
        let refused = Cell::new(When::Always).run(&command).await;
        assert_eq!(refused.exit_code, Some(101), "{name} got through: {}", refused.text);
    }
}

#[tokio::test]
async fn f15_no_command_signals_a_process_outside() {
    if !can_hold() {
        return;
    }
    let target = Target::new();
    let kill = format!("kill -0 {}", target.process.id());
    assert_eq!(Cell::new(When::Never).run(&kill).await.exit_code, Some(0));
    let refused = Cell::new(When::Always).run(&kill).await;
    assert_ne!(refused.exit_code, Some(0), "{}", refused.text);
    let refused = Cell::new(When::Always).run("kill -9 $PPID").await;
    assert_ne!(refused.exit_code, Some(0), "its supervisor: {}", refused.text);
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

#[tokio::test]
async fn f15_no_command_changes_limits_or_turns_of_a_process_outside() {
    if !can_hold() {
        return;
    }
    let target = Target::new();
    let pid = target.process.id();
    for command in [
        format!("prlimit --pid {pid} --nofile=512:512"),
        format!("renice -n 5 -p {pid}"),
        format!("ionice -c 3 -p {pid}"),
    ] {
        let free = Cell::new(When::Never).run(&command).await;
        assert_eq!(free.exit_code, Some(0), "{command} must work: {}", free.text);
        let refused = Cell::new(When::Always).run(&command).await;
        assert_ne!(refused.exit_code, Some(0), "{command} got through: {}", refused.text);
    }
    let refused = Cell::new(When::Always).run("prlimit --pid $PPID --fsize=0:0").await;
    assert_ne!(refused.exit_code, Some(0), "its supervisor: {}", refused.text);
}

/// What developers do all day must go on.
const WORK: [Row; 15] = [
    (
        "own limits",
        "ulimit -n 64 && nice -n 1 prlimit --core=0 ionice -c 3 true && prlimit --pid $PPID > /dev/null",
    ),
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
        let done = Cell::new(When::Unasked).run(command).await;
        assert_eq!(done.exit_code, Some(0), "{name}: {}", done.text);
    }
}

#[tokio::test]
async fn one_command_can_stop_what_another_has_started() {
    let cell = Cell::new(When::Unasked);
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
    assert_eq!(cell.run(&swap).await.exit_code, Some(0));
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
    assert!(refused.text.contains("[it ran in a sandbox: writes only in the workspace, /tmp"));
    let done = cell.run_with(&plain, "echo x > f; echo done").await;
    assert_eq!((done.exit_code, done.text.as_str()), (Some(0), "done\n"));
    assert!(cell.work("f").exists() && !cell.outside.join("new").exists());
}

/// Somebody outside, to be reached or not.
struct Target {
    process: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    _named: UnixListener,
    directory: TempDir,
}

impl Target {
    fn new() -> Self {
        let process = Command::new("sleep").arg("1000").env("CANARY", "x").spawn().unwrap();
        let named = UnixListener::bind_addr(&abstract_name(&process.id().to_string())).unwrap();
        Self {
            process,
            _named: named,
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            directory: TempDir::new().unwrap(),
        }
    }

    /// A command that makes an attempt at this target.
    fn attempt(&self, name: &str) -> String {
        let program = std::env::current_exe().unwrap();
        let (tcp, udp) = (self.tcp.local_addr().unwrap(), self.udp.local_addr().unwrap());
        let (pid, socket) = (self.process.id(), self.directory.path().join("socket"));
        format!(
            "RUST_BACKTRACE=0 PITON_ATTEMPT='{name} {tcp} {udp} {pid} {}' {} --exact sandbox::makes_an_attempt",
            socket.display(),
            program.display()
        )
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Not a test of its own: commands in the sandbox run this binary with a word in its environment.
#[test]
fn makes_an_attempt() {
    let Ok(words) = std::env::var("PITON_ATTEMPT") else { return };
    let words: Vec<_> = words.split(' ').collect();
    attempt(words.try_into().unwrap());
}

/// Everything there is below a directory that a command could have changed.
fn picture(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.path().symlink_metadata().unwrap();
        if entry.file_name() != "calls" {
            let content = fs::read_to_string(entry.path()).unwrap_or_default();
            found.push(format!("{:?} {:?} {content}", entry.file_name(), metadata.file_type()));
        }
    }
    found.sort();
    found
}
