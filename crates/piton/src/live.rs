//! What no entry holds yet, for the followers of a conversation in this process.
//!
//! One channel a conversation, as long as somebody writes it or follows it. It carries the newest
//! picture whole, so a follower that is slow misses nothing that still counts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use piton_core::event::{Entry, Event, PartialKind};
use piton_core::id::{CallId, ConversationId, TurnId};
use piton_core::view::{Live, LiveCall, LiveStep};
use tokio::sync::watch;

/// The channels of an engine, by conversation. A clone has the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lives(Arc<Mutex<BTreeMap<ConversationId, Weak<watch::Sender<Live>>>>>);

impl Lives {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ConversationId, Weak<watch::Sender<Live>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn channel(&self, conversation: &ConversationId) -> Arc<watch::Sender<Live>> {
        let mut channels = self.lock();
        if let Some(known) = channels.get(conversation).and_then(Weak::upgrade) {
            return known;
        }
        channels.retain(|_, channel| 0 < channel.strong_count());
        let channel = Arc::new(watch::Sender::new(Live::default()));
        channels.insert(conversation.clone(), Arc::downgrade(&channel));
        channel
    }

    /// The writing end, for the writer of the conversation.
    pub(crate) fn write(&self, conversation: &ConversationId) -> LiveWriter {
        let channel = self.channel(conversation);
        channel.send_modify(|live| live.driven = true);
        LiveWriter { channel }
    }

    /// The reading end.
    pub(crate) fn read(&self, conversation: &ConversationId) -> LiveReader {
        let channel = self.channel(conversation);
        let mut seen = channel.subscribe();
        // What goes on already is news for a reader that comes.
        if *seen.borrow() != Live::default() {
            seen.mark_changed();
        }
        LiveReader { _channel: channel, seen }
    }
}

/// Shows what happens right now. Nothing does any more when it is dropped.
#[derive(Debug)]
pub(crate) struct LiveWriter {
    channel: Arc<watch::Sender<Live>>,
}

impl Drop for LiveWriter {
    fn drop(&mut self) {
        self.channel.send_replace(Live::default());
    }
}

impl LiveWriter {
    /// Takes in a durable entry of a turn: what it holds is live no more.
    pub(crate) fn entry(&self, turn: TurnId, entry: &Entry) {
        let event = &entry.event;
        if let Event::ModelAsked { step, attempt, .. } = event {
            self.change(|live| {
                live.step = Some(LiveStep::new(turn, *step, *attempt));
                true
            });
        }
        if matches!(
            event,
            Event::ModelAnswered { .. }
                | Event::ModelFailed { .. }
                | Event::TurnBroke { .. }
                | Event::TurnEnded { .. }
        ) {
            self.change(|live| live.step.take().is_some());
        }
        if let Event::ToolStarted { call, .. } = event {
            self.change(|live| {
                live.calls.retain(|known| known.call != *call);
                live.calls.push(LiveCall::new(*call));
                true
            });
        }
        if let Event::ToolFinished { call, .. }
        | Event::ToolSuspended { call }
        | Event::CallParked { call, .. } = event
        {
            self.change(|live| {
                let before = live.calls.len();
                live.calls.retain(|known| known.call != *call);
                live.calls.len() < before
            });
        }
    }

    /// More of the answer that streams.
    pub(crate) fn text(&self, kind: PartialKind, text: &str) {
        self.change(|live| {
            let Some(step) = &mut live.step else { return false };
            match kind {
                PartialKind::Text => step.text.push_str(text),
                PartialKind::Reasoning => step.reasoning.push_str(text),
            }
            true
        });
    }

    /// How far a call is.
    pub(crate) fn progress(&self, call: CallId, text: &str) {
        self.change_call(call, |live| live.progress = Some(text.to_owned()));
    }

    /// The end of what a call has printed, and how much that is.
    pub(crate) fn printed(&self, call: CallId, tail: String, bytes: u64) {
        self.change_call(call, |live| (live.tail, live.bytes) = (tail, bytes));
    }

    fn change_call(&self, call: CallId, change: impl FnOnce(&mut LiveCall)) {
        self.change(|live| {
            let known = live.calls.iter_mut().find(|known| known.call == call);
            known.map(change).is_some()
        });
    }

    fn change(&self, change: impl FnOnce(&mut Live) -> bool) {
        self.channel.send_if_modified(change);
    }
}

/// Reads what happens right now.
#[derive(Debug)]
pub(crate) struct LiveReader {
    /// Keeps the channel while nobody writes.
    _channel: Arc<watch::Sender<Live>>,
    seen: watch::Receiver<Live>,
}

impl LiveReader {
    /// Waits for the next picture.
    pub(crate) async fn next(&mut self) -> Live {
        if self.seen.changed().await.is_err() {
            // The channel is kept here, so it never closes.
            std::future::pending::<()>().await;
        }
        self.seen.borrow_and_update().clone()
    }
}
