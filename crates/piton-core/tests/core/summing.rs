//! Summaries that a model writes: what it is asked for, what is taken of its words, and what happens without.

use expect_test::expect;
use piton_core::action::{Action, PieceAsk, Wish};
use piton_core::answer::Answer;
use piton_core::budget::Budget;
use piton_core::command::{Command, Envelope, Performing, Plan, Refusal, Then, plan};
use piton_core::cut;
use piton_core::decide::decide;
use piton_core::event::{
    AnswerPart, Cut, Effort, Event, FinishReason, SummaryFault, TurnEnd, Usage, WindowSource,
};
use piton_core::id::{CommandId, TurnId};
use piton_core::recap::Look;
use piton_core::state::State;
use piton_core::summarise::{self, HEADINGS, REQUEST_HEAD};
use piton_core::transcript::{Message, Transcript, typed};
use piton_core::view::View;

use crate::next_action::{check, shown};
use crate::sample::sample;
use crate::script::{Journal, fold};

const JOURNAL: &str = include_str!("journals/v1_summaries.jsonl");

/// So many steps, each with an output of so many letters.
fn steps(count: u32, letters: u32) -> String {
    let step = |n| format!("ask calls(t:look{n} r:x{n}) long:x{n}:{letters}");
    (1..=count).map(step).collect::<Vec<_>>().join(" ")
}

/// An open turn that has outgrown its window.
fn grown() -> Journal {
    Journal::of(&format!("steps_max:0 window:9000 turn user:please {}", steps(45, 400)))
}

fn text(about: &str) -> String {
    let line = |heading: &str| format!("## {heading}\n- {about}\n");
    HEADINGS.map(line).concat()
}

fn next(journal: &Journal) -> String {
    shown(journal, &decide(&journal.state, Wish::Proceed))
}

fn answer(journal: &mut Journal, text: &str) {
    let (text, usage) = (text.into(), Usage { input: 50, output: 5, cached: 0 });
    journal.push(Event::SummaryAnswered { text, usage });
}

/// Answers all that is asked for, and lays the summary; says how often the model was asked.
fn sum_up(journal: &mut Journal, about: &str) -> usize {
    for asked in 0.. {
        let mut action = decide(&journal.state, Wish::Proceed);
        while let Action::Shorten(outputs) = action {
            journal.push(Event::OutputsShortened { outputs });
            action = decide(&journal.state, Wish::Proceed);
        }
        if let Action::Compact(cut) = action {
            journal.push(cut::lay(&journal.state, cut, &Look::default()));
            assert_eq!(journal.state.strays, 0);
            return asked;
        }
        journal.play("summing");
        assert_eq!(decide(&journal.state, Wish::Proceed), Action::Await);
        answer(journal, &text(about));
    }
    0
}

fn summary(state: &State) -> &str {
    &state.overlay.as_ref().unwrap().summary
}

// D14, D21: in pieces that fit a request, each from the entries; then the summary is laid.
#[test]
fn a_model_sums_up_part_by_part_before_a_summary_is_laid() {
    let mut journal = grown();
    let before = journal.state.usage.input;
    expect!["sum up behind turn 0 through step 1.23, at most 512 tokens"]
        .assert_eq(&next(&journal));
    journal.play("summing");
    expect!["await"].assert_eq(&next(&journal));
    answer(&mut journal, &text("one"));
    expect!["sum up behind step 1.23 through step 1.41, at most 512 tokens"]
        .assert_eq(&next(&journal));
    journal.play("summing");
    answer(&mut journal, &text("two"));
    expect!["compact through 0 and step 1.41"].assert_eq(&next(&journal));
    let Action::Compact(cut) = decide(&journal.state, Wish::Proceed) else { panic!() };
    journal.push(cut::lay(&journal.state, cut, &Look::default()));
    let laid = summary(&journal.state);
    let (one, two) = (laid.find("- one").unwrap(), laid.find("- two").unwrap());
    assert!(one < two && !laid.contains("Done in this turn"), "{laid}");
    assert_eq!(journal.state.overlay.as_ref().unwrap().pieces, 2);
    expect!["ask model: step 46, attempt 1"].assert_eq(&next(&journal));
    let sent = Transcript::from(&journal.state).tokens_estimated();
    assert!(sent <= Budget::of(&journal.state).aim, "{sent}");
    assert_eq!(journal.state.usage.input, before + 100, "what it costs is counted");
    let by_model: u64 = journal.state.used.iter().map(|used| used.usage.input).sum();
    assert_eq!(by_model, before + 100, "for the model that summed up, too");
}

// J94: what was written of a part is used again, and only the new part is asked for.
#[test]
fn a_later_summary_asks_only_for_what_is_new() {
    let mut journal =
        Journal::of(&format!("steps_max:0 window:60000 turn user:please {}", steps(500, 400)));
    assert_eq!(sum_up(&mut journal, "early"), 2);
    let first = journal.state.cut();
    journal.play(&steps(500, 400));
    let Action::SumUp(PieceAsk { range, .. }) = decide(&journal.state, Wish::Proceed) else {
        panic!("{}", next(&journal))
    };
    assert_eq!(range.after, first);
    assert_eq!(sum_up(&mut journal, "late"), 2);
    let laid = summary(&journal.state);
    assert!(laid.contains("- early") && laid.contains("- late"), "{laid}");
}

#[test]
fn pieces_that_are_too_large_together_are_made_one_from_the_entries() {
    let mut journal = grown();
    for _ in 0..2 {
        journal.play("summing");
        answer(&mut journal, &text(&"long ".repeat(20)));
    }
    expect!["sum up behind turn 0 through step 1.41, at most 256 tokens"]
        .assert_eq(&next(&journal));
    let Action::SumUp(ask) = decide(&journal.state, Wish::Proceed) else { panic!() };
    let request = words(&summarise::request(&journal.state, &ask));
    assert!(request.contains("step 1] call") && !request.contains("long long"), "{request}");
    journal.play("summing");
    answer(&mut journal, &text("both"));
    assert_eq!(journal.state.summing.pieces.len(), 1);
    expect!["compact through 0 and step 1.41"].assert_eq(&next(&journal));
}

fn words(request: &Transcript) -> String {
    let [Message::User(parts)] = request.messages() else { panic!("{request:?}") };
    parts.iter().filter_map(typed).collect()
}

// D21: no tools, little thinking, and the history is data between fences that it cannot leave.
#[test]
fn the_request_is_one_message_with_the_history_as_data() {
    let journal = Journal::of(&format!(
        "window:9000 system:secret turn user:please ask calls(t:`````looks r:a) finish:a:`````` {}",
        steps(45, 400)
    ));
    let Action::SumUp(ask) = decide(&journal.state, Wish::Proceed) else { panic!() };
    let request = summarise::request(&journal.state, &ask);
    assert_eq!((request.tools().len(), request.effort()), (0, Effort::Low));
    assert!(!request.system().contains("secret"));
    assert!(512 + 1_024 < request.answer_tokens_max(), "a model that thinks needs room for it");
    let text = words(&request);
    assert!(text.starts_with(REQUEST_HEAD));
    let fence = format!("\n{}\n", "`".repeat(7));
    let (before, behind) = text.split_once(&fence).unwrap();
    assert!(HEADINGS.iter().all(|heading| before.contains(&format!("## {heading}\n"))), "{before}");
    let (history, rest) = behind.rsplit_once(&fence[..8]).unwrap();
    assert_eq!(rest, "\n");
    assert!(history.starts_with("[turn 1] user (still being worked on): please\n"), "{history}");
    assert!(request.tokens_estimated() <= Budget::of(&journal.state).tokens);
}

fn said(text: &str) -> Answer {
    let parts =
        vec![AnswerPart::Reasoning { text: "hm".into() }, AnswerPart::Text { text: text.into() }];
    let (finish, usage) = (FinishReason::Stop, Usage::default());
    Answer { parts, finish, usage, dropped: vec![], native: None }
}

// Section 4.5 of the design.
#[test]
fn only_a_text_with_its_headings_that_is_short_is_taken() {
    let journal = grown();
    let Action::SumUp(ask) = decide(&journal.state, Wish::Proceed) else { panic!() };
    let judge = |answer: &Answer| summarise::accept(&journal.state, &ask, answer);
    let good = text("fine");
    assert_eq!(judge(&said(&format!("\n{good}\n"))).as_deref(), Ok(good.trim()));
    let needed = "## 1. Goal\nx\n**6 State**\ny\n### 7) Next\nz";
    assert!(judge(&said(needed)).is_ok(), "others may be missing, and hands differ");
    let call = AnswerPart::Call {
        call: journal.call("x1"),
        provider_id: None,
        name: "r".into(),
        arguments: "{}".into(),
    };
    let calls = Answer { parts: vec![call], ..said(&good) };
    let cut = Answer { finish: FinishReason::Length, ..said(&good) };
    let long = text(&"word ".repeat(60));
    for (answer, why) in [
        (said(" \n"), SummaryFault::Empty),
        (calls, SummaryFault::Calls),
        (Answer { dropped: vec!["r".into()], ..said(&good) }, SummaryFault::Calls),
        (cut, SummaryFault::Cut),
        (said("It went well."), SummaryFault::Headings),
        (said(&good.replace("## 7", "## 70")), SummaryFault::Headings),
        (said("1 Goal\n6 State of the work\n7 Next step"), SummaryFault::Headings),
        (said(&long), SummaryFault::TooLong),
    ] {
        assert_eq!(judge(&answer), Err(why));
    }
    let short = Journal::of("want turn user:hi ask answer:ho end:completed");
    let range = piton_core::event::Range {
        after: Cut::default(),
        through: Cut { through: TurnId(1), within: None },
    };
    let ask = PieceAsk { range, tokens_max: 512 };
    assert_eq!(summarise::accept(&short.state, &ask, &said(&good)), Err(SummaryFault::NoGain));
}

// One retry for less, then the journal alone; then not before requests have grown; then not at all.
#[test]
fn a_model_that_is_of_no_use_is_not_asked_for_ever() {
    let mut journal = grown();
    journal.play("summing unsummed:headings");
    expect!["sum up behind turn 0 through step 1.23, at most 256 tokens"]
        .assert_eq(&next(&journal));
    journal.play("summing unsummed:empty");
    expect!["compact through 0 and step 1.41"].assert_eq(&next(&journal));
    assert_eq!(sum_up(&mut journal, "nothing"), 0);
    let overlay = journal.state.overlay.clone().unwrap();
    assert_eq!((overlay.pieces, overlay.fault), (0, Some(SummaryFault::Empty)));
    for failures in [2, 3] {
        journal.play(&steps(45, 400));
        while matches!(decide(&journal.state, Wish::Proceed), Action::SumUp(_)) {
            journal.play("summing unsummed:failed");
        }
        assert_eq!(journal.state.summing.failures, failures);
        assert_eq!(sum_up(&mut journal, "nothing"), 0);
    }
    journal.play(&steps(45, 400));
    assert_eq!(sum_up(&mut journal, "nothing"), 0, "three in a row are enough");
    journal.play(&format!("{} want", steps(10, 400)));
    assert!(0 < sum_up(&mut journal, "now"), "a person wants it");
}

#[test]
fn behind_a_failure_requests_must_grow_before_the_model_is_asked_again() {
    let mut journal = grown();
    journal.play("summing unsummed:failed summing unsummed:failed");
    assert_eq!(sum_up(&mut journal, "nothing"), 0);
    let failed_at = journal.state.summing.failed_at.unwrap();
    assert_eq!(failed_at, journal.state.overlay.as_ref().unwrap().tokens_after);
    journal.state.summing.failed_at = Some(u64::MAX / 2);
    journal.play(&steps(45, 400));
    assert_eq!(sum_up(&mut journal, "nothing"), 0, "it has not grown");
}

// A provider that takes less than it said gets half of the history.
#[test]
fn a_refused_history_is_halved() {
    let mut journal = grown();
    journal.play("summing unsummed:overflow");
    expect!["sum up behind turn 0 through step 1.11, at most 256 tokens"]
        .assert_eq(&next(&journal));
}

// Ctrl-C stops only this; the request that waits is decided anew.
#[test]
fn who_does_not_wait_gets_a_summary_from_the_journal_and_the_turn_goes_on() {
    let mut journal = grown();
    journal.play("summing unsummed:stopped");
    assert_eq!(sum_up(&mut journal, "nothing"), 0);
    expect!["ask model: step 46, attempt 1"].assert_eq(&next(&journal));
    assert_eq!(journal.state.summing.failures, 0, "the model is not to blame");
    let mut journal = grown();
    journal.play("summing");
    let interrupted = decide(&journal.state, Wish::Interrupt);
    assert!(matches!(interrupted, Action::Break { .. }), "whoever stops the turn stops all");
    journal.play("break:interrupted");
    assert_eq!(journal.state.summing.asked, None);
}

#[test]
fn a_request_that_its_driver_left_behind_is_made_again() {
    let mut journal = grown();
    let before = decide(&journal.state, Wish::Proceed);
    journal.play("summing driver");
    assert_eq!(decide(&journal.state, Wish::Proceed), before);
    assert_eq!(journal.state.strays, 0);
    journal.play("summed:late");
    assert_eq!(journal.state.strays, 1, "nobody waits for it");
}

// What is given up is not told, and not sent.
#[test]
fn a_retry_and_a_discarded_turn_take_their_pieces_along() {
    for end in ["retry:m1", "end:discarded"] {
        let mut journal = grown();
        sum_up(&mut journal, "told");
        assert!(!journal.state.summing.pieces.is_empty());
        journal.play(end);
        assert_eq!(journal.state.summing.pieces, [], "{end}");
        assert_eq!(journal.state.overlay, None, "{end}");
        assert_eq!(View::from(&journal.state).covered, None);
    }
}

/// Turns that are over, with long answers.
fn closed() -> String {
    let turn = |n: u32| format!("turn user:q{n} ask answer:{} end:completed", "word".repeat(300));
    (1..=12).map(turn).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_a_person_wants_is_summed_up_without_a_turn() {
    let mut journal = Journal::of(&format!("{} want", closed()));
    expect!["sum up behind turn 0 through turn 8, at most 8192 tokens"].assert_eq(&next(&journal));
    assert_eq!(sum_up(&mut journal, "told"), 1);
    expect!["rest"].assert_eq(&next(&journal));
    journal.play("turn user");
    expect!["ask model: step 1, attempt 1"].assert_eq(&next(&journal));
    assert_eq!(Transcript::from(&journal.state).messages().len(), 1 + 2 * 4 + 1);
    journal.play("ask answer end:completed lift");
    assert_eq!(Transcript::from(&journal.state).messages().len(), 2 * 13);
    assert_eq!(journal.state.strays, 0);
}

#[test]
fn what_a_person_wants_goes_before_the_next_request_of_a_turn_and_wakes_no_turn() {
    let mut running = Journal::of(&format!("{} turn user ask want", closed()));
    expect!["await"].assert_eq(&next(&running));
    running.play("calls(r:a) finish:a");
    assert!(next(&running).starts_with("sum up behind turn 0"), "{}", next(&running));
    assert_eq!(sum_up(&mut running, "told"), 1);
    expect!["ask model: step 2, attempt 1"].assert_eq(&next(&running));
    let mut broken = Journal::of(&format!("{} turn user ask break:api_error want", closed()));
    assert_eq!(sum_up(&mut broken, "told"), 1);
    expect!["rest"].assert_eq(&next(&broken));
}

#[test]
fn a_summary_that_nobody_waits_for_is_not_laid_if_a_person_wanted_it() {
    let mut journal = Journal::of(&format!("{} want summing", closed()));
    assert_eq!(decide(&journal.state, Wish::Interrupt), Action::LeaveSummary);
    journal.play("unsummed:stopped");
    expect!["rest"].assert_eq(&next(&journal));
    assert_eq!(journal.state.overlay, None);
}

#[test]
fn a_focus_has_everything_summed_up_anew() {
    let mut journal = Journal::of(&format!("{} want", closed()));
    sum_up(&mut journal, "told");
    journal.play("want:the-tests");
    let Action::SumUp(ask) = decide(&journal.state, Wish::Proceed) else { panic!() };
    assert_eq!(ask.range.after, Cut::default());
    let request = words(&summarise::request(&journal.state, &ask));
    assert!(request.contains("Above all, tell what matters for this: the-tests\n"), "{request}");
    sum_up(&mut journal, "tests");
    assert!(summary(&journal.state).contains("- tests"));
    assert!(!summary(&journal.state).contains("- told"));
}

fn planned(script: &str, command: Command, performing: Performing) -> Plan {
    plan(&fold(script), &Envelope::new(CommandId::new("c"), command), performing, None)
}

fn refused(planned: Plan) -> String {
    match planned {
        Plan::Refuse(Refusal::Impossible { message }) => message,
        Plan::Refuse(refusal) => refusal.to_string(),
        other @ (Plan::Record { .. } | Plan::InterruptFirst) => panic!("{other:?}"),
    }
}

#[test]
fn commands_about_summaries_are_recorded_or_refused_with_a_reason() {
    let compact = |focus: Option<&str>| Command::Compact { focus: focus.map(Into::into) };
    let (closed, nobody) = (closed(), Performing::Nobody);
    let Plan::Record { facts, then, .. } = planned(&closed, compact(Some(" \n")), nobody) else {
        panic!()
    };
    assert_eq!((facts, then), (vec![Event::SummaryWanted { focus: None }], Then::Run));
    let open = format!("{closed} turn user ask");
    let Plan::Record { facts, then, .. } = planned(&open, compact(None), Performing::Now) else {
        panic!()
    };
    assert_eq!((facts.len(), then), (1, Then::Rest), "the turn does it when it can");
    let Plan::Record { facts, .. } = planned(&open, compact(None), nobody) else { panic!() };
    assert!(matches!(facts[..], [Event::TurnBroke { .. }, Event::SummaryWanted { .. }]));
    for (script, command, why) in [
        ("turn user ask answer end:completed".to_owned(), compact(None), "nothing to sum up yet"),
        (format!("{closed} sum:8"), compact(None), "is summed up already"),
        (closed.clone(), Command::Uncompact, "no summary lies over"),
        (closed.clone(), Command::StopCompacting, "no turn is running"),
    ] {
        let told = refused(planned(&script, command, nobody));
        assert!(told.contains(why), "{told}");
    }
    let short = "turn user:a ask answer:b end:completed ".repeat(9);
    assert!(refused(planned(&short, compact(None), nobody)).contains("would not be shorter"));
    let summed_up = format!("{closed} sum:8");
    let lifted = planned(&summed_up, Command::Uncompact, nobody);
    assert!(matches!(lifted, Plan::Record { facts, .. } if facts == [Event::SummaryLifted]));
    let running =
        planned(&format!("{summed_up} turn user ask"), Command::Uncompact, Performing::Now);
    assert_eq!(running, Plan::Refuse(Refusal::Running));
}

// 4.7: what a provider said when it refused counts from then on, for its model, where it is less.
#[test]
fn a_learned_window_lowers_the_budget() {
    let budget = |script: &str| Budget::of(&fold(script)).tokens;
    assert_eq!(budget("learn:16384"), 12_288);
    assert_eq!(budget("window:200000 learn:16384"), 12_288);
    assert_eq!(budget("window:9000 learn:16384"), 9_000 - 4_096);
    assert_eq!(budget("learn:16384 model:other/two"), 180_000);
    let window = fold("window:200000 learn:16384").window().unwrap();
    assert_eq!((window.tokens, window.from), (16_384, WindowSource::Learned));
    check(
        "learn:4096 turn user:hello",
        expect![
            "break limit: the model takes 4096 tokens, of which a request may use 0; the prompt has 0, the tools 4, instructions 0, your message 1, and work needs 1024: go on with a model that takes more"
        ],
    );
}

// J10: the stored form is frozen from here on.
#[test]
fn the_sample_reads_back_and_means_what_it_always_meant() {
    let state = sample(JOURNAL);
    let pieces: Vec<_> = state.summing.pieces.iter().map(|piece| &*piece.text).collect();
    assert_eq!(pieces, ["Of the first turn.", "Of the first step."]);
    assert_eq!(state.overlay, None);
    assert_eq!((state.summing.wanted.is_some(), state.window().unwrap().tokens), (true, 4_000));
    assert_eq!(state.usage.input, 330 + 1_210);
    assert_eq!(state.turns.last().and_then(|turn| turn.end), None::<TurnEnd>);
}
