//! A tool of your own. One that only reads needs two methods: what it is, and what it does.

use std::error::Error;
use std::sync::Arc;

use piton::model::{ModelFn, OneModel, Transcript, call, last_results, say};
use piton::tools::{EffectClass, Finished, Job, Tool, ToolSpec, async_trait};
use piton::view::TurnView;
use piton::{Command, Config, Ending, Engine, MemoryJournal, NewMessage};

/// Reads tickets of a tracker.
#[derive(Debug)]
struct Ticket;

#[async_trait]
impl Tool for Ticket {
    fn spec(&self) -> ToolSpec {
        let schema =
            r#"{"type":"object","properties":{"number":{"type":"integer"}},"required":["number"]}"#;
        // The class says what happens if the process dies meanwhile: reading is done again.
        ToolSpec::new("ticket", "Reads a ticket.", schema, EffectClass::ReadOnly)
    }

    async fn run(&self, job: Job) -> Finished {
        // The engine has held the arguments against the schema, so there is one.
        let number = job.arguments.get("number").map(ToString::to_string).unwrap_or_default();
        Finished::ok(format!("ticket {number}: the page is blank"))
    }
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    // Calls the tool, then says what it gave. With the feature `http`: `piton::transport::HttpModel`.
    let model = ModelFn(|transcript: &Transcript| match last_results(transcript).first() {
        None => call("ticket", r#"{"number": 7}"#),
        Some(result) => say(format!("I read {}", result.text)),
    });
    let config = Config { model: Some("own/model".parse()?), ..Config::default() };
    let (journal, models) = (Arc::new(MemoryJournal::new()), Arc::new(OneModel(Arc::new(model))));
    let engine = Engine::builder(journal, models).tool(Arc::new(Ticket)).config(config).build();

    let conversation = engine.begin(".".as_ref())?;
    let ending = conversation.perform(Command::say(NewMessage::text("read ticket 7"))).await?;
    assert_eq!(ending, Ending::Done);
    let view = engine.view(conversation.id()).await?;
    let answer = view.turns.last().and_then(TurnView::answer);
    assert_eq!(answer.as_deref(), Some("I read ticket 7: the page is blank"));
    Ok(())
}
