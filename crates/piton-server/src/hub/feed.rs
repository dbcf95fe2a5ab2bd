//! One conversation, followed once for all who read it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use piton::id::Seq;
use piton::view::Refused;
use piton::{Attending, ConversationId, Engine, Live, News, ViewChange};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::picture::Picture;
use crate::limits::{LIVE_EVERY, RING_FRAMES_MAX};

/// A conversation that is followed as long as this lives.
#[derive(Debug)]
pub(crate) struct Feed<P: Picture> {
    conversation: ConversationId,
    state: Arc<State<P>>,
    task: AbortHandle,
    /// Whoever reads can answer.
    _attending: Attending,
}

/// What a reader gets that comes with a cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Nothing is known yet, or nothing is new.
    Nothing,
    /// All of it, up to this entry.
    Whole(Seq, Arc<str>),
    /// What happened since, entry by entry.
    Changes(Vec<(Seq, Arc<str>)>),
    /// More than is kept; the journal has it.
    Behind,
    /// The cursor is of another conversation or store.
    Ahead,
    /// The conversation cannot be followed any more.
    Failed,
}

#[derive(Debug)]
struct State<P> {
    kept: Mutex<Kept<P>>,
    moved: watch::Sender<()>,
}

#[derive(Debug)]
struct Kept<P> {
    picture: Option<P>,
    /// The newest changes, without a gap.
    ring: VecDeque<(Seq, Arc<str>)>,
    /// The picture as a text, for readers that come at the same moment.
    whole: Option<(Seq, Arc<str>)>,
    /// What no entry holds yet, and which one it is, from 1.
    live: (u64, Arc<str>),
    failed: bool,
}

impl<P: Picture> Feed<P> {
    pub(super) fn start(engine: &Engine, id: &ConversationId) -> Arc<Self> {
        let kept = Kept {
            picture: None,
            ring: VecDeque::new(),
            whole: None,
            live: (0, "".into()),
            failed: false,
        };
        let state = Arc::new(State { kept: Mutex::new(kept), moved: watch::Sender::new(()) });
        let attending = engine.conversation(id).attend();
        let running = tokio::spawn(run(engine.clone(), id.clone(), state.clone()));
        Arc::new(Self {
            conversation: id.clone(),
            state,
            task: running.abort_handle(),
            _attending: attending,
        })
    }

    pub(crate) fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// Tells when there is something to read.
    pub(crate) fn moved(&self) -> watch::Receiver<()> {
        self.state.moved.subscribe()
    }

    /// What there is behind a cursor.
    pub(crate) fn read(&self, cursor: Option<Seq>) -> Read {
        self.state.lock().read(cursor)
    }

    /// What no entry holds yet, if it is newer than what was seen.
    pub(crate) fn live(&self, seen: u64) -> Option<(u64, Arc<str>)> {
        let kept = self.state.lock();
        (seen < kept.live.0).then(|| kept.live.clone())
    }
}

impl<P: Picture> Drop for Feed<P> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<P> State<P> {
    fn lock(&self) -> MutexGuard<'_, Kept<P>> {
        // What is kept is whole between any two statements that change it.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: Picture> Kept<P> {
    fn read(&mut self, cursor: Option<Seq>) -> Read {
        if self.failed {
            return Read::Failed;
        }
        let Some(picture) = &self.picture else { return Read::Nothing };
        let end = picture.cursor();
        let Some(cursor) = cursor else {
            if self.whole.as_ref().is_none_or(|(at, _)| *at != end) {
                self.whole = Some((end, picture.whole()));
            }
            return self.whole.clone().map_or(Read::Nothing, |(at, text)| Read::Whole(at, text));
        };
        if end < cursor {
            return Read::Ahead;
        }
        if cursor == end {
            return Read::Nothing;
        }
        let first = self.ring.front().map_or(Seq(u64::MAX), |(seq, _)| *seq);
        if cursor.next() < first {
            return Read::Behind;
        }
        let news = self.ring.iter().filter(|(seq, _)| cursor < *seq);
        Read::Changes(news.cloned().collect())
    }

    /// Takes a change in; whether the picture can go on.
    fn change(&mut self, change: &ViewChange) -> bool {
        let Some(picture) = &mut self.picture else { return false };
        match picture.change(change) {
            Ok(text) => {
                self.ring.push_back((change.cursor, text));
                if RING_FRAMES_MAX < self.ring.len() {
                    self.ring.pop_front();
                }
                self.whole = None;
                true
            }
            Err(refused) => matches!(refused, Refused::AlreadyApplied { .. }),
        }
    }

    fn live(&mut self, live: &Live) {
        if let Some(text) = self.picture.as_mut().and_then(|picture| picture.live(live)) {
            self.live = (self.live.0 + 1, text);
        }
    }
}

/// Follows until nobody reads any more, or the conversation cannot be read.
async fn run<P: Picture>(engine: Engine, id: ConversationId, state: Arc<State<P>>) {
    loop {
        let Ok(mut follow) = engine.follow(&id, None).await else { break };
        let (mut waiting, mut next_live): (Option<Live>, _) = (None, Instant::now());
        loop {
            let news = tokio::select! {
                biased;
                news = follow.next() => news,
                () = tokio::time::sleep_until(next_live), if waiting.is_some() => {
                    if let Some(live) = waiting.take() {
                        state.lock().live(&live);
                        next_live = Instant::now() + LIVE_EVERY;
                        state.moved.send_replace(());
                    }
                    continue;
                }
            };
            let goes_on = match news {
                Ok(News::Snapshot(view)) => {
                    let mut kept = state.lock();
                    kept.picture = Some(P::new(&id, *view));
                    kept.ring.clear();
                    kept.whole = None;
                    true
                }
                Ok(News::Change(change)) => state.lock().change(&change),
                Ok(News::Live(live)) => {
                    let now = Instant::now();
                    if now < next_live {
                        // Readers see the newest one when its time has come.
                        waiting = Some(*live);
                        continue;
                    }
                    (waiting, next_live) = (None, now + LIVE_EVERY);
                    state.lock().live(&live);
                    true
                }
                Ok(_) => true,
                Err(_) => {
                    state.lock().failed = true;
                    state.moved.send_replace(());
                    return;
                }
            };
            state.moved.send_replace(());
            if !goes_on {
                // The picture does not fit any more: it is read anew.
                break;
            }
        }
    }
    state.lock().failed = true;
    state.moved.send_replace(());
}
