//! Hooks: asked before calls run, told of what happened, and never in the way for long.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use piton::OnIncomplete::Ask;
use piton::hooks::{Hooks, Occasion, Opinion, Told};
use piton::{Delegation, Reply};
use piton_core::event::{Outcome, PermissionMode};
use piton_core::outcome::Ending;
use tokio::time::Instant;

use crate::delegate::{PAYS, handing};
use crate::stage::{Stage, pending, say};

const PAY: &str = r#"{"steps":[{"calls":[{"tool":"pay"},{"tool":"look"}]},{"say":"x"}]}"#;

/// Hooks that deny with a reason or not, take their time, and write down what they hear.
#[derive(Debug, Default)]
struct Notebook {
    denies: Option<&'static str>,
    /// How long each of them takes.
    takes: Duration,
    heard: Mutex<Vec<String>>,
}

impl Notebook {
    fn denying(reason: &'static str) -> Arc<Self> {
        Arc::new(Self { denies: Some(reason), ..Self::default() })
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    fn hear(&self, told: &Told) {
        let said = match &told.occasion {
            Occasion::BeforeTool(call) => format!("before {} {}", call.tool, call.id),
            Occasion::AfterTool { call, outcome, .. } => format!("after {} {outcome:?}", call.tool),
            Occasion::Question { question, .. } => format!("question {question}"),
            Occasion::TurnEnded(end) => format!("{end:?}"),
            Occasion::TurnBroke { reason, .. } => format!("{reason:?}"),
        };
        self.heard.lock().unwrap().push(format!("{}: {said}", told.conversation));
    }
}

#[async_trait]
impl Hooks for Notebook {
    async fn before_tool(&self, told: &Told) -> Opinion {
        // wait: a hook that takes its time, in virtual time
        tokio::time::sleep(self.takes).await;
        self.hear(told);
        Opinion { denied: self.denies.map(str::to_owned), warnings: Vec::new() }
    }

    fn listens(&self, occasion: &Occasion) -> bool {
        !matches!(occasion, Occasion::AfterTool { outcome: Outcome::Ok, .. })
    }

    async fn tell(&self, told: Told) -> Vec<String> {
        // wait: a hook that takes its time, in virtual time
        tokio::time::sleep(self.takes).await;
        self.hear(&told);
        Vec::new()
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_hook_denies_never_starts_and_the_model_reads_why() {
    for mode in [PermissionMode::Auto, PermissionMode::Ask] {
        let notebook = Notebook::denying("the till is closed");
        let stage = Stage::new(PAY).mode(mode).hooked("pay", notebook.clone());
        let mut session = stage.create().await;
        assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
        assert_eq!(stage.effects(), ["look 1.1.1"]);
        let results = stage.last_request()[2].clone();
        let told = "A hook of the user denied this call: the till is closed\nIt was not run.";
        assert!(results.contains(told), "{results}");
        let heard = ["before pay 1.1.0", "after pay Denied", "Completed"];
        assert_eq!(notebook.heard(), heard.map(|said| format!("staged: {said}")));
        stage.check().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_no_hook_denies_is_asked_about_and_runs() {
    let notebook = Arc::new(Notebook::default());
    let stage = Stage::new(PAY).mode(PermissionMode::Ask).hooked("*", notebook.clone());
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::WaitingForInput);
    let asked = pending(session.state())[0].clone();
    session.answer(&asked, Reply::Allow).await.unwrap();
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["look 1.1.1", "pay 1.1.0"]);
    let heard = ["before pay 1.1.0", "before look 1.1.1", "question Run pay?", "Completed"];
    assert_eq!(notebook.heard(), heard.map(|said| format!("staged: {said}")), "each once");
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn hooks_that_listen_run_at_the_same_time_and_hear_of_the_end_last() {
    let takes = Duration::from_secs(8);
    let notebook = Arc::new(Notebook { takes, ..Notebook::default() });
    let script = r#"{"steps":[{"calls":[{"tool":"nothing"},{"tool":"nothing"}]},{"say":"x"}]}"#;
    let stage = Stage::new(script).hooked("pay", notebook.clone());
    let mut session = stage.create().await;
    let begun = Instant::now();
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    let heard = ["after nothing Failed", "after nothing Failed", "Completed"];
    assert_eq!(notebook.heard(), heard.map(|said| format!("staged: {said}")));
    assert_eq!(begun.elapsed(), takes * 2, "those of the calls ran at the same time");
}

#[tokio::test(start_paused = true)]
async fn a_person_can_interrupt_while_a_hook_thinks_and_it_is_asked_again() {
    let notebook = Arc::new(Notebook { takes: Duration::from_secs(8), ..Notebook::default() });
    let stage = Stage::new(PAY).hooked("pay", notebook.clone());
    let mut session = stage.create().await;
    let controller = session.controller();
    let interrupt = async {
        // wait: in the middle of the hook, in virtual time
        tokio::time::sleep(Duration::from_secs(1)).await;
        controller.interrupt();
    };
    let (ended, ()) = tokio::join!(session.send(say("go"), Ask), interrupt);
    assert!(matches!(ended.unwrap(), Ending::Incomplete(_)));
    assert_eq!(stage.effects(), [""; 0]);
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["pay 1.1.0", "look 1.1.1"]);
    let heard = ["Interrupted", "before pay 1.1.0", "Completed"];
    assert_eq!(notebook.heard(), heard.map(|said| format!("staged: {said}")));
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn calls_of_workers_are_shown_to_hooks() {
    let notebook = Notebook::denying("the till is closed");
    let stage = Stage::new(&handing(&[("pay", PAYS)]))
        .delegating(Delegation::default())
        .hooked("pay", notebook.clone());
    let mut session = stage.create().await;
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), [""; 0]);
    let heard = notebook.heard();
    assert_eq!(heard[0], "staged_1-1-0: before pay 1.1.0");
    assert_eq!(heard.last().unwrap(), "staged: Completed", "{heard:?}");
    stage.check().await;
}
