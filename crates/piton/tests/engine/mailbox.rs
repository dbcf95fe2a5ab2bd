//! Answers from other processes: taken by the one writer, once, also by the next one.

use piton::{AnswerLetter, Attendance, Delivery, Given, OnIncomplete::Ask, Reply};
use piton_core::event::{Event, InquiryAnswer, PermissionMode};
use piton_core::id::{InquiryId, Seq, Timestamp};
use piton_core::outcome::Ending;
use piton_store::{Journal as _, Letter};

use crate::stage::{Stage, pass, pending, say};

const PAY: &str = r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"x"}]}"#;

fn asking(script: &str) -> Stage {
    Stage::new(script).mode(PermissionMode::Ask)
}

/// Another process leaves an answer.
async fn leave(stage: &Stage, inquiry: &InquiryId, reply: &Reply, number: u64) -> AnswerLetter {
    let letter = AnswerLetter::new(inquiry.clone(), reply, Timestamp(number), number).unwrap();
    letter.post(&*stage.journal, stage.conversation()).await.unwrap();
    letter
}

async fn delivery(stage: &Stage, letter: &AnswerLetter) -> Delivery {
    letter.delivery(&*stage.journal, stage.conversation(), Seq(0)).await.unwrap()
}

async fn left(stage: &Stage) -> usize {
    stage.journal.letters(stage.conversation()).await.unwrap().len()
}

/// How many answers are recorded.
async fn answers(stage: &Stage) -> usize {
    stage.story().await.matches("reply").count()
}

// M8, D45: the process that asks takes an answer from elsewhere while it waits.
#[tokio::test(start_paused = true)]
async fn a_letter_answers_a_question_of_a_running_session() {
    let stage = asking(PAY);
    let mut session = stage.create().await;
    session.attend(Attendance::Attended);
    let (ending, letter) = tokio::join!(session.send(say("go"), Ask), async {
        pass(1_000).await;
        let asked = pending(&stage.state().await);
        let letter = leave(&stage, &asked[0], &Reply::Allow, 1).await;
        assert!(matches!(delivery(&stage, &letter).await, Delivery::Open(_)));
        letter
    });
    assert_eq!(ending.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
    assert_eq!(delivery(&stage, &letter).await, Delivery::Taken);
    assert_eq!(left(&stage).await, 0);
    stage.check().await;
}

// A sibling that runs does not keep a letter waiting, also where nobody attends.
#[tokio::test(start_paused = true)]
async fn a_letter_is_taken_while_another_call_runs() {
    let stage = asking(
        r#"{"steps":[{"calls":[{"tool":"look","arguments":{"ms":5000}},{"tool":"pay"}]},
            {"say":"x"}]}"#,
    );
    let mut session = stage.create().await;
    let (ending, ()) = tokio::join!(session.send(say("go"), Ask), async {
        pass(1_000).await;
        let asked = pending(&stage.state().await);
        leave(&stage, &asked[0], &Reply::Allow, 1).await;
        pass(1_000).await;
        assert_eq!(stage.effects(), ["pay 1.1.1"], "long before the other one ends");
    });
    assert_eq!(ending.unwrap(), Ending::Done);
    stage.check().await;
}

// M8: whoever dies leaves the letter to the next one, and nobody takes it twice.
#[tokio::test(start_paused = true)]
async fn a_letter_waits_for_the_next_process_and_counts_once() {
    for wake in ["resume", "take"] {
        let stage = asking(PAY);
        let mut session = stage.create().await;
        assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::WaitingForInput);
        let asked = pending(session.state()).remove(0);
        drop(session);
        let letter = leave(&stage, &asked, &Reply::Allow, 1).await;
        let late = leave(&stage, &asked, &Reply::Deny, 2).await;
        let kept = AnswerLetter::kept(&*stage.journal, stage.conversation()).await.unwrap();
        let kept: Vec<_> = kept.iter().map(|it| (it.inquiry(), it.reply())).collect();
        assert_eq!(kept, [(&asked, &Reply::Allow), (&asked, &Reply::Deny)]);
        let mut session = stage.open().await;
        if wake == "take" {
            session.take_letters().await.unwrap();
            assert_eq!((answers(&stage).await, left(&stage).await), (1, 0));
            assert_eq!(stage.effects(), [""; 0], "taking a letter runs nothing");
        }
        assert_eq!(session.resume().await.unwrap(), Ending::Done, "{wake}");
        assert_eq!(stage.effects(), ["pay 1.1.0"]);
        assert_eq!(delivery(&stage, &letter).await, Delivery::Taken);
        let id = Some(letter.id().to_owned());
        let given = Given { answer: InquiryAnswer::Allow, by: "user".into(), letter: id };
        assert_eq!(delivery(&stage, &late).await, Delivery::Otherwise(given));
        assert!(!late.lies(&*stage.journal, stage.conversation()).await.unwrap());
        // It comes back, as after a crash between recording and taking it away.
        letter.post(&*stage.journal, stage.conversation()).await.unwrap();
        session.take_letters().await.unwrap();
        assert_eq!((answers(&stage).await, left(&stage).await), (1, 0));
        stage.check().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_letter_that_answers_nothing_changes_nothing() {
    let stage = asking(PAY);
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    let asked = pending(session.state()).remove(0);
    // Not for this question, not an answer to it, and from a piton of the future.
    leave(&stage, &InquiryId::new("1.9.0.permission.1"), &Reply::Allow, 1).await;
    leave(&stage, &asked, &Reply::Text("yes".into()), 2).await;
    let future =
        Letter { id: "3".into(), body: r#"{"inquiry":"q","reply":{"kind":"sing"}}"#.into() };
    stage.journal.post(stage.conversation(), future).await.unwrap();
    let before = stage.story().await;
    session.take_letters().await.unwrap();
    assert_eq!(stage.story().await, before);
    assert_eq!(left(&stage).await, 1, "what is not understood is left to who understands it");
    assert_eq!(pending(session.state()), [asked]);
}

// D44: a rule and its answer are one commit, whoever takes them in.
#[tokio::test(start_paused = true)]
async fn a_letter_brings_a_rule_with_its_answer() {
    use piton_core::event::{RuleEffect, RuleScope};
    use piton_core::permit::Standing;
    let stage = asking(r#"{"steps":[{"calls":[{"tool":"pay"}]},{"calls":[{"tool":"pay"}]}]}"#);
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    let asked = pending(session.state()).remove(0);
    let standing = Standing { effect: RuleEffect::Allow, scope: RuleScope::Project };
    leave(&stage, &asked, &Reply::Always(standing), 1).await;
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["pay 1.1.0", "pay 1.2.0"]);
    assert_eq!(session.state().config.permissions.rules[0].scope, RuleScope::Project);
    let together = stage.journal.commits().into_iter().any(|commit| {
        let has = |wanted: fn(&Event) -> bool| commit.events.iter().any(wanted);
        has(|event| matches!(event, Event::InquiryAnswered { letter: Some(_), .. }))
            && has(|event| matches!(event, Event::ConfigChanged { .. }))
    });
    assert!(together);
}
