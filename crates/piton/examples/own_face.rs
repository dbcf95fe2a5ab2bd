//! A face of your own: follows a conversation, shows how it moves, and answers a question.

#![cfg_attr(not(test), expect(clippy::print_stdout, reason = "an example shows what it does"))]

use std::error::Error;
use std::sync::Arc;

use piton::model::{ModelFn, OneModel, Transcript, call, last_results, say};
use piton::tools::WriteFile;
use piton::{Command, Config, Engine, MemoryJournal, NewMessage, News, Reply, View};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let model = ModelFn(|transcript: &Transcript| match last_results(transcript).first() {
        None => call("write_file", r#"{"path": "/nowhere/at/all", "content": "x"}"#),
        Some(result) => say(format!("I tried: {}", result.text)),
    });
    let config = Config { model: Some("own/model".parse()?), ..Config::default() };
    let (journal, models) = (Arc::new(MemoryJournal::new()), Arc::new(OneModel(Arc::new(model))));
    let engine = Engine::builder(journal, models).tool(Arc::new(WriteFile)).config(config).build();

    let conversation = engine.begin(".".as_ref())?;
    // While a face attends, a turn that asks waits for it instead of coming to rest.
    let _attending = conversation.attend();
    conversation.send(Command::say(NewMessage::text("write it"))).await?;

    // A snapshot, then changes. `follow.cursor()` is where to go on after a pause.
    let mut follow = engine.follow(conversation.id(), None).await?;
    let (mut view, mut answered): (Option<View>, _) = (None, 0);
    while view.as_ref().is_none_or(|view| view.turns.iter().all(|turn| turn.head.end.is_none())) {
        match (follow.next().await?, &mut view) {
            (News::Snapshot(snapshot), view) => *view = Some(*snapshot),
            (News::Change(change), Some(view)) => view.apply(&change)?,
            // What no entry holds yet: text as it streams, how far a tool is.
            (_, _) => continue,
        }
        let Some(view) = &view else { continue };
        println!("entry {}: {:?}", view.cursor, view.head.status);
        let open = view.head.asking.first().and_then(|it| view.question(&it.question));
        if let Some(question) = open.filter(|_| answered == 0) {
            println!("{}: no", question.heading);
            conversation.send(Command::answer(question.id.clone(), Reply::Deny)).await?;
            answered += 1;
        }
    }
    assert_eq!(answered, 1);
    Ok(())
}
