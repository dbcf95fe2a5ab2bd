//! A long turn that is killed at its appends, and resumed: every request is one that the undisturbed turn
//! made, and the end is the same.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

use piton::Command;
use piton_core::id::ConversationId;
use piton_core::outcome::Ending;
use piton_core::state::{Progress, State, Turn};
use piton_core::transcript::Transcript;
use piton_proof::disk::MortalJournal;
use piton_proof::world::World;
use tokio::runtime::Builder;

use super::model::Replies;
use super::stage::{Played, Spec, Stage};

/// Times that a turn is resumed before it counts as stuck.
const RESUMES_MAX: usize = 5;

/// What was tried, and what was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kills {
    /// Points before and behind every append.
    pub(crate) points: u64,
    pub(crate) runs: u64,
    /// Runs in which a file was found written.
    pub(crate) settled: u64,
    pub(crate) violations: Vec<String>,
}

/// Kills at every `nth` point, each in a run of its own.
pub(crate) async fn at_every(spec: Spec, nth: usize) -> Kills {
    let replies = Replies::default();
    let (reference, points) = run(spec, &replies, None).await;
    let known: BTreeSet<u64> = reference.seen.bodies.iter().copied().collect();
    let mut kills = Kills { points, ..Kills::default() };
    for point in (1..=points).step_by(nth) {
        let (killed, _) = run(spec, &replies, Some(point)).await;
        kills.runs += 1;
        kills.settled += u64::from(is_settled(&killed));
        let found = compare(&reference, &killed, &known);
        kills.violations.extend(found.into_iter().map(|what| format!("killed at {point}: {what}")));
    }
    kills
}

fn compare(reference: &Played, killed: &Played, known: &BTreeSet<u64>) -> Vec<String> {
    let mut found = Vec::new();
    let new = killed.seen.bodies.iter().filter(|body| !known.contains(body)).count();
    if 0 < new && !is_settled(killed) {
        found.push(format!("{new} requests are new"));
    }
    if !killed.endings.contains(&Ending::Done) {
        found.push(format!("it ended so: {:?}", killed.endings));
    }
    if !killed.seen.refused.is_empty() || !killed.unbound.is_empty() {
        found.push("a request was refused".into());
    }
    if killed.state.strays != 0 {
        found.push(format!("{} strays in the journal", killed.state.strays));
    }
    let last = |state: &State| Transcript::from(state).messages().to_vec();
    if last(&reference.state) != last(&killed.state) && !is_settled(killed) {
        found.push("the end is another one".into());
    }
    let done = |state: &State| {
        let calls = state.turns.iter().flat_map(Turn::steps).flat_map(|step| &step.calls);
        let done = calls.map(|call| (call.name.clone(), call.arguments.clone(), call.is_done()));
        done.collect::<Vec<_>>()
    };
    if done(&reference.state) != done(&killed.state) {
        found.push("other calls were made".into());
    }
    found
}

/// Whether a file was found as it was meant to be: the model is told so, in other words than whoever wrote it.
fn is_settled(killed: &Played) -> bool {
    let calls = killed.state.turns.iter().flat_map(Turn::steps).flat_map(|step| &step.calls);
    let mut ended = calls.filter_map(|call| match &call.progress {
        Progress::Done(ended) => Some(&ended.output.text),
        _ => None,
    });
    ended.any(|text| text.contains("the change was already applied"))
}

/// One run, in two lives if it is killed. Says how many points the first life had.
async fn run(spec: Spec, replies: &Replies, kill_at: Option<u64>) -> (Played, u64) {
    let stage = Stage::answering(spec, Some(replies.clone()));
    let (world, id) = (World::default(), ConversationId::new("killed"));
    let mut endings = Vec::new();
    let mut points = 0;
    for kill_at in [kill_at, None] {
        world.begin_life(kill_at);
        endings.extend(life(&stage, &world, &id));
        points = points.max(world.points());
        if endings.contains(&Ending::Done) {
            break;
        }
    }
    (stage.played(&id, endings).await, points)
}

/// One life of a process, with a runtime of its own. What a tool has begun on another thread cannot be stopped
/// there. The end of the runtime waits for it, so that it does not reach into the next life.
fn life(stage: &Stage, world: &World, id: &ConversationId) -> Vec<Ending> {
    let live = || {
        let mut runtime = Builder::new_current_thread();
        runtime.enable_all().start_paused(true).build().unwrap().block_on(async {
            tokio::select! {
                biased;
                () = world.died() => Vec::new(),
                endings = turn(stage, world, id) => endings,
            }
        })
    };
    thread::scope(|scope| scope.spawn(live).join().unwrap())
}

/// The turn, resumed until it is over.
async fn turn(stage: &Stage, world: &World, id: &ConversationId) -> Vec<Ending> {
    let mortal = Arc::new(MortalJournal::mortal(stage.journal.clone(), world.clone()));
    let engine = stage.engine(mortal);
    let conversation = stage.conversation(&engine, id);
    let mut endings = vec![stage.say(&conversation, stage.message(1)).await];
    while endings.last() != Some(&Ending::Done) && endings.len() <= RESUMES_MAX {
        endings.push(conversation.perform(Command::Resume).await.unwrap());
    }
    endings
}
