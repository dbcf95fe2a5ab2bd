//! What it costs to hold many commands that sleep.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use piton_core::event::Grants;
use piton_core::id::{CallId, TurnId};
use piton_tools::supervise::{KeptState, Supervisor};
use piton_tools::{Arguments, Asker, Consent, Job, Progress, Shell, Tool as _};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::measure::Bench;
use crate::measure::{Outcome, runtime, shown};
use crate::report::{Row, Target};
use crate::supervised::site;

/// Commands that are held at once.
const COMMANDS: u32 = 1_000;
/// Longest wait for all of them to begin, and for all of them to end.
const DEADLINE: Duration = Duration::from_mins(1);
/// How often to look.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Memory of agent and supervisors for each of 1,000 commands, the commands themselves not counted.
pub(crate) fn held(bench: &Bench) -> Outcome<Vec<Row>> {
    let dir = bench.dir.path().join("sleepers");
    fs::create_dir_all(&dir)?;
    let supervisor = Supervisor::new(bench.bin.join("piton"), dir.join("calls"), Vec::new());
    let supervisor = Arc::new(supervisor);
    let (shell, runtime) = (Shell::supervised(supervisor.clone()), runtime()?);
    let own = std::process::id();
    let before = pss_kb(own)?;
    let start = Instant::now();
    for index in 0..COMMANDS {
        runtime.block_on(begin(&shell, &dir, index))?;
    }
    let supervisors = family(own);
    let [_, inner] = supervisors.as_slice() else {
        return Err(format!("{} supervisors instead of two", supervisors.len()).into());
    };
    begun(*inner)?;
    let time = start.elapsed();
    let all = supervisor.shelf().of(&site(&dir).conversation);
    let running = all.iter().filter(|kept| kept.state == KeptState::Running).count();
    if running != COMMANDS as usize {
        return Err(format!("{running} commands run instead of {COMMANDS}").into());
    }
    let mut supervised = 0;
    for pid in &supervisors {
        supervised += pss_kb(*pid)?;
    }
    let agent = pss_kb(own)?.saturating_sub(before);
    end(*inner)?;
    let each_kb = f64::from(supervised + agent) / f64::from(COMMANDS);
    Ok(vec![Row {
        what: "memory of a sleeping command, 1,000 held",
        value: format!("{supervised} KB supervisors, {agent} KB agent"),
        floor: format!("started within {}", shown(time)),
        figure: each_kb,
        unit: " KB",
        target: Target::AtMost(1_024.0),
    }])
}

/// Starts a command and does not wait for its end.
async fn begin(shell: &Shell, dir: &Path, index: u32) -> Outcome<()> {
    let arguments = json!({ "command": "exec sleep 900", "wait_s": 0 });
    let arguments: Arguments = arguments.as_object().cloned().unwrap_or_default();
    let (site, call) = (site(dir), CallId { turn: TurnId(1), step: 1, index });
    let handle = shell.prepare(&site, call, &arguments).await?.handle;
    let (site, arguments) = (Arc::new(site), Arc::new(arguments));
    let (cancel, asker) = (CancellationToken::new(), Asker::default());
    let progress = Progress::default();
    let (consent, grants) = (Consent::WordForWord, Grants::default());
    let job = Job { site, call, arguments, handle, consent, grants, cancel, asker, progress };
    let finished = shell.run(job).await;
    if finished.text.contains("still running") { Ok(()) } else { Err(finished.text.into()) }
}

/// The outer supervisor and the inner one.
fn family(own: u32) -> Vec<u32> {
    let outer = children(own);
    let inner: Vec<u32> = outer.iter().flat_map(|outer| children(*outer)).collect();
    [outer, inner].concat()
}

fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
    let lists = lists.map(Result::unwrap_or_default).collect::<Vec<_>>().concat();
    lists.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Memory of a process; what it shares with others counts in part.
fn pss_kb(pid: u32) -> Outcome<u32> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kb = line.and_then(|line| line.trim().strip_suffix("kB")).ok_or("no Pss")?;
    Ok(kb.trim().parse()?)
}

/// Waits until all commands are there: the last ones may still be on their way to the supervisor.
fn begun(inner: u32) -> Outcome<()> {
    let deadline = Instant::now() + DEADLINE;
    while children(inner).len() < COMMANDS as usize {
        if deadline < Instant::now() {
            return Err(format!("only {} commands begin", children(inner).len()).into());
        }
        // wait: commands of another process announce their start to nobody
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Kills the commands and waits until they are gone.
fn end(inner: u32) -> Outcome<()> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let left = children(inner);
        if left.is_empty() {
            return Ok(());
        }
        if deadline < Instant::now() {
            return Err(format!("{} commands do not end", left.len()).into());
        }
        for pid in left.into_iter().filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?)) {
            // It may be gone already.
            kill_process(pid, Signal::KILL).ok();
        }
        // wait: commands of another process announce their end to nobody
        std::thread::sleep(LOOK_EVERY);
    }
}
