//! Summaries that are laid inside an open turn: what they cover, what stands behind them, what they say.

use expect_test::expect;
use piton_core::action::{Action, Wish};
use piton_core::budget::Budget;
use piton_core::cut;
use piton_core::decide::decide;
use piton_core::event::{Event, WindowSource};
use piton_core::id::{ConversationId, Digest};
use piton_core::integrity::violations;
use piton_core::recap::{self, Look};
use piton_core::state::{Cut, State};
use piton_core::transcript::{Message, Transcript};

use crate::next_action::check;
use crate::sample::sample;
use crate::script::{Journal, fold};
use crate::transcript::shown;

const JOURNAL: &str = include_str!("journals/v1_summed_up.jsonl");

/// A closed turn, and an open one with three finished steps.
const TURNS: &str = "turn user ask answer:one end:completed turn user ask calls(r:a n:aaa) finish:a \
    ask calls(r:b n:bbb) finish:b inject ask calls(r:c n:ccc) finish:c";

fn strays(script: &str) -> u64 {
    fold(script).strays
}

// X11, D15, D17: the summary, then what was said in the open turn, then the kept steps.
#[test]
fn a_summary_inside_an_open_turn_leaves_its_messages_and_its_last_steps() {
    expect![[r#"
        u [Earlier conversation summary — treat as background context]||so far
        u m2
        u m3
        a r@2.3.0
        r 2.3.0 r=c"#]]
    .assert_eq(&shown(&Transcript::from(&fold(&format!("{TURNS} sum:1:2.2")))));
    expect![[r#"
        u [Earlier conversation summary — treat as background context]||so far
        u m2
        a r@2.2.0
        r 2.2.0 r=b
        u m3
        a r@2.3.0
        r 2.3.0 r=c"#]]
    .assert_eq(&shown(&Transcript::from(&fold(&format!("{TURNS} sum:1:2.1")))));
    let closed = fold(&format!("{TURNS} sum:1:2.2 ask answer end:completed turn user"));
    assert!(shown(&Transcript::from(&closed)).contains("u m2\nu m3\na r@2.3.0"));
    let whole = fold(&format!("{TURNS} sum:1:2.2 ask answer end:completed turn user sum:2"));
    assert!(!shown(&Transcript::from(&whole)).contains("u m2"));
}

#[test]
fn a_summary_that_does_not_fit_is_a_stray() {
    assert_eq!(strays(&format!("{TURNS} sum:1:2.2")), 0);
    assert_eq!(strays(&format!("{TURNS} sum:1:2.3")), 1, "the last finished step stays");
    assert_eq!(strays(&format!("{TURNS} sum:2:2.1")), 1, "the turn is open");
    assert_eq!(strays(&format!("{TURNS} sum:1:2.9")), 1, "no such step");
    assert_eq!(strays(&format!("{TURNS} sum:1:2.2 sum:1:2.1")), 1, "it would cover less");
    assert_eq!(strays(&format!("{TURNS} sum:0")), 1, "it covers nothing");
    let open = "turn user ask calls(r:a) ask calls(r:b) finish:b";
    assert_eq!(strays(&format!("{open} sum:0:1.1")), strays(open) + 1, "a call has no end");
}

#[test]
fn what_stands_behind_a_summary_goes_without_native_blocks() {
    let transcript = Transcript::from(&fold(&format!("{TURNS} sum:1:2.1")));
    let natives = transcript.messages().iter().filter_map(|message| match message {
        Message::Assistant(assistant) => assistant.native.clone(),
        Message::User(_) | Message::Results(_) => None,
    });
    assert_eq!(natives.count(), 0);
    assert_eq!(violations(&transcript), []);
}

#[test]
fn a_retried_message_comes_back_from_under_its_summary() {
    for message in ["m1", "m2"] {
        let state = fold(&format!("{TURNS} sum:1:2.2 retry:{message}"));
        assert_eq!(state.overlay, None, "{message}");
        assert!(shown(&Transcript::from(&state)).contains(&format!("u {message}")));
    }
}

/// So many steps, each with an output of so many letters.
fn steps(count: u32, letters: u32) -> String {
    let step = |n| format!("ask calls(t:look{n} r:x{n}) long:x{n}:{letters}");
    (1..=count).map(step).collect::<Vec<_>>().join(" ")
}

/// Does what is decided until a request can be made; says how many summaries were laid.
fn make_room(journal: &mut Journal) -> u32 {
    let mut summaries = 0;
    for _ in 0..8 {
        // The model is of no use here.
        if matches!(decide(&journal.state, Wish::Proceed), Action::SumUp(_)) {
            journal.play("summing unsummed:failed");
            continue;
        }
        let before = Transcript::from(&journal.state).tokens_estimated();
        let action = decide(&journal.state, Wish::Proceed);
        if let Action::Shorten(outputs) = action {
            journal.push(Event::OutputsShortened { outputs });
        } else if let Action::Compact(cut) = action {
            summaries += 1;
            journal.push(cut::lay(&journal.state, cut, &Look::default()));
        } else {
            break;
        }
        assert!(Transcript::from(&journal.state).tokens_estimated() < before, "D20");
    }
    assert!(matches!(decide(&journal.state, Wish::Proceed), Action::AskModel { .. }));
    assert_eq!(journal.state.strays, 0);
    summaries
}

// X24, D14, D16, D20: nothing old is large enough to be shortened, so the finished steps are summed up.
#[test]
fn finished_steps_of_the_open_turn_are_summed_up_before_a_request_over_the_budget() {
    let window = "window:9000 turn user";
    check(&format!("{window} {}", steps(30, 400)), expect!["ask model: step 31, attempt 1"]);
    let mut journal = Journal::of(&format!("{window} {}", steps(45, 400)));
    assert_eq!(make_room(&mut journal), 1);
    let sent = Transcript::from(&journal.state).tokens_estimated();
    assert!(sent <= Budget::of(&journal.state).aim, "{sent}");
    // The tail: at most eight messages, and never half a step.
    assert!(Transcript::from(&journal.state).messages().len() <= 2 + 8);
}

// K44: also where nobody knows the window, and the refused request was far below the budget.
#[test]
fn an_overflow_sums_up_finished_steps_until_the_next_request_is_much_smaller() {
    let steps = steps(40, 400);
    let mut journal = Journal::of(&format!("turn user {steps} ask fail:context_overflow"));
    let refused = Transcript::from(&journal.state).tokens_estimated();
    assert_eq!(make_room(&mut journal), 1);
    let next = Transcript::from(&journal.state).tokens_estimated();
    assert!(next * 10 <= refused * 8, "{next} of {refused}");
}

#[test]
fn a_provider_that_refuses_ever_smaller_requests_is_not_asked_for_ever() {
    let refused = "ask fail:context_overflow ".repeat(4);
    let journal = Journal::of(&format!("turn user {} {refused}", steps(40, 400)));
    let action = decide(&journal.state, Wish::Proceed);
    assert!(matches!(action, Action::Break { .. }), "{action:?}");
}

#[test]
fn summing_up_again_and_again_ends_with_the_name_of_what_is_large() {
    let long = "x".repeat(12_000);
    let failing =
        format!("ask calls(r:a r:b) failed:a:{long} failed:b:y ask calls(r:c) failed:c:{long}");
    let steps = steps(45, 400);
    let script = format!("window:9000 turn user {steps} sum:0:1.40 sum:0:1.41 {failing}");
    let action = decide(&fold(&script), Wish::Proceed);
    let Action::Break { message, .. } = action else { panic!("{action:?}") };
    assert!(message.contains("summing up does not help any more"), "{message}");
    assert!(message.contains("what r gave (call 1.47.0), about 3000 tokens"), "{message}");
    // Whoever resumes has a fresh allowance.
    let resumed = decide(&fold(&format!("{script} break:limit resume")), Wish::Proceed);
    assert!(matches!(resumed, Action::SumUp(_)), "{resumed:?}");
}

// A window of 4,096 tokens: one sentence with the numbers, and no request.
#[test]
fn a_window_that_is_too_small_is_said_in_numbers() {
    check(
        "window:4096 turn user:hello",
        expect![
            "break limit: the model takes 4096 tokens, of which a request may use 0; the prompt has 0, the tools 4, instructions 0, your message 1, and work needs 1024: go on with a model that takes more"
        ],
    );
    check("window:6000 turn user:hello", expect!["ask model: step 1, attempt 1"]);
}

// D7, D9: letters and not bytes, by a divisor that can be set.
#[test]
fn the_estimate_counts_letters_by_the_divisor() {
    let size = |script: &str| Transcript::from(&fold(script)).tokens_estimated();
    let head = size("turn");
    let (kanji, latin) = ("日".repeat(400), "a".repeat(400));
    assert_eq!(size(&format!("turn user:{kanji}")), size(&format!("turn user:{latin}")));
    assert_eq!(size(&format!("turn user:{latin}")) - head, 100);
    assert!(400 <= size(&format!("divisor:1 turn user:{latin}")));
    for odd in [0, 33] {
        assert_eq!(size(&format!("divisor:{odd} turn user:{latin}")) - head, 100, "{odd}");
    }
}

#[test]
fn a_request_is_estimated_by_part() {
    let script = format!("turn context:now:day user {} sum:0:1.1", steps(2, 4000));
    let transcript = Transcript::from(&fold(&script));
    let parts = transcript.parts_estimated();
    assert_eq!(parts.outputs, 1_000);
    assert!(0 < parts.tools && 0 < parts.instructions && 0 < parts.summary && 0 < parts.rest);
    let whole = transcript.tokens_estimated();
    assert!(parts.total() <= whole && whole < parts.total() + 6, "{parts:?} of {whole}");
}

// J94 and section 4.4 of the design: what the journal knows needs no model.
#[test]
fn the_text_says_what_was_asked_written_planned_and_done() {
    let mut journal = Journal::of(
        "turn user:first ask calls(r:a) finish:a ask answer:fine end:completed \
         turn user:second ask calls(r:b) failed:b:nope ask calls(r:c) finish:c",
    );
    let cut = cut::widest(&journal.state).unwrap();
    let text = recap::text(&journal.state, cut, &Look::default());
    expect![[r#"
        What follows was put together from the journal, to make room. It stands for turn 1 and step 1 of turn 2. All of it has happened; none of it is a request. The present request stands behind it, word for word; go on with it from there.
        Answers of the model in it: 3
        Permission mode: auto

        Asked so far (history, not requests):
        - turn 1 (done): first => fine

        Done in this turn:
        - call 2.1.0 r: failed: nope"#]].assert_eq(&text);
    journal.push(cut::lay(&journal.state, cut, &Look::default()));
    assert_eq!(journal.state.cut(), cut);
}

#[test]
fn the_text_has_a_bound_and_counts_what_it_leaves_out() {
    let state = fold(&format!("context_max:8000 turn user {}", steps(200, 400)));
    let cut = cut::widest(&state).unwrap();
    let text = recap::text(&state, cut, &Look::default());
    assert!(text.chars().count() <= 8_000 / 20 * 4 + 100, "{}", text.chars().count());
    assert!(text.contains("older ones are left out)"), "{text}");
    assert!(text.contains("call 1.199.0"), "{text}");
}

// Section 4.4 of the design: the newest messages have the longest extracts, and no rule of an old one is lost
// while there is room for its first words.
#[test]
fn every_message_has_a_line_before_the_newest_have_long_ones() {
    let said = |turn: usize| format!("rule-{turn}-{}", "x".repeat(600));
    let turn = |turn: usize| format!("turn user:{} ask answer:fine end:completed", said(turn));
    let text = |turns: usize| {
        let turns: Vec<String> = (1..=turns).map(turn).collect();
        let script =
            format!("context_max:12288 {} turn user ask calls(r:a) finish:a", turns.join(" "));
        let state = fold(&script);
        recap::text(&state, cut::widest(&state).unwrap(), &Look::default())
    };
    let lengths = |text: &str| -> Vec<usize> {
        let lines = text.lines().filter(|line| line.contains("rule-"));
        lines.map(|line| line.chars().filter(|letter| *letter == 'x').count()).collect()
    };
    let (short, long) = (60..80, 250..300);
    let few = lengths(&text(2));
    assert!(few.iter().all(|length| long.contains(length)), "{few:?}");
    let six = lengths(&text(6));
    assert_eq!(six.len(), 6, "{six:?}");
    assert!(six[..5].iter().all(|length| short.contains(length)), "{six:?}");
    assert!(long.contains(&six[5]), "{six:?}");
    let many = text(60);
    assert!(lengths(&many).iter().all(|length| short.contains(length)), "{many}");
    assert!(many.contains("older ones are left out)") && many.contains("rule-60-"), "{many}");
    assert!(many.chars().count() <= 12_288 / 20 * 4, "{}", many.chars().count());
}

#[test]
fn files_that_changed_since_are_told_from_those_that_did_not() {
    let mut state = fold("turn user ask calls(d:a d:b) finish:a finish:b ask calls(r:c) finish:c");
    let edit = |path: &str| piton_core::state::Edit {
        path: path.into(),
        before: None,
        after: Some(Digest::new("new")),
    };
    let piton_core::state::Item::Step(step) = &mut state.turns[0].items[1] else { panic!() };
    step.calls[0].edits.push(edit("a.txt"));
    step.calls[1].edits.push(edit("b.txt"));
    let cut = cut::widest(&state).unwrap();
    assert_eq!(recap::files_written(&state, cut), ["a.txt", "b.txt"]);
    let files = [("a.txt", Some(Digest::new("new"))), ("b.txt", Some(Digest::new("other")))];
    let files = files.map(|(path, digest)| (path.to_owned(), digest)).into();
    let text = recap::text(
        &state,
        cut,
        &Look { files, running: vec!["call 1.9.0: serve".into()], branch: Some("topic".into()) },
    );
    assert!(text.contains("- a.txt (last by call 1.1.0): still as written"), "{text}");
    assert!(text.contains("- b.txt (last by call 1.1.1): changed by somebody since"), "{text}");
    assert!(text.contains("\nGit branch: topic\n"), "{text}");
    assert!(text.contains("Commands that still run:\n- call 1.9.0: serve"), "{text}");
}

// Section 4.4 of the design: what is not over is told without a model.
#[test]
fn the_text_says_what_is_not_over_and_who_worked() {
    let script = "turn user ask calls(c:w r:a) start:w finish:w finish:a ask calls(r:b) finish:b \
        ask calls(o:d r:e) start:d driver";
    let mut state = fold(script);
    let piton_core::state::Item::Step(step) = &mut state.turns[0].items[1] else { panic!() };
    step.calls[0].worker = Some(ConversationId::new("helper"));
    let cut = cut::widest(&state).unwrap();
    let text = recap::text(&state, cut, &Look::default());
    assert!(text.contains("Workers:\n- call 1.1.0 c: ok (conversation helper)\n"), "{text}");
    assert!(
        text.contains("Calls without an end:\n- call 1.3.0 o: in doubt: it was begun"),
        "{text}"
    );
    let asking = fold(
        "mode:ask turn user ask calls(r:a) finish:a ask calls(r:b) finish:b ask \
        calls(o:c) raise:permission:c",
    );
    let cut = cut::widest(&asking).unwrap();
    let text = recap::text(&asking, cut, &Look::default());
    assert!(text.contains("Questions that wait:\n- call 1.3.0: "), "{text}");
}

// J10: the stored form is frozen from here on.
#[test]
fn the_sample_reads_back_and_means_what_it_always_meant() {
    let state: State = sample(JOURNAL);
    expect![[r#"
        u [Earlier conversation summary — treat as background context]||What there was.
        u m2
        a r@2.2.0
        r 2.2.0 r=another one
        a done"#]]
    .assert_eq(&shown(&Transcript::from(&state)));
    let Cut { through, within } = state.cut();
    assert_eq!((through.0, within.map(|it| (it.turn.0, it.step))), (1, Some((2, 1))));
    let window = state.config.limits.window.unwrap();
    assert_eq!((window.tokens, window.answer_tokens_max), (16_384, 4_096));
    assert_eq!((window.from, state.config.limits.divisor()), (WindowSource::Table, 3));
}
