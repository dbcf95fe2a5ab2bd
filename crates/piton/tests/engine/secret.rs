//! What tools are told in secret: in no entry, no blob, no request and on no screen (J65).

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use piton::{Attendance, Command, CommandError, OnIncomplete::Ask, Reply, Session};
use piton_core::event::{EffectClass, Event, Handle, InDoubtPolicy, Outcome, Shape, ToolSpec};
use piton_core::id::{CallId, InquiryId, TurnId};
use piton_core::outcome::Ending;
use piton_core::question::{Question, Secret};
use piton_store::Journal as _;
use piton_tools::{
    Arguments, Finished, Job, Prepared, Quotes, Refusal, Settled, Site, Tool, WITHHELD_TEXT,
};

use crate::stage::{Stage, cut, pass, pending, say};
use crate::watch::OddTool;

const SECRET: &str = "hunter2\"é";
/// What is searched for: however a text writes the secret, this part of it stays as it is.
const PART: &str = "hunter2";
const ONE: &str = r#"{"steps":[{"calls":[{"tool":"login"}]},{"say":"x"}]}"#;

fn key() -> Question {
    Question::new("key", "Key?").shaped(Shape::Secret).before_acting()
}

/// Sends, and types the secret when it is asked for, and `yes` to whatever is asked else.
async fn told(session: &mut Session, stage: &Stage) -> Ending {
    session.attend(Attendance::Attended);
    let controller = session.controller();
    let person = async {
        loop {
            pass(10).await;
            for id in pending(&stage.state().await) {
                let is_secret = id.as_str().contains(".key.");
                let secret = Reply::Secret(Secret::new(SECRET));
                controller.answer(id, if is_secret { secret } else { yes() }).await;
            }
        }
    };
    tokio::select! {
        biased;
        ending = session.send(say("go"), Ask) => ending.unwrap(),
        () = person => unreachable!(),
    }
}

fn yes() -> Reply {
    Reply::Text("yes".into())
}

/// Everything that is kept, and everything that the model was sent.
async fn everything(stage: &Stage) -> String {
    let entries = stage.entries().await;
    let mut all = format!("{entries:?} {:?}", stage.requests());
    for entry in &entries {
        if let Event::ToolFinished { output, .. } = &entry.event
            && let Some(blob) = &output.blob
        {
            let blob = stage.journal.blob(&blob.digest).await.unwrap();
            all.push_str(&String::from_utf8_lossy(&blob));
        }
    }
    all
}

/// A tool that knows the secret and then does this.
fn knowing(then: impl Fn(&Job, &str) -> Finished + Send + Sync + 'static) -> Arc<dyn Tool> {
    let then = Arc::new(then);
    OddTool::once("login", move |job: Job| {
        let then = then.clone();
        async move {
            match job.responses().get("key").and_then(|response| response.words()) {
                Some(secret) => then(&job, secret),
                None => Finished::needs_input(vec![key()]),
            }
        }
    })
}

async fn check_quoting(then: impl Fn(&Job, &str) -> Finished + Send + Sync + 'static, kept: &str) {
    let stage = Stage::new(ONE).tool(knowing(then));
    let mut session = stage.create().await;
    assert_eq!(told(&mut session, &stage).await, Ending::Done);
    let all = everything(&stage).await;
    assert!(!all.contains(PART), "{all}");
    assert!(all.contains(kept), "{kept} is not in {all}");
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn a_result_quotes_no_secret_in_any_form() {
    check_quoting(|_, secret| Finished::ok(format!("with {secret}.")), "with [redacted].").await;
    check_quoting(|_, secret| Finished::failed(format!("not {secret}.")), "not [redacted].").await;
    let json = |_: &Job, secret: &str| {
        let ascii = serde_json::Value::from(secret).to_string().replace('é', "\\u00e9");
        Finished::ok(format!("{} {ascii}", serde_json::json!({ "key": secret })))
    };
    check_quoting(json, r#"{\"key\":\"[redacted]\"} \"[redacted]\""#).await;
    let full = |_: &Job, secret: &str| Finished {
        full: Some(format!("all of {secret}").into_bytes()),
        ..Finished::ok("an extract")
    };
    check_quoting(full, "all of [redacted]").await;
    let panic = |_: &Job, secret: &str| -> Finished { panic!("scripted panic: {secret}") };
    check_quoting(panic, "scripted panic: [redacted]").await;
}

#[tokio::test(start_paused = true)]
async fn a_later_question_quotes_no_secret() {
    let again = |job: &Job, secret: &str| {
        if job.responses().contains_key("again") {
            return Finished::ok("in");
        }
        let options = vec!["yes".to_owned(), format!("not {secret}")];
        let question = Question::new("again", format!("{secret} was refused. Again?"))
            .shaped(Shape::Choice { options })
            .or(secret);
        Finished::needs_input(vec![question.before_acting()])
    };
    check_quoting(again, "[redacted] was refused. Again?").await;
}

// The same for a question of a tool that stays where it is.
#[tokio::test(start_paused = true)]
async fn a_question_of_a_running_tool_quotes_no_secret() {
    let tool = OddTool::once("login", |job: Job| async move {
        let key = job.ask(key()).await;
        let key = key.words().unwrap_or_default();
        let again = job.ask(Question::new("again", format!("{key} again?"))).await;
        Finished::ok(again.words().unwrap_or_default())
    });
    let stage = Stage::new(ONE).tool(tool);
    let mut session = stage.create().await;
    assert_eq!(told(&mut session, &stage).await, Ending::Done);
    assert_eq!(stage.last_request()[2], "results: yes");
    assert!(!everything(&stage).await.contains(PART));
}

/// A tool whose work goes on when its driver dies: it asks, and its run never comes back.
#[derive(Debug, Default)]
struct Surviving {
    /// What the record of the run says.
    found: Mutex<Option<Settled>>,
    /// How a run that is attached to ends.
    attached: Mutex<Option<Finished>>,
}

#[async_trait]
impl Tool for Surviving {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("login", "Logs in.", r#"{"type":"object"}"#, EffectClass::Supervised)
    }

    async fn prepare(&self, _: &Site, call: CallId, _: &Arguments) -> Result<Prepared, Refusal> {
        let handle = Handle::Job { directory: format!("job-{call}"), boot: None };
        Ok(Prepared { handle, ..Prepared::default() })
    }

    async fn run(&self, job: Job) -> Finished {
        if let Some(finished) = self.attached.lock().unwrap().take() {
            return finished;
        }
        if !job.responses().contains_key("key") {
            return Finished::needs_input(vec![key()]);
        }
        if job.responses().contains_key("again") {
            return Finished::ok("in");
        }
        std::future::pending().await
    }

    async fn settle(&self, _: &Site, _: &Arguments, _: &Handle) -> Settled {
        let found = self.found.lock().unwrap().take();
        found.unwrap_or_else(|| Settled::Unknown("nothing".into()))
    }
}

/// A stage on which the secret was told to a run that goes on, and the process is gone.
async fn survived(stage: Stage) -> (Stage, Arc<Surviving>) {
    let tool = Arc::new(Surviving::default());
    let stage = stage.tool(tool.clone());
    let mut session = stage.create().await;
    cut(500, told(&mut session, &stage)).await;
    (stage, tool)
}

/// What each call ended with.
async fn results(stage: &Stage) -> Vec<(Outcome, String, Option<i32>)> {
    let ends = stage.entries().await.into_iter().filter_map(|entry| {
        let Event::ToolFinished { outcome, output, .. } = entry.event else { return None };
        Some((outcome, output.text.to_string(), output.exit_code))
    });
    ends.collect()
}

fn quoting() -> Finished {
    Finished {
        exit_code: Some(7),
        full: Some(SECRET.into()),
        ..Finished::ok(format!("logged in with {SECRET}"))
    }
}

// Nobody knows the secret any more, so nobody can search for it.
#[tokio::test(start_paused = true)]
async fn what_was_told_a_secret_by_a_dead_process_is_not_kept() {
    for is_running in [false, true] {
        let (stage, tool) = survived(Stage::new(ONE).in_doubt(InDoubtPolicy::TellModel)).await;
        if is_running {
            *tool.found.lock().unwrap() = Some(Settled::Running);
            *tool.attached.lock().unwrap() = Some(quoting());
        } else {
            *tool.found.lock().unwrap() = Some(Settled::Applied(quoting()));
        }
        assert_eq!(stage.open().await.resume().await.unwrap(), Ending::Done);
        let text = format!("{WITHHELD_TEXT}\n[exit code 7]");
        assert_eq!(results(&stage).await, [(Outcome::Ok, text, Some(7))]);
        assert!(!everything(&stage).await.contains(PART));
        stage.check().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_found_of_a_call_in_doubt_is_not_kept_either() {
    for policy in [InDoubtPolicy::TellModel, InDoubtPolicy::Ask] {
        let (stage, tool) = survived(Stage::new(ONE).in_doubt(policy)).await;
        *tool.found.lock().unwrap() = Some(Settled::Unknown(format!("it said {SECRET}")));
        stage.open().await.resume().await.unwrap();
        let all = everything(&stage).await;
        assert!(!all.contains(PART), "{all}");
        assert!(all.contains(WITHHELD_TEXT), "{all}");
        stage.check().await;
    }
}

/// Goes on where a secret was told to a process that is gone, until it was told once more and the run
/// that heard it has ended.
async fn told_again(stage: &Stage, tool: &Surviving) -> Session {
    let again = Question::new("again", format!("Again with {SECRET}?")).before_acting();
    let asks = Finished::needs_input(vec![again]);
    *tool.found.lock().unwrap() = Some(Settled::Applied(asks));
    let mut session = stage.open().await;
    session.attend(Attendance::Attended);
    cut(50, session.resume()).await;
    drop(session);
    let mut session = stage.open().await;
    assert_eq!(pending(session.state()), [InquiryId::new("1.1.0.key.2")]);
    let secret = Reply::Secret(Secret::new(SECRET));
    session.answer(&InquiryId::new("1.1.0.key.2"), secret).await.unwrap();
    *tool.attached.lock().unwrap() = Some(quoting());
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    session
}

// Its words are lost, so it begins again, and asks where somebody knows what to cover.
#[tokio::test(start_paused = true)]
async fn a_question_of_one_that_was_told_a_secret_by_a_dead_process_is_asked_afresh() {
    let (stage, tool) = survived(Stage::new(ONE).in_doubt(InDoubtPolicy::TellModel)).await;
    told_again(&stage, &tool).await;
    assert_eq!(results(&stage).await[0].1, "logged in with [redacted]");
    assert!(!everything(&stage).await.contains(PART));
    stage.check().await;
}

// Whoever knows what a command was told last can search what it prints, and nobody else.
#[tokio::test(start_paused = true)]
async fn what_another_call_reads_of_it_is_searched_or_not_kept() {
    let read = r#"{"calls":[{"tool":"read"}]}"#;
    let login = r#"{"calls":[{"tool":"login"}]}"#;
    let script = format!(r#"{{"steps":[{login},{read},{{"say":"x"}},{read},{{"say":"y"}}]}}"#);
    let reader = OddTool::once("read", |_: Job| async {
        let call = CallId { turn: TurnId(1), step: 1, index: 0 };
        Finished { quotes: Some(Quotes { call, notes: "[goes on]".into() }), ..quoting() }
    });
    let (stage, tool) = survived(Stage::new(&script).tool(reader)).await;
    drop(told_again(&stage, &tool).await);
    stage.open().await.send(say("and now?"), Ask).await.unwrap();
    let texts: Vec<_> = results(&stage).await.into_iter().map(|(_, text, _)| text).collect();
    let (covered, withheld) = ("logged in with [redacted]", format!("{WITHHELD_TEXT}\n[goes on]"));
    assert_eq!(texts, [covered, covered, &withheld]);
    assert!(!everything(&stage).await.contains(PART));
    stage.check().await;
}

// J65: no other form of an answer is a way round.
#[tokio::test(start_paused = true)]
async fn a_text_for_a_secret_question_does_not_travel_either() {
    let stage = Stage::new(ONE).tool(knowing(|_, _| Finished::ok("x")));
    let (here, elsewhere) = (stage.engine(), stage.engine());
    let holder = stage.conversation_in(&here);
    let _face = holder.attend();
    holder.send(Command::say(say("go"))).await.unwrap();
    pass(100).await;
    let asked = pending(&stage.state().await).remove(0);
    let typed = Command::answer(asked, Reply::Text(SECRET.into()));
    let refused = elsewhere.conversation(stage.conversation()).send(typed).await;
    assert!(matches!(refused, Err(CommandError::SecretElsewhere)), "{refused:?}");
    assert_eq!(stage.journal.letters(stage.conversation()).await.unwrap(), []);
}
