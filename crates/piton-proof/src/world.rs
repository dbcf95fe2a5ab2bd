//! A small world outside the agent: files, a ledger of effects, and death on command.
//!
//! The world outlives the driver. It counts the points at which a process could die, kills the
//! driver at the chosen one, and remembers every effect that was really done.

mod command;
mod effect;
mod hooks;
mod job;
mod tool;
mod yard;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

pub use self::command::command_tools;
pub use self::effect::Effect;
pub(crate) use self::hooks::Place;
pub use self::hooks::WorldHooks;
use self::job::Jobs;
pub use self::tool::{SECRET, WorldTool, shell, world_tools};
use self::yard::Yard;
pub use self::yard::{Mistake, Runner, Workshop};

/// A world that a driver acts on.
#[derive(Clone, Debug, Default)]
pub struct World {
    shared: Arc<Shared>,
    process: Arc<Process>,
}

/// A process of the world: how far it is, and when it dies.
#[derive(Debug, Default)]
struct Process {
    course: Mutex<Course>,
    died: Notify,
}

#[derive(Debug, Default)]
struct Course {
    /// Lives that have begun.
    lives: u64,
    /// Points passed in this life.
    points: u64,
    kill_at: Option<u64>,
    dead: bool,
}

#[derive(Debug, Default)]
struct Shared {
    inner: Mutex<Inner>,
    jobs: Jobs,
    /// Where real commands run, if there are any.
    yard: Option<Arc<Yard>>,
    oversight: Option<Oversight>,
}

/// Something that is forgotten on purpose, to see whether the oracle notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oversight {
    /// Hooks deny, and nobody hears it.
    VerdictIgnored,
    /// Calls are not shown to hooks.
    HooksNotAsked,
    /// After a crash nobody knows that a command runs only because it looks.
    WallForgotten,
}

#[derive(Debug, Default)]
struct Inner {
    ledger: Vec<Effect>,
    files: BTreeMap<String, String>,
    requests: Vec<SeenRequest>,
    problems: Vec<String>,
    /// Calls that hooks were shown, and whether they were denied.
    shown: BTreeMap<Place, bool>,
    /// Calls whose end hooks were told, in order.
    told: Vec<Place>,
}

/// A request that reached the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenRequest {
    /// How many answers it had behind it.
    pub place: usize,
    /// All of it, in a form that can be compared.
    pub content: String,
}

impl World {
    /// A world with real commands or without, in which something may be forgotten.
    pub fn new(shop: Option<&Workshop>, oversight: Option<Oversight>) -> Self {
        let yard = shop.map(|shop| Arc::new(shop.yard()));
        let shared = Shared { yard, oversight, ..Shared::default() };
        Self { shared: Arc::new(shared), process: Arc::default() }
    }

    /// The same world, seen by another process that lives and dies by itself.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self { shared: self.shared.clone(), process: Arc::default() }
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        self.process.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.shared.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a life that ends at the given point, or never.
    pub fn begin_life(&self, kill_at: Option<u64>) {
        let mut course = self.course();
        course.lives += 1;
        course.points = 0;
        course.kill_at = kill_at;
        course.dead = false;
    }

    /// A point at which a process can die. A task that passes the chosen point, or a later one, never
    /// comes back.
    pub async fn point(&self) {
        let dead = {
            let mut course = self.course();
            course.points += 1;
            course.dead |= course.kill_at == Some(course.points);
            course.dead
        };
        if dead {
            self.process.died.notify_one();
            std::future::pending::<()>().await;
        }
    }

    /// Waits for death.
    pub async fn died(&self) {
        while !self.course().dead {
            self.process.died.notified().await;
        }
    }

    /// Which life this is, from 1.
    pub fn life(&self) -> u64 {
        self.course().lives
    }

    /// Points passed in this life.
    pub fn points(&self) -> u64 {
        self.course().points
    }

    /// Everything that was really done, over all lives: in order, and what commands did behind it.
    pub fn ledger(&self) -> Vec<Effect> {
        let mut ledger = self.inner().ledger.clone();
        ledger.extend(self.shared.yard.iter().flat_map(|yard| yard.ledger()));
        ledger
    }

    /// Waits until nothing goes on that outlived its driver.
    pub async fn quiet(&self) {
        if let Some(yard) = &self.shared.yard {
            yard.quiet().await;
        }
    }

    /// All files.
    pub fn files(&self) -> BTreeMap<String, String> {
        self.inner().files.clone()
    }

    /// All requests that reached the model, over all lives.
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.inner().requests.clone()
    }

    /// What the world itself found wrong.
    pub fn problems(&self) -> Vec<String> {
        self.inner().problems.clone()
    }

    /// Reports something that must not happen.
    pub fn complain(&self, problem: impl Into<String>) {
        self.inner().problems.push(problem.into());
    }

    /// Calls that hooks were shown, over all lives, and whether they were denied.
    pub(crate) fn shown(&self) -> BTreeMap<Place, bool> {
        self.inner().shown.clone()
    }

    /// Calls whose end hooks were told, over all lives.
    pub(crate) fn told(&self) -> Vec<Place> {
        self.inner().told.clone()
    }

    pub(crate) fn oversight(&self) -> Option<Oversight> {
        self.shared.oversight
    }

    fn show(&self, call: Place, is_denied: bool) {
        self.inner().shown.insert(call, is_denied);
    }

    fn tell(&self, call: Place) {
        self.inner().told.push(call);
    }

    fn jobs(&self) -> &Jobs {
        &self.shared.jobs
    }

    pub(crate) fn record(&self, effect: Effect) {
        self.inner().ledger.push(effect);
    }

    pub(crate) fn see(&self, request: SeenRequest) {
        self.inner().requests.push(request);
    }

    pub(crate) fn file(&self, path: &str) -> Option<String> {
        self.inner().files.get(path).cloned()
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        self.inner().files.insert(path.to_owned(), content.to_owned());
    }
}
