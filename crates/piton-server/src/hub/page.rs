//! A conversation and the list as parts of a page.

use std::sync::Arc;

use piton::view::{Refused, Status};
use piton::{ConversationId, Live, Shelf, View, ViewChange};
use piton_core::id::Timestamp;
use piton_page::{Frame, Is, ListRow, Model, Renderer, list_frame, list_without, stands_still};

use super::list::{RowState, RowView};
use super::picture::{Picture, text};
use crate::cursor::Cursor;

/// A conversation as HTML. A page that takes its frames shows what a page that is drawn anew shows.
#[derive(Debug)]
pub(crate) struct Page(pub(crate) Renderer);

impl Picture for Page {
    // The page reads itself again.
    const WHOLE: &'static str = "reset";
    const CHANGE: &'static str = "patch";
    // Fits a page that shows the entry which was told last.
    const LIVE: &'static str = "live";
    const LIST_PASSING: &'static str = "passing";
    const CHANGE_TELLS_LIVE: bool = true;

    fn new(conversation: &ConversationId, view: View, models: &[Model]) -> Self {
        Self(Renderer::with_models(conversation, view, Live::default(), models.to_vec()))
    }

    fn view(&self) -> &View {
        self.0.view()
    }

    fn change(&mut self, change: &ViewChange) -> Result<Arc<str>, Refused> {
        self.0.change(change).map(|frame| text(&frame))
    }

    fn live(&mut self, live: &Live) -> Option<Arc<str>> {
        let frame = self.0.live(live);
        (!frame.is_empty()).then(|| text(&frame))
    }

    fn now(&self) -> Option<Arc<str>> {
        Some(text(&self.0.now()))
    }

    fn workers(&self) -> Vec<ConversationId> {
        self.0.workers().cloned().collect()
    }

    fn whole(&self) -> Arc<str> {
        "{}".into()
    }

    fn alone(_conversation: &ConversationId, _change: &ViewChange) -> Option<Arc<str>> {
        None
    }

    fn rows(rows: &[RowView]) -> Arc<str> {
        let mut rows: Vec<_> = rows.iter().filter(|row| row.works_for.is_none()).collect();
        // The newest one is put in front last.
        rows.sort_by_key(|row| row.touched);
        let frame = |row: &RowView| match row.shelf {
            Shelf::Listed => list_frame(&ListRow::from(row)),
            Shelf::Archived | Shelf::Removed => list_without(&row.conversation),
        };
        let ops = rows.into_iter().flat_map(|row| frame(row).ops).collect();
        text(&Frame { ops })
    }

    fn id(cursor: &Cursor) -> String {
        cursor.page()
    }
}

impl From<&RowView> for ListRow {
    fn from(row: &RowView) -> Self {
        let (is, mut says) = match (row.state, &row.status) {
            // The time of the next try says it all.
            (RowState::Running, _) if row.next_try.is_some() => (Is::Running, String::new()),
            (RowState::Running, _) => (Is::Running, "running".into()),
            (RowState::Asking, _) if row.asking_worker.is_some() => (Is::Ask, worker_asks(row)),
            (RowState::Asking, Status::WaitingForInput { tool }) => {
                (Is::Ask, format!("waits for you · {tool}"))
            }
            (RowState::Asking, _) => (Is::Ask, "waits for you".into()),
            (RowState::Failed, _) => (Is::Bad, stands_still(row.broke).into()),
            (RowState::Interrupted, _) => (Is::Halt, stands_still(row.broke).into()),
            (RowState::Done, _) if row.turns == 0 => (Is::Empty, "no turn yet".into()),
            (RowState::Done, _) => (Is::Done, "done".into()),
        };
        if 0 < row.waiting {
            let gap = if says.is_empty() { "" } else { " · " };
            says = format!("{says}{gap}{} queued", row.waiting);
        }
        Self {
            id: row.conversation.clone(),
            title: row.title.clone(),
            directory: row.workspace.clone(),
            is,
            says,
            next_try: row.next_try.map(Timestamp),
            touched: Timestamp(row.touched),
        }
    }
}

/// The number of a worker is that of its call, as on the page of the conversation.
fn worker_asks(row: &RowView) -> String {
    let worker = row.asking_worker.as_deref().map(ConversationId::new);
    let call = worker.and_then(|worker| worker.as_worker()).map(|(_, call)| call);
    let number = call.map_or(0, |call| call.index.saturating_add(1));
    format!("worker {number} waits for you")
}
