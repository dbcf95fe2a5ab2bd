//! A bot: serves many chats at once, answers each message once, and tells how a turn ended.

use std::{collections::BTreeSet, sync::Arc};

use piton::id::CommandId;
use piton::model::{ModelFn, OneModel, Transcript, call, last_typed, say};
use piton::{Command, Config, ConversationId, Ending, Engine, Envelope, NewMessage, OnIncomplete};
use piton::{MemoryJournal, tools::WriteFile, view::TurnView};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Replies to a message of a chat. `delivery` is the message's name at the messenger.
async fn reply(engine: Engine, chat: String, delivery: &str, text: &str) -> Result<String, Error> {
    // The chat names the conversation, so the chat goes on after a restart.
    let conversation = engine.begin_as(ConversationId::new(chat), ".".as_ref())?;
    // If a turn of the chat is not over, the message joins that turn.
    let message = NewMessage::text(text);
    let command = Command::Say { message, on_incomplete: OnIncomplete::Inject, agent: None };
    // A messenger may deliver a message twice. Two commands with one name are one command.
    let command = Envelope::new(CommandId::new(delivery), command);
    let ending = conversation.perform_envelope(command).await?;
    let view = engine.view(conversation.id()).await?;
    Ok(match ending {
        Ending::Done => view.turns.last().and_then(TurnView::answer).unwrap_or_default(),
        // The questions are in `view.head.asking`. After `Command::answer` the turn goes on.
        Ending::WaitingForInput => "a person has to decide".into(),
        // The work so far is kept. `Command::Resume` or the next message goes on with it.
        Ending::Incomplete(cause) | Ending::Error(cause) => format!("stuck: {}", cause.message),
        Ending::Closed(_) | Ending::Nothing => "a person closed the turn".into(),
    })
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Error> {
    let model = ModelFn(|transcript: &Transcript| match last_typed(transcript).as_str() {
        "write" => call("write_file", r#"{"path": "/nowhere/at/all", "content": "x"}"#),
        typed => say(if typed == "hello" { typed } else { "" }),
    });
    let config = Config { model: Some("own/polite".parse()?), ..Config::default() };
    let (journal, models) = (Arc::new(MemoryJournal::new()), Arc::new(OneModel(Arc::new(model))));
    let engine = Engine::builder(journal, models).tool(Arc::new(WriteFile)).config(config).build();
    let mut replies = tokio::task::JoinSet::new();
    for (number, text) in (0..300).zip(["hello", "write", "be silent"].into_iter().cycle()) {
        replies.spawn(reply(engine.clone(), format!("chat-{}", number % 150), "delivery-1", text));
    }
    let replies: Result<BTreeSet<_>, _> = replies.join_all().await.into_iter().collect();
    let stuck = "stuck: the model answered with nothing, twice";
    assert_eq!(replies?, ["a person has to decide", "hello", stuck].map(String::from).into());
    Ok(())
}
