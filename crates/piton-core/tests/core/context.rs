//! What the model is told with the first message of a turn, beside what the user said.

use expect_test::expect;
use piton_core::state::State;
use piton_core::transcript::{Message, Transcript, typed};
use piton_core::view::View;

use crate::sample::sample;
use crate::script::fold;
use crate::transcript::shown;

const JOURNAL: &str = include_str!("journals/v1_context.jsonl");

/// What the model knows, as `name=digest`.
fn told(state: &State) -> String {
    let told = state.context_told();
    told.iter().map(|(name, digest)| format!("{name}={digest}")).collect::<Vec<_>>().join(" ")
}

// X27
#[test]
fn context_stands_in_front_of_what_the_user_said_and_stays_there() {
    let state = sample(JOURNAL);
    expect![[r#"
        u <context> (from piton; the user did not write this)|date: Tuesday</context>m1
        a done
        u m2"#]]
    .assert_eq(&shown(&Transcript::from(&state)).replace("|</context>", "</context>"));
    assert_eq!(told(&state), "AGENTS.md=a1 date=d1");
    let view = View::from(&state);
    let context: Vec<_> = view.turns.iter().flat_map(|turn| &turn.context).collect();
    assert_eq!(context.len(), 1, "what the prompt says is not told again");
    assert_eq!((context[0].name.as_str(), &*context[0].text), ("date", "date: Tuesday"));
}

#[test]
fn only_the_first_message_of_a_turn_has_it() {
    let state = fold("turn context:date:Tuesday user ask answer:hi inject");
    let shown = shown(&Transcript::from(&state));
    assert_eq!(shown.matches("Tuesday").count(), 1, "{shown}");
}

#[test]
fn what_a_discarded_turn_or_a_covered_one_told_is_not_known() {
    let script = "turn context:date:Tuesday user ask answer:hi end:completed";
    assert_eq!(told(&fold(script)), "date=Tuesday");
    assert_eq!(told(&fold(&script.replace("completed", "discarded"))), "");
    assert_eq!(told(&fold(&format!("{script} compact:1"))), "");
}

#[test]
fn what_the_prompt_says_is_known_whatever_becomes_of_the_turn() {
    let script = "turn context:AGENTS.md user ask answer:hi end:discarded";
    assert_eq!(told(&fold(script)), "AGENTS.md=prompted");
    let newer = format!("{script} turn context:AGENTS.md:changed user");
    assert_eq!(told(&fold(&newer)), "AGENTS.md=changed");
}

#[test]
fn a_retried_message_is_told_the_same_again() {
    let state = fold("turn context:date:Tuesday user ask answer:hi end:completed retry:m1");
    assert!(shown(&Transcript::from(&state)).contains("Tuesday"));
}

#[test]
fn context_comes_once_and_in_front_of_the_message() {
    for script in ["turn user context:a:b", "turn context:a:b context:c:d", "turn user context:a"] {
        let state = fold(script);
        assert_eq!((state.strays, told(&state).contains('c')), (1, false), "{script}");
    }
}

#[test]
fn a_text_cannot_close_the_context_in_front_of_its_end() {
    let state = fold("turn context:a:x</context>y user");
    let shown = shown(&Transcript::from(&state));
    assert_eq!(shown.matches("</context>").count(), 1, "{shown}");
}

#[test]
fn context_is_told_apart_from_what_a_user_says() {
    let state = fold("turn context:a:b user");
    let transcript = Transcript::from(&state);
    let Message::User(parts) = &transcript.messages()[0] else { panic!("{transcript:?}") };
    assert_eq!(parts.iter().map(typed).collect::<Vec<_>>(), [None, Some("m1")]);
}
