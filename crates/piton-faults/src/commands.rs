//! Supervised commands: executed at most once, with the status they had, or said to be in doubt.

use std::time::Duration;

use piton_core::event::{Handle, Outcome as Ended};
use serde_json::json;

use crate::outcome::Outcome;
use crate::people::{self, Chance};
use crate::plan::Plan;
use crate::report::{Row, progress};
use crate::scene::{Deed, Said, Scene, ended, is_walled};
use crate::trace::Watch;

/// Has an effect that is counted, says something, and ends in a way of its own.
const COMMAND: &str = "echo x >> ledger; sleep 0.01; echo said; exit 7";
const STATUS: i32 = 7;
/// Deaths come within this time, in microseconds: a little more than a round takes.
const LIFE_US: u64 = 60_000;
/// What these deaths are called where there is a sandbox.
const WALLED: &str =
    "commands in the sandbox: random deaths of agent, supervisors, founder and warden";
/// Rounds between two words of progress.
const TOLD_EVERY: u32 = 100;

/// The command, to be started in `boot`.
pub(crate) fn deed(boot: &str) -> Deed {
    let arguments = json!({ "command": COMMAND }).as_object().cloned().unwrap_or_default();
    let handle = Handle::Job { directory: "c/first".into(), boot: Some(boot.to_owned()) };
    Deed { tool: "shell".into(), arguments, handle }
}

/// The present boot.
pub(crate) fn boot() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    boot.unwrap_or_default().trim().to_owned()
}

/// Agent, outer and inner supervisor are killed, in any combination, at any instant.
pub(crate) fn random_deaths(plan: &Plan) -> Outcome<Vec<Row>> {
    let mut chance = Chance(plan.seed);
    let name = "commands: random deaths of agent, outer and inner supervisor";
    let mut row = if is_walled() { Row::of(WALLED) } else { Row::of(name) };
    for round in 0..plan.rounds {
        let scene = Scene::new(&deed(&boot()))?;
        // Which of the three die, and what starts commands in the sandbox; never nobody.
        let who = 1 + chance.below(if is_walled() { 15 } else { 7 });
        let after = Duration::from_micros(chance.below(LIFE_US));
        let mut agent = scene.come("first", &Watch::Nothing)?;
        // wait: the instant of death is the experiment, nothing is synchronised by it
        std::thread::sleep(after);
        people::kill_some(i32::try_from(agent.id())?, who);
        let judged = match ended(&mut agent) {
            Ok(()) => judge(&scene)?,
            Err(hangs) => Err(hangs.to_string()),
        };
        row.count(&format!("round {round}, deaths {who}, after {after:?}"), judged);
        if round % TOLD_EVERY == TOLD_EVERY - 1 {
            progress(&format!("  {} rounds", round + 1));
        }
    }
    Ok(vec![row])
}

/// Runs a later process if the agent did not answer, waits until all processes have ended, and
/// compares what was said with what was done.
pub(crate) fn judge(scene: &Scene) -> Outcome<Result<&'static str, String>> {
    let first = scene.said("first");
    // A later process may have run already, and been killed after the answer.
    if first.is_none() && scene.said("later").is_none() {
        scene.come_and_go("later", &Watch::Nothing)?;
    }
    let later = scene.said("later");
    let left = scene.empties();
    Ok(left.and_then(|()| match (&first, &later) {
        (Some(said), _) => exact(said, scene.effects(), "answered"),
        (None, Some(said)) => compare(said, scene.effects()),
        (None, None) => Err("nobody could say what became of it".into()),
    }))
}

/// Compares what a later process found.
fn compare(said: &Said, effects: usize) -> Result<&'static str, String> {
    match said.verdict.as_str() {
        "not applied" if said.effects != 0 => Err(format!("it had run, and {effects} ran in all")),
        "not applied" => exact(said, effects, "had never run, started anew"),
        "running" => exact(said, effects, "attached or adopted"),
        _ => exact(said, effects, "collected"),
    }
}

fn exact(said: &Said, effects: usize, found: &'static str) -> Result<&'static str, String> {
    match (said.outcome, said.exit_code, effects) {
        (Ended::Ok, Some(STATUS), 1) => Ok(found),
        (Ended::Failed, None, 0) => Ok("never ran, and said so"),
        (Ended::Unknown, None, 0 | 1) => Ok("in doubt, and said so"),
        (outcome, code, effects) => {
            Err(format!("{effects} effects, but {outcome:?} with {code:?}: {}", said.text))
        }
    }
}
