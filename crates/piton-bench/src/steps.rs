//! What a step costs when its tool does nothing, and whether steps get slower.

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use piton::model::{AnswerStream, Model, OneModel};
use piton::{Engine, NewMessage, OnIncomplete};
use piton_core::event::{Limits, ModelRef, PermissionMode, Permissions};
use piton_core::outcome::Ending;
use piton_core::state::Config;
use piton_core::transcript::Transcript;
use piton_sim::script::{Script, ScriptCall, ScriptStep, ScriptedModel};
use piton_store::SqliteJournal;
use piton_tools::Toolbox;
use piton_tools::supervise::Supervisor;
use serde_json::json;

use crate::measure::Bench;
use crate::measure::{BareSqlite, Outcome, median, ratio, runtime, shown};
use crate::report::{Row, Target};

const STEPS: usize = 200;
const WINDOW: usize = 20;
const ROUNDS: usize = 20;

/// Turns of 200 steps: with a shell `true`, and with 2 KB of output a step.
pub(crate) fn shell_true(bench: &Bench) -> Outcome<Vec<Row>> {
    let dir = bench.dir.path().join("steps");
    std::fs::create_dir_all(&dir)?;
    let (mut floors, mut quiet) = (Vec::new(), Vec::new());
    let (mut early, mut late) = (Vec::new(), Vec::new());
    // Taken in turn, and pooled over all rounds: another program's noise hits all of them alike.
    for _ in 0..ROUNDS {
        floors.extend(floor(&dir)?);
        quiet.extend(play(bench, &dir, "true")?);
        let times = play(bench, &dir, "printf %02000d 7")?;
        early.extend(times.iter().skip(1).take(WINDOW));
        late.extend(times.iter().skip(STEPS - WINDOW - 1).take(WINDOW));
    }
    let (floor, quiet, early, late) = (median(floors), median(quiet), median(early), median(late));
    Ok(vec![
        Row {
            what: "a step with a shell `true`",
            value: shown(quiet),
            floor: format!("spawn and two bare commits {}", shown(floor)),
            figure: ratio(quiet, floor),
            unit: "x",
            target: Target::AtMost(4.0),
        },
        Row {
            what: "steps 180–200 of a turn with 2 KB outputs",
            value: shown(late),
            floor: format!("steps 1–20 {}", shown(early)),
            figure: ratio(late, early),
            unit: "x",
            target: Target::AtMost(1.1),
        },
    ])
}

/// One spawn of `true` and two bare commits of what a step writes.
fn floor(dir: &Path) -> Outcome<Vec<Duration>> {
    let bare = BareSqlite::open(dir)?;
    let (small, large) = ("x".repeat(500), "x".repeat(300));
    let mut times = Vec::new();
    for _ in 0..STEPS {
        let start = Instant::now();
        bare.commit(&small)?;
        Command::new("true").status()?;
        bare.commit(&large)?;
        times.push(start.elapsed());
    }
    Ok(times)
}

/// Runs a turn on the real store with the real shell, supervised as in the binary; gives the time of
/// each step.
fn play(bench: &Bench, dir: &Path, command: &str) -> Outcome<Vec<Duration>> {
    let (journal, _) = SqliteJournal::open(&dir.join("home"))?;
    let call = ScriptCall {
        tool: "shell".into(),
        arguments: json!({ "command": command }),
        ..ScriptCall::default()
    };
    let step = ScriptStep { calls: vec![call], ..ScriptStep::default() };
    let mut steps = vec![step; STEPS];
    steps.push(ScriptStep { say: "done".into(), ..ScriptStep::default() });
    let inner = ScriptedModel::new(Script { steps, ..Script::default() });
    let model = Arc::new(TimedModel { inner, asked: Mutex::default() });
    let mut builder = Engine::builder(Arc::new(journal), Arc::new(OneModel(model.clone())))
        .scratch(dir.to_owned());
    let program = bench.bin.join("piton");
    let supervisor = Supervisor::new(program, dir.join("calls"), Vec::new());
    let registry = Toolbox::supervised(Arc::new(supervisor));
    for spec in registry.specs() {
        builder = builder.tool(registry.get(&spec.name).ok_or("a tool without itself")?.clone());
    }
    let engine = builder.build();
    let ending = runtime()?.block_on(async {
        let mut session = engine.create(dir).await?;
        let mut config = Config {
            model: Some(ModelRef { provider: "script".into(), model: String::new() }),
            permissions: Permissions {
                mode: PermissionMode::Auto,
                rules: Vec::new(),
                ..Permissions::default()
            },
            limits: Limits { steps_max: 0, ..Limits::default() },
            ..Config::default()
        };
        engine.offer_tools(&mut config);
        session.configure(&config);
        let ending = session.send(NewMessage::text("go"), OnIncomplete::Ask).await?;
        Outcome::Ok(ending)
    })?;
    if ending != Ending::Done {
        return Err(format!("the turn ended as {ending:?}").into());
    }
    let asked = model.asked.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(asked.iter().zip(asked.iter().skip(1)).map(|(from, to)| *to - *from).collect())
}

/// Notes when each request leaves.
#[derive(Debug)]
struct TimedModel {
    inner: ScriptedModel,
    asked: Mutex<Vec<Instant>>,
}

impl Model for TimedModel {
    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
        self.inner.ask(transcript)
    }
}
