//! Answers from other processes: taken by the one writer, once, also by the next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use piton::{
    AnswerThen, Attendance, Command, Engine, Envelope, Kept, LeaseWait, OnIncomplete::Ask, Refusal,
    Reply, Session, Verdict,
};
use piton_core::event::{Event, PermissionMode};
use piton_core::id::{CommandId, InquiryId};
use piton_core::outcome::Ending;
use piton_core::view::View;
use piton_proof::passing::{Onlooker, Passing};
use piton_store::{Journal as _, Letter};
use tokio::sync::Mutex;

use crate::stage::{Stage, pass, pending, say};

const PAY: &str = r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"x"}]}"#;

fn asking(script: &str) -> Stage {
    Stage::new(script).mode(PermissionMode::Ask)
}

/// Another process leaves an answer.
async fn leave(stage: &Stage, inquiry: &InquiryId, reply: &Reply, number: u64) -> Kept {
    let (inquiry, reply) = (inquiry.clone(), reply.clone());
    let answer = Command::Answer { inquiry, reply, then: AnswerThen::Rest };
    let envelope = Envelope::new(CommandId::new(format!("answer-{number}")), answer);
    post(stage, &format!("{number:015}"), &envelope).await;
    let kept = Kept::of(&*stage.journal, stage.conversation()).await.unwrap();
    kept.into_iter().find(|kept| kept.envelope.id == envelope.id).unwrap()
}

async fn post(stage: &Stage, letter: &str, envelope: &Envelope) {
    let letter = Letter { id: letter.into(), body: envelope.to_text().unwrap() };
    stage.journal.post(stage.conversation(), letter).await.unwrap();
}

/// What became of an answer.
async fn verdict(stage: &Stage, kept: &Kept) -> Option<Verdict> {
    let state = stage.state().await;
    state.commands.get(&kept.envelope.id).map(|(_, verdict)| verdict.clone())
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
        assert_eq!(verdict(&stage, &letter).await, None);
        letter
    });
    assert_eq!(ending.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
    assert_eq!(verdict(&stage, &letter).await, Some(Verdict::Taken));
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
        let kept = Kept::of(&*stage.journal, stage.conversation()).await.unwrap();
        let kept: Vec<_> = kept.iter().filter_map(Kept::answer).collect();
        assert_eq!(kept, [(&asked, &Reply::Allow), (&asked, &Reply::Deny)]);
        let mut session = stage.open().await;
        if wake == "take" {
            session.take_letters().await.unwrap();
            assert_eq!((answers(&stage).await, left(&stage).await), (1, 0));
            assert_eq!(stage.effects(), [""; 0], "taking a letter runs nothing");
        }
        assert_eq!(session.resume().await.unwrap(), Ending::Done, "{wake}");
        assert_eq!(stage.effects(), ["pay 1.1.0"]);
        assert_eq!(verdict(&stage, &letter).await, Some(Verdict::Taken));
        let refused = Verdict::Refused(Refusal::NotAsked { inquiry: asked.clone() });
        assert_eq!(verdict(&stage, &late).await, Some(refused));
        // It comes back, as after a crash between recording and taking it away.
        post(&stage, &letter.letter, &letter.envelope).await;
        session.take_letters().await.unwrap();
        assert_eq!((answers(&stage).await, left(&stage).await), (1, 0));
        stage.check().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_letter_that_answers_nothing_is_refused() {
    let stage = asking(PAY);
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    let asked = pending(session.state()).remove(0);
    // Not for this question, not an answer to it, and from a piton of the future.
    let wrong = InquiryId::new("1.9.0.permission.1");
    let answers = [
        leave(&stage, &wrong, &Reply::Allow, 1).await,
        leave(&stage, &asked, &Reply::Text("yes".into()), 2).await,
    ];
    let future =
        Letter { id: "3".into(), body: r#"{"inquiry":"q","reply":{"kind":"sing"}}"#.into() };
    stage.journal.post(stage.conversation(), future).await.unwrap();
    session.take_letters().await.unwrap();
    for answer in &answers {
        let verdict = verdict(&stage, answer).await;
        assert!(matches!(verdict, Some(Verdict::Refused(Refusal::NotAsked { .. }))), "{verdict:?}");
    }
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

/// Has letters taken before somebody reads for so many times.
#[derive(Debug)]
struct Meddling {
    after: AtomicUsize,
    writer: Mutex<Option<Session>>,
}

#[async_trait]
impl Onlooker for Meddling {
    async fn reading(&self) {
        let left = self.after.load(Ordering::Relaxed);
        if left == 0
            && let Some(mut session) = self.writer.lock().await.take()
        {
            session.take_letters().await.unwrap();
        }
        self.after.store(left.saturating_sub(1), Ordering::Relaxed);
    }
}

/// Two answers to one question lie there, and are taken before the reader of this engine reads for so many
/// times.
async fn taken_after(reads: usize) -> (Stage, Engine, CommandId) {
    let stage = asking(PAY);
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::WaitingForInput);
    let asked = pending(session.state()).remove(0);
    leave(&stage, &asked, &Reply::Deny, 1).await;
    let late = leave(&stage, &asked, &Reply::Allow, 2).await;
    let meddling = Meddling { after: AtomicUsize::new(reads), writer: Mutex::new(Some(session)) };
    let journal = Arc::new(Passing::new(stage.journal.clone(), meddling));
    let engine = stage.engine_over(journal, LeaseWait::NONE);
    (stage, engine, late.envelope.id)
}

/// Whether an answer is refused although nobody has answered.
fn contradict(verdict: Option<&Verdict>, view: &View) -> bool {
    matches!(verdict, Some(Verdict::Refused(_))) && 0 < view.open_questions().count()
}

// J34: who is second is told what counts, so that has to be read together with the refusal.
#[tokio::test(start_paused = true)]
async fn a_refusal_and_what_it_is_for_are_read_at_once() {
    let (mut refused, mut apart) = (0, 0);
    for reads in 0..8 {
        let (stage, engine, late) = taken_after(reads).await;
        let (verdict, view) = stage.conversation_in(&engine).judged(&late).await.unwrap();
        assert!(!contradict(verdict.as_ref(), &view), "after {reads}");
        refused += usize::from(verdict.is_some());
        // Control: read one behind the other, they are of two moments.
        let (stage, engine, late) = taken_after(reads).await;
        let view = engine.view(stage.conversation()).await.unwrap();
        let verdict = stage.conversation_in(&engine).verdict(&late).await.unwrap();
        apart += usize::from(contradict(verdict.as_ref(), &view));
    }
    assert!(0 < refused && 0 < apart, "{refused} refused, {apart} apart");
}
