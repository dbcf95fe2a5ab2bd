//! Many conversations of one engine: what idle ones cost, and a thousand turns at the same time.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use piton::model::OneModel;
use piton::{Attending, Config, Conversation, ConversationId, Engine, NewMessage};
use piton_core::outcome::Ending;
use piton_sim::script::{Script, ScriptedModel};
use piton_store::SqliteJournal;

use crate::appends;
use crate::measure::Bench;
use crate::measure::{Outcome, runtime};
use crate::report::{Row, Target};

/// Makes this program run turns, leave them idle, and tell its memory.
pub(crate) const IDLE_ONLY: &str = "idle-only";
/// Makes this program run turns at the same time, and tell its memory and time.
pub(crate) const TURNS_ONLY: &str = "turns-only";
const IDLE: u32 = 10_000;
const TURNS: u32 = 1_000;
/// Conversations that begin together. So many have run before memory is looked at first: what the engine
/// and the allocator keep for those that run is not a cost of those that rest.
const WIDTH: u32 = 250;
/// Steps of a turn, each with one call; then an answer.
const STEPS: usize = 10;
/// Times that a thousand turns run; an odd number has a middle.
const ROUNDS: usize = 5;
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Memory of an idle conversation.
pub(crate) fn idle(bench: &Bench) -> Outcome<Vec<Row>> {
    let told = run(&bench.dir.path().join(IDLE_ONLY), IDLE_ONLY, IDLE)?;
    let [before, after] = told.as_slice() else { return Err("two numbers were expected".into()) };
    let each = (after - before) / f64::from(IDLE);
    Ok(vec![Row {
        what: "memory of an idle conversation, 10,000 known to one engine",
        value: format!("{:.1} MB in all", after / 1024.0),
        floor: format!("with 250 {:.1} MB", before / 1024.0),
        figure: each,
        unit: " KB",
        target: Target::AtMost(4.0),
    }])
}

/// A thousand turns at the same time.
pub(crate) fn turns(bench: &Bench) -> Outcome<Vec<Row>> {
    // Taken in turn, and the one in the middle shown: another program's noise hits one of them.
    let mut rounds =
        (0..ROUNDS).map(|round| turns_once(bench, round)).collect::<Outcome<Vec<_>>>()?;
    rounds.sort_by(|a, b| a.figure().total_cmp(&b.figure()));
    let Crowd { floor, before, peak, entries, seconds } = rounds.swap_remove(ROUNDS / 2);
    let per_second = entries / seconds;
    Ok(vec![
        Row {
            what: "entries a second of 1,000 turns at once",
            value: format!("{per_second:.0}/s, {entries} in {seconds:.2} s"),
            floor: format!("the store alone {floor:.0}/s"),
            figure: per_second / floor,
            unit: "x",
            target: Target::AtLeast(0.5),
        },
        Row {
            what: "memory of each of them",
            value: format!("{:.1} MB at most", peak / 1024.0),
            floor: format!("before them {:.1} MB", before / 1024.0),
            figure: (peak - before) / f64::from(TURNS),
            unit: " KB",
            target: Target::AtMost(200.0),
        },
    ])
}

/// A thousand turns, and what the store alone takes.
struct Crowd {
    floor: f64,
    before: f64,
    peak: f64,
    entries: f64,
    seconds: f64,
}

impl Crowd {
    fn figure(&self) -> f64 {
        self.entries / self.seconds / self.floor
    }
}

fn turns_once(bench: &Bench, round: usize) -> Outcome<Crowd> {
    let floor = appends::many_per_second(&bench.dir.path().join(format!("turns-floor-{round}")))?;
    let home = bench.dir.path().join(format!("{TURNS_ONLY}-{round}"));
    let told = run(&home, TURNS_ONLY, TURNS)?;
    let [before, peak, entries, seconds] = *told.as_slice() else {
        return Err("four numbers were expected".into());
    };
    Ok(Crowd { floor, before, peak, entries, seconds })
}

/// Runs a part of this program in a process of its own: memory that others used before would hide
/// what is used here.
fn run(home: &Path, part: &str, count: u32) -> Outcome<Vec<f64>> {
    let output = Command::new(std::env::current_exe()?)
        .args([part, &home.to_string_lossy(), &count.to_string()])
        .output()?;
    let told = String::from_utf8(output.stdout)?;
    Ok(told.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}

/// The process with idle conversations. Each has had a turn, and has a face that attends.
pub(crate) fn idle_only(home: &Path, count: u32) -> Outcome<()> {
    let engine = engine(home, &script(1), WIDTH)?;
    runtime()?.block_on(async {
        let first = begin(&engine, 0..WIDTH).await?;
        quiet(&engine).await;
        let before = memory("VmRSS:")?;
        let mut known: Vec<(Conversation, Attending)> = Vec::new();
        for start in (WIDTH..WIDTH + count).step_by(usize::try_from(WIDTH)?) {
            known.extend(begin(&engine, start..start + WIDTH).await?);
            quiet(&engine).await;
        }
        tell(&[before, memory("VmRSS:")?])?;
        drop((first, known));
        Ok(())
    })
}

/// The process with many turns.
#[expect(clippy::exit, reason = "the process ends without giving its leases back")]
pub(crate) fn turns_only(home: &Path, count: u32) -> Outcome<()> {
    let engine = engine(home, &script(STEPS), count)?;
    runtime()?.block_on(async {
        let first = begin(&engine, 0..1).await?;
        quiet(&engine).await;
        let before = memory("VmRSS:")?;
        let start = Instant::now();
        let known = begin(&engine, 1..count + 1).await?;
        let seconds = start.elapsed().as_secs_f64();
        let mut entries = 0;
        for (conversation, _) in &known {
            let listed = engine.journal().status(conversation.id()).await?;
            entries += u32::try_from(listed.ok_or("no such conversation")?.end.0)?;
        }
        tell(&[before, memory("VmHWM:")?, f64::from(entries), seconds])?;
        drop((first, known));
        // Without giving back a thousand leases: on ext4 without a journal, files are slow to create for a
        // minute behind the deletion of so many, and the next round would measure that.
        std::process::exit(0);
    })
}

/// Begins conversations, and performs the first turn of each, all at the same time.
async fn begin(
    engine: &Engine,
    numbers: std::ops::Range<u32>,
) -> Outcome<Vec<(Conversation, Attending)>> {
    try_join_all(numbers.map(|number| async move {
        let id = ConversationId::new(format!("c{number}"));
        let conversation = engine.begin_as(id, "/".as_ref())?;
        let attending = conversation.attend();
        let said = piton::Command::say(NewMessage::text("go"));
        let ending = conversation.perform(said).await?;
        if ending == Ending::Done {
            Ok((conversation, attending))
        } else {
            Err(format!("a turn ended with {ending:?}").into())
        }
    }))
    .await
}

/// Waits until no conversation has anything to do.
async fn quiet(engine: &Engine) {
    while !engine.running().is_empty() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Steps with a call, and an answer behind them.
fn script(steps: usize) -> String {
    let mut list = vec![r#"{"calls":[{"tool":"look"}]}"#; steps - 1];
    list.push(r#"{"say":"done"}"#);
    let tool = r#"{"name":"look","effect":"read_only","output":"nothing to be seen"}"#;
    format!(r#"{{"steps":[{}],"tools":[{tool}]}}"#, list.join(","))
}

/// An engine whose model follows a script.
pub(crate) fn engine(home: &Path, script: &str, turns_max: u32) -> Outcome<Engine> {
    let (journal, _) = SqliteJournal::open(home)?;
    let script = Script::parse(script)?;
    let tools = script.tools();
    let models = Arc::new(OneModel(Arc::new(ScriptedModel::new(script))));
    let mut builder = Engine::builder(Arc::new(journal), models);
    for tool in tools {
        builder = builder.tool(tool);
    }
    let config = Config { model: Some("script/bench".parse()?), ..Config::default() };
    Ok(builder.config(config).turns_max(usize::try_from(turns_max)?).build())
}

/// A line of this process's status, in KB.
pub(crate) fn memory(name: &str) -> Outcome<f64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
    Ok(line.split_whitespace().next().ok_or("an empty line")?.parse()?)
}

fn tell(numbers: &[f64]) -> Outcome<()> {
    let words: Vec<String> = numbers.iter().map(f64::to_string).collect();
    writeln!(std::io::stdout(), "{}", words.join(" "))?;
    Ok(())
}
