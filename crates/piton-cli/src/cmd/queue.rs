//! `piton queue`: the messages that wait in a conversation, from any process.

use std::time::Duration;

use piton::{Engine, Kept};
use piton_agent::{Settings, engine_to_write};
use piton_core::id::ConversationId;
use piton_core::summary::shorten;

use super::query::requeue::{MESSAGE_LETTERS_MAX, change, row};
use crate::flags::{QueueFlags, QueueWish};
use crate::output::Output;
use crate::render::lines::Line;
use crate::render::turn::said_in;
use crate::render::visible::visible;
use crate::report::{Fault, Report};
use crate::target;

/// Lists them, or changes one.
pub(crate) async fn run(
    flags: &QueueFlags,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let (journal, id) = target::find(flags.id.as_deref(), settings, output).await?;
    let engine = engine_to_write(journal, settings)?;
    let done = match flags.wish.clone().unwrap_or(QueueWish::List) {
        QueueWish::List => list(&engine, &id, flags.json, output).await,
        wish @ (QueueWish::Edit { .. }
        | QueueWish::Move { .. }
        | QueueWish::Rm { .. }
        | QueueWish::Steer { .. }
        | QueueWish::Next { .. }) => {
            let wait = Duration::from_secs(flags.wait.min(u32::MAX.into()));
            let conversation = engine.conversation(&id);
            let told = change(wish, &conversation, (&engine, wait), settings, output).await;
            told.map(|told| output.talk(&told))
        }
    };
    engine.shutdown(Duration::ZERO).await;
    done.map(|()| Report::ok("done").in_conversation(Some(id)))
}

async fn list(
    engine: &Engine,
    id: &ConversationId,
    json: bool,
    output: &mut Output,
) -> Result<(), Fault> {
    // First this: a message that is taken meanwhile is shown where it is now.
    let kept = Kept::of(&**engine.journal(), id).await?;
    let view = engine.view(id).await?;
    for (number, queued) in (1..).zip(&view.queue) {
        if json {
            output.json(&Line::queued(id.as_str(), number, queued));
        } else {
            output.data(&format!("{}\n", row(number, queued)));
        }
    }
    let left: Vec<String> = kept.iter().filter_map(|it| said_in(&it.envelope.command)).collect();
    if view.queue.is_empty() && left.is_empty() && !json {
        output.talk(&format!("No message waits in conversation {id}."));
    }
    for text in &left {
        let text = shorten(text, MESSAGE_LETTERS_MAX);
        output.talk(&format!("Left for the process at work, not taken yet: {}", visible(&text)));
    }
    Ok(())
}
