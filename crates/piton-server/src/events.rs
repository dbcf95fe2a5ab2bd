//! Server-sent events: the list and any conversations on one stream, which goes on where it broke off.
//!
//! The id of an event is the cursor of all of it, so `Last-Event-ID` brings a client back without a gap
//! and without a duplicate, also to another process. What a client misses because it is slow or away is
//! read again from its cursor; nothing is kept for it.

mod event;
mod following;
mod listing;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt as _, pending, select_all};
use piton::ConversationId;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use self::event::{Ended, Event};
use self::following::Following;
use self::listing::Listing;
use crate::access::{TokenChanges, Who};
use crate::cursor::Cursor;
use crate::fault::Fault;
use crate::hub::{Feeds, Picture, Worker};
use crate::limits::{SHARED_BYTES_MIN, STREAM_CONVERSATIONS_MAX};
use crate::shared::{Counted, Shared};

/// Whose streams are ended by a proxy that waits for more.
const NO_BUFFER: HeaderName = HeaderName::from_static("x-accel-buffering");

/// What the first piece of an event begins with. Data is JSON, which does not.
const BEGINNING: &[u8] = b"event: ";

/// Why a stream ends whose token counts no more.
const REVOKED: &str = "the token was revoked";

/// Room for the lines in front of the data of an event.
const HEAD_BYTES: usize = 64;

/// The data of an event, as bytes that readers share.
struct Data(Arc<str>);

impl AsRef<[u8]> for Data {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// What somebody wants to read.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) conversations: Vec<ConversationId>,
    pub(crate) list: bool,
    pub(crate) cursor: Cursor,
}

/// A client that reads.
pub(crate) struct Reader<P: Picture> {
    shared: Shared,
    who: Who,
    conversations: Vec<Following<P>>,
    /// The workers of those, where they are read along.
    workers: Vec<Following<Worker>>,
    list: Option<Listing>,
    cursor: Cursor,
    ready: VecDeque<Bytes>,
    ended: bool,
    beat: Interval,
    /// Tells that the token may have been revoked.
    tokens_moved: watch::Receiver<()>,
    _token_changes: Arc<TokenChanges>,
    _counted: Counted,
}

impl<P: Picture> Reader<P> {
    /// Begins to read. The conversations are known.
    pub(crate) async fn new(
        shared: &Shared,
        feeds: &Feeds<P>,
        who: Who,
        wish: Wish,
    ) -> Result<Self, Fault> {
        let Wish { conversations, list, cursor } = wish;
        let follow = |id: &ConversationId| Following::new(feeds, id, cursor.of(id));
        let token_changes = shared.token_changes();
        let mut reader = Self {
            shared: shared.clone(),
            who,
            conversations: conversations.iter().map(follow).collect(),
            workers: Vec::new(),
            list: None,
            cursor: cursor.only(&conversations, list),
            ready: VecDeque::new(),
            ended: false,
            beat: interval_at(Instant::now() + shared.beat(), shared.beat()),
            tokens_moved: token_changes.moved(),
            _token_changes: token_changes,
            _counted: Counted::new(shared, |counts| &counts.streams),
        };
        reader.beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let build = env!("CARGO_PKG_VERSION");
        let hello = format!(r#"{{"build":"{build}","boot":"{}"}}"#, shared.boot);
        reader.push(&Event::passing("hello", &hello));
        if list {
            let (listing, first) = Listing::new(feeds, cursor.list).await?;
            reader.list = Some(listing);
            for (position, event) in first {
                reader.cursor.list = Some(position);
                reader.push(&event);
            }
        }
        Ok(reader)
    }

    /// The answer that never ends by itself.
    pub(crate) fn answer(self) -> Response {
        let events = futures_util::stream::unfold(self, |mut reader| async move {
            let text = reader.next().await?;
            Some((Ok::<_, Infallible>(text), reader))
        });
        let mut answer = Response::new(Body::from_stream(events));
        let headers = answer.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(NO_BUFFER, HeaderValue::from_static("no"));
        answer
    }

    /// The next event. Is asked for one only when the last one is on its way, so a slow client waits for
    /// itself.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            self.notice_revocation();
            if let Some(text) = self.ready.pop_front() {
                return Some(text);
            }
            if self.ended {
                return None;
            }
            if self.gather().await.is_err() {
                self.end("the conversation cannot be read any more");
                continue;
            }
            if !self.ready.is_empty() {
                continue;
            }
            let moved = moved(&mut self.conversations, &mut self.workers, self.list.as_mut());
            tokio::select! {
                biased;
                () = self.shared.stop.cancelled() => self.end("the server stops"),
                _ = self.beat.tick() => self.tick(),
                () = changed(&mut self.tokens_moved) => self.tokens_moved.mark_changed(),
                () = moved => {}
            }
        }
    }

    /// Reads what is there.
    async fn gather(&mut self) -> Result<(), Ended> {
        for place in 0..self.conversations.len() {
            let Some(following) = self.conversations.get_mut(place) else { continue };
            let id = following.conversation().clone();
            for (seq, event) in following.step(self.shared.engine()).await? {
                if let Some(seq) = seq {
                    self.cursor.set(&id, seq);
                }
                self.push(&event);
            }
        }
        self.gather_workers().await;
        let Some(list) = &mut self.list else { return Ok(()) };
        for (position, event) in list.step(self.shared.engine()).await? {
            self.cursor.list = Some(position);
            self.push(&event);
        }
        Ok(())
    }

    /// Reads what workers do. They come and go with the calls of their conversations.
    async fn gather_workers(&mut self) {
        let wanted: Vec<_> = self.conversations.iter().flat_map(Following::workers).collect();
        self.workers.retain(|known| wanted.contains(known.conversation()));
        for id in wanted.into_iter().take(STREAM_CONVERSATIONS_MAX) {
            if !self.workers.iter().any(|known| *known.conversation() == id) {
                self.workers.push(Following::new(&self.shared.hub.workers, &id, None));
            }
        }
        for place in 0..self.workers.len() {
            let Some(following) = self.workers.get_mut(place) else { continue };
            // One that cannot be read is shown no further; its conversation says what became of it.
            let told = following.step(self.shared.engine()).await.unwrap_or_default();
            for (_, event) in told {
                self.push(&Event { durable: false, ..event });
            }
        }
    }

    /// A sign of life, to those who still may read.
    fn tick(&mut self) {
        if self.may_read() {
            self.push(&Event::passing("beat", "{}"));
        } else {
            self.end(REVOKED);
        }
    }

    /// Whether the token counts.
    fn may_read(&self) -> bool {
        let now = self.shared.parts.clock.now();
        self.shared.parts.tokens.owner(&self.who.digest, now).is_some()
    }

    /// Ends the stream of a token that was revoked, in front of the next event. An event that is half on its
    /// way is finished.
    fn notice_revocation(&mut self) {
        // A watch that nobody keeps is no news.
        if self.ended || !self.tokens_moved.has_changed().unwrap_or_default() {
            return;
        }
        self.tokens_moved.mark_unchanged();
        if !self.may_read() {
            let begins = |piece: &Bytes| piece.starts_with(BEGINNING);
            let kept = self.ready.iter().position(begins).unwrap_or(self.ready.len());
            self.ready.truncate(kept);
            self.end(REVOKED);
        }
    }

    fn end(&mut self, why: &str) {
        self.push(&Event::passing("bye", &format!(r#"{{"why":"{why}"}}"#)));
        self.ended = true;
    }

    fn push(&mut self, event: &Event) {
        let mut text = String::with_capacity(event.data.len().min(SHARED_BYTES_MIN) + HEAD_BYTES);
        // Writing to a string cannot fail.
        writeln!(text, "event: {}", event.name).unwrap_or_default();
        if event.durable {
            writeln!(text, "id: {}", P::id(&self.cursor)).unwrap_or_default();
        }
        if event.data.len() < SHARED_BYTES_MIN {
            write!(text, "data: {}\n\n", event.data).unwrap_or_default();
            self.ready.push_back(text.into());
            return;
        }
        text.push_str("data: ");
        let data = Bytes::from_owner(Data(event.data.clone()));
        self.ready.extend([text.into(), data, Bytes::from_static(b"\n\n")]);
    }
}

/// Waits until there is something to read.
async fn moved<P: Picture>(
    conversations: &mut [Following<P>],
    workers: &mut [Following<Worker>],
    list: Option<&mut Listing>,
) {
    let mut waits: Vec<BoxFuture<'_, ()>> = Vec::new();
    for following in conversations {
        waits.push(changed(&mut following.moved).boxed());
    }
    for following in workers {
        waits.push(changed(&mut following.moved).boxed());
    }
    if let Some(list) = list {
        waits.push(changed(&mut list.moved).boxed());
    }
    if waits.is_empty() {
        pending::<()>().await;
    }
    select_all(waits).await;
}

async fn changed(moved: &mut watch::Receiver<()>) {
    if moved.changed().await.is_err() {
        // The feed is kept by its reader, so this does not happen.
        pending::<()>().await;
    }
}
