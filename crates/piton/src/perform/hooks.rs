//! Asking hooks about calls, and telling them what has happened.
//!
//! Hooks that only listen run beside the turn, and hear of its end last. They belong to the driver: it waits
//! for them before it rests, and they end when it is dropped.

use piton_core::event::{Entry, Event};
use piton_core::id::{CallId, TurnId};
use piton_core::permit::is_hooked;
use piton_core::state::{Call, State};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use crate::driver::Driver;
use crate::hooks::{HookedCall, Occasion, Told};

/// Most hooks that run beside a turn at the same time. With more to tell, the turn waits for one of them.
const LISTENING_MAX: usize = 16;

impl Driver<'_> {
    /// What hooks are asked about a call, if they look at calls of its tool.
    pub(super) fn to_ask_hooks(&self, id: CallId) -> Option<Told> {
        let state = self.log.state();
        let call = state.open_turn()?.call(id)?;
        is_hooked(&state.config.permissions, &call.name)
            .then(|| self.told(id.turn, Occasion::BeforeTool(hooked(call))))
    }

    /// What hooks are told when that is durable which is not yet.
    pub(crate) fn to_tell_hooks(&self) -> Vec<Told> {
        let Some(hooks) = &self.parts.hooks else { return Vec::new() };
        let state = self.log.state();
        let occasions = self.log.pending().iter().filter_map(|entry| occasion(state, entry));
        let heard = occasions.filter(|(_, occasion)| hooks.listens(occasion));
        heard.map(|(turn, occasion)| self.told(turn, occasion)).collect()
    }

    /// Tells hooks, without waiting for them.
    pub(crate) async fn tell_hooks(&mut self, news: Vec<Told>) {
        for told in news {
            let Some(hooks) = self.parts.hooks.clone() else { return };
            while LISTENING_MAX <= self.listening.len() {
                self.listening.join_next().await;
            }
            let is_end =
                matches!(told.occasion, Occasion::TurnEnded(_) | Occasion::TurnBroke { .. });
            let before = if is_end { std::mem::take(&mut self.unheard) } else { Vec::new() };
            let (heard, hears) = oneshot::channel::<()>();
            self.unheard.retain_mut(|news| news.try_recv() == Err(TryRecvError::Empty));
            self.unheard.push(hears);
            self.listening.spawn(async move {
                // The end of the channel is the message.
                for news in before {
                    news.await.unwrap_or_default();
                }
                let _heard = heard;
                let conversation = told.conversation.clone();
                for why in hooks.tell(told).await {
                    tracing::warn!(%conversation, why, "a hook failed");
                }
            });
        }
    }

    /// Waits for hooks that were told something. Each of them is bounded in time.
    pub(crate) async fn let_hooks_end(&mut self) {
        while self.listening.join_next().await.is_some() {}
    }

    fn told(&self, turn: TurnId, occasion: Occasion) -> Told {
        let conversation = self.site.conversation.clone();
        let workspace = self.site.workspace.clone();
        Told { conversation, workspace, turn, occasion }
    }
}

/// What an entry means to hooks, with its turn; most mean nothing to them.
fn occasion(state: &State, entry: &Entry) -> Option<(TurnId, Occasion)> {
    let of = |id: CallId| {
        let turn = state.turns.iter().rev().find(|turn| turn.id == id.turn)?;
        turn.call(id).map(hooked)
    };
    if let Event::ToolFinished { call, outcome, output } = &entry.event {
        let (outcome, text) = (*outcome, output.text.clone());
        Some((call.turn, Occasion::AfterTool { call: of(*call)?, outcome, text }))
    } else if let Event::InquiryRaised { inquiry } = &entry.event {
        let (call, question) = (of(inquiry.call)?, inquiry.question.clone());
        Some((inquiry.call.turn, Occasion::Question { call, question }))
    } else if let Event::TurnEnded { turn, end } = &entry.event {
        Some((*turn, Occasion::TurnEnded(*end)))
    } else if let Event::TurnBroke { turn, reason, message } = &entry.event {
        let (reason, message) = (*reason, message.clone());
        Some((*turn, Occasion::TurnBroke { reason, message }))
    } else {
        None
    }
}

fn hooked(call: &Call) -> HookedCall {
    HookedCall { id: call.id, tool: call.name.to_string(), arguments: call.arguments.clone() }
}
