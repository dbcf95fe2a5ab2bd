//! One conversation, followed once for all who read it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use piton::id::Seq;
use piton::list::Activity;
use piton::view::Refused;
use piton::{Attending, ConversationId, Engine, Follow, FollowError, Live, News, ViewChange};
use piton_page::Model;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, Interval, interval};

use super::picture::Picture;
use crate::limits::{ACTIVITY_EVERY, AHEAD_EVENTS_MAX, LIVE_EVERY, RING_FRAMES_MAX};

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
    /// What happened since, entry by entry. There may be more.
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
    /// What no entry holds yet, and which one it is, from 1; nothing if the last change tells it.
    live: (u64, Option<Arc<str>>),
    /// The picture has what was there when it was begun.
    ready: bool,
    failed: bool,
}

/// The number of the first picture of what is live; 0 is for a reader that has seen none.
const FIRST_LIVE: u64 = 1;

impl<P: Picture> Feed<P> {
    pub(super) fn start(engine: &Engine, id: &ConversationId, models: &Arc<[Model]>) -> Arc<Self> {
        let kept = Kept {
            picture: None,
            ring: VecDeque::new(),
            whole: None,
            live: (0, None),
            ready: false,
            failed: false,
        };
        let state = Arc::new(State { kept: Mutex::new(kept), moved: watch::Sender::new(()) });
        let attending = engine.conversation(id).attend();
        let (engine, models) = (engine.clone(), models.clone());
        let following = Following { engine, id: id.clone(), models, state: state.clone() };
        let running = tokio::spawn(following.run());
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

    /// The workers that are read along with it.
    pub(crate) fn workers(&self) -> Vec<ConversationId> {
        self.state.lock().picture.as_ref().map(P::workers).unwrap_or_default()
    }

    /// Tells when there is something to read.
    pub(crate) fn moved(&self) -> watch::Receiver<()> {
        self.state.moved.subscribe()
    }

    /// What there is behind a cursor.
    pub(crate) fn read(&self, cursor: Option<Seq>) -> Read {
        self.state.lock().read(cursor)
    }

    /// Shows the picture to somebody once it is there; none if the conversation cannot be followed.
    pub(crate) async fn show<T>(&self, show: impl FnOnce(&P) -> T) -> Option<T> {
        let mut moved = self.moved();
        loop {
            if self.state.lock().is_settled() {
                let kept = self.state.lock();
                return kept.picture.as_ref().filter(|_| !kept.failed).map(show);
            }
            moved.changed().await.ok()?;
        }
    }

    /// What no entry holds yet, if it is newer than what was seen.
    pub(crate) fn live(&self, seen: u64, cursor: Option<Seq>) -> Option<(u64, Arc<str>)> {
        self.state.lock().told_live(seen, cursor)
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
        let Some(picture) = self.picture.as_ref().filter(|_| self.ready) else {
            return Read::Nothing;
        };
        let end = picture.view().cursor;
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
        let news = self.ring.iter().filter(|(seq, _)| cursor < *seq).take(AHEAD_EVENTS_MAX);
        Read::Changes(news.cloned().collect())
    }

    /// What is live, for a reader that has been told the last entry: what is live depends on that entry.
    fn told_live(&self, seen: u64, cursor: Option<Seq>) -> Option<(u64, Arc<str>)> {
        let picture = self.picture.as_ref().filter(|_| self.ready)?;
        if cursor != Some(picture.view().cursor) {
            return None;
        }
        if let Some(now) = Some(picture).filter(|_| seen == 0).and_then(Picture::now) {
            return Some((self.live.0.max(FIRST_LIVE), now));
        }
        let (number, live) = &self.live;
        live.clone().filter(|_| seen < *number).map(|live| (*number, live))
    }

    /// Whether it can be shown now, or never.
    fn is_settled(&self) -> bool {
        self.failed || (self.ready && self.picture.is_some())
    }

    fn begin(&mut self, picture: P) {
        self.picture = Some(picture);
        self.ring.clear();
        (self.whole, self.live.1) = (None, None);
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
                if P::CHANGE_TELLS_LIVE {
                    self.live.1 = None;
                }
                true
            }
            Err(refused) => matches!(refused, Refused::AlreadyApplied { .. }),
        }
    }

    fn live(&mut self, live: &Live) {
        if let Some(text) = self.picture.as_mut().and_then(|picture| picture.live(live)) {
            self.live = (self.live.0.max(FIRST_LIVE) + 1, Some(text));
        }
    }
}

/// The task behind a feed.
struct Following<P> {
    engine: Engine,
    id: ConversationId,
    models: Arc<[Model]>,
    state: Arc<State<P>>,
}

/// What no entry holds yet, on its way to readers at their pace.
struct Pace {
    /// The newest, as this process knows it.
    live: Live,
    /// Whether another process works on the conversation.
    elsewhere: bool,
    /// Whether readers have not seen the newest one.
    waits: bool,
    next: Instant,
    look: Interval,
}

impl Pace {
    fn new() -> Self {
        let look = interval(ACTIVITY_EVERY);
        Self { live: Live::default(), elsewhere: false, waits: false, next: Instant::now(), look }
    }

    /// What readers see now.
    fn shown(&mut self) -> Live {
        (self.waits, self.next) = (false, Instant::now() + LIVE_EVERY);
        let mut live = self.live.clone();
        live.driven |= self.elsewhere;
        live
    }
}

impl<P: Picture> Following<P> {
    /// Follows until nobody reads any more, or the conversation cannot be read.
    async fn run(self) {
        while let Ok(follow) = self.begin().await {
            // A picture that does not fit any more is drawn anew.
            if self.follow(follow).await.is_err() {
                break;
            }
        }
        self.state.lock().failed = true;
        self.state.moved.send_replace(());
    }

    /// A worker that has not written its first entry is waited for.
    async fn begin(&self) -> Result<Follow, FollowError> {
        match self.engine.follow(&self.id, None).await {
            Err(FollowError::Unknown(id)) if id.as_worker().is_some() => {
                self.engine.conversation(&id).follow_all()
            }
            follow => follow,
        }
    }

    async fn follow(&self, mut follow: Follow) -> Result<(), Failed> {
        let mut pace = Pace::new();
        // Nobody sees the picture before it has all that is there now: a turn that somebody works on would
        // look interrupted. A writer that is gone by now has written its last entry.
        pace.live = follow.live();
        while let Some(news) = follow.next_entry().await.map_err(|_| Failed)? {
            if !self.take(news, &mut pace) {
                return Ok(());
            }
        }
        self.look_elsewhere(&mut pace).await;
        self.get_ready();
        loop {
            tokio::select! {
                biased;
                news = follow.next() => if !self.take(news.map_err(|_| Failed)?, &mut pace) {
                    return Ok(());
                },
                () = tokio::time::sleep_until(pace.next), if pace.waits => {
                    self.show_live(&mut pace);
                }
                _ = pace.look.tick() => {
                    self.look_elsewhere(&mut pace).await;
                }
            }
        }
    }

    /// Takes news in; whether the picture can go on.
    fn take(&self, news: News, pace: &mut Pace) -> bool {
        match news {
            News::Snapshot(view) => {
                self.state.lock().begin(P::new(&self.id, *view, &self.models));
                if pace.live.driven || pace.elsewhere {
                    self.show_live(pace);
                }
            }
            News::Change(change) => {
                if !self.state.lock().change(&change) {
                    return false;
                }
                self.state.moved.send_replace(());
            }
            News::Live(live) => {
                (pace.live, pace.waits) = (*live, true);
                if pace.next <= Instant::now() {
                    self.show_live(pace);
                }
            }
            _ => {}
        }
        true
    }

    /// From now on readers see the picture.
    fn get_ready(&self) {
        self.state.lock().ready = true;
        self.state.moved.send_replace(());
    }

    fn show_live(&self, pace: &mut Pace) {
        self.state.lock().live(&pace.shown());
        self.state.moved.send_replace(());
    }

    /// Who works on an open turn elsewhere comes and goes without an entry.
    async fn look_elsewhere(&self, pace: &mut Pace) {
        let open =
            self.state.lock().picture.as_ref().is_some_and(|it| it.view().head.open.is_some());
        let row = if open && !pace.live.driven {
            self.engine.row(&self.id).await.ok().flatten()
        } else {
            None
        };
        let elsewhere = row.is_some_and(|row| matches!(row.activity, Activity::Elsewhere(_)));
        if elsewhere != pace.elsewhere {
            pace.elsewhere = elsewhere;
            self.show_live(pace);
        }
    }
}

/// The conversation cannot be read.
struct Failed;

#[cfg(test)]
mod tests {
    use piton::View;

    use super::*;
    use crate::hub::Json;

    #[test]
    fn a_reader_that_was_not_told_the_last_entry_is_told_nothing_that_is_live() {
        let mut view = View::default();
        view.cursor = Seq(7);
        let mut kept = Kept {
            picture: Some(Json::new(&ConversationId::new("c"), view, &[])),
            ring: VecDeque::new(),
            whole: None,
            live: (0, None),
            ready: false,
            failed: false,
        };
        kept.live(&Live::default());
        let told = |kept: &Kept<Json>, cursor| kept.told_live(0, cursor).is_some();
        assert!(!told(&kept, Some(Seq(7))), "nobody sees the picture yet");
        kept.ready = true;
        assert!(!told(&kept, None) && !told(&kept, Some(Seq(6))));
        assert!(told(&kept, Some(Seq(7))));
    }
}
