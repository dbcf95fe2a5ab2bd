//! How far a running call is, for faces that watch it. Nothing of it is recorded.

use std::fmt;
use std::sync::Arc;

type Listener = dyn Fn(Shown<'_>) + Send + Sync;

/// What a running call says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown<'a> {
    /// How far it is, in one line.
    Far(&'a str),
    /// What it has printed.
    Printed {
        /// The end of it.
        tail: &'a str,
        /// All of it, in bytes.
        bytes: u64,
    },
}

/// Where a running call says how far it is. Without a listener nobody hears it.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Listener>>);

impl Progress {
    /// Tells it to `listener`, which must not wait.
    pub fn to(listener: impl Fn(Shown<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    /// Says how far the call is, in one line. The newest word counts.
    pub fn say(&self, text: &str) {
        self.tell(Shown::Far(text));
    }

    /// Shows the end of what the call has printed so far.
    pub fn print(&self, tail: &str, bytes: u64) {
        self.tell(Shown::Printed { tail, bytes });
    }

    fn tell(&self, word: Shown<'_>) {
        if let Some(listener) = &self.0 {
            listener(word);
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").field(&self.0.is_some()).finish()
    }
}
