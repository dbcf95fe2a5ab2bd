//! A model of your own: it gets the transcript, and streams the pieces of an answer.

#![cfg_attr(not(test), expect(clippy::print_stdout, reason = "an example shows what it does"))]

use std::error::Error;
use std::sync::Arc;

use piton::model::{self, AnswerStream, Delta, FinishReason, Model, OneModel, Transcript, Usage};
use piton::view::TurnView;
use piton::{Command, Config, Ending, Engine, MemoryJournal, NewMessage};

/// Answers with the words of the question, backwards.
#[derive(Debug)]
struct Backwards;

impl Model for Backwards {
    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        let heard = model::last_typed(transcript);
        // One piece a word. Faces see each piece as soon as it is there.
        let mut pieces: Vec<Delta> = heard
            .split(' ')
            .rev()
            .map(|word| Delta::Text { index: 0, text: format!("{word} ") })
            .collect();
        // Without its end mark an answer counts as cut off, and is asked for again.
        pieces.push(Delta::End { finish: FinishReason::Stop, usage: Usage::default() });
        // `answer_later` takes a future instead, such as a request over the network.
        model::answer(pieces)
    }
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let config = Config { model: Some("own/backwards".parse()?), ..Config::default() };
    let models = Arc::new(OneModel(Arc::new(Backwards)));
    let engine = Engine::builder(Arc::new(MemoryJournal::new()), models).config(config).build();

    let conversation = engine.begin(".".as_ref())?;
    let ending = conversation.perform(Command::say(NewMessage::text("lost is nothing"))).await?;
    assert_eq!(ending, Ending::Done);

    let view = engine.view(conversation.id()).await?;
    let answer = view.turns.last().and_then(TurnView::answer).unwrap_or_default();
    println!("{answer}");
    assert_eq!(answer, "nothing is lost ");
    Ok(())
}
