//! What a model is sent, message by message.

use expect_test::{Expect, expect};
use piton_core::event::{AnswerPart, Event, FinishReason, Usage, UserPart};
use piton_core::id::{CallId, TurnId};
use piton_core::transcript::{Message, Transcript};

use crate::script::{Journal, fold};

fn check(script: &str, expected: Expect) {
    expected.assert_eq(&shown(&Transcript::from(&fold(script))));
}

/// One line per message: `u` from the user, `a` from the model, `r` results.
pub(crate) fn shown(transcript: &Transcript) -> String {
    let lines = transcript.messages().iter().map(|message| match message {
        Message::User(parts) => format!("u {}", parts.iter().map(said).collect::<String>()),
        Message::Assistant(assistant) => {
            let parts: Vec<_> = assistant.parts.iter().map(answered).collect();
            format!("a {}", parts.join(" + "))
        }
        Message::Results(results) => {
            let shown = results.iter().map(|result| {
                let mark = if result.is_error { "!" } else { "=" };
                format!("{} {}{mark}{}", result.call, result.name, result.text)
            });
            format!("r {}", shown.collect::<Vec<_>>().join(" + "))
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn said(part: &UserPart) -> String {
    match part {
        UserPart::Text { text } => text.replace('\n', "|"),
        UserPart::File { name, .. } | UserPart::InlinedFile { name, .. } => format!("[{name}]"),
    }
}

fn answered(part: &AnswerPart) -> String {
    match part {
        AnswerPart::Text { text } => text.replace('\n', "|"),
        AnswerPart::Reasoning { text } => format!("({text})"),
        AnswerPart::Call { call, name, .. } => format!("{name}@{call}"),
    }
}

// D62, D63, O15, O6
#[test]
fn a_healthy_conversation_is_sent_as_it_was() {
    check(
        "turn user ask calls(th:hm t:look r:a) start:a finish:a ask answer:hi end:completed turn user",
        expect![[r#"
            u m1
            a (hm) + look + r@1.1.0
            r 1.1.0 r=a
            a hi
            u m2"#]],
    );
}

// X15, J14
#[test]
fn results_come_in_call_order_whatever_finished_first() {
    check(
        "turn user ask calls(r:a r:b r:c) start:a start:b start:c finish:c finish:a finish:b",
        expect![[r#"
            u m1
            a r@1.1.0 + r@1.1.1 + r@1.1.2
            r 1.1.0 r=a + 1.1.1 r=b + 1.1.2 r=c"#]],
    );
}

// K24, O10, J11
#[test]
fn results_stand_behind_their_calls_although_a_message_came_between() {
    check(
        "turn user ask calls(o:a) start:a inject finish:a",
        expect![[r#"
        u m1
        a o@1.1.0
        r 1.1.0 o=a
        u m2"#]],
    );
}

// K24, K27, K19
#[test]
fn two_incomplete_turns_in_a_row_keep_their_order() {
    check(
        "turn user:u1 ask calls(r:a) finish:a:p1 ask fail:auth break:api_error \
         inject:u2 ask calls(r:b) finish:b:p2 break:interrupted inject:u3",
        expect![[r#"
            u u1
            a r@1.1.0
            r 1.1.0 r=p1
            u u2
            a r@1.3.0
            r 1.3.0 r=p2
            u u3"#]],
    );
}

// X5, O3, O11, D66, J8, O4
#[test]
fn synthetic_results_say_what_is_known() {
    check(
        "turn user ask calls(r:waits o:runs o:doubt s:done) start:doubt driver start:runs \
         start:done cancelled:done:stopped",
        expect![[r#"
            u m1
            a r@1.1.0 + o@1.1.1 + o@1.1.2 + s@1.1.3
            r 1.1.0 r!Interrupted before it was run; it had no effect. + 1.1.1 o!Interrupted, outcome unknown; check before repeating. + 1.1.2 o!Interrupted, outcome unknown; check before repeating. + 1.1.3 s!stopped"#]],
    );
}

// O5, O14
#[test]
fn calls_without_a_result_get_one_each_in_every_step_and_turn() {
    check(
        "turn user ask calls(r:a r:b) end:stopped \
         turn user ask calls(r:c) finish:c ask calls(o:d r:e) start:d end:stopped turn user",
        expect![[r#"
            u m1
            a r@1.1.0 + r@1.1.1
            r 1.1.0 r!Interrupted before it was run; it had no effect. + 1.1.1 r!Interrupted before it was run; it had no effect.
            u m2
            a r@2.1.0
            r 2.1.0 r=c
            a o@2.2.0 + r@2.2.1
            r 2.2.0 o!Interrupted, outcome unknown; check before repeating. + 2.2.1 r!Interrupted before it was run; it had no effect.
            u m3"#]],
    );
}

#[test]
fn output_that_says_nothing_is_said_to() {
    check(
        "turn user ask calls(r:a r:b) finish:a: failed:b:",
        expect![[r#"
        u m1
        a r@1.1.0 + r@1.1.1
        r 1.1.0 r=(no output) + 1.1.1 r!(no output)"#]],
    );
}

// D60, K55
#[test]
fn whatever_did_not_do_what_was_asked_is_marked() {
    check(
        "turn user ask calls(r:a r:b r:c r:d r:e) finish:a failed:b denied:c cancelled:d lost:e",
        expect![[r#"
            u m1
            a r@1.1.0 + r@1.1.1 + r@1.1.2 + r@1.1.3 + r@1.1.4
            r 1.1.0 r=a + 1.1.1 r!b + 1.1.2 r!c + 1.1.3 r!d + 1.1.4 r!e"#]],
    );
}

// X12, J25
#[test]
fn discarded_turns_are_hidden_and_stopped_ones_sent() {
    check(
        "turn user ask calls(o:a) start:a end:discarded turn user ask calls(o:a) start:a \
         end:stopped turn user",
        expect![[r#"
            u m2
            a o@2.1.0
            r 2.1.0 o!Interrupted, outcome unknown; check before repeating.
            u m3"#]],
    );
}

// O18, J58, X22, O14
#[test]
fn repeated_provider_ids_do_not_steal_results() {
    check(
        "turn user ask calls(r:a) finish:a:one ask calls(r:a) finish:a:two ask answer end:completed \
         turn user ask calls(r:a) finish:a:three",
        expect![[r#"
            u m1
            a r@1.1.0
            r 1.1.0 r=one
            a r@1.2.0
            r 1.2.0 r=two
            a done
            u m2
            a r@2.1.0
            r 2.1.0 r=three"#]],
    );
}

// X2, K16, K33
#[test]
fn a_text_that_broke_off_is_sent_only_when_something_follows_it() {
    check("turn user ask partial:hel fail:network", expect!["u m1"]);
    check(
        "turn user ask partial:hel fail:network break:api_error inject",
        expect![[r#"
        u m1
        a hel||[This answer was cut off here; it was never finished.]
        u m2"#]],
    );
    check(
        "turn user ask partial:hel end:stopped turn user",
        expect![[r#"
        u m1
        a hel||[This answer was cut off here; it was never finished.]
        u m2"#]],
    );
    check(
        "turn user ask think:hm inject",
        expect![[r#"
        u m1
        u m2"#]],
    );
}

// X4, J55
#[test]
fn the_note_on_an_empty_answer_stands_unless_its_step_is_given_up() {
    check(
        "turn user ask fail:empty",
        expect![[r#"
        u m1
        u The response appears to be empty. Please try again."#]],
    );
    check(
        "turn user ask fail:empty end:stopped turn user",
        expect![[r#"
        u m1
        u m2"#]],
    );
    check(
        "turn user ask fail:empty ask answer:hi",
        expect![[r#"
        u m1
        u The response appears to be empty. Please try again.
        a hi"#]],
    );
    check(
        "turn user ask fail:empty ask fail:empty break:empty_answer inject",
        expect![[r#"
        u m1
        u m2"#]],
    );
}

// D70, J54
#[test]
fn calls_that_were_cut_off_are_named() {
    check(
        "turn user ask length(t:so r:a x:write x:edit) finish:a",
        expect![[r#"
        u m1
        a so + r@1.1.0
        r 1.1.0 r=a
        u These calls were cut off by the output limit and not run: write, edit. Repeat what is still needed, with shorter arguments."#]],
    );
    check(
        "turn user ask length(x:write) ask answer:hi end:completed turn user",
        expect![[r#"
        u m1
        u These calls were cut off by the output limit and not run: write. Repeat what is still needed, with shorter arguments.
        a hi
        u m2"#]],
    );
}

// X23, K29
#[test]
fn an_answer_that_was_cut_off_goes_on_with_the_same_note_in_every_try() {
    let cut = "turn user ask length:so break:limit";
    check(
        &format!("{cut} resume"),
        expect![[r#"
        u m1
        a so
        u Your answer was cut off by the output limit. Continue exactly where it stopped."#]],
    );
    check(
        &format!("{cut} resume ask fail:network"),
        expect![[r#"
        u m1
        a so
        u Your answer was cut off by the output limit. Continue exactly where it stopped."#]],
    );
    check(
        &format!("{cut} resume ask answer:on end:completed turn user"),
        expect![[r#"
        u m1
        a so
        u Your answer was cut off by the output limit. Continue exactly where it stopped.
        a on
        u m2"#]],
    );
    check(
        &format!("{cut} inject"),
        expect![[r#"
        u m1
        a so
        u m2"#]],
    );
    check(
        &format!("{cut} end:stopped turn user"),
        expect![[r#"
        u m1
        a so
        u m2"#]],
    );
}

// J53
#[test]
fn a_refusal_is_not_sent_back() {
    check("turn user ask refused(t:no o:a) break:api_error resume", expect!["u m1"]);
    check(
        "turn user ask refused:no break:api_error inject",
        expect![[r#"
        u m1
        u m2"#]],
    );
}

// O16, X11, J93, D15
#[test]
fn a_summary_replaces_the_turns_it_covers_and_no_others() {
    let turns = "turn user ask calls(r:a) finish:a ask answer end:completed turn user ask \
                 calls(r:b) finish:b ask answer end:completed turn user ask calls(r:c) finish:c";
    check(
        &format!("{turns} compact:1"),
        expect![[r#"
            u [Earlier conversation summary — treat as background context]||so far
            u m2
            a r@2.1.0
            r 2.1.0 r=b
            a done
            u m3
            a r@3.1.0
            r 3.1.0 r=c"#]],
    );
    check(
        &format!("{turns} compact:1 compact:2"),
        expect![[r#"
        u [Earlier conversation summary — treat as background context]||so far
        u m3
        a r@3.1.0
        r 3.1.0 r=c"#]],
    );
    check(
        &format!("{turns} compact:3"),
        expect![[r#"
            u m1
            a r@1.1.0
            r 1.1.0 r=a
            a done
            u m2
            a r@2.1.0
            r 2.1.0 r=b
            a done
            u m3
            a r@3.1.0
            r 3.1.0 r=c"#]],
    );
    check(
        &format!("{turns} compact:2 compact:1"),
        expect![[r#"
        u [Earlier conversation summary — treat as background context]||so far
        u m3
        a r@3.1.0
        r 3.1.0 r=c"#]],
    );
}

// C3, X11
#[test]
fn a_retry_under_a_summary_takes_the_summary_away() {
    check(
        "turn user ask answer end:completed turn user ask answer end:completed compact:2 retry:m2",
        expect![[r#"
            u m1
            a done
            u m2"#]],
    );
    check(
        "turn user ask answer end:completed turn user ask answer end:completed compact:1 retry:m2",
        expect![[r#"
            u [Earlier conversation summary — treat as background context]||so far
            u m2"#]],
    );
}

// X9, C3, C8
#[test]
fn a_retried_message_is_sent_once_with_its_new_parts() {
    check(
        "turn user ask calls(r:a) finish:a ask answer end:completed retry resend:m1:new \
         retry resend:m1:newer ask calls(r:a) finish:a",
        expect![[r#"
            u newer
            a r@1.3.0
            r 1.3.0 r=a"#]],
    );
}

#[test]
fn blank_texts_are_left_out() {
    check(
        "turn user say:blank:\u{a0} ask calls(t:\u{b} r:a) finish:a",
        expect![[r#"
        u m1
        a r@1.1.0
        r 1.1.0 r=a"#]],
    );
}

// K25
#[test]
fn a_message_without_a_past_is_sent_alone() {
    check("driver turn user", expect!["u m1"]);
    check("system:prompt driver turn user ask driver driver", expect!["u m1"]);
    check("turn user ask fail:network queue:m9", expect!["u m1"]);
}

// J61
#[test]
fn nothing_but_messages_answers_calls_and_results_is_sent() {
    let listed = "turn user ask calls(t:look r:a o:b) start:a finish:a start:b finish:b \
                  ask answer:hi end:completed turn user";
    let all = "driver system:prompt mode:ask rule:o:ask alien:Mood turn alien:Mood user ask \
               partial:lo think:hm driver ask fail:network ask calls(t:look r:a o:b) alien:Mood start:a \
               finish:a raise:permission:b allow:b start:b raise:question:b tell:b:seven suspend:b \
               start:b finish:b break:api_error resume queue:m9 unqueue:m9 steps_max:9 \
               ask answer:hi end:completed model:own/other turn user driver";
    let sent = shown(&Transcript::from(&fold(listed)));
    assert_eq!(shown(&Transcript::from(&fold(all))).replace("1.2.", "1.1."), sent);
    for kept in ["prompt", "Mood", "hm", "seven", "m9", "other"] {
        assert!(!sent.contains(kept), "{kept}: {sent}");
    }
}

// D5, D7, D8
#[test]
fn the_estimate_counts_everything_that_is_sent() {
    let whole = |script: &str| Transcript::from(&fold(script)).tokens_estimated();
    assert!(2 < whole("turn user:12345678"), "tools are sent, too");
    let estimate = |script: &str| {
        let mut state = fold(script);
        state.config.tools = [].into();
        Transcript::from(&state).tokens_estimated()
    };
    assert_eq!(estimate("turn user:12345678"), 2);
    // Letters, not bytes; and four of them are a token.
    assert_eq!(estimate("turn user:äöüßäöüß"), 2);
    assert_eq!(estimate("turn user:漢字漢字漢字漢"), 1);
    assert_eq!(estimate("system:漢 turn user:漢字漢字漢字漢"), 2);
    assert_eq!(estimate("system:1234 turn user:12345678"), 3);
    assert_eq!(estimate("turn user:12345678 ask calls(r:a) finish:a:12345"), 4);
}

// X8: found by the requests of imported histories.
#[test]
fn a_call_without_a_name_does_not_stand_for_the_one_with_its_id() {
    let mut journal = Journal::of("turn user ask");
    let part = |name: &str| AnswerPart::Call {
        call: CallId { turn: TurnId(1), step: 1, index: 0 },
        provider_id: None,
        name: name.into(),
        arguments: "{}".into(),
    };
    let (parts, finish) = (vec![part(""), part("r"), part("o")], FinishReason::ToolCalls);
    let (usage, dropped, native) = (Usage::default(), vec![], None);
    journal.push(Event::ModelAnswered { parts, finish, usage, dropped, native });
    let expected = expect![[r#"
        u m1
        a r@1.1.0
        r 1.1.0 r!Interrupted before it was run; it had no effect."#]];
    expected.assert_eq(&shown(&Transcript::from(&journal.state)));
}
