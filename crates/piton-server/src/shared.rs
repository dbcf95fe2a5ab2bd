//! What all requests share: one engine, who may speak to it, and what is counted.

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use piton::clock::Clock;
use piton::search::Search;
use piton::store::StoreError;
use piton::{ConversationId, Engine};
use piton_agent::Agent;
use tokio::sync::{OnceCell, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::access::{TokenChanges, Tokens};
use crate::chance;
use crate::drafts::Drafts;
use crate::fault::Fault;
use crate::hub::Hub;
use crate::limits::{BEAT_EVERY, UPLOADS_MAX};
use crate::models;
use crate::opened::Opened;

/// What a server is made of.
#[derive(Debug)]
pub struct Parts {
    /// Performs turns, and reads and writes conversations.
    pub engine: Engine,
    /// Knows models and settings.
    pub agent: Arc<Agent>,
    /// Who may speak to it.
    pub tokens: Tokens,
    /// Where it may work.
    pub opened: Opened,
    /// Names under which it is reached, beside those of this machine for itself.
    pub names: Vec<String>,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

/// What requests were, counted since the start.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Requests that were answered.
    pub(crate) requests: AtomicU64,
    /// Requests that were refused before anything was done.
    pub(crate) refused: AtomicU64,
    /// Answers that were a fault of ours.
    pub(crate) failed: AtomicU64,
    /// Commands that were accepted.
    pub(crate) commands: AtomicU64,
    /// Streams that are open.
    pub(crate) streams: AtomicU64,
    /// Connections that are open.
    pub(crate) connections: AtomicU64,
}

/// Counts one thing as long as it lives.
#[derive(Debug)]
pub(crate) struct Counted {
    shared: Shared,
    which: fn(&Counts) -> &AtomicU64,
}

impl Counted {
    pub(crate) fn new(shared: &Shared, which: fn(&Counts) -> &AtomicU64) -> Self {
        which(&shared.counts).fetch_add(1, Ordering::Relaxed);
        Self { shared: shared.clone(), which }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.which)(&self.shared.counts).fetch_sub(1, Ordering::Relaxed);
    }
}

/// What all requests share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Inner>);

/// What is behind it.
pub(crate) struct Inner {
    pub(crate) parts: Parts,
    pub(crate) hub: Hub,
    pub(crate) uploads: Semaphore,
    pub(crate) drafts: Drafts,
    search: OnceCell<Search>,
    /// Looks at the tokens as long as a stream is open.
    token_changes: Mutex<Weak<TokenChanges>>,
    /// Held while a conversation is begun under a name of the client.
    beginning: tokio::sync::Mutex<()>,
    pub(crate) counts: Counts,
    /// The server is about to stop.
    pub(crate) stop: CancellationToken,
    /// This start of the server.
    pub(crate) boot: String,
}

impl Deref for Shared {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("boot", &self.boot).finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(parts: Parts) -> Self {
        let hub = Hub::new(&parts.engine, &models::choices(&parts.agent).into());
        let drafts = Drafts::of(&parts.agent.settings().home);
        Self(Arc::new(Inner {
            parts,
            hub,
            uploads: Semaphore::new(UPLOADS_MAX),
            drafts,
            search: OnceCell::new(),
            token_changes: Mutex::default(),
            beginning: tokio::sync::Mutex::default(),
            counts: Counts::default(),
            stop: CancellationToken::new(),
            boot: chance::name(),
        }))
    }

    /// Time between two signs of life on a stream.
    pub(crate) fn beat(&self) -> Duration {
        self.parts.agent.serve_beat().unwrap_or(BEAT_EVERY)
    }

    /// How long a stream may be silent before a page opens it again: two and a half beats.
    pub(crate) fn silence(&self) -> Duration {
        self.beat() * 5 / 2
    }

    /// Of two requests that begin a conversation under a name of the client, one has its turn.
    pub(crate) async fn begin_alone(
        &self,
        named: Option<&ConversationId>,
    ) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        match named {
            Some(_) => Some(self.beginning.lock().await),
            None => None,
        }
    }

    /// Tells when tokens come and go, as long as it is held.
    pub(crate) fn token_changes(&self) -> Arc<TokenChanges> {
        let mut known = self.token_changes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.upgrade() {
            return known;
        }
        let changes = TokenChanges::start(&self.parts.tokens);
        *known = Arc::downgrade(&changes);
        changes
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.parts.engine
    }

    /// The conversation of this name. Nothing else touches a name that a client made up.
    pub(crate) async fn known(&self, typed: &str) -> Result<ConversationId, Fault> {
        let id = ConversationId::new(typed);
        match self.engine().journal().status(&id).await? {
            Some(_) => Ok(id),
            None => Err(Fault::unknown(typed)),
        }
    }

    /// The same, if this server may work where it works.
    pub(crate) async fn writable(&self, typed: &str) -> Result<ConversationId, Fault> {
        self.workspace(typed).await?;
        Ok(ConversationId::new(typed))
    }

    /// The open directory that a conversation works in.
    pub(crate) async fn workspace(&self, typed: &str) -> Result<PathBuf, Fault> {
        let listed = self.engine().journal().status(&ConversationId::new(typed)).await?;
        let listed = listed.ok_or_else(|| Fault::unknown(typed))?;
        self.parts.opened.admits(&listed.row.workspace)?;
        Ok(PathBuf::from(listed.row.workspace))
    }

    /// Looks through what was said. Opened when somebody first searches.
    pub(crate) async fn search(&self) -> Result<&Search, StoreError> {
        let home: PathBuf = self.parts.agent.settings().home.clone();
        let journal = self.engine().journal().clone();
        self.search.get_or_try_init(|| async move { Search::open(journal, &home).await }).await
    }
}
