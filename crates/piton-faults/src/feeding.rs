//! Commands that are fed: each line arrives at most once, and once if it was said to be written.
//!
//! The agent here makes several calls, one after the other: a command with an input, lines for it,
//! and the end of its input. The start of each is recorded before it is made, and what it was told
//! after it, so a later process goes on where the record stops, as an engine does.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use piton_core::event::{Handle, Outcome as Ended};
use piton_core::id::{CallId, TurnId};
use piton_tools::supervise::Supervisor;
use piton_tools::{
    Arguments, Asker, Consent, Finished, Job, Progress, Settled, Shell, ShellWrite, Tool,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::act::{put_down, runtime, said};
use crate::kills::{reached, told as told_of};
use crate::outcome::Outcome;
use crate::people::{self, Chance};
use crate::plan::Plan;
use crate::report::Row;
use crate::scene::{Said, Scene, ended, site};
use crate::trace::{Watch, Who, points};

/// Writes down every line that it reads.
const COMMAND: &str = "while read -r line; do echo \"$line\" >> ledger; done; exit 0";
/// The calls behind the first one write a line each, but the last one, which closes the input.
const LINES: u32 = 6;
/// Deaths come within this time, in microseconds: a little more than a round takes.
const LIFE_US: u64 = 80_000;
/// A round takes longer than one with a single call: so many fewer are made.
const ROUNDS_SHARE: u32 = 4;
/// Rounds of the control.
const CONTROLS: u32 = 3;
/// How often the control looks for the first line.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Makes the calls that were not made, and settles the one that is in doubt.
pub(crate) fn feed(root: &Path) -> Outcome<()> {
    let supervisor = Supervisor::new(std::env::current_exe()?, root.join("calls"), Vec::new());
    let supervisor = Arc::new(supervisor);
    let shell: Box<dyn Tool> = Box::new(Shell::supervised(supervisor.clone()));
    let write: Box<dyn Tool> = Box::new(ShellWrite::new(supervisor));
    runtime()?.block_on(async {
        for index in 0..=LINES + 1 {
            if told(root, index).is_some() {
                continue;
            }
            let call = Call { root, index, tool: if index == 0 { &*shell } else { &*write } };
            let (verdict, finished) = call.go_on().await?;
            put_down(root, &name("said", index), &said(verdict, finished, 0))?;
        }
        Ok(())
    })
}

struct Call<'a> {
    root: &'a Path,
    index: u32,
    tool: &'a dyn Tool,
}

impl Call<'_> {
    async fn go_on(&self) -> Outcome<(&'static str, Finished)> {
        let arguments = arguments(self.index);
        let Some(handle) = self.recorded() else {
            return Ok(("done", self.start(&arguments).await?));
        };
        Ok(match self.tool.settle(&site(self.root), &arguments, &handle).await {
            Settled::NotApplied => ("not applied", self.start(&arguments).await?),
            Settled::Running => ("running", self.run(&arguments, handle).await),
            Settled::Applied(finished) => ("applied", finished),
            Settled::Unknown(text) => {
                ("unknown", Finished { outcome: Ended::Unknown, ..Finished::ok(text) })
            }
        })
    }

    async fn start(&self, arguments: &Arguments) -> Outcome<Finished> {
        let site = site(self.root);
        let prepared = match self.tool.prepare(&site, id(self.index), arguments).await {
            Ok(prepared) => prepared,
            Err(refusal) => return Ok(refusal.into()),
        };
        put_down(self.root, &name("start", self.index), &prepared.handle)?;
        Ok(self.run(arguments, prepared.handle).await)
    }

    async fn run(&self, arguments: &Arguments, handle: Handle) -> Finished {
        let job = Job {
            site: Arc::new(site(self.root)),
            call: id(self.index),
            arguments: Arc::new(arguments.clone()),
            handle,
            consent: Consent::WordForWord,
            grants: piton_core::event::Grants::default(),
            cancel: CancellationToken::new(),
            asker: Asker::default(),
            progress: Progress::default(),
        };
        self.tool.run(job).await
    }

    fn recorded(&self) -> Option<Handle> {
        let bytes = fs::read(self.root.join(name("start", self.index))).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

fn id(index: u32) -> CallId {
    CallId { turn: TurnId(1), step: 1 + index, index: 0 }
}

fn name(what: &str, index: u32) -> String {
    format!("{what}-{index}")
}

fn told(root: &Path, index: u32) -> Option<Said> {
    serde_json::from_slice(&fs::read(root.join(name("said", index))).ok()?).ok()
}

fn arguments(index: u32) -> Arguments {
    let call = id(0).to_string();
    let arguments = match index {
        0 => json!({ "command": COMMAND, "input": true, "wait_s": 0 }),
        _ if index <= LINES => json!({ "call": call, "text": format!("{index}\n"), "wait_s": 0 }),
        _ => json!({ "call": call, "end": true, "wait_s": 0 }),
    };
    arguments.as_object().cloned().unwrap_or_default()
}

/// Agent, outer and inner supervisor are killed, in any combination, at any instant.
pub(crate) fn random_deaths(plan: &Plan) -> Outcome<Vec<Row>> {
    let mut chance = Chance(plan.seed);
    let mut row = Row::of("input: random deaths of agent, outer and inner supervisor");
    for round in 0..plan.rounds.div_ceil(ROUNDS_SHARE) {
        let scene = scene()?;
        // Which of the three die; never nobody.
        let who = 1 + chance.below(7);
        let after = Duration::from_micros(chance.below(LIFE_US));
        let mut agent = scene.come("feed", &Watch::Nothing)?;
        // wait: the instant of death is the experiment, nothing is synchronised by it
        std::thread::sleep(after);
        people::kill_some(i32::try_from(agent.id())?, who);
        let judged = match ended(&mut agent) {
            Ok(()) => judge(&scene)?,
            Err(hangs) => Err(hangs.to_string()),
        };
        row.count(&format!("round {round}, deaths {who}, after {after:?}"), judged);
    }
    Ok(vec![row])
}

/// The supervisor that feeds dies at every system call of its own.
pub(crate) fn kills(plan: &Plan) -> Outcome<Vec<Row>> {
    let mut row = Row::of("input: inner supervisor killed at every system call");
    let undisturbed = scene()?;
    undisturbed.come_and_go("feed", &Watch::only(Who::Inner))?;
    undisturbed.empties()?;
    for point in points(&undisturbed.trace()?).iter().step_by(plan.step) {
        let scene = scene()?;
        let judged = match scene.come_and_go("feed", &Watch::kill(Who::Inner, point)) {
            Ok(()) => judge(&scene)?,
            Err(hangs) => Err(hangs.to_string()),
        };
        row.count(&told_of(point), reached(&scene, judged));
    }
    Ok(vec![row])
}

/// What is written is noted only after it was written: that must be noticed.
pub(crate) fn noted_too_late(_: &Plan) -> Outcome<Vec<Row>> {
    let mut row = Row::control("what was taken is noted after it was written, inner killed");
    for round in 0..CONTROLS {
        let scene = scene()?;
        let mut agent = scene.come("feed", &Watch::mistake("noted-after-write"))?;
        let pid = i32::try_from(agent.id())?;
        while scene.effects() == 0 && agent.try_wait()?.is_none() {
            // wait: a command gives no sign but what it writes
            std::thread::sleep(LOOK_EVERY);
        }
        for outer in people::children(pid) {
            people::children(outer).into_iter().for_each(people::kill);
        }
        ended(&mut agent)?;
        row.count(&format!("round {round}"), judge(&scene)?);
    }
    Ok(vec![row])
}

fn scene() -> Outcome<Scene> {
    let scene = Scene::empty()?;
    fs::create_dir(scene.root().join("work"))?;
    Ok(scene)
}

/// Runs a later process, waits until all processes have ended, and compares what was said of each line
/// with what the command has read.
fn judge(scene: &Scene) -> Outcome<Result<&'static str, String>> {
    scene.come_and_go("feed", &Watch::Nothing)?;
    if let Err(left) = scene.empties() {
        return Ok(Err(left));
    }
    let read = fs::read_to_string(scene.work("ledger")).unwrap_or_default();
    let mut found = "all lines arrived";
    let mut arrived = 0;
    for index in 1..=LINES {
        let Some(said) = told(scene.root(), index) else {
            return Ok(Err(format!("nobody could say what became of line {index}")));
        };
        let count = read.lines().filter(|line| **line == index.to_string()).count();
        // What waits to be read is lost with both supervisors, and nobody said that it was read.
        let is_promised = said.outcome == Ended::Ok && said.text.contains("[2 bytes written]");
        match (said.outcome, count) {
            (Ended::Ok, 1) => arrived += 1,
            (Ended::Ok, 0) if !is_promised => found = "some waited when both were killed",
            (Ended::Unknown, 0 | 1) => found = "some in doubt, and said so",
            (Ended::Failed, 0) => found = "some refused, and said so",
            (outcome, count) => {
                let text = said.text;
                return Ok(Err(format!("line {index} came {count} times, {outcome:?}: {text}")));
            }
        }
    }
    let lines: Vec<u32> = read.lines().filter_map(|line| line.parse().ok()).collect();
    if !lines.is_sorted() || lines.len() != read.lines().count() {
        return Ok(Err(format!("not in their order: {read:?}")));
    }
    if arrived == 0 && found == "some refused, and said so" {
        found = "none arrived, and said so";
    }
    Ok(Ok(found))
}
