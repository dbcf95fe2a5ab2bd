//! `piton fork`: goes on from a place of a conversation in another one, which shares what was said there.

use std::time::Duration;

use piton::Engine;
use piton::fork::ForkAt;
use piton_agent::{Settings, engine_to_write};
use piton_core::id::ConversationId;
use piton_core::view::Status;

use super::place;
use crate::flags::Fork;
use crate::output::Output;
use crate::report::{Fault, ForkFault, Report};
use crate::target;

/// Forks it.
pub(crate) async fn run(
    fork: &Fork,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let typed = fork.id.as_deref().or(fork.id_flag.as_deref());
    let (engine, id) = find(typed, settings, output).await?;
    let made = cut(&engine, &id, fork).await;
    engine.shutdown(Duration::ZERO).await;
    let made @ Made { conversation, told, .. } = &made?;
    if !fork.json {
        output.data(&format!("{conversation}\n"));
    }
    output.talk(told);
    output.talk(&made.onwards());
    let conversation = conversation.clone();
    Ok(Report::ok("done").about(&conversation, None).kept_in(conversation))
}

async fn cut(engine: &Engine, id: &ConversationId, fork: &Fork) -> Result<Made, Fault> {
    let at = place::fork_at(engine, id, &fork.cut()).await?;
    Ok(make(engine, id, &at, fork.title.clone()).await?)
}

/// An engine that writes and performs nothing, and the conversation that is meant.
pub(super) async fn find(
    typed: Option<&str>,
    settings: &Settings,
    output: &mut Output,
) -> Result<(Engine, ConversationId), Fault> {
    let (journal, id) = target::find(typed, settings, output).await?;
    Ok((engine_to_write(journal, settings)?, id))
}

/// A fork, and what a person hears of it.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) conversation: ConversationId,
    pub(crate) told: String,
    /// Whether its last turn is open.
    is_open: bool,
}

impl Made {
    /// How to go on there.
    pub(crate) fn onwards(&self) -> String {
        let id = &self.conversation;
        if self.is_open {
            format!("hint: to go on with the incomplete turn: piton query --continue --id {id}")
        } else {
            format!("hint: to go on there: piton -c, or piton query --id {id} \"TEXT\"")
        }
    }
}

/// Makes a fork.
pub(crate) async fn make(
    engine: &Engine,
    id: &ConversationId,
    at: &ForkAt,
    title: Option<String>,
) -> Result<Made, ForkFault> {
    let fork = engine.fork(id, at, title).await?;
    let listed = engine.journal().status(fork.id()).await?;
    let row = listed.map(|listed| listed.row).unwrap_or_default();
    let turns = match row.turns {
        0 => "no turn".to_owned(),
        1 => "1 turn".to_owned(),
        turns => format!("{turns} turns"),
    };
    let is_open = row.status != Status::Idle;
    let open = if is_open { ", the last one incomplete" } else { "" };
    let conversation = fork.id().clone();
    let told = format!("Conversation {conversation} is a fork of {id}: {turns}{open}.");
    Ok(Made { conversation, told, is_open })
}
