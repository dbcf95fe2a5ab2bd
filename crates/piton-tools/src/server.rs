//! A program that serves the agent from inside the sandbox, in many calls: how it is started, and what it changes of
//! what others obey.
//!
//! Where there are namespaces it has its own, with everything locked that exists. In any case protected places are
//! compared around its start, each of its calls and its end. Between calls they are not: what changes then, a person may
//! have changed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sandbox::Policy;
use crate::shell::{passing_notes, shown_places};
use crate::supervise::record::guard::{Instead, Settled, Watch};

pub use crate::supervise::process::server::{FOUNDED, arguments, order};

/// What protected places are compared for.
#[derive(Clone, Debug)]
pub struct Guard {
    /// What the server may do.
    pub policy: Policy,
    /// Where the records of commands are, which may run at the same time.
    calls: PathBuf,
    /// What stood there when the server last worked.
    last: Arc<Mutex<Option<Settled>>>,
}

/// A stretch of time in which the server works. Dropping it settles as well.
#[derive(Debug)]
pub struct Stretch {
    watch: Option<Watch>,
    guard: Guard,
    /// What was changed before it began.
    notes: Vec<String>,
}

impl Guard {
    /// For a server with a policy. In `calls` are the records of commands.
    pub fn new(policy: Policy, calls: PathBuf) -> Self {
        Self { policy, calls, last: Arc::default() }
    }

    /// Notes what stands at protected places.
    pub fn begin(&self) -> Stretch {
        let watch = Watch::begin(&self.policy, Some(&self.calls));
        let changed = self.last().as_ref().map(|last| watch.changed_since(last));
        let places = shown_places(&changed.unwrap_or_default());
        let note = format!(
            "[since the last call of this server somebody changed what programs outside the sandbox obey ({places}): the \
             server or another program, nobody knows; that was left so]"
        );
        let notes = if places.is_empty() { Vec::new() } else { vec![note] };
        Stretch { watch: Some(watch), guard: self.clone(), notes }
    }

    fn last(&self) -> MutexGuard<'_, Option<Settled>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stretch {
    /// Puts back what was changed meanwhile, and says so to the model. What was written instead stands beside it, by a
    /// name that nobody obeys.
    pub fn settle(mut self) -> Vec<String> {
        self.settle_once();
        std::mem::take(&mut self.notes)
    }

    fn settle_once(&mut self) {
        let Some(watch) = self.watch.take() else { return };
        let (put_back, settled) = watch.settle(Instead::Aside);
        *self.guard.last() = Some(settled);
        let notes = passing_notes(&put_back);
        if !notes.is_empty() {
            self.notes.extend(notes);
            self.notes
                .push("[what was written there has names that begin with not-obeyed-]".into());
        }
    }
}

impl Drop for Stretch {
    fn drop(&mut self) {
        self.settle_once();
    }
}
