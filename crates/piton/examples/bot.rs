//! A bot: serves many conversations at once, answers each message once, and survives restarts.

#![cfg_attr(not(test), expect(clippy::print_stdout, reason = "an example shows what it does"))]

use std::sync::Arc;
use std::time::Duration;

use piton::id::CommandId;
use piton::model::{ModelFn, OneModel, Transcript, last_typed, say};
use piton::view::TurnView;
use piton::{Command, Config, ConversationId, Engine, Envelope, NewMessage, OnIncomplete};
use piton::{MemoryJournal, UserPart};
use tokio::task::JoinSet;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Answers a message of a chat. `delivery` is its name at the messenger.
async fn reply(engine: Engine, chat: &str, delivery: &str, text: &str) -> Result<String, Failure> {
    // The chat names the conversation: after a restart it goes on where it was.
    let id = ConversationId::new(chat);
    let conversation = engine.begin_as(id.clone(), ".".as_ref())?;
    let message = NewMessage { id: None, parts: vec![UserPart::text(text)] };
    // A turn that an earlier process left open goes on, with the new message in it.
    let command = Command::Say { message, on_incomplete: OnIncomplete::Inject, agent: None };
    // Messengers deliver a message twice now and then. A command of the same name is one command.
    let envelope = Envelope::new(CommandId::new(delivery), command);
    conversation.perform_envelope(envelope).await?;
    let view = engine.view(&id).await?;
    Ok(view.turns.last().and_then(TurnView::answer).unwrap_or_default())
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Failure> {
    let model = ModelFn(|transcript: &Transcript| say(format!("{}, too", last_typed(transcript))));
    let config = Config { model: Some("own/polite".parse()?), ..Config::default() };
    let (journal, models) = (Arc::new(MemoryJournal::new()), Arc::new(OneModel(Arc::new(model))));
    // Of all turns, 16 run at the same time; the others wait for their place.
    let engine = Engine::builder(journal, models).config(config).turns_max(16).build();
    let mut replies = JoinSet::new();
    for number in 0..200 {
        let (engine, chat) = (engine.clone(), format!("chat-{}", number % 100));
        replies.spawn(async move { reply(engine, &chat, "delivery-1", "good morning").await });
    }
    let replies: Vec<String> = replies.join_all().await.into_iter().collect::<Result<_, _>>()?;
    assert!(replies.iter().all(|reply| reply == "good morning, too"));
    println!("{} deliveries, answered once each", replies.len());
    engine.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
