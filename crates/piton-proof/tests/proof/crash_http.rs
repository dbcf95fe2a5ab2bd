//! The crash suites over real HTTP: every dialect, and every switch from one to another within a
//! turn (M1-M9, M15, M18, K14, K15). The provider keeps every request to its rules and looks at the
//! seals on the reasoning that comes back.
//!
//! Sockets know no virtual time: these run on the real clock, with allowances that wait a moment
//! only and scripts that never pause.

mod voices;
mod workers;

use piton_core::event::PermissionMode;
use piton_proof::crash::tally::Tally;
use piton_proof::crash::turns::{TURNS, TurnScript};
use piton_proof::crash::{self, Play};
use piton_proof::disk::Sabotage;

use self::voices::{ALTERED, DIALECTS, FLAVOURS, OverHttp, REWRITTEN, Voice};

/// Thoughts, tools in parallel, edits in a row, and requests that fail before the answer, within it
/// and without a word.
const WHOLE: TurnScript = TurnScript {
    name: "thoughts, tools and failures",
    json: r#"{"steps":[
        {"think":"Three at once.","say":"I begin.","calls":[
            {"tool":"pay"},
            {"tool":"change","arguments":{"path":"a","line":"one"}},
            {"tool":"look"}],
         "faults":[{"kind":{"status":503}},{"kind":"cut","after":3}]},
        {"think":"One more.","calls":[{"tool":"change","arguments":{"path":"a","line":"two"}}],
         "faults":[{"kind":"drop"}]},
        {"say":"Done."}]}"#,
    ..TURNS[0]
};

/// A person is asked in the middle, and lets another model go on. Both models think and call.
const SWITCHED: TurnScript = TurnScript {
    name: "another model goes on",
    json: r#"{"steps":[
        {"think":"Two at once.","calls":[{"tool":"pay"},{"tool":"look"}]},
        {"think":"My turn.","calls":[{"tool":"look"}]},
        {"say":"Done."}]}"#,
    mode: PermissionMode::Ask,
    ..TURNS[0]
};

/// Of the points of a recovery, how many lie from one second kill to the next: all pairs are tried
/// in process, and take minutes here.
const SECOND_KILLS_EVERY: u64 = 24;

fn report(suite: &str, providers: usize, tally: &Tally) {
    println!("{suite}: {providers} providers, {tally}");
}

fn check(suite: &str, providers: usize, tally: &Tally) {
    report(suite, providers, tally);
    let shown: Vec<_> = tally.violations.iter().take(5).collect();
    assert!(tally.violations.is_empty(), "{shown:#?}");
    // On a slow machine the undisturbed run flushes its stream once more than the others.
    assert!(tally.points - tally.points / 10 <= tally.kills, "nearly every point was reached");
}

fn alone(voice: Voice) -> OverHttp {
    OverHttp { first: voice, then: None }
}

fn pairs() -> Vec<OverHttp> {
    let others = |first: Voice| {
        let others = DIALECTS.into_iter().filter(move |other| other.name != first.name);
        others.map(move |then| OverHttp { first, then: Some(then) })
    };
    DIALECTS.into_iter().flat_map(others).collect()
}

#[tokio::test]
async fn http_crash_once_at_every_point_with_every_dialect_and_flavour() {
    let providers = DIALECTS.into_iter().chain(FLAVOURS);
    let mut tally = Tally::default();
    for voice in providers.clone() {
        let provider = alone(voice);
        tally.add(crash::once_everywhere(Play::new(&WHOLE, &provider)).await);
    }
    check("over HTTP, killed once at every point", providers.count(), &tally);
}

#[tokio::test]
async fn http_crash_again_while_recovering_with_every_dialect() {
    let mut tally = Tally::default();
    for voice in DIALECTS {
        let provider = alone(voice);
        let play = Play::new(&WHOLE, &provider);
        tally.add(crash::twice_at_every(play, SECOND_KILLS_EVERY).await);
    }
    check("over HTTP, killed again while recovering", DIALECTS.len(), &tally);
}

// M18
#[tokio::test]
async fn http_crash_ten_times_in_a_row_with_every_dialect() {
    let mut tally = Tally::default();
    for voice in DIALECTS {
        let provider = alone(voice);
        tally.add(crash::ten_in_a_row(Play::new(&WHOLE, &provider)).await);
    }
    check("over HTTP, killed, then ten times in a row", DIALECTS.len(), &tally);
}

// K14, K15
#[tokio::test]
async fn http_crash_once_at_every_point_of_every_switch_from_one_dialect_to_another() {
    let mut tally = Tally::default();
    let pairs = pairs();
    assert_eq!(pairs.len(), 20);
    for provider in &pairs {
        tally.add(crash::once_everywhere(Play::new(&SWITCHED, provider)).await);
    }
    check("over HTTP, killed once at every point of a switch", pairs.len(), &tally);
}

#[tokio::test]
async fn http_crash_oracle_notices_each_broken_safety_rule() {
    for (sabotage, voice) in Sabotage::ALL.into_iter().zip(DIALECTS) {
        let provider = alone(voice);
        let tally = crash::sabotaged(Play::new(&WHOLE, &provider), sabotage).await;
        report(&format!("control {sabotage:?} (some are wanted)"), 1, &tally);
        assert!(!tally.violations.is_empty(), "{sabotage:?} with {voice:?} went unnoticed");
    }
}

#[tokio::test]
async fn http_crash_provider_notices_a_thought_that_was_altered_on_the_way_back() {
    let provider = alone(ALTERED);
    let tally = crash::never(Play::new(&WHOLE, &provider)).await;
    report("control of altered thoughts (some are wanted)", 1, &tally);
    let noticed = tally.violations.iter().any(|what| what.contains("was refused"));
    assert!(noticed, "{:?}", tally.violations);
}

// X4: every suite over HTTP checks beginnings as providers do; this one must be refused.
#[tokio::test]
async fn http_crash_provider_notices_a_beginning_that_was_changed_behind_its_answer() {
    let provider = alone(REWRITTEN);
    let tally = crash::never(Play::new(&WHOLE, &provider)).await;
    report("control of changed beginnings (some are wanted)", 1, &tally);
    let noticed = tally.violations.iter().any(|what| what.contains("given behind other content"));
    assert!(noticed, "{:?}", tally.violations);
}
