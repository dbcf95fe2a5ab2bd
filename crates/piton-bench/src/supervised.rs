//! What it costs that a command outlives the agent.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use piton_core::event::{Outcome as Ended, Permissions};
use piton_core::id::{CallId, ConversationId, TurnId};
use piton_tools::sandbox::{Rules, When};
use piton_tools::supervise::Supervisor;
use piton_tools::{Arguments, Asker, Consent, Job, Progress, Shell, Site, Tool as _};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::measure::Bench;
use crate::measure::{Outcome, interleaved, median, ratio, runtime, shown};
use crate::report::{Row, Target};

const ROUNDS: usize = 400;
const FIRST_ROUNDS: usize = 60;
/// Commands of two processes whose syncs are counted.
const FEW: u32 = 2;
const MANY: u32 = 12;
/// Makes this program run commands and measure nothing.
pub(crate) const COMMANDS_ONLY: &str = "commands-only";

/// A supervised `true` against a plain one and two syncs.
pub(crate) fn shell(bench: &Bench) -> Outcome<Vec<Row>> {
    let dir = bench.dir.path().join("supervised");
    std::fs::create_dir_all(&dir)?;
    let piton = bench.bin.join("piton");
    let (mut kept, runtime) = (shell_of(&piton, &dir), runtime()?);
    runtime.block_on(run(&kept, &dir))?;
    let (value, floor) =
        interleaved(ROUNDS, || runtime.block_on(run(&kept, &dir)), || plain(&dir))?;
    let (first, first_floor) = interleaved(
        FIRST_ROUNDS,
        || {
            kept = shell_of(&piton, &dir);
            runtime.block_on(run(&kept, &dir))
        },
        || plain(&dir),
    )?;
    let row = |what, value: Duration, floor: Duration, most| Row {
        what,
        value: shown(value),
        floor: format!("a plain one and two syncs {}", shown(floor)),
        figure: ratio(value, floor),
        unit: "x",
        target: Target::AtMost(most),
    };
    let (again, spawned) = interleaved(ROUNDS, || runtime.block_on(run(&kept, &dir)), spawn)?;
    let added = Row {
        what: "what supervision adds to a shell `true`",
        value: shown(again),
        floor: format!("spawn and wait {}", shown(spawned)),
        figure: (again.as_secs_f64() - spawned.as_secs_f64()) * 1e3,
        unit: " ms",
        target: Target::AtMost(2.0),
    };
    Ok(vec![
        row("a supervised shell `true`", value, floor, 3.0),
        row("the first one of a process", first, first_floor, 8.0),
        added,
    ])
}

/// A `true` in the sandbox of `piton query` against one without: in a directory of the disk, and below the temporary
/// one, where commands write above the workspace too, so that more is looked at.
pub(crate) fn sandbox(bench: &Bench) -> Outcome<Vec<Row>> {
    let temporary = tempfile::tempdir()?;
    let places = [
        ("a shell `true` in the sandbox", bench.dir.path().join("sandbox")),
        ("the same, three directories below the temporary one", temporary.path().join("a/b")),
    ];
    let mut rows = Vec::new();
    for (what, dir) in places {
        std::fs::create_dir_all(&dir)?;
        let (walled, open) = walled(&bench.bin.join("piton"), &dir)?;
        let spawned = median((0..ROUNDS).map(|_| spawn()).collect::<Outcome<_>>()?);
        let added = walled.saturating_sub(open);
        // How long one without takes is up to the disk, which syncs twice.
        rows.push(Row {
            what,
            value: shown(walled),
            floor: format!("one without {}", shown(open)),
            figure: ratio(walled, open),
            unit: "x",
            target: Target::None,
        });
        rows.push(Row {
            what: "what the sandbox adds to it",
            value: shown(added),
            floor: format!("spawn and wait {}", shown(spawned)),
            figure: ratio(added, spawned),
            unit: "x",
            target: Target::AtMost(6.0),
        });
    }
    Ok(rows)
}

/// How long a command takes in the sandbox, and without.
fn walled(piton: &Path, dir: &Path) -> Outcome<(Duration, Duration)> {
    let runtime = runtime()?;
    let rules = Rules { when: When::Always, network: false, ..Rules::none() };
    let supervisor = Supervisor::new(piton.to_owned(), dir.join("calls"), Vec::new());
    let confined = Shell::supervised(Arc::new(supervisor.sandbox(rules)));
    let free = shell_of(piton, dir);
    for shell in [&confined, &free] {
        runtime.block_on(run(shell, dir))?;
    }
    interleaved(
        ROUNDS,
        || runtime.block_on(run(&confined, dir)),
        || runtime.block_on(run(&free, dir)),
    )
}

/// How often the agent and both supervisors sync for one command, as `strace` counts.
pub(crate) fn syncs(bench: &Bench) -> Outcome<Vec<Row>> {
    let (few, many) = (traced(bench, FEW)?, traced(bench, MANY)?);
    let each = f64::from(many.saturating_sub(few)) / f64::from(MANY - FEW);
    Ok(vec![Row {
        what: "syncs of a supervised command",
        value: format!("{few} for {FEW}, {many} for {MANY}"),
        floor: "its start and its end".into(),
        figure: each,
        unit: "",
        target: Target::AtMost(2.0),
    }])
}

fn traced(bench: &Bench, count: u32) -> Outcome<u32> {
    let dir = bench.dir.path().join(format!("syncs-{count}"));
    std::fs::create_dir_all(&dir)?;
    let trace = dir.join("trace");
    let status = Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=fsync,fdatasync", "-o"])
        .arg(&trace)
        .arg(std::env::current_exe()?)
        .arg(COMMANDS_ONLY)
        .arg(&dir)
        .arg(count.to_string())
        .status();
    if !status.is_ok_and(|status| status.success()) {
        return Err("syncs are counted by strace, which is missing or failed".into());
    }
    let lines = std::fs::read_to_string(trace)?;
    let calls = lines.lines().filter(|line| line.contains("sync(") && !line.contains("resumed"));
    Ok(u32::try_from(calls.count())?)
}

/// What is traced: some commands, and nothing else.
pub(crate) fn commands_only(dir: &Path, count: u32) -> Outcome<()> {
    let bin = std::env::current_exe()?.parent().map(PathBuf::from).unwrap_or_default();
    let (shell, runtime) = (shell_of(&bin.join("piton"), dir), runtime()?);
    for _ in 0..count {
        runtime.block_on(run(&shell, dir))?;
    }
    Ok(())
}

pub(crate) fn shell_of(piton: &Path, dir: &Path) -> Shell {
    let supervisor = Supervisor::new(PathBuf::from(piton), dir.join("calls"), Vec::new());
    Shell::supervised(Arc::new(supervisor))
}

pub(crate) fn site(dir: &Path) -> Site {
    Site {
        workspace: dir.to_owned(),
        scratch: dir.to_owned(),
        conversation: ConversationId::new("bench"),
        permissions: Permissions::default(),
        closed: piton_tools::Closed::default(),
    }
}

async fn run(shell: &Shell, dir: &Path) -> Outcome<Duration> {
    let site = site(dir);
    let arguments: Arguments =
        json!({ "command": "true" }).as_object().cloned().unwrap_or_default();
    let call = CallId { turn: TurnId(1), step: 1, index: 0 };
    let start = Instant::now();
    let prepared = shell.prepare(&site, call, &arguments).await?;
    let handle = prepared.handle.clone();
    let finished = shell
        .run(Job {
            site: Arc::new(site.clone()),
            call,
            arguments: Arc::new(arguments),
            handle: prepared.handle,
            consent: Consent::WordForWord,
            grants: piton_core::event::Grants::default(),
            cancel: CancellationToken::new(),
            asker: Asker::default(),
            progress: Progress::default(),
        })
        .await;
    let time = start.elapsed();
    shell.forget(&site, &handle);
    if finished.outcome == Ended::Ok { Ok(time) } else { Err(finished.text.into()) }
}

/// The same command without anybody who looks after it.
fn spawn() -> Outcome<Duration> {
    let start = Instant::now();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "true"]).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    Ok(start.elapsed())
}

fn plain(dir: &Path) -> Outcome<Duration> {
    let mut log = File::options().create(true).append(true).open(dir.join("floor"))?;
    let start = Instant::now();
    log.write_all(&[b'x'; 200])?;
    log.sync_data()?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "true"]).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    log.write_all(&[b'x'; 200])?;
    log.sync_data()?;
    Ok(start.elapsed())
}
