//! What it costs that a command outlives the agent.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use piton_core::event::{Outcome as Ended, PermissionMode};
use piton_core::id::{CallId, ConversationId, TurnId};
use piton_tools::supervise::Supervisor;
use piton_tools::{Arguments, Asker, Job, Shell, Site, Tool as _};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::Bench;
use crate::measure::{Outcome, interleaved, ratio, runtime, shown};
use crate::report::{Row, Target};

const ROUNDS: usize = 400;
const FIRST_ROUNDS: usize = 60;

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
    Ok(vec![
        row("a supervised shell `true`", value, floor, 3.0),
        row("the first one of a process", first, first_floor, 8.0),
    ])
}

fn shell_of(piton: &Path, dir: &Path) -> Shell {
    let supervisor = Supervisor::new(PathBuf::from(piton), dir.join("calls"), Vec::new());
    Shell::supervised(Arc::new(supervisor))
}

async fn run(shell: &Shell, dir: &Path) -> Outcome<Duration> {
    let site = Site {
        workspace: dir.to_owned(),
        scratch: dir.to_owned(),
        conversation: ConversationId::new("bench"),
        permissions: PermissionMode::default(),
    };
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
            cancel: CancellationToken::new(),
            asker: Asker::default(),
        })
        .await;
    let time = start.elapsed();
    shell.forget(&site, &handle);
    if finished.outcome == Ended::Ok { Ok(time) } else { Err(finished.text.into()) }
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
