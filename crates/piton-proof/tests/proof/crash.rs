//! Kills the driver at every crash point of every scripted turn (M1-M9, M11-M13, M15, M18).

use std::collections::BTreeMap;

use piton_core::event::{InDoubtPolicy, PermissionMode};
use piton_proof::crash::provider::{InProcess, WithoutNotes};
use piton_proof::crash::tally::{CLASSES, Tally, class_name};
use piton_proof::crash::turns::{TURNS, TurnScript, WORKER_TURNS};
use piton_proof::crash::{self, Play};
use piton_proof::disk::Sabotage;
use piton_proof::world::Oversight;

pub(crate) fn in_process(turn: &TurnScript) -> Play<'_> {
    Play::new(turn, &InProcess)
}

pub(crate) fn check(suite: &str, turns: usize, tally: &Tally) {
    println!("{suite}: {turns} turns, {tally}");
    let shown: Vec<_> = tally.violations.iter().take(5).collect();
    assert!(tally.violations.is_empty(), "{shown:#?}");
    assert!(0 < tally.kills, "a suite that kills nobody shows nothing");
}

#[tokio::test(start_paused = true)]
async fn crash_once_at_every_point() {
    crate::hush_scripted_panics();
    let mut tally = Tally::default();
    for turn in TURNS {
        tally.add(crash::once_everywhere(in_process(turn)).await);
    }
    check("killed once at every point", TURNS.len(), &tally);
}

/// So many tests share the longest suite, so that each ends in time on a machine that is busy.
const PARTS: usize = 3;

/// Every how many-th point of a recovery is tried, over all first points each of them. `PITON_PAIRS=1` tries all.
const PAIRS: u64 = 8;

fn pairs() -> u64 {
    std::env::var("PITON_PAIRS").map_or(PAIRS, |typed| typed.parse().unwrap())
}

async fn crash_twice(first: usize) {
    crate::hush_scripted_panics();
    let mut tally = Tally::default();
    let turns: Vec<_> = TURNS.iter().skip(first).step_by(PARTS).collect();
    for turn in &turns {
        tally.add(crash::twice_at_every(in_process(turn), pairs()).await);
    }
    check("killed again in the recovery", turns.len(), &tally);
}

#[tokio::test(start_paused = true)]
async fn crash_again_in_the_recovery_first_part() {
    crash_twice(0).await;
}

#[tokio::test(start_paused = true)]
async fn crash_again_in_the_recovery_second_part() {
    crash_twice(1).await;
}

#[tokio::test(start_paused = true)]
async fn crash_again_in_the_recovery_third_part() {
    crash_twice(2).await;
}

// M18
#[tokio::test(start_paused = true)]
async fn crash_ten_times_in_a_row() {
    crate::hush_scripted_panics();
    let mut tally = Tally::default();
    for turn in TURNS {
        tally.add(crash::ten_in_a_row(in_process(turn)).await);
    }
    check("killed, then ten times in a row", TURNS.len(), &tally);
}

// M8: answers from another process; it and the process that takes them die at every point.
#[tokio::test(start_paused = true)]
async fn crash_at_every_point_of_an_answer_by_letter() {
    crate::hush_scripted_panics();
    let mut tally = Tally::default();
    let asks = |turn: &&TurnScript| {
        turn.in_doubt == InDoubtPolicy::Ask
            || turn.mode == PermissionMode::Ask
            || turn.name.contains("ask")
    };
    let asked: Vec<_> = TURNS.iter().filter(asks).collect();
    assert!(!asked.is_empty());
    for turn in &asked {
        tally.add(crash::once_everywhere(in_process(turn).by_letter()).await);
        tally.add(crash::twice_at_every(in_process(turn).by_letter(), pairs()).await);
        tally.add(crash::ten_in_a_row(in_process(turn).by_letter()).await);
    }
    check("killed at every point, answered by letter", asked.len(), &tally);
}

// X4: every suite checks prefixes as providers do; this one must be refused.
#[tokio::test(start_paused = true)]
async fn crash_model_notices_a_note_that_is_gone_behind_its_answer() {
    let turn = TURNS.iter().find(|turn| turn.name == "empty, then not").unwrap();
    let tally = crash::never(Play::new(turn, &WithoutNotes)).await;
    println!("control of dropped notes (some are wanted): {tally}");
    let noticed = tally.violations.iter().any(|what| what.contains("a request was refused"));
    assert!(noticed, "{:?}", tally.violations);
}

// K44, X24: the turn that every suite kills is refused as too large more than once.
#[tokio::test(start_paused = true)]
async fn crash_turn_that_is_too_large_has_its_outputs_shortened() {
    let turn = TURNS.iter().find(|turn| turn.name == "a request that is too large").unwrap();
    let tally = crash::never(in_process(turn)).await;
    assert_eq!(tally.violations, [""; 0]);
}

// X11, X24: turns that every suite kills are summed up, one of them in the middle of its steps.
#[tokio::test(start_paused = true)]
async fn crash_turns_that_outgrow_their_budget_are_summed_up() {
    let (mut summed_up, mut by_model) = (Vec::new(), Vec::new());
    for turn in TURNS {
        let tally = crash::never(in_process(turn)).await;
        assert_eq!(tally.violations, [""; 0], "{}", turn.name);
        summed_up.extend((0 < tally.summed_up).then_some(turn.name));
        by_model.extend((0 < tally.pieces).then_some(turn.name));
    }
    let model = ["a long turn that a model sums up", "several turns and two summaries"];
    assert_eq!(by_model, model);
    // In one of them the model is of no use.
    summed_up.retain(|name| !by_model.contains(name));
    assert_eq!(summed_up, ["a long turn in a small window"]);
}

#[tokio::test(start_paused = true)]
async fn crash_oracle_notices_each_broken_safety_rule() {
    crate::hush_scripted_panics();
    for sabotage in Sabotage::ALL {
        let mut tally = Tally::default();
        for turn in TURNS {
            tally.add(crash::sabotaged(in_process(turn), sabotage).await);
        }
        println!(
            "control {sabotage:?}: {} runs, {} violations (some are wanted)",
            tally.runs,
            tally.violations.len()
        );
        assert!(!tally.violations.is_empty(), "{sabotage:?} went unnoticed");
    }
}

/// What is forgotten about hooks and walls is noticed, and by the turns that have them.
#[tokio::test(start_paused = true)]
async fn crash_oracle_notices_hooks_that_are_not_heeded_and_a_wall_that_is_forgotten() {
    let has_hooks = |turn: &&TurnScript| !turn.hooked.is_empty();
    let looks = |turn: &&TurnScript| turn.name == "commands that only look";
    let turns: Vec<_> = TURNS.iter().filter(|turn| has_hooks(turn) || looks(turn)).collect();
    for (oversight, wanted, noticed) in [
        (Oversight::VerdictIgnored, 2, "ran, and a hook denied it"),
        (Oversight::HooksNotAsked, 2, "ran, and no hook was asked"),
        (Oversight::WallForgotten, 1, "runs as WordForWord"),
    ] {
        let mut found = BTreeMap::new();
        for turn in &turns {
            let tally = crash::once_everywhere(in_process(turn).overlooking(oversight)).await;
            let count = tally.violations.iter().filter(|what| what.contains(noticed)).count();
            if 0 < count {
                found.insert(turn.name, count);
            }
        }
        println!("control {oversight:?}: {found:?} (some are wanted)");
        assert_eq!(found.len(), wanted, "{oversight:?}: {found:?}");
    }
}

// J65: the secret alone is what it objects to.
#[tokio::test(start_paused = true)]
async fn crash_oracle_notices_a_secret_that_is_kept() {
    let tally = crash::sabotaged(in_process(&TURNS[0]), Sabotage::SecretKept).await;
    let others = tally.violations.iter().filter(|it| !it.ends_with(" tells a secret"));
    assert_eq!(others.collect::<Vec<_>>(), [""; 0]);
    assert!(!tally.violations.is_empty());
}

/// A class without a turn would be a class that nobody has tried.
#[tokio::test(start_paused = true)]
async fn crash_turns_cover_every_effect_class() {
    crate::hush_scripted_panics();
    let mut turns: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for turn in TURNS.iter().chain(WORKER_TURNS) {
        for class in crash::never(in_process(turn)).await.effects.into_keys() {
            turns.entry(class).or_default().push(turn.name);
        }
    }
    for class in CLASSES.map(class_name) {
        let turns = turns.get(class).map_or(&[][..], Vec::as_slice);
        println!("effects of class {class} in {} turns: {}", turns.len(), turns.join(", "));
        assert!(!turns.is_empty(), "{class} is in no turn");
    }
}
