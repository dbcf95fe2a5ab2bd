//! Keys that a command prints: password managers, logins.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use piton::model::ModelFailure;
use piton::transport::{KeySource, Secret};
use piton_core::event::FailureClass;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::oneshot;
use zeroize::Zeroizing;

use crate::environment::Environment;

/// Longest wait for a key. Enough to touch a token or to unlock a store.
const KEY_WAIT: Duration = Duration::from_mins(1);

/// What a command prints is read so far, in bytes. No key is as long.
const KEY_BYTES_MAX: usize = 64 * 1024;

/// Asks a command for the key, once, and again when the key is refused.
#[derive(Debug)]
pub(super) struct KeyCommand {
    command: Vec<String>,
    /// It may need another key to give this one.
    environment: Environment,
    wait: Duration,
    // Kept for the process; a lock, because a model is asked from any task.
    key: Arc<Mutex<Option<Secret>>>,
}

impl KeyCommand {
    pub(super) fn new(command: Vec<String>, environment: Environment) -> Self {
        Self { command, environment, wait: KEY_WAIT, key: Arc::default() }
    }

    fn program(&self) -> Result<Command, String> {
        let mut program = program(&self.command)?;
        self.environment.give_keys(&mut program);
        program.env("PATH", self.environment.path_beside());
        Ok(program)
    }
}

impl KeySource for KeyCommand {
    fn key(&self, refresh: bool) -> BoxFuture<'_, Result<Secret, ModelFailure>> {
        Box::pin(async move {
            let known = self.key.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let (Some(key), false) = (known, refresh) {
                return Ok(key);
            }
            let failed = |why: String| {
                let message = format!("the key command failed: {why}");
                ModelFailure::new(FailureClass::Auth, message)
            };
            let program = self.program().map_err(failed)?;
            let key = ask(program, self.wait).await.map_err(failed)?;
            *self.key.lock().unwrap_or_else(PoisonError::into_inner) = Some(key.clone());
            Ok(key)
        })
    }

    fn can_refresh(&self) -> bool {
        true
    }
}

/// A command that runs, with its group. Dropping this ends the command.
struct Running(Arc<Mutex<Option<Pid>>>);

impl Drop for Running {
    fn drop(&mut self) {
        // Under the lock it is not reaped, so the number is nobody else's.
        if let Some(group) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // An error means that nobody is left in it.
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

fn program(command: &[String]) -> Result<Command, String> {
    let (program, arguments) = command.split_first().ok_or("it is empty")?;
    let mut program = Command::new(program);
    program
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // What it complains of may hold the key.
        .stderr(Stdio::null())
        // Its helpers end with it.
        .process_group(0);
    Ok(program)
}

async fn ask(mut command: Command, wait: Duration) -> Result<Secret, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
    let group = Arc::new(Mutex::new(Some(Pid::from_child(&child))));
    let running = Running(group.clone());
    let (tell, told) = oneshot::channel();
    // A thread of its own, not one of the runtime: if a process outside the group holds the output
    // open, the end of the program does not wait for it.
    std::thread::spawn(move || drop(tell.send(collect(child, &group))));
    let output = tokio::time::timeout(wait, told).await;
    drop(running);
    let (status, printed) = output
        .map_err(|_| too_slow(&program, wait))?
        .map_err(|_| format!("{program}: it crashed"))?
        .map_err(|error| format!("{program}: {error}"))?;
    if KEY_BYTES_MAX <= printed.len() {
        return Err(format!("{program} printed more than a key"));
    }
    if !status.success() {
        // What it printed may hold the key; its status does not.
        return Err(format!("{program}: {status}"));
    }
    let key = std::str::from_utf8(&printed).map_err(|_| format!("{program}: not text"))?;
    match key.trim() {
        "" => Err(format!("{program} printed nothing")),
        key => Ok(Secret::new(key)),
    }
}

fn too_slow(program: &str, wait: Duration) -> String {
    let wait = wait.as_secs();
    format!("{program} gave no key within {wait} s; run it in a terminal to see what it waits for")
}

/// What it printed and how it ended.
fn collect(
    mut child: Child,
    group: &Mutex<Option<Pid>>,
) -> std::io::Result<(ExitStatus, Zeroizing<Vec<u8>>)> {
    // With room for all that is read: what had to move would leave a copy behind.
    let mut printed = Zeroizing::new(Vec::with_capacity(KEY_BYTES_MAX));
    let read = child
        .stdout
        .take()
        .map_or(Ok(0), |pipe| pipe.take(KEY_BYTES_MAX as u64).read_to_end(&mut printed));
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let pid = WaitId::Pid(Pid::from_child(&child));
    while waitid(pid.clone(), options).is_err_and(|error| error == rustix::io::Errno::INTR) {}
    // From here on the number may be given to another process.
    group.lock().unwrap_or_else(PoisonError::into_inner).take();
    let status = child.wait()?;
    read.map(|_| (status, printed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        program(&["sh", "-c", script].map(str::to_owned)).unwrap()
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
    }

    #[test]
    fn a_command_gives_its_key() {
        let asked = runtime().block_on(ask(shell("echo k3y"), KEY_WAIT));
        assert_eq!(asked, Ok(Secret::new("k3y")));
        let asked = runtime().block_on(ask(shell("echo k3y; exit 3"), KEY_WAIT));
        assert_eq!(asked, Err("sh: exit status: 3".into()));
    }

    // Its helper holds the output open: that is not waited for.
    #[test]
    fn a_command_that_never_ends_is_not_waited_for() {
        let command = shell("sleep 600 & sleep 600");
        let asked = runtime().block_on(ask(command, Duration::from_millis(20)));
        let why = "sh gave no key within 0 s; run it in a terminal to see what it waits for";
        assert_eq!(asked, Err(why.into()));
    }

    #[test]
    fn a_command_that_prints_without_end_is_not_read_to_the_end() {
        let asked = runtime().block_on(ask(shell("exec yes"), KEY_WAIT));
        assert_eq!(asked, Err("sh printed more than a key".into()));
    }
}
