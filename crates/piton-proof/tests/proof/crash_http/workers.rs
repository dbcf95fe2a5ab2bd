//! Parent and workers over real HTTP, killed together at every point (M16, D76, D79).

use piton_proof::crash::tally::Tally;
use piton_proof::crash::turns::{TURNS, TurnScript};
use piton_proof::crash::{self, Play};
use piton_proof::disk::Sabotage;

use super::voices::{DIALECTS, OverHttp};
use super::{alone, report};

/// Two workers beside each other, one of them with requests that fail.
const DELEGATED: TurnScript = TurnScript {
    name: "two workers over HTTP",
    json: r#"{"steps":[
        {"think":"Two at once.","calls":[
            {"tool":"delegate","arguments":{"task":"one"}},
            {"tool":"delegate","arguments":{"task":"two"}}]},
        {"say":"Done."}],
        "workers":[
            {"task":"one","steps":[{"think":"I pay at once.","calls":[{"tool":"pay"}]},{"say":"1"}]},
            {"task":"two","steps":[
                {"think":"I write at once.",
                 "calls":[{"tool":"change","arguments":{"path":"a","line":"1"}}],
                 "faults":[{"kind":{"status":503}}]},
                {"say":"2","faults":[{"kind":"cut","after":1}]}]}]}"#,
    ..TURNS[0]
};

/// The same with a coordinator, whose plan becomes calls.
const COORDINATED: TurnScript = TurnScript {
    name: "a coordinated turn over HTTP",
    json: r#"{"steps":[
        {"think":"Both at once.","say":"Here: [\"one\", \"two\"]"},
        {"say":"Both."}],
        "workers":[
            {"task":"one","steps":[{"think":"I pay at once.","calls":[{"tool":"pay"}]},{"say":"1"}]},
            {"task":"two","steps":[{"think":"I pay at once.","calls":[{"tool":"pay"}]},{"say":"2"}]}]}"#,
    coordinated: true,
    ..TURNS[0]
};

/// Some of the dialects, to keep the time in bounds: all of them are killed without workers.
fn cast() -> [(&'static TurnScript, OverHttp); 4] {
    let [anthropic, openrouter, openai, _, gemini] = DIALECTS;
    // An answer that calls were added to is not what its provider has signed, so its thought does not
    // come back. Only a provider that is alone is held to that.
    let planning = |voice| OverHttp { first: voice, then: Some(voice) };
    [
        (&DELEGATED, alone(anthropic)),
        (&DELEGATED, alone(openai)),
        (&COORDINATED, planning(openrouter)),
        (&COORDINATED, planning(gemini)),
    ]
}

#[tokio::test]
async fn http_crash_once_at_every_point_of_parent_and_workers() {
    let mut tally = Tally::default();
    for (turn, provider) in cast() {
        tally.add(crash::once_everywhere(Play::new(turn, &provider)).await);
    }
    report("workers over HTTP, killed once at every point", cast().len(), &tally);
    let shown: Vec<_> = tally.violations.iter().take(5).collect();
    assert!(tally.violations.is_empty(), "{shown:#?}");
    // Workers that end at the same moment share a commit, so runs differ by some points.
    assert!(tally.points / 2 < tally.kills, "most points were reached");
}

#[tokio::test]
async fn http_crash_oracle_notices_workers_that_are_forgotten() {
    let provider = alone(DIALECTS[0]);
    let play = Play::new(&DELEGATED, &provider);
    let tally = crash::sabotaged(play, Sabotage::WorkersForgotten).await;
    report("control of forgotten workers (some are wanted)", 1, &tally);
    let twice = tally.violations.iter().any(|what| what.contains("took effect 2 times"));
    assert!(twice, "forgotten workers went unnoticed");
}
