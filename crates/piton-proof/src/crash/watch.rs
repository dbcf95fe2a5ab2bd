//! Models that are watched: every request is remembered, and a process can die at every part of an answer.

use std::sync::Arc;

use piton::model::{AnswerStream, Model, ModelFailure, Models};
use piton_core::answer::Delta;
use piton_core::event::ModelRef;
use piton_core::integrity;
use piton_core::transcript::{Message, Transcript};

use crate::oracle;
use crate::world::{SeenRequest, World};

/// Lets a process die as its request leaves, and remembers every request.
#[derive(Debug)]
pub(super) struct WatchedModels {
    pub(super) inner: Arc<dyn Models>,
    pub(super) world: World,
}

impl Models for WatchedModels {
    fn find(&self, model: &ModelRef) -> Result<Arc<dyn Model>, ModelFailure> {
        let (inner, world) = (self.inner.find(model)?, self.world.clone());
        Ok(Arc::new(WatchedModel { inner, world }))
    }
}

#[derive(Debug)]
struct WatchedModel {
    inner: Arc<dyn Model>,
    world: World,
}

impl Model for WatchedModel {
    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        for violation in integrity::violations(transcript) {
            self.world.complain(format!("invalid request: {violation}"));
        }
        let answers = |message: &&Message| matches!(message, Message::Assistant(_));
        let place = transcript.messages().iter().filter(answers).count();
        self.world
            .see(SeenRequest { place, content: format!("{:?}", oracle::comparable(transcript)) });
        let (world, stream) = (self.world.clone(), self.inner.ask(transcript));
        Box::pin(futures_util::StreamExt::then(stream, move |delta| {
            let world = world.clone();
            async move {
                // Bytes without meaning come as the network likes; a point there would have no name.
                if delta != Ok(Delta::Alive) {
                    world.point().await;
                }
                delta
            }
        }))
    }
}
