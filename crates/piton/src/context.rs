//! What the model is told with the first message of a turn, beside what the user said.

use std::path::Path;

use piton_core::command::Sender;
use piton_core::event::{Event, TurnEnd};
use piton_core::id::ConversationId;
use piton_core::state::{Config, State};

use crate::parts::Parts;
use crate::profile::ContextRequest;
use crate::unattended::Attendance;

/// Where a turn begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning<'a> {
    pub(crate) conversation: &'a ConversationId,
    pub(crate) workspace: &'a Path,
    pub(crate) sender: &'a Sender,
    /// What applies to the turn.
    pub(crate) config: &'a Config,
    pub(crate) attendance: Attendance,
}

/// Adds the context behind the beginning of a turn, if the facts begin one.
pub(crate) async fn add(
    parts: &Parts,
    state: &State,
    facts: Vec<Event>,
    beginning: Beginning<'_>,
) -> Vec<Event> {
    let begins = |fact: &Event| matches!(fact, Event::TurnStarted { .. });
    if !facts.iter().any(begins) {
        return facts;
    }
    let discards = |fact: &Event| matches!(fact, Event::TurnEnded { end: TurnEnd::Discarded, .. });
    let mut told = state.context_told();
    if facts.iter().any(discards) {
        // What only the turn tells that goes now, nobody knows behind it.
        let gone = state.open_turn().into_iter().flat_map(|turn| &turn.context);
        for item in gone {
            told.remove(item.name.as_str());
        }
    }
    let Beginning { conversation, workspace, sender, config, attendance } = beginning;
    let request = ContextRequest {
        conversation,
        workspace,
        sender,
        config,
        told: &told,
        attendance,
        now: parts.clock.now(),
    };
    let items = parts.profiles.context(request).await;
    if items.is_empty() {
        return facts;
    }
    let mut items = Some(items);
    let with_context = facts.into_iter().flat_map(|fact| {
        let turn = if let Event::TurnStarted { turn, .. } = &fact { Some(*turn) } else { None };
        let items = if turn.is_some() { items.take() } else { None };
        let context = turn.zip(items).map(|(turn, items)| Event::ContextAdded { turn, items });
        std::iter::once(fact).chain(context)
    });
    with_context.collect()
}
