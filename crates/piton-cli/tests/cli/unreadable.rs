//! What other processes of the same user see of an agent: neither its memory nor its environment, which may hold
//! keys.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::chown;
use std::process::{Child, Command, Stdio};

use crate::world::World;

const NOBODY: u32 = 65534;

/// Runs a command as a user without rights.
fn as_nobody(program: impl Into<OsString>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command.arg(program.into()).stdin(Stdio::null());
    command
}

/// Whether a process of the same user reads the environment of another one.
fn is_read(process: &Child) -> bool {
    let mut cat = as_nobody("cat");
    cat.arg(format!("/proc/{}/environ", process.id())).stderr(Stdio::null());
    cat.stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[test]
fn the_environment_of_an_agent_is_not_read_by_its_user_s_other_processes() {
    let world = World::new();
    let top = world.path("work").parent().unwrap().to_owned();
    let given = chown(&top, Some(NOBODY), Some(NOBODY))
        .and_then(|()| chown(world.path("work"), Some(NOBODY), Some(NOBODY)));
    if given.is_err() {
        println!("skipped: only root may give files away");
        return;
    }
    let inner = world.command(&["serve"]);
    let mut serve = as_nobody(inner.get_program());
    serve.args(inner.get_args()).current_dir(inner.get_current_dir().unwrap());
    serve.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut serving = serve.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut lines = BufReader::new(serving.stderr.take().unwrap());
    while lines.read_line(&mut said).unwrap() != 0 && !said.contains("Serving on") {}
    let mut other = as_nobody("sh");
    other.args(["-c", "echo; read -r end"]).stdin(Stdio::piped());
    let mut other = other.stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(other.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let (agents, others) = (is_read(&serving), is_read(&other));
    for mut process in [serving, other] {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    if !said.contains("Serving on") {
        println!("skipped: nobody cannot run this binary here: {said}");
        return;
    }
    assert!(others, "the control");
    assert!(!agents);
}
