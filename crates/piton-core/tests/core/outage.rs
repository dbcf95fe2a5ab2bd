//! Outages: the stored form, and what faces are told.

use piton_core::view::View;

use crate::sample::sample;
use crate::script::fold;

const JOURNAL: &str = include_str!("journals/v1_outage.jsonl");

fn told(state: &piton_core::state::State) -> Option<String> {
    let view = View::from(state);
    view.turns.last()?.steps().next_back()?.failure.as_ref()?.told()
}

// J10: the stored form is frozen from here on. What libraries said is kept, and shown to nobody.
#[test]
fn the_sample_reads_back_and_means_what_it_always_meant() {
    let state = sample(JOURNAL);
    let words = "waiting for the network, 0 s of 120 s, next in 1 s: \
         cannot reach models.example.invalid: network unreachable";
    assert_eq!(told(&state).as_deref(), Some(words));
    assert!(!format!("{:?}", View::from(&state)).contains("os error"));
}

// J48
#[test]
fn tries_are_told_as_long_as_there_are_any() {
    let told = |script: &str| told(&fold(script));
    assert_eq!(told("turn user ask fail:server").unwrap(), "try 1 of 5, next in 1 s: server");
    let third = "turn user ask fail:server ask fail:server ask fail:server";
    assert_eq!(told(third).unwrap(), "try 3 of 5, next in 4 s: server");
    let mixed = "turn user ask fail:server ask fail:off:9000 ask fail:server";
    assert_eq!(told(mixed).unwrap(), "try 2 of 5, next in 2 s: server", "an outage is no try");
    assert_eq!(told("turn user ask fail:auth"), None);
    assert_eq!(told("turn user ask fail:server break:api_error"), None);
}
