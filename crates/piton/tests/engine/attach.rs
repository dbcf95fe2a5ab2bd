//! Calls whose work outlives its driver: found running, they are running tools like any other.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use piton::OnIncomplete::{Ask, Discard};
use piton_core::event::{EffectClass, Event, Handle, ToolSpec, TurnEnd};
use piton_core::id::{CallId, TurnId};
use piton_core::outcome::Ending;
use piton_tools::{Arguments, Finished, Job, Prepared, Refusal, Settled, Site, Tidying, Tool};

use crate::stage::{Stage, cut, pass, say};

const SCRIPT: &str = r#"{"steps":[
    {"calls":[{"tool":"long"},{"tool":"append","arguments":{"path":"a","line":"1","ms":5}}]},
    {"say":"Done."}]}"#;

/// Work that goes on by itself for so long after its driver is gone, in milliseconds.
const WORK_MS: u64 = 50;

/// A tool whose work nobody can lose.
#[derive(Debug, Default)]
struct Long {
    seen: Arc<Mutex<Vec<String>>>,
}

impl Long {
    fn note(&self, word: impl Into<String>) {
        self.seen.lock().unwrap().push(word.into());
    }

    fn seen(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

fn name(handle: &Handle) -> String {
    let Handle::Job { directory, .. } = handle else { panic!("{handle:?}") };
    directory.clone()
}

#[async_trait]
impl Tool for Long {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("long", "Takes long.", r#"{"type":"object"}"#, EffectClass::Supervised)
    }

    async fn prepare(&self, site: &Site, call: CallId, _: &Arguments) -> Result<Prepared, Refusal> {
        let directory = format!("{}/{call}", site.conversation);
        self.note(format!("prepare {directory}"));
        let handle = Handle::Job { directory, boot: None };
        Ok(Prepared { handle, ..Prepared::default() })
    }

    async fn run(&self, job: Job) -> Finished {
        self.note(format!("run {}", name(&job.handle)));
        tokio::select! {
            biased;
            () = job.cancel.cancelled() => Finished::cancelled("stopped"),
            () = pass(WORK_MS) => Finished::ok("collected"),
        }
    }

    async fn settle(&self, _: &Site, _: &Arguments, _: &Handle) -> Settled {
        Settled::Running
    }

    fn forget(&self, _: &Site, handle: &Handle) {
        self.note(format!("forget {}", name(handle)));
    }

    fn tidy(&self, _: &Site, needed: &[Handle]) -> Tidying {
        self.note(format!(
            "tidy but {needed:?}",
            needed = needed.iter().map(name).collect::<Vec<_>>()
        ));
        let seen = self.seen.clone();
        Box::pin(async move { seen.lock().unwrap().push("waited for".into()) })
    }

    async fn leave_turn(&self, _: &Site, turn: TurnId) -> Vec<String> {
        self.note(format!("leave turn {}", turn.0));
        Vec::new()
    }
}

/// A stage whose driver has died while both calls ran.
async fn died() -> (Stage, Arc<Long>) {
    let long = Arc::new(Long::default());
    let stage = Stage::new(SCRIPT).tool(long.clone());
    cut(2, stage.create().await.send(say("go"), Ask)).await;
    assert_eq!(long.seen(), ["tidy but []", "prepare staged/1.1.0", "run staged/1.1.0"]);
    (stage, long)
}

// M10
#[tokio::test(start_paused = true)]
async fn what_is_found_running_is_attached_to_and_its_siblings_do_not_wait() {
    let (stage, long) = died().await;
    assert_eq!(stage.open().await.resume().await.unwrap(), Ending::Done);
    // The handle of the first start, nothing prepared, and forgotten once its end is durable.
    assert_eq!(
        long.seen(),
        ["tidy but [\"staged/1.1.0\"]", "run staged/1.1.0", "forget staged/1.1.0"]
    );
    let entries = stage.entries().await;
    let ends = entries.iter().filter_map(|entry| {
        let Event::ToolFinished { call, output, .. } = &entry.event else { return None };
        Some(format!("{call} {}", output.text))
    });
    let ends: Vec<_> = ends.collect();
    assert_eq!(ends.len(), 2, "{ends:?}");
    assert!(ends[0].starts_with("1.1.1"), "the sibling did not wait: {ends:?}");
    assert_eq!(ends[1], "1.1.0 collected");
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_attached_to_can_be_interrupted() {
    let (stage, long) = died().await;
    let mut session = stage.open().await;
    let controller = session.controller();
    let (ending, ()) = tokio::join!(session.resume(), async {
        pass(20).await;
        controller.interrupt();
    });
    assert!(matches!(ending.unwrap(), Ending::Incomplete(_)));
    assert!(stage.story().await.ends_with("finish:0:Cancelled broke:Interrupted"));
    assert_eq!(long.seen().last().map(String::as_str), Some("leave turn 1"));
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_discarded_is_left() {
    let (stage, long) = died().await;
    stage.open().await.send(say("something else"), Discard).await.unwrap();
    assert_eq!(long.seen().first().map(String::as_str), Some("leave turn 1"));
    stage.check().await;
}

// What was kept to settle its calls goes at once, and the turn is closed when it is gone: there may be
// no other driver to see to it.
#[tokio::test(start_paused = true)]
async fn a_turn_that_is_closed_leaves_nothing_to_be_tidied() {
    for end in [TurnEnd::Discarded, TurnEnd::Stopped] {
        let (stage, long) = died().await;
        let mut session = stage.open().await;
        session.close_turn(end).await.unwrap();
        assert_eq!(long.seen(), ["leave turn 1", "tidy but []", "waited for"]);
        stage.check().await;
    }
}
