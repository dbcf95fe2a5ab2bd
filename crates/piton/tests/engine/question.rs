//! What tools want to know: asked once, answered from anywhere, never acted upon twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use piton::{Attendance, OnIncomplete::Ask, Policy, Reply, Session, Unattended};
use piton_core::event::{BreakReason, Event, InquiryAnswer, Shape};
use piton_core::id::InquiryId;
use piton_core::outcome::Ending;
use piton_core::question::{Question, Secret};
use piton_tools::{AskUser, Finished, Job, Response, Tool};

use crate::stage::{Stage, broken, cut, ms, pass, pending, say};
use crate::watch::OddTool;

const ONE: &str = r#"{"steps":[{"calls":[{"tool":"curious"},{"tool":"look"}]},{"say":"x"}]}"#;

/// How often a tool acted.
#[derive(Clone, Debug, Default)]
struct Acts(Arc<AtomicU32>);

impl Acts {
    fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    fn act(&self, words: &[&str]) -> Finished {
        self.0.fetch_add(1, Ordering::SeqCst);
        Finished::ok(format!("acted on {}", words.join(" and ")))
    }
}

fn questions() -> Vec<Question> {
    vec![Question::new("who", "Who?"), Question::new("sure", "Sure?").shaped(Shape::Confirm)]
}

/// A tool that ends when it lacks an answer, and begins again when it has all of them.
fn beginning_again(acts: &Acts, questions: fn() -> Vec<Question>) -> Arc<dyn Tool> {
    let acts = acts.clone();
    OddTool::once("curious", move |job: Job| {
        let acts = acts.clone();
        async move {
            let heard = job.responses();
            let mut lacking = questions();
            lacking.retain(|question| !heard.contains_key(&question.wants.name));
            if !lacking.is_empty() {
                return Finished::needs_input(lacking);
            }
            if let Some(why) = heard.values().find_map(|response| {
                let Response::Withdrawn(why) = response else { return None };
                Some(why)
            }) {
                return Finished::failed(why.clone());
            }
            acts.act(&heard.values().map(|it| it.words().unwrap_or("nothing")).collect::<Vec<_>>())
        }
    })
}

/// A tool that stays where it is until it is answered, and acts then.
fn staying(acts: &Acts, question: fn() -> Question) -> Arc<dyn Tool> {
    let acts = acts.clone();
    OddTool::once("curious", move |job: Job| {
        let acts = acts.clone();
        async move {
            let response = job.ask(question()).await;
            if response == Response::Deferred {
                return Finished::needs_input(Vec::new());
            }
            pass(100).await;
            acts.act(&[response.words().unwrap_or("nothing")])
        }
    })
}

fn ids(session: &Session) -> Vec<String> {
    pending(session.state()).iter().map(ToString::to_string).collect()
}

fn text(text: &str) -> Reply {
    Reply::Text(text.into())
}

async fn answers(stage: &Stage) -> Vec<String> {
    let entries = stage.entries().await;
    let answers = entries.iter().filter_map(|entry| {
        let Event::InquiryAnswered { answer, by, .. } = &entry.event else { return None };
        Some(format!("{answer:?} by {by}"))
    });
    answers.collect()
}

// J15, J32, J33, J34, J63, X14
#[tokio::test(start_paused = true)]
async fn an_unattended_question_waits_and_the_call_begins_again_with_all_answers() {
    let acts = Acts::default();
    let stage = Stage::new(ONE).tool(beginning_again(&acts, questions));
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::WaitingForInput);
    assert_eq!(ids(&session), ["1.1.0.who.1", "1.1.0.sure.1"]);
    assert_eq!(stage.effects(), ["look 1.1.1"], "a question holds up nobody else");
    drop(session);
    let mut session = stage.open().await;
    assert_eq!(session.resume().await.unwrap(), Ending::WaitingForInput);
    assert_eq!(ids(&session).len(), 2, "asked once");
    session.answer(&InquiryId::new("1.1.0.sure.1"), text("Y")).await.unwrap();
    assert_eq!(session.resume().await.unwrap(), Ending::WaitingForInput);
    assert_eq!(acts.count(), 0, "it begins again only with all answers");
    drop(session);
    let mut session = stage.open().await;
    session.answer(&InquiryId::new("1.1.0.who.1"), text("Ada")).await.unwrap();
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.last_request()[2], "results: acted on yes and Ada | look done");
    assert_eq!(acts.count(), 1);
    assert!(stage.story().await.contains("start:0 start:1 raise:0 raise:0 suspend:0"));
    stage.check().await;
}

// C31
#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_fit_is_refused() {
    let stage = Stage::new(ONE).tool(beginning_again(&Acts::default(), questions));
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    let sure = InquiryId::new("1.1.0.sure.1");
    let secret = Reply::Secret(Secret::new("y"));
    for reply in [text("perhaps"), Reply::Allow, Reply::RunAgain, secret] {
        assert!(session.answer(&sure, reply).await.is_err());
    }
    assert_eq!(ids(&session).len(), 2);
    session.answer(&sure, Reply::Deny).await.unwrap();
    assert_eq!(ids(&session).len(), 1);
}

// A tool that asks again what it was told gets no further.
#[tokio::test(start_paused = true)]
async fn a_tool_that_asks_for_ever_fails() {
    let tool = OddTool::once("curious", |_| async {
        Finished::needs_input(vec![Question::new("who", "Who?")])
    });
    let stage = Stage::new(ONE).tool(tool);
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    session.answer(&InquiryId::new("1.1.0.who.1"), text("Ada")).await.unwrap();
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert!(stage.last_request()[2].contains("asks for answers that it has already"));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_asks_too_much_is_told_so() {
    let tool = OddTool::once("curious", |job: Job| async move {
        let name = format!("q{}", job.responses().len());
        Finished::needs_input(vec![Question::new(name, "More?").or("x")])
    });
    let stage = Stage::new(ONE).tool(tool);
    let mut session = stage.create().await;
    session
        .leave_unattended(Unattended { permissions: Policy::Defer, questions: Policy::Defaults });
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    let told = &stage.last_request()[2];
    assert!(told.contains("asked 100 questions in this call"), "{told}");
}

// J32: somebody is there, and the tool hears the answer where it stands.
#[tokio::test(start_paused = true)]
async fn a_tool_that_stays_hears_the_answer_when_it_is_durable() {
    let acts = Acts::default();
    let stage = Stage::new(ONE).tool(staying(&acts, || Question::new("who", "Who?")));
    let mut session = stage.create().await;
    session.attend(Attendance::Attended);
    let controller = session.controller();
    let (ending, known) = tokio::join!(session.send(say("go"), Ask), async {
        pass(50).await;
        assert_eq!(pending(&stage.state().await).len(), 1, "durable before anybody is asked");
        controller.answer(InquiryId::new("1.1.0.who.1"), text("Ada")).await
    });
    assert_eq!((ending.unwrap(), known), (Ending::Done, true));
    assert_eq!(stage.last_request()[2], "results: acted on Ada | look done");
    assert!(!stage.story().await.contains("suspend"));
    stage.check().await;
}

// M9, X7: killed at the question, asked again under the same name; nothing was done.
#[tokio::test(start_paused = true)]
async fn a_question_in_front_of_everything_survives_its_driver() {
    let acts = Acts::default();
    let question = || Question::new("who", "Who?").before_acting();
    let stage = Stage::new(ONE).tool(staying(&acts, question));
    let mut session = stage.create().await;
    session.attend(Attendance::Attended);
    cut(500, session.send(say("go"), Ask)).await;
    drop(session);
    let mut session = stage.open().await;
    assert_eq!(session.resume().await.unwrap(), Ending::WaitingForInput);
    assert_eq!(ids(&session), ["1.1.0.who.1"]);
    session.answer(&InquiryId::new("1.1.0.who.1"), text("Ada")).await.unwrap();
    // Killed again, after it heard the answer and before it acted: nobody knows that it had not.
    cut(50, session.resume()).await;
    drop(session);
    let mut session = stage.open().await;
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert!(stage.last_request()[2].contains("outcome is unknown"), "{:?}", stage.last_request());
    assert_eq!(acts.count(), 0);
    stage.check().await;
}

// X7, J40: it may have acted before it asked.
#[tokio::test(start_paused = true)]
async fn a_question_in_the_middle_leaves_the_call_in_doubt() {
    let acts = Acts::default();
    let stage = Stage::new(ONE).tool(staying(&acts, || Question::new("who", "Who?")));
    let mut session = stage.create().await;
    session.attend(Attendance::Attended);
    cut(500, session.send(say("go"), Ask)).await;
    drop(session);
    let mut session = stage.open().await;
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert!(stage.last_request()[2].contains("outcome is unknown"), "{:?}", stage.last_request());
    assert_eq!(answers(&stage).await, [r#"Cancelled { reason: "the call has ended" } by piton"#]);
    stage.check().await;
}

// A server may take its question back: nobody is asked any more, and the call goes on.
#[tokio::test(start_paused = true)]
async fn a_question_that_is_taken_back_is_withdrawn() {
    let tool = OddTool::once("curious", |job: Job| async move {
        let asked = tokio::time::timeout(ms(100), job.ask(Question::new("who", "Who?"))).await;
        assert!(asked.is_err());
        pass(1_000).await;
        Finished::ok("went on")
    });
    let stage = Stage::new(ONE).tool(tool);
    let mut session = stage.create().await;
    session.attend(Attendance::Attended);
    let (ending, ()) = tokio::join!(session.send(say("go"), Ask), async {
        pass(50).await;
        assert_eq!(pending(&stage.state().await).len(), 1);
        pass(500).await;
        assert_eq!(pending(&stage.state().await), [], "while the call goes on");
    });
    assert_eq!(ending.unwrap(), Ending::Done);
    let reason = r#"Cancelled { reason: "the tool does not want to know any more" } by piton"#;
    assert_eq!(answers(&stage).await, [reason]);
    stage.check().await;
}

// An interrupt leaves the question open.
#[tokio::test(start_paused = true)]
async fn an_interrupted_question_is_asked_again() {
    let acts = Acts::default();
    let stage = Stage::new(ONE).tool(staying(&acts, || Question::new("who", "Who?")));
    let mut session = stage.create().await;
    session.attend(Attendance::Attended);
    let controller = session.controller();
    let (ending, ()) = tokio::join!(session.send(say("go"), Ask), async {
        pass(50).await;
        controller.interrupt();
    });
    assert_eq!(broken(&ending.unwrap()), BreakReason::Interrupted);
    assert_eq!(ids(&session), ["1.1.0.who.1"]);
    session.answer(&InquiryId::new("1.1.0.who.1"), text("Ada")).await.unwrap();
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(acts.count(), 1);
    stage.check().await;
}

// J64, J65: what is told in secret is recorded as told, and no more.
#[tokio::test(start_paused = true)]
async fn a_secret_is_told_and_never_written() {
    let acts = Acts::default();
    let ask = || vec![Question::new("key", "Key?").shaped(Shape::Secret)];
    let stage = Stage::new(ONE).tool(beginning_again(&acts, ask));
    let mut session = stage.create().await;
    session.attend(Attendance::Attended);
    let controller = session.controller();
    let id = InquiryId::new("1.1.0.key.1");
    let (ending, ()) = tokio::join!(session.send(say("go"), Ask), async {
        pass(50).await;
        assert!(!controller.answer(id.clone(), text("hunter2")).await, "not as a text");
        assert!(controller.answer(id.clone(), Reply::Secret(Secret::new("hunter2"))).await);
    });
    assert_eq!(ending.unwrap(), Ending::Done);
    assert_eq!(acts.count(), 1);
    assert_eq!(stage.last_request()[2], "results: acted on [redacted] | look done");
    assert_eq!(answers(&stage).await, ["Redacted by user"]);
    assert!(!format!("{:?}", stage.entries().await).contains("hunter2"));
    stage.check().await;
}

// J65, M9: a secret that died with its process is asked for again, under another name.
#[tokio::test(start_paused = true)]
async fn a_secret_that_nobody_remembers_is_asked_again() {
    let acts = Acts::default();
    let ask = || vec![Question::new("key", "Key?").shaped(Shape::Secret)];
    let stage = Stage::new(ONE).tool(beginning_again(&acts, ask));
    let mut session = stage.create().await;
    session.attend(Attendance::Attended);
    cut(50, session.send(say("go"), Ask)).await;
    drop(session);
    let mut session = stage.open().await;
    let first = InquiryId::new("1.1.0.key.1");
    session.answer(&first, Reply::Secret(Secret::new("hunter2"))).await.unwrap();
    drop(session);
    let mut session = stage.open().await;
    session.attend(Attendance::Attended);
    cut(50, session.resume()).await;
    drop(session);
    let mut session = stage.open().await;
    assert_eq!(ids(&session), ["1.1.0.key.2"]);
    let second = InquiryId::new("1.1.0.key.2");
    session.answer(&second, Reply::Secret(Secret::new("hunter3"))).await.unwrap();
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(acts.count(), 1);
    stage.check().await;
}

// J66
async fn check_policy(policy: Policy, question: fn() -> Vec<Question>, told: &str, by: &[&str]) {
    let acts = Acts::default();
    let stage = Stage::new(ONE).tool(beginning_again(&acts, question));
    let mut session = stage.create().await;
    session.leave_unattended(Unattended { permissions: Policy::Defer, questions: policy });
    let ending = session.send(say("go"), Ask).await.unwrap();
    assert_eq!(ending == Ending::WaitingForInput, told.is_empty(), "{policy:?} {ending:?}");
    if !told.is_empty() {
        assert_eq!(stage.last_request()[2], format!("results: {told} | look done"));
    }
    assert_eq!(answers(&stage).await, by);
    stage.check().await;
}

// J64, J65, J66, J67
#[tokio::test(start_paused = true)]
async fn a_policy_answers_where_nobody_is() {
    let blue = || vec![Question::new("colour", "Which?").or("blue")];
    let open = || vec![Question::new("colour", "Which?")];
    let human = || vec![Question::new("colour", "Which?").or("blue").human_only()];
    let secret = || vec![Question::new("key", "Key?").shaped(Shape::Secret)];
    let given = r#"Text { text: "blue" } by unattended policy"#;
    let nobody = r#"Cancelled { reason: "nobody is there to answer" } by unattended policy"#;
    check_policy(Policy::Auto, blue, "acted on blue", &[given]).await;
    check_policy(Policy::Auto, open, "nobody is there to answer", &[nobody]).await;
    check_policy(Policy::Auto, human, "", &[]).await;
    check_policy(Policy::Defaults, blue, "acted on blue", &[given]).await;
    check_policy(Policy::Defaults, open, "", &[]).await;
    check_policy(Policy::Deny, blue, "nobody is there to answer", &[nobody]).await;
    check_policy(Policy::Defer, blue, "", &[]).await;
    let reason = "a secret is taken on a terminal only, and there is none";
    let withheld = format!(r#"Cancelled {{ reason: "{reason}" }} by unattended policy"#);
    check_policy(Policy::Defer, secret, reason, &[&withheld]).await;
}

// The same for a tool that stays: a policy answers it, or it is told that nobody is there.
#[tokio::test(start_paused = true)]
async fn a_policy_answers_a_tool_that_stays() {
    for (policy, ending) in [(Policy::Auto, Ending::Done), (Policy::Defer, Ending::WaitingForInput)]
    {
        let acts = Acts::default();
        let question = || Question::new("colour", "Which?").or("blue");
        let stage = Stage::new(ONE).tool(staying(&acts, question));
        let mut session = stage.create().await;
        session.leave_unattended(Unattended { permissions: Policy::Defer, questions: policy });
        assert_eq!(session.send(say("go"), Ask).await.unwrap(), ending);
        assert_eq!(acts.count(), u32::from(ending == Ending::Done));
        assert_eq!(stage.story().await.contains("suspend"), ending != Ending::Done);
        stage.check().await;
    }
}

// J66: a permission may be refused or given where nobody is.
#[tokio::test(start_paused = true)]
async fn a_policy_decides_on_permissions() {
    for (policy, effects) in [(Policy::Auto, 1), (Policy::Deny, 0)] {
        let stage = Stage::new(r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"x"}]}"#)
            .mode(piton_core::event::PermissionMode::Ask);
        let mut session = stage.create().await;
        session.leave_unattended(Unattended { permissions: policy, questions: Policy::Defer });
        assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
        assert_eq!(stage.effects().len(), effects, "{policy:?}");
        stage.check().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_model_asks_the_user() {
    let script = r#"{"steps":[{"calls":[{"tool":"ask_user",
        "arguments":{"question":"Which?","options":["red","blue"]}}]},{"say":"x"}]}"#;
    for (reply, told) in [
        (text("2"), "blue"),
        (text("a dark green"), "a dark green"),
        (Reply::Deny, "The user declined to answer."),
        (
            Reply::Cancel,
            "There is no answer: the user took the question down. Decide yourself, and say so.",
        ),
    ] {
        let stage = Stage::new(script).tool(Arc::new(AskUser));
        let mut session = stage.create().await;
        assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::WaitingForInput);
        let id = InquiryId::new("1.1.0.question.1");
        assert!(session.answer(&id, text(" ")).await.is_err());
        session.answer(&id, reply).await.unwrap();
        assert_eq!(session.resume().await.unwrap(), Ending::Done);
        assert_eq!(stage.last_request()[2], format!("results: {told}"));
        stage.check().await;
    }
}

#[test]
fn what_was_answered_is_told_apart() {
    let answer = InquiryAnswer::Text { text: "x".into() };
    assert!(answer.decides(piton_core::event::InquiryKind::Question));
    assert!(!InquiryAnswer::Redacted.decides(piton_core::event::InquiryKind::Permission));
}
