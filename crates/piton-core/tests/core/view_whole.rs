//! What a view holds, in readable cases, and that the page on its form tells the truth.

use expect_test::{Expect, expect};
use piton_core::action::{Action, Wish};
use piton_core::decide::decide;
use piton_core::event::{
    AnswerPart, ConfigChange, EffectClass, Event, FinishReason, Handle, ToolSpec, UserPart,
};
use piton_core::id::{Attempt, CallId, Digest, MessageId, TurnId};
use piton_core::view::{
    CallView, InquiryAnswer, ItemView, Live, LiveCall, MessagePart, Next, PartView, StepView,
    TurnView, Usage, View, ViewChange,
};
use serde::Serialize;

use crate::script::Journal;

fn word(value: &impl Serialize) -> String {
    let told = serde_json::to_string(value).unwrap();
    told.replace(['"', '{', '}'], "").replace("is:", "").replace("do:", "").replace(',', " ")
}

fn parts(parts: &[MessagePart]) -> String {
    parts.iter().map(word).collect::<Vec<_>>().join(", ").replace("part:", "")
}

fn call(lines: &mut Vec<String>, call: &CallView) {
    let CallView { id, tool, state, .. } = call;
    let gave = call.result.as_ref().map_or(String::new(), |it| format!(" gave {}", it.text));
    let worker = call.worker.as_ref().map_or(String::new(), |it| format!(" worker {it}"));
    lines.push(format!("    call {id} {tool} {}: {}{gave}{worker}", call.arguments, word(state)));
    for question in &call.questions {
        let open = if question.open { "open" } else { "closed" };
        lines.push(format!("      question {} {} {open}", question.id, word(&question.kind)));
        for always in &question.always {
            let (effect, scope) = (word(&always.effect), word(&always.scope));
            lines.push(format!("        {effect} always for {scope}: {}", word(&always.rules)));
        }
        if let Some(answer) = &question.answer {
            let given = word(&answer.given);
            lines.push(format!("        {given} by {} at {}", answer.by, answer.at.0));
        }
    }
}

fn step(lines: &mut Vec<String>, step: &StepView) {
    let partial = if step.partial { " partial" } else { "" };
    let (number, attempt) = (step.number, step.attempt.0);
    lines.push(format!("  step {number} try {attempt} {}{partial}", word(&step.state)));
    if let Some(failure) = &step.failure {
        let next = failure.next_try.map_or("none".into(), |at| at.0.to_string());
        let (class, at) = (word(&failure.class), failure.at.0);
        lines.push(format!("    {class} at {at}, {} in a row, next try {next}", failure.failures));
    }
    lines.extend(step.parts.iter().map(|part| match part {
        PartView::Text { text } => format!("    text {text}"),
        PartView::Reasoning { text } => format!("    reasoning {text}"),
        other @ (PartView::Call { .. } | _) => format!("    {}", word(other)),
    }));
    step.calls.iter().for_each(|it| call(lines, it));
}

fn items(lines: &mut Vec<String>, all: &[ItemView]) {
    for item in all {
        match item {
            ItemView::Message(said) => {
                let (id, attempt, at) = (&said.id, said.attempt.0, said.at.0);
                lines.push(format!("  message {id} try {attempt} at {at}: {}", parts(&said.parts)));
            }
            ItemView::Step(it) => step(lines, it),
            other => panic!("{other:?} is new here"),
        }
    }
}

fn turn(lines: &mut Vec<String>, turn: &TurnView) {
    let head = &turn.head;
    let end = head.end.map_or("open".into(), |end| word(&end));
    let closed = head.closed.map_or(String::new(), |at| format!(" to {}", at.0));
    lines.push(format!("turn {} {end} from {}{closed}", head.id.0, head.began.0));
    items(lines, &turn.items);
    if let Some(halt) = &head.halt {
        let (reason, kept) = (word(&halt.reason), word(&halt.kept));
        lines.push(format!("  broke at {}: {reason}; kept {kept}", halt.at.0));
    }
    for old in &turn.attempts {
        let (id, attempt) = (&old.message.id, old.message.attempt.0);
        let end = old.end.map_or(String::new(), |end| format!(" {}", word(&end)));
        let halt = old.halt.as_ref().map(|it| format!(" broke: {}", word(&it.reason)));
        let halt = halt.unwrap_or_default();
        let said = parts(&old.message.parts);
        lines.push(format!("  before: {id} try {attempt}{end}{halt}: {said}"));
        items(lines, &old.items);
    }
}

fn told(view: &View) -> String {
    let (title, status) = (&view.head.title, word(&view.head.status));
    let mut lines = vec![format!("{title} at {}: {status}", view.cursor)];
    view.turns.iter().for_each(|it| turn(&mut lines, it));
    for it in &view.superseded {
        lines.push("superseded".into());
        turn(&mut lines, it);
    }
    let queued =
        |it: &piton_core::view::QueuedView| format!("queued {}: {}", it.id, parts(&it.parts));
    lines.extend(view.queue.iter().map(queued));
    lines.extend(view.covered.iter().map(|it| format!("summary through {}", it.through.0)));
    let next: Vec<_> = view.head.next.iter().map(word).collect();
    lines.push(format!("next: {}", next.join(", ")));
    lines.join("\n")
}

fn check(script: &str, expected: Expect) {
    expected.assert_eq(&told(&View::from(&Journal::of(script).state)));
}

// J72, C31
#[test]
fn a_turn_with_tools_and_a_question() {
    check(
        "mode:ask turn user ask calls(th:hm t:look r:a o:b) start:a finish:a:found \
         raise:permission:b",
        expect![[r#"
            m1 at 10: waiting_for_input tool:o
            turn 1 open from 4000
              message m1 try 1 at 5000: text text:m1
              step 1 try 1 answered
                reasoning hm
                text look
                part:call call:1.1.0
                part:call call:1.1.1
                call 1.1.0 r {}: done outcome:ok gave found
                call 1.1.1 o {}: waiting
                  question 1.1.1.permission.1 permission open
                    allow always for conversation: [tool:o effect:allow]
                    allow always for project: [tool:o effect:allow scope:project]
                    allow always for user: [tool:o effect:allow scope:user]
                    deny always for conversation: [tool:o effect:deny]
                    deny always for project: [tool:o effect:deny scope:project]
                    deny always for user: [tool:o effect:deny scope:user]
            next: answer question:1.1.1.permission.1, interrupt, steer, queue, resume, retry message:m1, stop, discard"#]],
    );
    check(
        "mode:ask turn user ask calls(o:b) raise:permission:b allow:b start:b finish:b:done ask \
         partial:so",
        expect![[r#"
            m1 at 13: pending_follow_up
            turn 1 open from 4000
              message m1 try 1 at 5000: text text:m1
              step 1 try 1 answered
                part:call call:1.1.0
                call 1.1.0 o {}: done outcome:ok gave done
                  question 1.1.0.permission.1 permission closed
                    answer:allow by somebody at 9000
              step 2 try 1 asked partial
                text so
            next: interrupt, steer, queue, resume, retry message:m1, stop, discard"#]],
    );
}

// K10, K37
#[test]
fn a_broken_turn_says_what_was_kept_and_what_can_be_done() {
    check(
        "turn user ask calls(r:a s:b o:c) start:a finish:a start:b break:interrupted",
        expect![[r#"
            m1 at 10: pending_tools
            turn 1 open from 3000
              message m1 try 1 at 4000: text text:m1
              step 1 try 1 answered
                part:call call:1.1.0
                part:call call:1.1.1
                part:call call:1.1.2
                call 1.1.0 r {}: done outcome:ok gave a
                call 1.1.1 s {}: in_doubt
                call 1.1.2 o {}: waiting
              broke at 10000: interrupted; kept answers:1 calls_done:1 calls_waiting:1 calls_in_doubt:1
            next: steer, queue, resume, retry message:m1, stop, discard"#]],
    );
}

// C33, J49
#[test]
fn a_failed_try_says_when_the_next_one_is() {
    check(
        "turn user ask partial:hel fail:network",
        expect![[r#"
        m1 at 7: pending_answer
        turn 1 open from 3000
          message m1 try 1 at 4000: text text:m1
          step 1 try 1 failed partial
            network at 7000, 1 in a row, next try 8000
            text hel
        next: interrupt, steer, queue, resume, retry message:m1, stop, discard"#]],
    );
    check(
        "turn user ask fail:auth break:api_error",
        expect![[r#"
        m1 at 7: pending_answer
        turn 1 open from 3000
          message m1 try 1 at 4000: text text:m1
          step 1 try 1 failed
            auth at 6000, 1 in a row, next try none
          broke at 7000: api_error; kept answers:0 calls_done:0 calls_waiting:0 calls_in_doubt:0
        next: steer, queue, resume, retry message:m1, stop, discard"#]],
    );
}

// C3
#[test]
fn a_retried_message_keeps_its_earlier_attempts() {
    check(
        "turn user:old ask answer:one end:completed turn user ask answer:two end:completed \
         retry:m1 resend:m1:new ask partial:three",
        expect![[r#"
            new at 16: pending_answer
            turn 1 open from 3000
              message m1 try 2 at 14000: text text:new
              step 2 try 1 asked partial
                text three
              before: m1 try 1 completed: text text:old
              step 1 try 1 answered
                text one
            superseded
            turn 2 completed from 8000 to 12000
              message m2 try 1 at 9000: text text:m2
              step 1 try 1 answered
                text two
            next: interrupt, steer, queue, resume, retry message:m1, stop, discard"#]],
    );
}

// X9: how an attempt ended is known, also when it is over.
#[test]
fn an_earlier_attempt_says_how_it_ended() {
    check(
        "turn user ask calls(o:a) start:a finish:a break:limit retry ask fail:auth break:api_error \
         retry ask answer end:completed",
        expect![[r#"
            m1 at 17: idle
            turn 1 completed from 3000 to 17000
              message m1 try 3 at 14000: text text:m1
              step 3 try 1 answered
                text done
              before: m1 try 1 broke: limit: text text:m1
              step 1 try 1 answered
                part:call call:1.1.0
                call 1.1.0 o {}: done outcome:ok gave a
              before: m1 try 2 broke: api_error: text text:m1
              step 2 try 1 failed
                auth at 12000, 1 in a row, next try none
            next: send, retry message:m1"#]],
    );
}

#[test]
fn waiting_messages_are_in_the_view() {
    check(
        "turn user ask queue:q1:later queue:q2:last unqueue:q1",
        expect![[r#"
        m1 at 8: pending_answer
        turn 1 open from 3000
          message m1 try 1 at 4000: text text:m1
          step 1 try 1 asked
        queued q2: text text:last
        next: interrupt, steer, queue, resume, retry message:m1, stop, discard, unqueue message:q2"#]],
    );
}

#[test]
fn a_summary_and_what_did_not_fit_are_told() {
    let journal = Journal::of("turn user ask answer end:completed compact:1 alien:New partial:x");
    let view = View::from(&journal.state);
    assert_eq!((view.strays, view.unknown), (1, 1));
    expect![[r#"
        m1 at 10: idle
        turn 1 completed from 3000 to 7000
          message m1 try 1 at 4000: text text:m1
          step 1 try 1 answered
            text done
        summary through 1
        next: send, retry message:m1"#]]
    .assert_eq(&told(&view));
}

/// A conversation that asks whether a command may run.
fn example() -> Journal {
    let mut journal = Journal::of("mode:ask");
    let shell = ToolSpec::new("shell", "", "{}", EffectClass::Supervised);
    let change = ConfigChange { tools: Some(vec![shell]), ..ConfigChange::default() };
    journal.push(Event::ConfigChanged { change });
    journal.push(Event::TurnStarted { turn: TurnId(1), agent: None });
    let (message, parts) = (MessageId::new("m1"), vec![UserPart::text("Do the tests pass?")]);
    journal.push(Event::UserMessage { message, parts, attempt: Attempt::FIRST });
    journal.push(Event::ModelAsked {
        step: 1,
        attempt: Attempt::FIRST,
        model: "demo/one".parse().unwrap(),
        digest: Digest::new("00"),
        tokens_estimated: 900,
    });
    let call = CallId { turn: TurnId(1), step: 1, index: 0 };
    journal.push(Event::ModelAnswered {
        parts: vec![
            AnswerPart::Text { text: "I will run them.".into() },
            AnswerPart::Call {
                call,
                provider_id: None,
                name: "shell".into(),
                arguments: r#"{"command":"cargo test"}"#.into(),
            },
        ],
        finish: FinishReason::ToolCalls,
        usage: Usage { input: 880, output: 20, cached: 0 },
        dropped: vec![],
        native: None,
    });
    let Action::Raise(inquiries) = decide(&journal.state, Wish::Proceed) else { panic!("asks") };
    for inquiry in inquiries {
        journal.push(Event::InquiryRaised { inquiry });
    }
    journal
}

fn assert_page_holds(value: &impl Serialize) {
    let page = include_str!("../../../../docs/view.md");
    let shown = serde_json::to_string_pretty(value).unwrap();
    assert!(page.contains(&format!("```json\n{shown}\n```")), "docs/view.md lacks:\n{shown}");
}

#[test]
fn the_page_on_views_shows_them_as_they_are() {
    let mut journal = example();
    let view = View::from(&journal.state);
    assert_page_holds(&view);
    let Some(Next::Answer { question }) = view.head.next.first() else { panic!("asks first") };
    assert!(view.question(question).unwrap().open);
    let inquiry = question.clone();
    let (answer, by) = (InquiryAnswer::Allow, "anna".into());
    journal.push(Event::InquiryAnswered { inquiry, answer, by, letter: None, by_rule: false });
    let change = ViewChange::of(&journal.state, journal.entries.last().unwrap());
    assert_page_holds(&change);
    let call = CallId { turn: TurnId(1), step: 1, index: 0 };
    journal.push(Event::ToolStarted {
        call,
        effect: EffectClass::Supervised,
        handle: Handle::None,
    });
    let mut running = LiveCall::new(call);
    running.tail = "running 12 tests\n".into();
    running.bytes = 17;
    let mut live = Live::default();
    live.driven = true;
    live.calls.push(running);
    assert_page_holds(&live);
}
