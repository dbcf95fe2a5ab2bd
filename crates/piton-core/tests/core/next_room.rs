//! A request that is too large inside an open turn: old outputs are shortened, in batches (K44, X24).

use expect_test::expect;
use piton_core::action::{Action, Wish};
use piton_core::cut;
use piton_core::decide::decide;
use piton_core::event::Event;
use piton_core::recap::Look;
use piton_core::state::State;
use piton_core::transcript::{Message, Transcript};

use crate::next_action::check;
use crate::sample::sample;
use crate::script::{Journal, fold};

const JOURNAL: &str = include_str!("journals/v1_shortened.jsonl");

/// Three steps of the open turn, each with a long output.
const STEPS: &str = "turn user ask calls(r:a) long:a:9000 ask calls(r:b) long:b:9000 \
    ask calls(r:c) long:c:9000";

fn size(state: &State) -> u64 {
    Transcript::from(state).tokens_estimated()
}

/// Does what is decided as long as it makes room; says what came of it.
fn make_room(journal: &mut Journal) -> Vec<usize> {
    let mut rounds = vec![];
    while let Action::Shorten(outputs) = decide(&journal.state, Wish::Proceed) {
        let before = size(&journal.state);
        rounds.push(outputs.len());
        journal.push(Event::OutputsShortened { outputs });
        assert!(size(&journal.state) < before, "each round shrinks");
        if decide(&journal.state, Wish::Proceed) == Action::Await {
            break;
        }
    }
    assert_eq!(journal.state.strays, 0);
    rounds
}

// K44, X24
#[test]
fn an_overflow_inside_an_open_turn_shortens_the_oldest_outputs_first() {
    check(&format!("{STEPS} ask fail:context_overflow"), expect!["shorten a b"]);
    check(&format!("{STEPS} ask fail:context_overflow driver"), expect!["shorten a b"]);
    check(
        &format!("{STEPS} ask fail:context_overflow short:a"),
        expect!["ask model: step 4, attempt 2"],
    );
    check(
        &format!("{STEPS} ask fail:context_overflow short:a ask fail:context_overflow"),
        expect!["shorten b"],
    );
    // The newest output is what the model works on: it goes last.
    check(
        &format!("{STEPS} ask fail:context_overflow short:a short:b ask fail:context_overflow"),
        expect!["shorten c"],
    );
    check(
        &format!("{STEPS} short:a short:b short:c ask fail:context_overflow"),
        expect![
            "break limit: context_overflow; the largest part is the description of the tools, about 4 tokens; nothing is left to shorten: go on with a model that takes more, or begin a new conversation"
        ],
    );
}

// K44: whoever resumes does not send the same request again.
#[test]
fn a_resumed_turn_does_not_repeat_a_request_that_was_too_large() {
    let broke = "ask fail:context_overflow break:limit resume";
    check(&format!("{STEPS} {broke}"), expect!["shorten a b"]);
    let spent = format!("turn user {broke}");
    check(
        &spent,
        expect![
            "break limit: context_overflow; the largest part is the description of the tools, about 4 tokens; nothing is left to shorten: go on with a model that takes more, or begin a new conversation"
        ],
    );
    // Another model may take more, and a new message is a new request.
    check(&format!("{spent} model:demo/large"), expect!["ask model: step 1, attempt 2"]);
    check(&format!("{spent} inject"), expect!["ask model: step 2, attempt 1"]);
}

// X24: before a request, many at once, and below the budget, so that the next step has room.
#[test]
fn outputs_are_shortened_in_batches_before_a_request_over_the_budget() {
    check(&format!("context_max:6000 {STEPS}"), expect!["shorten a b"]);
    let mut journal = Journal::of(&format!("context_max:6000 {STEPS}"));
    assert_eq!(make_room(&mut journal), [2]);
    check("context_max:9000 turn user", expect!["ask model: step 1, attempt 1"]);
    // Outputs of closed turns first; a summary only where shortening frees too little.
    let old = "turn user ask calls(r:z) long:z:9000 ask answer end:completed";
    check(&format!("context_max:7500 {old} {STEPS}"), expect!["shorten z a b"]);
    check(&format!("context_max:2600 {old} turn user"), expect!["ask model: step 1, attempt 1"]);
    check(&format!("context_max:2000 {old} turn user"), expect!["shorten z"]);
    let plain = "turn user:0123456789 ask answer end:completed";
    check(
        &format!("context_max:2000 {plain} turn user ask calls(r:a) long:a:9000"),
        expect!["shorten a"],
    );
}

// K44, O27
#[test]
fn shortening_is_bounded_and_ends_with_advice() {
    let mut journal = Journal::of(&format!("context_max:50 {STEPS}"));
    assert_eq!(make_room(&mut journal), [2, 1, 1]);
    // What is left of the old ones is summed up at last.
    let Action::Compact(cut) = decide(&journal.state, Wish::Proceed) else { panic!() };
    journal.push(cut::lay(&journal.state, cut, &Look::default()));
    let Action::Break { message, .. } = decide(&journal.state, Wish::Proceed) else { panic!() };
    assert!(message.contains("a model that takes more"), "{message}");
}

#[test]
fn a_shortened_output_says_so_and_never_changes_again() {
    let mut journal = Journal::of(&format!("{STEPS} ask fail:context_overflow"));
    make_room(&mut journal);
    let told = |state: &State| {
        let transcript = Transcript::from(state);
        let result = transcript.messages().iter().find_map(|message| match message {
            Message::Results(results) => results.first().cloned(),
            Message::User(_) | Message::Assistant(_) => None,
        });
        result.unwrap().text
    };
    let text = told(&journal.state);
    assert!(
        text.starts_with("[Shortened to make room: r (call 1.1.0) gave 9000 bytes, of which only"),
        "{text}"
    );
    assert!(text.ends_with("0123456789") && text.len() < 600, "{text}");
    journal.play("driver ask answer end:completed turn user");
    assert_eq!(told(&journal.state), text);
    // The whole output stays in the journal.
    let call = journal.state.turns[0].call(journal.call("a")).unwrap();
    let piton_core::state::Progress::Done(ended) = &call.progress else { panic!() };
    assert_eq!(ended.output.text.len(), 9000);
}

#[test]
fn letters_are_never_cut_in_half() {
    let mut journal = Journal::of("turn user ask calls(r:a)");
    let text = "äöü…🦀".repeat(2_000);
    let output = piton_core::event::ToolOutput::text(text);
    let (call, outcome) = (journal.call("a"), piton_core::event::Outcome::Ok);
    journal.push(Event::ToolFinished { call, outcome, output });
    journal.play("ask fail:context_overflow");
    assert_eq!(make_room(&mut journal), [1]);
}

#[test]
fn a_shortening_that_shortens_nothing_is_a_stray() {
    assert_eq!(fold(&format!("{STEPS} short:a short:a")).strays, 1);
    assert_eq!(fold("turn user ask calls(r:a) short:a").strays, 1, "it has not ended");
    assert_eq!(fold("turn user ask calls(r:a) finish:a:x short:a:longer").strays, 1);
}

// J10: the stored form is frozen from here on.
#[test]
fn the_sample_reads_back_and_means_what_it_always_meant() {
    let state = sample(JOURNAL);
    expect![[r#"
        u m1
        a r@1.1.0
        r 1.1.0 r=short
        a done"#]]
    .assert_eq(&crate::transcript::shown(&Transcript::from(&state)));
}
