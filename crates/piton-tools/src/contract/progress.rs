//! How far a running call is, for faces that watch it. Nothing of it is recorded.

use std::fmt;
use std::sync::Arc;

type Listener = dyn Fn(&str) + Send + Sync;

/// Where a running call says how far it is. Without a listener nobody hears it.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Listener>>);

impl Progress {
    /// Tells it to `listener`, which must not wait.
    pub fn to(listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    /// Says how far the call is, in one line. The newest word counts.
    pub fn say(&self, text: &str) {
        if let Some(listener) = &self.0 {
            listener(text);
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").field(&self.0.is_some()).finish()
    }
}
