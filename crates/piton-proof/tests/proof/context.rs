//! What a model still knows when its window is too small for the conversation, and what that costs (Must
//! show 3, D19, D69, J94, J95).
//!
//! A model works through steps and is asked for facts that were planted on the way. It answers from the bytes
//! of its request alone. `dev/context` plays all of it and prints the tables; the tests play less.

mod control;
mod controls;
mod facts;
mod heard;
mod kills;
mod model;
mod reader;
mod stage;
mod summariser;
mod table;
mod tools;

use self::controls::Control;
use self::facts::Class;
use self::stage::{Scenario, Spec, Stage};
use self::summariser::Summariser;
use self::table::{Figures, cost, remembered};

const SMALL_WINDOW: u64 = 16_384;
const LARGE_WINDOW: u64 = 200_000;
/// More than any conversation here needs.
const NO_WINDOW: u64 = 100_000_000;
const STEPS: usize = 300;
/// Steps of a conversation in the tests.
const SHORT_STEPS: usize = 60;
/// Of the points of a killed turn, how many lie from one kill to the next in the tests.
const KILLS_EVERY: usize = 41;

const LONG: Spec = Spec {
    scenario: Scenario::Open,
    summariser: Summariser::None,
    control: Control::None,
    window: SMALL_WINDOW,
    steps: STEPS,
    asks: true,
    checks: true,
};

/// How many points lie from one kill to the next, if all of the evaluation is played; else none.
fn all() -> Option<usize> {
    std::env::var("PITON_CONTEXT").ok()?.parse().ok()
}

fn steps() -> usize {
    if all().is_some() { STEPS } else { SHORT_STEPS }
}

async fn play(spec: Spec) -> Figures {
    Figures::of(&Stage::new(spec).play().await)
}

async fn play_all(specs: impl IntoIterator<Item = Spec>) -> Vec<(Spec, Figures)> {
    let mut rows = Vec::new();
    for spec in specs {
        rows.push((spec, play(spec).await));
    }
    println!("{}\n{}", remembered(&rows), cost(&rows));
    rows
}

/// What must hold, whoever sums up.
fn check(spec: Spec, figures: &Figures) {
    let shown = format!("{spec:?}: {figures:?}");
    assert!(figures.done && spec.steps < figures.requests, "{shown}");
    // Request and answer fit together.
    assert!(figures.largest_with_answer <= spec.window, "{shown}");
    let broken = (figures.refused, figures.violations, figures.unbound, figures.repeated);
    assert_eq!(broken, (0, 0, 0, 0), "{shown}");
    assert!(!figures.obeyed, "{shown}");
    for class in Class::ALL {
        let score = figures.score(class);
        assert_eq!((score.wrong, score.unknown), (0, 0), "{class:?}: {shown}");
        assert!(score.recall == 0 || !class.is_of_journal(), "{class:?}: {shown}");
    }
}

// Must show 3: 300 steps of 4 KB in a window of 16 k, and what is known behind them without any model that
// sums up.
#[tokio::test(start_paused = true)]
async fn a_long_turn_keeps_what_the_journal_knows_and_finds_the_rest() {
    let rows = play_all([LONG]).await;
    let [(_, figures)] = &rows[..] else { panic!("one row") };
    check(LONG, figures);
    assert!(10 <= figures.summaries, "{}", figures.summaries);
    assert!(Class::ALL.iter().all(|class| 0 < figures.score(*class).asked()), "{figures:?}");
}

async fn evaluate(scenario: Scenario) {
    let spec = Spec { scenario, steps: steps(), ..LONG };
    let by = [Summariser::None, Summariser::Perfect, Summariser::Lossy];
    let by = &by[..if all().is_some() { 3 } else { 2 }];
    for (spec, figures) in play_all(by.iter().map(|by| Spec { summariser: *by, ..spec })).await {
        check(spec, &figures);
    }
}

#[tokio::test(start_paused = true)]
async fn evaluation_of_one_open_turn() {
    evaluate(Scenario::Open).await;
}

#[tokio::test(start_paused = true)]
async fn evaluation_of_several_turns() {
    evaluate(Scenario::Turns).await;
}

#[tokio::test(start_paused = true)]
async fn evaluation_of_a_resumed_turn() {
    evaluate(Scenario::Resumed).await;
}

#[tokio::test(start_paused = true)]
async fn evaluation_of_a_turn_with_two_providers() {
    evaluate(Scenario::Switched).await;
}

#[tokio::test(start_paused = true)]
async fn evaluation_of_a_fork() {
    evaluate(Scenario::Forked).await;
}

#[tokio::test(start_paused = true)]
async fn evaluation_of_whoever_sums_up() {
    let spec = Spec { steps: steps(), ..LONG };
    let others = Summariser::ALL.into_iter().skip(3);
    for (spec, figures) in play_all(others.map(|by| Spec { summariser: by, ..spec })).await {
        check(spec, &figures);
    }
}

#[tokio::test(start_paused = true)]
async fn evaluation_of_a_large_window() {
    let steps = if all().is_some() { STEPS } else { SHORT_STEPS / 2 };
    let spec = Spec { window: LARGE_WINDOW, steps, checks: all().is_some(), ..LONG };
    let by = [Summariser::None, Summariser::Perfect];
    for (spec, figures) in play_all(by.map(|by| Spec { summariser: by, ..spec })).await {
        check(spec, &figures);
    }
}

// The cost of a long turn in tokens that were sent, against one in a window that is large enough for it.
#[tokio::test(start_paused = true)]
async fn evaluation_of_the_cost() {
    let spec = Spec { asks: false, checks: false, steps: steps(), ..LONG };
    let perfect = Spec { summariser: Summariser::Perfect, ..spec };
    let without = Spec { window: NO_WINDOW, ..spec };
    let rows = play_all([spec, perfect, without]).await;
    let [(_, with), (_, by_model), (_, without)] = &rows[..] else { panic!("three rows") };
    assert_eq!((without.summaries, without.shortenings), (0, 0));
    assert!(with.sent < without.sent && by_model.sent < without.sent);
}

// Must show 3: killed at its appends and resumed.
#[tokio::test(start_paused = true)]
async fn evaluation_of_kills() {
    for summariser in [Summariser::None, Summariser::Perfect] {
        let spec = Spec { summariser, asks: false, checks: false, steps: steps(), ..LONG };
        let kills = kills::at_every(spec, all().unwrap_or(KILLS_EVERY)).await;
        let (runs, points, found) = (kills.runs, kills.points, kills.violations.len());
        let (steps, by, settled) = (spec.steps, summariser.name(), kills.settled);
        println!(
            "{steps} steps, summary by {by}: killed at {runs} of {points} points, {settled} of them with a file \
             that was found written; {found} violations"
        );
        assert_eq!(kills.violations, [""; 0]);
        assert!(0 < runs && u64::try_from(3 * steps).unwrap() < points, "{kills:?}");
    }
}
