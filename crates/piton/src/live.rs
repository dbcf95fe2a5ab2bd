//! What goes on in a conversation, for its followers in this process.
//!
//! One channel a conversation, as long as somebody writes it or follows it. It carries what no entry
//! holds yet, whole, so a follower that is slow misses nothing that still counts. And it hands on the
//! newest entries, once they are durable: a follower that keeps up need not read them from the store.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use piton_core::event::{Entry, Event, PartialKind};
use piton_core::id::{CallId, ConversationId, Seq, TurnId};
use piton_core::view::{Live, LiveCall, LiveStep};
use tokio::sync::watch;

/// Entries that are handed on. A follower that is further behind reads the journal.
const ENTRIES_MAX: usize = 64;

/// The channel of a conversation.
#[derive(Debug, Default)]
struct Channel {
    live: watch::Sender<Live>,
    /// The end of the journal, as long as it is written here.
    end: watch::Sender<Option<Seq>>,
    /// The newest entries, in order and without a gap.
    newest: Mutex<VecDeque<Arc<Entry>>>,
}

impl Channel {
    fn newest(&self) -> MutexGuard<'_, VecDeque<Arc<Entry>>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The channels of an engine, by conversation. A clone has the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lives(Arc<Mutex<BTreeMap<ConversationId, Weak<Channel>>>>);

impl Lives {
    fn channel(&self, conversation: &ConversationId) -> Arc<Channel> {
        let mut channels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = channels.get(conversation).and_then(Weak::upgrade) {
            return known;
        }
        channels.retain(|_, channel| 0 < channel.strong_count());
        let channel = Arc::<Channel>::default();
        channels.insert(conversation.clone(), Arc::downgrade(&channel));
        channel
    }

    /// The writing end, for the writer of the conversation, whose journal ends here.
    pub(crate) fn write(&self, conversation: &ConversationId, end: Seq) -> LiveWriter {
        let channel = self.channel(conversation);
        channel.end.send_replace(Some(end));
        channel.live.send_modify(|live| live.driven = true);
        LiveWriter { channel }
    }

    /// Tells whether the worker of a call asks a person. A call that is not at work tells nothing.
    pub(crate) fn ask(&self, conversation: &ConversationId, call: CallId, asks: bool) {
        self.channel(conversation).live.send_if_modified(|live| {
            let known = live.calls.iter_mut().find(|known| known.call == call);
            known.is_some_and(|known| std::mem::replace(&mut known.asks, asks) != asks)
        });
    }

    /// The reading end.
    pub(crate) fn read(&self, conversation: &ConversationId) -> LiveReader {
        let channel = self.channel(conversation);
        let (mut live, end) = (channel.live.subscribe(), channel.end.subscribe());
        // What goes on already is news for a reader that comes.
        if *live.borrow() != Live::default() {
            live.mark_changed();
        }
        LiveReader { channel, live, end }
    }
}

/// Shows what happens right now. Nothing does any more when it is dropped.
#[derive(Debug)]
pub(crate) struct LiveWriter {
    channel: Arc<Channel>,
}

impl Drop for LiveWriter {
    fn drop(&mut self) {
        self.channel.end.send_replace(None);
        self.channel.newest().clear();
        self.channel.live.send_replace(Live::default());
    }
}

impl LiveWriter {
    /// Hands on durable entries of a turn.
    pub(crate) fn publish(&self, turn: TurnId, entries: impl Iterator<Item = Entry>) {
        let mut end = None;
        let mut newest = self.channel.newest();
        let is_followed = 0 < self.channel.end.receiver_count();
        if !is_followed {
            // A reader that comes later reads the journal; what is kept has no gap.
            newest.clear();
        }
        for entry in entries {
            self.entry(turn, &entry);
            end = Some(entry.seq);
            if is_followed {
                newest.push_back(Arc::new(entry));
            }
            if ENTRIES_MAX < newest.len() {
                newest.pop_front();
            }
        }
        drop(newest);
        if end.is_some() {
            self.channel.end.send_replace(end);
        }
    }

    /// What an entry holds is live no more.
    fn entry(&self, turn: TurnId, entry: &Entry) {
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
        self.channel.live.send_if_modified(change);
    }
}

/// Reads what happens right now.
#[derive(Debug)]
pub(crate) struct LiveReader {
    channel: Arc<Channel>,
    live: watch::Receiver<Live>,
    end: watch::Receiver<Option<Seq>>,
}

impl LiveReader {
    /// The picture as it is now.
    pub(crate) fn now(&mut self) -> Live {
        self.live.borrow_and_update().clone()
    }

    /// Waits for the next picture.
    pub(crate) async fn next(&mut self) -> Live {
        changed(&mut self.live).await
    }

    /// Waits for the next picture, as long as the journal is written in this process and has nothing
    /// behind this entry.
    pub(crate) async fn next_before(&mut self, seq: Seq) -> Option<Live> {
        let Self { live, end, .. } = self;
        tokio::select! {
            biased;
            // The channel is kept here, so it never closes.
            _ = end.wait_for(|end| end.is_none_or(|end| seq < end)) => None,
            live = changed(live) => Some(live),
        }
    }

    /// Whether the journal is written in this process, and has nothing behind this entry.
    pub(crate) fn ends_at(&self, seq: Seq) -> bool {
        self.end.borrow().is_some_and(|end| end <= seq)
    }

    /// An entry, if it is among the newest.
    pub(crate) fn entry(&self, seq: Seq) -> Option<Arc<Entry>> {
        let newest = self.channel.newest();
        let first = newest.front()?.seq;
        let place = usize::try_from(seq.0.checked_sub(first.0)?).ok()?;
        newest.get(place).cloned()
    }
}

async fn changed(live: &mut watch::Receiver<Live>) -> Live {
    if live.changed().await.is_err() {
        // The channel is kept by its reader, so it never closes.
        std::future::pending::<()>().await;
    }
    live.borrow_and_update().clone()
}
