//! What single facts mean.

use piton_core::event::{
    AnswerPart, EVENT_FORMAT, Event, FailureClass, FinishReason, ModelRef, Outcome, QueuePlace,
    TurnEnd, Usage, UserPart,
};
use piton_core::id::{Attempt, CallId, Digest, MessageId, TurnId};
use piton_core::integrity::violations;
use piton_core::state::{Exchange, Progress, State, Step};
use piton_core::transcript::Transcript;
use piton_core::view::View;

use crate::script::{Journal, entry, fold};

fn step(state: &State) -> &Step {
    state.turns.last().unwrap().steps().next_back().unwrap()
}

fn progress(journal: &Journal, call: &str) -> Progress {
    journal.state.turns.last().unwrap().call(journal.call(call)).unwrap().progress.clone()
}

/// Strays that the last words of a script add.
fn strays(script: &str, last: &str) -> u64 {
    let mut journal = Journal::of(script);
    let before = journal.state.strays;
    let unchanged = journal.state.clone();
    journal.play(last);
    let strays = journal.state.strays - before;
    if strays == journal.entries.len() as u64 - unchanged.end.0 {
        let expected = State { end: journal.state.end, strays: journal.state.strays, ..unchanged };
        assert_eq!(journal.state, expected, "a stray changes nothing");
    }
    strays
}

// J59, O13
#[test]
fn the_first_finish_counts() {
    assert_eq!(strays("turn user ask calls(r:a) start:a finish:a:one", "failed:a:two start:a"), 2);
}

#[test]
fn even_the_last_name_is_given_once() {
    let turn = TurnId(u32::MAX);
    let start = || Event::TurnStarted { turn, agent: None };
    let entries = [start(), Event::TurnEnded { turn, end: TurnEnd::Completed }, start()];
    let entries: Vec<_> = (1..).zip(entries).map(|(seq, event)| entry(seq, event)).collect();
    let state = State::from_entries(&entries);
    assert_eq!((state.turns.len(), state.strays), (1, 1));
}

// O35
#[test]
fn results_behind_the_end_of_a_turn_are_strays() {
    assert_eq!(strays("turn user ask calls(r:a) start:a end:stopped", "finish:a"), 1);
    assert_eq!(strays("turn user ask end:discarded", "partial:x answer:late fail:network"), 3);
    assert_eq!(strays("turn user ask break:interrupted", "answer:late"), 1);
}

// O12, O35
#[test]
fn what_has_no_place_is_a_stray() {
    assert_eq!(strays("", "user resume end:completed break:limit compact:1 unqueue:q"), 6);
    assert_eq!(strays("turn", "ask"), 1);
    assert_eq!(strays("turn user", "turn answer:hi fail:network partial:x"), 4);
    assert_eq!(strays("turn user ask answer:hi", "ask"), 1);
    assert_eq!(strays("turn user", "say:m: compact:1 retry:nobody"), 3);
    assert_eq!(strays("queue:q", "queue:q say:q"), 2);
}

// O36, C34
#[test]
fn a_message_that_is_sent_twice_is_one_message() {
    assert_eq!(strays("turn user:hi ask", "resend:m1:hi"), 1);
    assert_eq!(strays("turn user:hi retry", "say:m1:older"), 1);
}

// X13
#[test]
fn messages_that_wait_are_changed_and_moved() {
    let order = |script: &str| {
        let queue = fold(script).queue;
        queue.iter().map(|it| it.message.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(order("queue:a queue:b queue:c before:c:a"), "c a b");
    assert_eq!(order("queue:a queue:b queue:c before:a:c"), "b a c");
    assert_eq!(order("queue:a queue:b queue:c last:a"), "b c a");
    assert_eq!(strays("queue:a queue:b", "before:a:a before:a:x before:x:a last:x rewrite:x:t"), 5);
    let queue = fold("turn user queue:a:old rewrite:a:new place:a:steer").queue;
    assert_eq!((&queue[0].parts[0], queue[0].place), (&UserPart::text("new"), QueuePlace::Steer));
    let queue = fold("turn user queue:a:old place:a:steer place:a:next").queue;
    assert_eq!(queue[0].place, QueuePlace::Next);
}

#[test]
fn a_message_without_a_turn_stays_in_the_queue() {
    assert_eq!(fold("queue:q say:q").queue.len(), 1);
    assert_eq!(fold("queue:q turn say:q").queue.len(), 0);
}

// M3, M6
#[test]
fn a_new_driver_finds_requests_lost_and_calls_in_doubt() {
    assert_eq!(step(&fold("turn user ask driver")).exchange, Exchange::Quiet);
    assert_eq!(step(&fold("turn user ask fail:network driver")).exchange, Exchange::Failed);
    let journal = Journal::of("turn user ask calls(r:a o:b o:c) start:b start:c finish:c driver");
    assert_eq!(progress(&journal, "a"), Progress::Waiting);
    assert!(matches!(progress(&journal, "b"), Progress::InDoubt(_)));
    assert!(matches!(progress(&journal, "c"), Progress::Done(_)));
}

// K30, D3: the answer to a request that did not hold the message is no answer to it.
#[test]
fn an_injected_message_loses_the_request_under_way() {
    let state = fold("turn user ask partial:x inject answer:late");
    assert_eq!((step(&state).exchange, state.strays), (Exchange::Quiet, 1));
    assert_eq!(step(&state).streamed.text, "x");
}

// J48
#[test]
fn content_ends_the_row_of_failures_but_not_the_count_of_tries() {
    let state = fold("turn user ask fail:network ask fail:server ask partial:x");
    assert_eq!((step(&state).failures, step(&state).attempts_used), (0, 3));
    let state = fold("turn user ask fail:network ask fail:server ask");
    assert_eq!(step(&state).failures, 2);
}

// M3, K38, C29
#[test]
fn text_of_an_earlier_try_is_replaced_by_the_first_new_piece() {
    assert_eq!(step(&fold("turn user ask partial:old driver ask")).streamed.text, "old");
    assert_eq!(
        step(&fold("turn user ask partial:old driver ask partial:ne partial:w")).streamed.text,
        "new"
    );
    assert_eq!(step(&fold("turn user ask partial:old think:hm answer:new")).streamed.text, "");
}

// K12, K9, O24
#[test]
fn an_answer_ends_the_failure_before_it() {
    let failed = fold("turn user ask fail:network");
    assert_eq!(step(&failed).failure.as_ref().unwrap().class, FailureClass::Network);
    assert_eq!(step(&fold("turn user ask fail:network ask answer")).failure, None);
}

// C3, C8, X9, X19, J38
#[test]
fn a_retry_keeps_the_message_and_hides_the_old_attempt() {
    let state =
        fold("turn user ask calls(r:a) finish:a ask answer end:completed retry resend:m1:b");
    let turn = state.open_turn().unwrap();
    let said: Vec<_> = turn.said().collect();
    assert_eq!(said.len(), 1);
    assert_eq!((&said[0].message, said[0].attempt.0), (&MessageId::new("m1"), 2));
    assert_eq!((turn.items.len(), turn.superseded.len()), (1, 2));
    assert_eq!(turn.next_step(), 3, "numbers of the old attempt are not given again");
}

// X9, X19
#[test]
fn a_retry_of_an_earlier_message_supersedes_the_turns_behind_it() {
    let script = "turn user ask answer end:completed turn user ask answer end:completed retry:m1";
    let state = fold(script);
    assert_eq!((state.turns.len(), state.superseded.len()), (1, 1));
    assert_eq!(state.next_turn(), TurnId(3));
}

// C3
#[test]
fn a_retry_and_an_end_leave_no_question_and_no_break_behind() {
    let state = fold("mode:ask turn user ask calls(o:a) raise:permission:a break:limit retry");
    assert!(state.open_turn().unwrap().inquiries.is_empty());
    assert_eq!(fold("turn user break:limit retry").turns[0].broke, None);
    assert_eq!(fold("turn user break:limit end:stopped").turns[0].broke, None);
}

// X11
#[test]
fn a_summary_may_be_replaced_by_one_that_covers_as_much() {
    assert_eq!(strays("turn user ask answer end:completed compact:1", "compact:1"), 0);
}

// C36, X9
#[test]
fn a_retry_of_an_injected_message_keeps_the_work_before_it() {
    let state = fold("turn user ask calls(r:a) finish:a inject ask answer retry:m2");
    let turn = state.open_turn().unwrap();
    assert_eq!((turn.items.len(), turn.superseded.len()), (3, 1));
}

// J37
#[test]
fn configuration_applies_in_order_also_inside_a_turn() {
    let state = fold("turn user model:demo/two system:s steps_max:7 ask mode:ask model:demo/three");
    assert_eq!(state.config.model, "demo/three".parse().ok());
    assert_eq!((&*state.config.system, state.config.limits.steps_max), ("s", 7));
    assert_eq!(state.config.tools.len(), 6);
}

// O40
#[test]
fn an_answer_belongs_to_the_model_that_was_asked() {
    let state = fold("turn user ask model:demo/two answer");
    assert_eq!(step(&state).answer.as_ref().unwrap().model, "demo/one".parse().ok());
}

#[test]
fn the_configuration_knows_what_has_to_be_recorded() {
    let (now, wanted) = (fold("").config, fold("model:a/b mode:ask steps_max:1 system:s").config);
    let change = now.change_to(&wanted);
    assert!(now.change_to(&now).is_empty());
    assert_eq!((&change.tools, &change.in_doubt), (&None, &None));
    let mut journal = Journal::new();
    journal.push(Event::ConfigChanged { change });
    assert_eq!(journal.state.config, wanted);
}

// O29, J53, O18
#[test]
fn only_calls_that_can_be_run_are_taken_up() {
    assert_eq!(step(&fold("turn user ask calls(:a r:b)")).calls.len(), 1);
    assert_eq!(step(&fold("turn user ask refused(r:a)")).calls.len(), 0);
}

// J56
#[test]
fn the_same_call_twice_in_one_answer_is_one_call() {
    let mut journal = Journal::of("turn user ask calls(r:a)");
    let Some(Event::ModelAnswered { mut parts, finish, usage, dropped, native }) =
        journal.entries.pop().map(|entry| entry.event)
    else {
        panic!("the script ends with an answer")
    };
    parts.extend(parts.clone());
    journal = Journal::of("turn user ask");
    journal.push(Event::ModelAnswered { parts, finish, usage, dropped, native });
    assert_eq!(step(&journal.state).calls.len(), 1);
    assert_eq!(violations(&Transcript::from(&journal.state)), vec![]);
}

// Found by a random journal: the highest number was given twice.
#[test]
fn no_turn_has_the_name_of_another() {
    let mut journal = Journal::new();
    let turn = TurnId(u32::MAX);
    for _ in 0..2 {
        journal.push(Event::TurnStarted { turn, agent: None });
        journal.push(Event::TurnEnded { turn, end: TurnEnd::Discarded });
    }
    assert_eq!((journal.state.turns.len(), journal.state.strays), (1, 2));
}

// D25
#[test]
fn tokens_are_counted_for_the_turn_and_for_the_conversation() {
    let state = fold("turn user ask calls(r:a) finish:a resume ask answer");
    assert_eq!((state.usage.total(), state.open_turn().unwrap().spent.total()), (220, 110));
    assert_eq!(fold("turn user answer").usage.total(), 0);
}

#[test]
fn tokens_are_counted_for_the_model_that_answered() {
    let mut journal = Journal::of("turn user ask calls(r:a) finish:a");
    let model: ModelRef = "other/two".parse().unwrap();
    journal.push(Event::ModelAsked {
        step: 2,
        attempt: Attempt::FIRST,
        model: model.clone(),
        digest: Digest::new("00"),
        tokens_estimated: 9,
    });
    journal.push(Event::ModelAnswered {
        parts: vec![AnswerPart::Text { text: "hi".into() }],
        finish: FinishReason::Stop,
        usage: Usage { input: 7, output: 1, cached: 3 },
        dropped: vec![],
        native: None,
    });
    let used: Vec<_> = View::from(&journal.state).head.used;
    let told: Vec<_> = used.iter().map(|it| (it.model.clone(), it.usage.total())).collect();
    let first: ModelRef = "demo/one".parse().unwrap();
    assert_eq!(told, [(Some(first), 110), (Some(model), 8)]);
    let all = used.iter().fold(Usage::default(), |sum, it| sum.plus(it.usage));
    assert_eq!(all, journal.state.usage);
}

// D68
#[test]
fn a_view_says_what_the_open_turn_may_still_use() {
    let allowance = |script: &str| View::from(&fold(script)).head.allowance;
    let spent = "tokens_max:100 turn user ask calls(r:a) finish:a";
    assert_eq!((allowance(spent).tokens, allowance(spent).tokens_max), (110, 100));
    assert!(allowance(spent).is_over_tokens() && !allowance(spent).is_over_cost());
    assert!(!allowance(&format!("{spent} resume")).is_over_tokens());
    let paid = allowance("microdollars_max:109 turn user ask calls(r:a) finish:a");
    assert_eq!((paid.microdollars, paid.microdollars_max), (110, 109));
    assert!(paid.is_over_cost() && paid.steps == 1);
    assert_eq!(allowance("tokens_max:100 turn user ask answer end:completed").tokens, 0);
}

// D37, M8
#[test]
fn the_first_answer_to_a_question_counts() {
    let asked = "mode:ask turn user ask calls(o:a) raise:permission:a";
    assert_eq!(strays(asked, "raise:permission:a deny:a allow:a"), 2);
    assert_eq!(strays(asked, "tell:a:hm asdone:a"), 2);
}

// J10
#[test]
fn unknown_kinds_and_higher_formats_are_kept() {
    let stored = r#"{ "type": "Dreamt", "of": [1.0, 1e400, "\u0000"] }"#;
    let Event::Unknown(unknown) = Event::from_stored(EVENT_FORMAT, stored) else { panic!() };
    assert_eq!((unknown.kind.as_str(), &*unknown.raw), ("Dreamt", stored));
    let known = Event::TurnResumed { turn: TurnId(1) }.to_stored();
    assert!(matches!(Event::from_stored(EVENT_FORMAT, &known), Event::TurnResumed { .. }));
    let later = Event::from_stored(EVENT_FORMAT + 1, &known);
    assert!(matches!(&later, Event::Unknown(unknown) if unknown.kind == "TurnResumed"));
    assert_eq!((fold("alien:New").unknown, fold("alien:New").strays), (1, 0));
}

// K15, K17
#[test]
fn a_finished_call_is_finished_for_ever() {
    let journal =
        Journal::of("turn user ask calls(o:a) start:a finish:a driver break:limit driver");
    let Progress::Done(ended) = progress(&journal, "a") else { panic!("it was done") };
    assert_eq!((ended.outcome, &*ended.output.text), (Outcome::Ok, "a"));
    assert_eq!(journal.call("a"), CallId { turn: TurnId(1), step: 1, index: 0 });
}
