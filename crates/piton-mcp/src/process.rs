//! A server that is a program: started with little, in a group of its own, and ended with the agent.
//!
//! The leader is reaped only after its whole group was killed: until then its number is taken, so no
//! other group can be meant by it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use piton_tools::sandbox::{Kernel, Policy, start_behind};
use piton_tools::{fail, server};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, sink};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::printed::{Printed, Shared};
use crate::text::tail;

/// What every server gets of our environment. Keys are not among it, by any name.
const BASE: [&str; 17] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];
/// The program that runs, also if its file was replaced.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// How much of what a server complains of is kept, in bytes.
const STDERR_BYTES_MAX: usize = 8 * 1024;
/// How much of it is told, in bytes.
const TOLD_BYTES_MAX: usize = 2 * 1024;
/// Longest wait for a server to end by itself, and again after it was asked to.
const LEAVE_WAIT: Duration = Duration::from_secs(2);
/// How often to look whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A running server.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    group: Option<Pid>,
    complaints: Arc<Mutex<Vec<u8>>>,
    /// What it prints besides messages.
    pub(crate) printed: Printed,
    /// To hear it out, should it end before it answers.
    output: Option<Shared<ChildStdout>>,
    /// Ends with the last word.
    listener: Option<JoinHandle<()>>,
}

/// Its ends of the pipes.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) input: ChildStdin,
    pub(crate) output: Shared<ChildStdout>,
}

/// What to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program<'a> {
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) directory: &'a Path,
    /// What it may do; none leaves it free.
    pub(crate) policy: Option<&'a Policy>,
}

impl Process {
    /// Starts it.
    pub(crate) async fn start(program: Program<'_>) -> io::Result<(Self, Pipes)> {
        let child = match program.policy {
            None => furnished(Command::new(resolved(program)), program).spawn()?,
            Some(policy) => match founded(policy, program).await {
                Ok(Some(child)) => child,
                // Where there are no namespaces the walls stand without.
                Ok(None) | Err(_) => behind(policy, furnished(within_limits(program), program))?,
            },
        };
        Self::of(child)
    }

    fn of(mut child: Child) -> io::Result<(Self, Pipes)> {
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("a pipe is missing"));
        };
        let complaints = Arc::default();
        let stderr = child.stderr.take();
        let listener = stderr.map(|stderr| tokio::spawn(listen(stderr, Arc::clone(&complaints))));
        let printed = Printed::default();
        let output = Shared::of(output, printed.clone());
        let kept = Some(output.share());
        let process = Self { child, group, complaints, printed, output: kept, listener };
        Ok((process, Pipes { input, output }))
    }

    /// Its output has a listener from now on; when the listener stops, the output is closed.
    pub(crate) fn is_connected(&mut self) {
        self.output = None;
    }

    /// The end of what it complained of.
    pub(crate) fn complaints(&self) -> String {
        let kept = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        tail(text.trim(), TOLD_BYTES_MAX).to_owned()
    }

    /// Waits for it to end by itself, for a moment, then sees to it. Its input is closed by now.
    pub(crate) async fn end(&mut self) -> Option<ExitStatus> {
        if !self.has_ended_soon().await {
            self.signal(Signal::TERM);
            self.has_ended_soon().await;
        }
        self.signal(Signal::KILL);
        timeout(LEAVE_WAIT, self.child.wait()).await.ok()?.ok()
    }

    /// How it ended, if it did; then its last word has been heard.
    pub(crate) async fn fate(&mut self) -> Option<ExitStatus> {
        if !self.has_ended_soon().await {
            return None;
        }
        let status = self.end().await;
        if let Some(listener) = self.listener.take() {
            // A process outside its group may hold its output open; then this is all.
            timeout(LEAVE_WAIT, listener).await.unwrap_or(Ok(())).unwrap_or_default();
        }
        if let Some(mut output) = self.output.take() {
            timeout(LEAVE_WAIT, copy(&mut output, &mut sink())).await.ok();
        }
        status
    }

    async fn has_ended_soon(&self) -> bool {
        let deadline = Instant::now() + LEAVE_WAIT;
        while !self.has_ended() {
            if deadline <= Instant::now() {
                return false;
            }
            sleep(LOOK_EVERY).await;
        }
        true
    }

    /// Looks without reaping.
    fn has_ended(&self) -> bool {
        let Some(leader) = self.leader() else { return true };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(leader), options), Ok(None))
    }

    /// The leader, while nobody has reaped it.
    fn leader(&self) -> Option<Pid> {
        self.child.id().and(self.group)
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.leader() {
            // A group that is gone is what was wanted.
            kill_process_group(group, signal).unwrap_or_default();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// A program with a slash in its name is meant as seen from where it is started.
fn resolved(program: Program<'_>) -> OsString {
    let command = Path::new(program.command);
    if command.is_relative() && program.command.contains('/') {
        program.directory.join(command).into_os_string()
    } else {
        program.command.into()
    }
}

/// The program, or a shell that becomes it within its limits.
fn within_limits(program: Program<'_>) -> Command {
    let mut words = words(program).into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// The same as words.
fn words(program: Program<'_>) -> Vec<OsString> {
    let limits = program.policy.map(|policy| policy.limits.words()).unwrap_or_default();
    if limits.is_empty() {
        return vec![resolved(program)];
    }
    let line = format!("{limits}exec \"$0\" \"$@\"");
    vec!["/bin/sh".into(), "-c".into(), line.into(), resolved(program)]
}

/// A command with what every server gets: its arguments, few variables, and pipes.
fn furnished(mut command: Command, program: Program<'_>) -> Command {
    let passed = program.policy.map(|policy| policy.env.as_slice()).unwrap_or_default();
    command
        .args(program.args)
        .env_clear()
        .envs(base())
        .envs(present(passed))
        .envs(program.env)
        .current_dir(program.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is meant for the agent, and processes of the server end with the server.
        .process_group(0)
        .kill_on_drop(true);
    command
}

/// Starts a program in namespaces of its own; `None` if there are none here.
async fn founded(policy: &Policy, program: Program<'_>) -> io::Result<Option<Child>> {
    if fail::wanted("no-namespaces") || Kernel::ask().landlock.is_none() {
        return Ok(None);
    }
    let mut command = Command::new(OWN_PROGRAM);
    command.arg0("piton").args(server::arguments()).args(words(program));
    let mut child = furnished(command, program).spawn()?;
    let (Some(input), Some(output)) = (&mut child.stdin, &mut child.stdout) else {
        return Ok(None);
    };
    input.write_all(&server::order(policy)?).await?;
    let is_founded = output.read_u8().await.is_ok_and(|byte| byte == server::FOUNDED);
    Ok(is_founded.then_some(child))
}

fn base() -> impl Iterator<Item = (&'static OsStr, OsString)> {
    present(&BASE)
}

/// Those of these variables that are set.
fn present<N: AsRef<OsStr>>(names: &[N]) -> impl Iterator<Item = (&OsStr, OsString)> {
    names.iter().filter_map(|name| Some((name.as_ref(), std::env::var_os(name)?)))
}

/// Starts a program behind the walls of a policy, which are put around a thread of its own.
fn behind(policy: &Policy, mut command: Command) -> io::Result<Child> {
    let runtime = Handle::current();
    start_behind(policy, move || {
        let _here = runtime.enter();
        command.spawn()
    })
}

async fn listen(mut stderr: ChildStderr, complaints: Arc<Mutex<Vec<u8>>>) {
    let mut piece = vec![0; STDERR_BYTES_MAX];
    while let Ok(count) = stderr.read(&mut piece).await {
        if count == 0 {
            return;
        }
        let mut kept = complaints.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(piece.iter().take(count));
        let excess = kept.len().saturating_sub(STDERR_BYTES_MAX);
        kept.drain(..excess);
    }
}
