//! Jobs of the world: work that goes on when its driver dies, as a supervised command does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{collections::BTreeMap, time::Duration};

use piton_tools::Settled;
use tokio::sync::watch;

/// All jobs that were ever begun, by the name of their record.
#[derive(Clone, Debug, Default)]
pub(super) struct Jobs {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    named: u64,
    /// Whether it has ended.
    jobs: BTreeMap<String, watch::Sender<bool>>,
}

impl Jobs {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A name that no job has: every start has a record of its own.
    pub(super) fn name(&self) -> String {
        let mut shared = self.shared();
        shared.named += 1;
        format!("job-{}", shared.named)
    }

    /// Whether the job of this name was begun.
    pub(super) fn is_begun(&self, name: &str) -> bool {
        self.shared().jobs.contains_key(name)
    }

    /// Begins the job of this name, unless that was done before.
    pub(super) fn begin(&self, name: &str, pause: Duration, act: impl FnOnce() + Send + 'static) {
        let mut shared = self.shared();
        if shared.jobs.contains_key(name) {
            return;
        }
        let end = watch::Sender::new(false);
        shared.jobs.insert(name.to_owned(), end.clone());
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            act();
            end.send_replace(true);
        });
    }

    /// Waits for the end of a job.
    pub(super) async fn end(&self, name: &str) {
        let ended = self.shared().jobs.get(name).map(watch::Sender::subscribe);
        if let Some(mut ended) = ended {
            // Jobs stay on the list, so the wait cannot fail.
            ended.wait_for(|ended| *ended).await.map(|_| ()).unwrap_or_default();
        }
    }

    /// What became of a job, as its record has it.
    pub(super) fn settle(
        &self,
        name: &str,
        result: impl FnOnce() -> piton_tools::Finished,
    ) -> Settled {
        match self.shared().jobs.get(name).map(|job| *job.borrow()) {
            None => Settled::NotApplied,
            Some(false) => Settled::Running,
            Some(true) => Settled::Applied(result()),
        }
    }
}
