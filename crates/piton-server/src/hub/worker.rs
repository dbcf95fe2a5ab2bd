//! A worker as a part of the page of the conversation that it works for.

use std::sync::Arc;

use piton::view::Refused;
use piton::{ConversationId, Live, View, ViewChange};
use piton_page::{Model, Nested};

use super::list::RowView;
use super::picture::{Picture, text};

/// A worker as HTML, in the call that it works for. Its frames have no place in the cursor of a stream: a
/// reader that comes gets the whole first.
#[derive(Debug)]
pub(crate) struct Worker(pub(crate) Nested);

impl Picture for Worker {
    const WHOLE: &'static str = "passing";
    const CHANGE: &'static str = "passing";
    const LIVE: &'static str = "passing";
    const LIST_PASSING: &'static str = "passing";
    const CHANGE_TELLS_LIVE: bool = true;

    fn new(conversation: &ConversationId, view: View, _models: &[Model]) -> Self {
        Self(Nested::new(conversation, view, Live::default()))
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

    fn whole(&self) -> Arc<str> {
        text(&self.0.whole())
    }

    fn alone(_conversation: &ConversationId, _change: &ViewChange) -> Option<Arc<str>> {
        None
    }

    fn rows(_rows: &[RowView]) -> Arc<str> {
        // Workers are in no list.
        "[]".into()
    }
}
