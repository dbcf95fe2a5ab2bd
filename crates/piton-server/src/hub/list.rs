//! The list of conversations, watched once for all who read it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use piton::list::{Activity, Row};
use piton::store::{Filter, ListPosition, StoreError, TurnIs, Wants};
use piton::view::{BreakReason, Status};
use piton::{ConversationId, Engine, Shelf, Stage};
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval};
use utoipa::ToSchema;

use crate::forms::of_core;
use crate::limits::{ACTIVITY_EVERY, LIST_EVERY, LIST_ROWS, LIST_ROWS_MAX, RING_FRAMES_MAX};

/// A conversation in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct RowView {
    /// Its name.
    pub(crate) conversation: String,
    /// A title for people.
    pub(crate) title: String,
    /// The directory it works in.
    pub(crate) workspace: String,
    /// How it stands, in one word.
    pub(crate) state: RowState,
    /// What its open turn waits for, as in a view.
    #[schema(schema_with = of_core::<Status>)]
    pub(crate) status: Status,
    /// How many turns it has.
    pub(crate) turns: u32,
    /// Why its open turn broke, in a word, if it did: `api_error`, `interrupted`, `limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub(crate) broke: Option<BreakReason>,
    /// The worker that asks a person for it, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asking_worker: Option<String>,
    /// How many messages wait for a turn of their own.
    pub(crate) waiting: u32,
    /// When the next try of its turn is due, in milliseconds since 1970, if it waits for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_try: Option<u64>,
    /// When a turn last began or ended, in milliseconds since 1970.
    pub(crate) touched: u64,
    /// Where it is kept: `listed`, `archived` or `removed`.
    #[schema(schema_with = of_core::<Shelf>)]
    pub(crate) shelf: Shelf,
    /// The conversation that it works for, if it is a worker's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) works_for: Option<String>,
    /// The last entry of its journal. In the events, a row in which nothing else changed is not told.
    pub(crate) end: u64,
    /// The process that works on it, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) elsewhere: Option<u32>,
}

/// How a conversation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RowState {
    /// Somebody works on its turn.
    Running,
    /// A person is asked.
    Asking,
    /// Its turn is not over, and nobody works on it.
    Interrupted,
    /// Its turn was given up: the model gave no answer, or none that can be used.
    Failed,
    /// No turn is open.
    Done,
}

impl From<&Row> for RowView {
    fn from(row: &Row) -> Self {
        let works = match &row.activity {
            Activity::Here(stage) => *stage != Stage::Resting,
            Activity::Elsewhere(_) => true,
            Activity::Nobody | _ => false,
        };
        let failed = matches!(row.broke, Some(BreakReason::ApiError | BreakReason::EmptyAnswer));
        let state = match (&row.status, works) {
            (Status::Idle, _) => RowState::Done,
            (Status::WaitingForInput { .. }, _) => RowState::Asking,
            (_, true) => RowState::Running,
            (_, false) if failed => RowState::Failed,
            (_, false) => RowState::Interrupted,
        };
        let elsewhere = match &row.activity {
            Activity::Elsewhere(holder) => Some(holder.pid),
            Activity::Nobody | Activity::Here(_) | _ => None,
        };
        let next_try = match row.wants {
            Wants::NotBefore(moment) => Some(moment.0),
            Wants::Nobody | Wants::Driver | Wants::Person => None,
        };
        Self {
            conversation: row.conversation.to_string(),
            title: row.title.clone(),
            workspace: row.workspace.clone(),
            state,
            status: row.status.clone(),
            turns: row.turns,
            broke: row.broke,
            asking_worker: None,
            waiting: row.waiting,
            next_try,
            touched: row.touched.0,
            shelf: row.shelf,
            works_for: row.conversation.as_worker().map(|(parent, _)| parent.to_string()),
            end: row.end.0,
            elsewhere,
        }
    }
}

/// The workers that ask a person, by the conversation that they work for.
#[derive(Debug, Default)]
pub(crate) struct Askers(BTreeMap<ConversationId, BTreeSet<ConversationId>>);

impl Askers {
    /// Those that ask now.
    pub(crate) async fn now(engine: &Engine) -> Result<Self, StoreError> {
        let turn = Some(TurnIs::Asking);
        let filter = Filter { turn, worker: Some(true), ..Filter::default() };
        let mut askers = Self::default();
        for row in engine.list(filter, None, LIST_ROWS).await?.rows {
            askers.note(&row);
        }
        Ok(askers)
    }

    /// Takes in how a worker stands; the conversation that looks different by that.
    fn note(&mut self, row: &Row) -> Option<ConversationId> {
        row.conversation.as_worker()?;
        let root = row.conversation.root();
        let asks = matches!(row.status, Status::WaitingForInput { .. });
        let workers = self.0.entry(root.clone()).or_default();
        let has_changed = if asks {
            workers.insert(row.conversation.clone())
        } else {
            workers.remove(&row.conversation)
        };
        if workers.is_empty() {
            self.0.remove(&root);
        }
        has_changed.then_some(root)
    }

    /// A conversation as lists show it: a worker that asks, asks for it.
    pub(crate) fn view(&self, row: &Row) -> RowView {
        let mut view = RowView::from(row);
        let worker = self.0.get(&row.conversation).and_then(BTreeSet::first);
        if let Some(worker) = worker.filter(|_| view.state != RowState::Done) {
            (view.state, view.asking_worker) = (RowState::Asking, Some(worker.to_string()));
        }
        view
    }
}

/// The list, watched as long as this lives.
#[derive(Debug)]
pub(crate) struct ListFeed {
    state: Arc<State>,
    task: AbortHandle,
}

/// A frame of the list: its number in this process, the moment it leads to, and what it tells.
pub(crate) type ListFrame = (u64, ListPosition, Arc<str>);

/// What a reader of the list gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListRead {
    /// Nothing is new.
    Nothing,
    /// What changed.
    Changes(Vec<ListFrame>),
    /// More than is kept: the list is read anew.
    Behind,
    /// The list cannot be watched any more.
    Failed,
}

#[derive(Debug)]
struct State {
    kept: Mutex<Kept>,
    moved: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Kept {
    ring: VecDeque<ListFrame>,
    /// The number of the newest frame.
    newest: u64,
    begun: bool,
    failed: bool,
}

type Render = fn(&[RowView]) -> Arc<str>;

impl ListFeed {
    pub(super) fn start(engine: &Engine, render: Render) -> Arc<Self> {
        let state = Arc::new(State { kept: Mutex::default(), moved: watch::Sender::new(()) });
        let (engine, shared) = (engine.clone(), state.clone());
        let running = tokio::spawn(async move {
            if run(&engine, render, &shared).await.is_err() {
                shared.lock().failed = true;
                shared.moved.send_replace(());
            }
        });
        Arc::new(Self { state, task: running.abort_handle() })
    }

    pub(crate) fn moved(&self) -> watch::Receiver<()> {
        self.state.moved.subscribe()
    }

    /// The newest frame: a reader that reads the list now misses nothing behind it. None, as long as the
    /// list is not watched yet.
    pub(crate) fn newest(&self) -> Option<u64> {
        let kept = self.state.lock();
        (kept.begun || kept.failed).then_some(kept.newest)
    }

    /// What came behind a frame.
    pub(crate) fn read(&self, seen: u64) -> ListRead {
        let kept = self.state.lock();
        if kept.failed {
            return ListRead::Failed;
        }
        if kept.newest <= seen {
            return ListRead::Nothing;
        }
        let first = kept.ring.front().map_or(u64::MAX, |(number, ..)| *number);
        if seen + 1 < first {
            return ListRead::Behind;
        }
        let news = kept.ring.iter().filter(|(number, ..)| seen < *number);
        ListRead::Changes(news.cloned().collect())
    }
}

impl Drop for ListFeed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, position: ListPosition, text: Arc<str>) {
        let mut kept = self.lock();
        kept.newest += 1;
        let frame = (kept.newest, position, text);
        kept.ring.push_back(frame);
        if RING_FRAMES_MAX < kept.ring.len() {
            kept.ring.pop_front();
        }
        drop(kept);
        self.moved.send_replace(());
    }
}

/// Watches the list. What changes within [`LIST_EVERY`] is told together, so a thousand turns at work are a
/// few frames a second and not a frame for each entry.
async fn run(engine: &Engine, render: Render, state: &State) -> Result<(), StoreError> {
    let list = engine.list(Filter::default(), None, LIST_ROWS).await?;
    let (mut position, mut busy) = (list.position, Busy::now(engine).await?);
    for row in &list.rows {
        busy.note(row);
    }
    state.lock().begun = true;
    state.moved.send_replace(());
    let mut look = interval(ACTIVITY_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let shown = tokio::select! {
            changes = engine.changes(position, LIST_ROWS_MAX) => {
                let changes = changes?;
                position = changes.position;
                busy.changed(engine, changes.rows).await?
            }
            _ = look.tick() => busy.look(engine).await?,
        };
        if !shown.is_empty() {
            state.push(position, render(&shown));
            tokio::time::sleep(LIST_EVERY).await;
        }
    }
}

/// The conversations that somebody works on, as they were last told.
#[derive(Debug)]
struct Busy {
    rows: BTreeMap<ConversationId, (Activity, RowView)>,
    askers: Askers,
}

impl Busy {
    async fn now(engine: &Engine) -> Result<Self, StoreError> {
        Ok(Self { rows: BTreeMap::new(), askers: Askers::now(engine).await? })
    }

    /// Takes in rows that changed; what to tell of them, and of conversations that look different because a
    /// worker asks for them.
    async fn changed(
        &mut self,
        engine: &Engine,
        mut rows: Vec<Row>,
    ) -> Result<Vec<RowView>, StoreError> {
        let asked_for: BTreeSet<_> = rows.iter().filter_map(|row| self.askers.note(row)).collect();
        for id in asked_for {
            rows.retain(|row| row.conversation != id);
            rows.extend(engine.row(&id).await?);
        }
        Ok(rows.iter().filter_map(|row| self.note(row)).collect())
    }

    /// Remembers a row; what to tell of it. A turn at work writes entry after entry, and that alone is no
    /// news for a list.
    fn note(&mut self, row: &Row) -> Option<RowView> {
        let now = self.askers.view(row);
        if row.activity == Activity::Nobody {
            self.rows.remove(&row.conversation);
            return Some(now);
        }
        let known = (row.activity.clone(), now.clone());
        let before = self.rows.insert(row.conversation.clone(), known);
        let is_known = before.is_some_and(|(_, before)| before.with_end(now.end) == now);
        (!is_known).then_some(now)
    }

    /// Who works on a conversation can change without an entry, so it is looked at from time to time.
    async fn look(&mut self, engine: &Engine) -> Result<Vec<RowView>, StoreError> {
        let running = engine.running().into_iter();
        let here: BTreeMap<_, _> = running.map(|it| (it.conversation, it.stage)).collect();
        let is_same = |id: &ConversationId, activity: &Activity| match activity {
            Activity::Here(stage) => here.get(id) == Some(stage),
            Activity::Nobody | Activity::Elsewhere(_) | _ => false,
        };
        let changed = self.rows.iter().filter(|(id, (activity, _))| !is_same(id, activity));
        let changed: Vec<_> = changed.map(|(id, (_, row))| (id.clone(), row.clone())).collect();
        let mut shown = Vec::new();
        for (id, before) in changed {
            let Some(row) = engine.row(&id).await? else { continue };
            shown.extend(self.note(&row).filter(|now| *now != before));
        }
        Ok(shown)
    }
}

impl RowView {
    /// The same row with another last entry.
    fn with_end(self, end: u64) -> Self {
        Self { end, ..self }
    }
}
