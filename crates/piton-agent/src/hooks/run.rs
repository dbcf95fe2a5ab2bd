//! Runs the command of a hook: bounded in time and output, without keys, and with all that it started.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use piton_tools::Program;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};

/// The exit code that denies a call.
const DENY_CODE: i32 = 2;
/// What a hook prints is kept so far, in bytes, of each stream. The rest is read and forgotten.
const OUTPUT_BYTES_MAX: u64 = 64 * 1024;
/// Longest reason that the model reads, in bytes.
const REASON_BYTES_MAX: usize = 4 * 1024;
/// Longest complaint of a hook that a person reads, in bytes.
const COMPLAINT_BYTES_MAX: usize = 200;
/// How long the output of a command is waited for that has ended: something that it left running may
/// hold it open.
const LEFT_OPEN_WAIT: Duration = Duration::from_millis(200);
/// What the model reads where a hook gives no reason.
const NO_REASON: &str = "it gave no reason.";

/// A command, and for which tools it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hook {
    /// A name, where `*` stands for any letters.
    pub(super) tool: String,
    pub(super) program: Program,
    pub(super) timeout: Duration,
}

/// What a command printed, and how it ended.
#[derive(Debug)]
pub(super) struct Ran {
    name: String,
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Ran {
    /// Why the call is denied, if it is. A command that neither denies nor succeeds said nothing.
    pub(super) fn verdict(&self) -> Result<Option<String>, String> {
        let printed = String::from_utf8_lossy(&self.stdout);
        let printed = printed.trim();
        let said: Result<Value, _> = serde_json::from_str(printed);
        let deny = said.as_ref().ok().and_then(|said| said.get("deny"));
        match deny {
            Some(Value::String(why)) => return Ok(Some(reason(why))),
            Some(Value::Bool(true)) => return Ok(Some(NO_REASON.into())),
            Some(_) | None => {}
        }
        if self.status.code() == Some(DENY_CODE) {
            return Ok(Some(reason(&String::from_utf8_lossy(&self.stderr))));
        }
        if said.is_err() && printed.starts_with('{') {
            return Err(format!("hook {}: what it printed is no JSON", self.name));
        }
        self.fault().map_or(Ok(None), Err)
    }

    /// What went wrong, if something did.
    pub(super) fn fault(&self) -> Option<String> {
        if self.status.success() {
            return None;
        }
        let complaint = String::from_utf8_lossy(&self.stderr);
        let complaint = complaint.trim().lines().next_back().unwrap_or_default();
        let complaint = match cut(complaint, COMPLAINT_BYTES_MAX) {
            "" => String::new(),
            complaint => format!(" ({complaint})"),
        };
        Some(format!("hook {} failed: {}{complaint}", self.name, self.status))
    }
}

/// Runs a hook in the workspace with this input.
pub(super) async fn run(
    hook: &Hook,
    input: &str,
    workspace: &Path,
    hidden: &[OsString],
) -> Result<Ran, String> {
    let name = name(&hook.program);
    let mut command = command(&hook.program);
    command
        .current_dir(workspace)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // What it started ends with it if it takes too long.
        .process_group(0)
        .kill_on_drop(true);
    for variable in hidden {
        command.env_remove(variable);
    }
    let child = command.spawn().map_err(|error| format!("hook {name} cannot run: {error}"))?;
    let ended = tokio::time::timeout(hook.timeout, collect(Running(child), input)).await;
    let seconds = hook.timeout.as_secs();
    let ended = ended.map_err(|_| format!("hook {name} was stopped after {seconds} s"))?;
    let (status, stdout, stderr) = ended.map_err(|error| format!("hook {name}: {error}"))?;
    Ok(Ran { name, status, stdout, stderr })
}

/// A command that runs, with its group. Dropping this ends both.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // None once it has ended: then the number may be somebody else's.
        let id = self.0.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = id.and_then(Pid::from_raw) {
            // An error means that nobody is left in it.
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

async fn collect(mut running: Running, input: &str) -> io::Result<(ExitStatus, Vec<u8>, Vec<u8>)> {
    let Running(child) = &mut running;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut printed, mut complaints) = (Vec::new(), Vec::new());
    let status = {
        let talk = async {
            tokio::join!(
                write(stdin, input),
                read(stdout, &mut printed),
                read(stderr, &mut complaints)
            )
        };
        tokio::pin!(talk);
        let mut is_over = false;
        let status = loop {
            tokio::select! {
                status = child.wait() => break status?,
                _ = &mut talk, if !is_over => is_over = true,
            }
        };
        if !is_over {
            tokio::time::timeout(LEFT_OPEN_WAIT, talk).await.ok();
        }
        status
    };
    Ok((status, printed, complaints))
}

/// Writes what the command may read. One that does not want it need not.
async fn write(stdin: Option<ChildStdin>, input: &str) {
    if let Some(mut stdin) = stdin {
        stdin.write_all(input.as_bytes()).await.ok();
    }
}

/// Reads all of it and keeps the beginning: a command that prints much must not wait for a reader.
async fn read(stream: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(stream) = stream else { return };
    let mut first = stream.take(OUTPUT_BYTES_MAX);
    // What cannot be read is not there.
    first.read_to_end(kept).await.ok();
    tokio::io::copy(&mut first.into_inner(), &mut tokio::io::sink()).await.ok();
}

fn command(program: &Program) -> Command {
    match program {
        Program::Line(line) => {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(line);
            command
        }
        Program::Words(words) => {
            let (first, rest) = words.split_first().map_or(("", &[][..]), |(a, b)| (a, b));
            let mut command = Command::new(first);
            command.args(rest);
            command
        }
    }
}

/// What a person recognises a hook by.
fn name(program: &Program) -> String {
    let first = match program {
        Program::Line(line) => line.lines().next().unwrap_or_default(),
        Program::Words(words) => words.first().map_or("", String::as_str),
    };
    format!("`{}`", cut(first.trim(), COMPLAINT_BYTES_MAX))
}

/// A reason as the model reads it.
fn reason(said: &str) -> String {
    match cut(said.trim(), REASON_BYTES_MAX) {
        "" => NO_REASON.into(),
        said => said.into(),
    }
}

fn cut(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}
