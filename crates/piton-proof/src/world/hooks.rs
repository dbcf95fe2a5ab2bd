//! Hooks of the world: they deny what is marked, and write down what they were shown and told.

use std::sync::Arc;

use async_trait::async_trait;
use piton::hooks::{Hooks, Occasion, Opinion, Told};
use piton_core::event::Event;
use piton_core::id::{CallId, ConversationId, Seq};
use piton_store::Journal;

use super::tool::JOURNAL_ENTRIES_MAX;
use super::{Oversight, World};

/// What a call has in its arguments that hooks deny.
const FORBIDDEN: &str = "\"forbidden\"";

/// A call, in whatever conversation.
pub(crate) type Place = (ConversationId, CallId);

/// Hooks with a point before and behind everything that they do.
#[derive(Debug)]
pub struct WorldHooks {
    world: World,
    journal: Arc<dyn Journal>,
}

impl WorldHooks {
    /// Hooks of a world.
    pub fn new(world: &World, journal: &Arc<dyn Journal>) -> Self {
        Self { world: world.clone(), journal: journal.clone() }
    }
}

#[async_trait]
impl Hooks for WorldHooks {
    async fn before_tool(&self, told: &Told) -> Opinion {
        let Occasion::BeforeTool(call) = &told.occasion else { return Opinion::default() };
        self.world.point().await;
        let is_denied = call.arguments.contains(FORBIDDEN);
        self.world.show((told.conversation.clone(), call.id), is_denied);
        self.world.point().await;
        let is_said = is_denied && self.world.oversight() != Some(Oversight::VerdictIgnored);
        Opinion { denied: is_said.then(|| "not here".to_owned()), warnings: Vec::new() }
    }

    fn listens(&self, occasion: &Occasion) -> bool {
        matches!(occasion, Occasion::AfterTool { .. })
    }

    /// Only what is durable is told.
    async fn tell(&self, told: Told) -> Vec<String> {
        let Occasion::AfterTool { call, .. } = &told.occasion else { return Vec::new() };
        self.world.point().await;
        let records = self.journal.read(&told.conversation, Seq(0), JOURNAL_ENTRIES_MAX).await;
        let is_recorded = records.unwrap_or_default().iter().any(|record| {
            matches!(Event::from_stored(record.format, &record.body),
                Event::ToolFinished { call: ended, .. } if ended == call.id)
        });
        if !is_recorded {
            self.world.complain(format!("hooks heard of the end of {} before it was", call.id));
        }
        self.world.tell((told.conversation, call.id));
        self.world.point().await;
        Vec::new()
    }
}
