//! `/fork` and `/rewind`: the chat goes on in a fork.

use std::time::Duration;

use piton::ForkAt;
use piton_core::id::ConversationId;

use super::Sitting;
use crate::cmd::query::stage::Stage;
use crate::cmd::{fork, rewind};
use crate::flags::{Rewind, in_front_of};
use crate::report::Fault;

/// What is said where nothing can be forked.
const NOT_BEGUN: &str = "This conversation has not begun.";

impl Sitting {
    pub(super) async fn fork(&mut self, words: &str, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let Some(id) = self.conversation.clone() else {
            stage.output.talk(NOT_BEGUN);
            return Ok(());
        };
        let at = if words.is_empty() { ForkAt::End } else { in_front_of(words) };
        let engine = self.engine(stage)?;
        let made = fork::make(&engine, &id, &at, None).await;
        engine.shutdown(Duration::ZERO).await;
        let fork::Made { conversation, told } = made?;
        stage.output.talk(&told);
        self.go_to(conversation, stage);
        Ok(())
    }

    pub(super) async fn rewind(&mut self, words: &str, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let Some(id) = self.conversation.clone() else {
            stage.output.talk(NOT_BEGUN);
            return Ok(());
        };
        let engine = self.engine(stage)?;
        if words.is_empty() {
            let listed = rewind::list(&engine, &id, stage.output).await;
            engine.shutdown(Duration::ZERO).await;
            listed?;
            stage
                .output
                .talk("/rewind TURN goes back in front of one, and takes back its changes.");
            return Ok(());
        }
        let flags = Rewind { files: true, ..Rewind::default() };
        let gone = rewind::go(&engine, &id, words, (&flags, self.settings()), stage.output).await;
        engine.shutdown(Duration::ZERO).await;
        let rewind::Gone { conversation, left } = gone?;
        if 0 < left {
            stage.output.talk("Files that somebody else changed stay as they are.");
        }
        self.go_to(conversation, stage);
        Ok(())
    }

    fn go_to(&mut self, conversation: ConversationId, stage: &mut Stage<'_>) {
        self.conversation = Some(conversation.clone());
        stage.conversation = Some(conversation);
        stage.output.talk("The next message goes there.");
    }
}
