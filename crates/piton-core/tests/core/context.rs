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
fn what_a_discarded_turn_told_is_not_known() {
    let script = "turn context:date:Tuesday user ask answer:hi end:completed";
    assert_eq!(told(&fold(script)), "date=Tuesday");
    assert_eq!(told(&fold(&script.replace("completed", "discarded"))), "");
}

/// Two turns that tell something, the second anew what the first did, and one that goes on.
const TOLD: &str = "turn context:rules:rule-old user ask answer:hi end:completed \
                    turn context:rules:rule-new user ask answer:hi end:completed \
                    turn user ask calls(r:a) finish:a ask calls(r:b) finish:b";

// X27, D15
#[test]
fn what_a_covered_turn_told_stands_beside_the_summary_while_it_counts() {
    for summary in ["compact:2", "sum:2", "sum:2:3.1", "sum:1 sum:2", "sum:1 sum:2:3.1"] {
        let state = fold(&format!("{TOLD} {summary}"));
        let sent = shown(&Transcript::from(&state));
        let first = sent.lines().next().unwrap_or_default();
        assert!(first.contains("so far") && first.contains("rule-new"), "{summary}: {sent}");
        assert_eq!(
            (told(&state), sent.contains("rule-old")),
            ("rules=rule-new".into(), false),
            "{summary}"
        );
    }
}

#[test]
fn what_is_told_anew_behind_a_summary_does_not_stand_beside_it() {
    let state = fold(&format!("{TOLD} sum:1"));
    let sent = shown(&Transcript::from(&state));
    assert_eq!((sent.matches("rule-").count(), sent.contains("rule-old")), (1, false), "{sent}");
    assert_eq!(told(&state), "rules=rule-new");
}

#[test]
fn what_a_summary_stands_beside_does_not_change_with_what_is_told_later() {
    let covered = format!("{TOLD} ask answer:hi end:completed sum:2");
    let first = |script: &str| {
        let sent = shown(&Transcript::from(&fold(script)));
        sent.lines().next().unwrap_or_default().to_owned()
    };
    let later = format!("{covered} turn context:rules:rule-newest user");
    assert_eq!(first(&later), first(&covered));
    assert_eq!(told(&fold(&later)), "rules=rule-newest");
    let lifted = fold(&format!("{later} lift"));
    assert_eq!(shown(&Transcript::from(&lifted)).matches("rule-").count(), 3);
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
