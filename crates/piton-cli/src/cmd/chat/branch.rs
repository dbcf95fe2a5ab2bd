//! `/fork`, `/rewind` and `/edit`: the chat goes on in a fork.

use std::time::Duration;

use piton::{Engine, ForkAt};
use piton_core::id::ConversationId;

use super::Sitting;
use crate::ask::keys::{FORK, Menu, QUIT, YES};
use crate::cmd::fork::{self, Made};
use crate::cmd::query::anew::{self, Anew, Change};
use crate::cmd::query::plan::Wish;
use crate::cmd::query::stage::Stage;
use crate::cmd::rewind;
use crate::cmd::undo::turn::Wanted;
use crate::flags::{Place, STOP_WAIT_S};
use crate::output::Form;
use crate::report::Fault;

/// What is said where nothing can be forked.
const NOT_BEGUN: &str = "This conversation has not begun.";

impl Sitting {
    pub(super) async fn fork(&mut self, words: &str, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let Some(id) = self.conversation.clone() else {
            stage.output.talk(NOT_BEGUN);
            return Ok(());
        };
        let engine = self.engine(stage)?;
        let made = if words.is_empty() {
            fork::make(&engine, &id, &ForkAt::End, None).await.map_err(Fault::from)
        } else {
            rewind::fork(&engine, &id, &Place::of(words)).await
        };
        engine.shutdown(Duration::ZERO).await;
        self.go_to(made?, stage).await
    }

    pub(super) async fn rewind(&mut self, words: &str, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let Some(id) = self.conversation.clone() else {
            stage.output.talk(NOT_BEGUN);
            return Ok(());
        };
        let engine = self.engine(stage)?;
        let gone = if words.is_empty() {
            rewind::list(&engine, &id, Form::Text, stage.output).await.map(|is_any| {
                if is_any {
                    let said =
                        "/rewind TURN goes back in front of one; what to do with files is asked.";
                    stage.output.talk(said);
                }
                None
            })
        } else {
            self.go_back(&engine, &id, &Place::of(words), stage).await
        };
        engine.shutdown(Duration::ZERO).await;
        match gone? {
            Some(made) => self.go_to(made, stage).await,
            None => Ok(()),
        }
    }

    /// Sends a changed message in a fork in front of the last one. Without a text, the last one is there to be
    /// changed in the next line.
    pub(super) async fn edit(&mut self, words: &str, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let last = anew::last_text(&self.view(stage).await?);
        let (Some(id), Some(last)) = (self.conversation.clone(), last) else {
            stage.output.talk("This conversation has not begun: there is no message to change.");
            return Ok(());
        };
        if words.is_empty() {
            stage.output.talk("Change it and press Return; Ctrl-C leaves it as it is.");
            self.begun = Some(format!("/edit {last}"));
            return Ok(());
        }
        let change = Change { message: None, text: Some(words) };
        let made = anew::prepare(change, Some(id.as_str()), self.settings(), stage.output).await?;
        let Anew { conversation, text, along } = match made {
            Ok(anew) => anew,
            Err(nothing) => {
                nothing.tell(stage.output);
                return Ok(());
            }
        };
        self.conversation = Some(conversation.clone());
        stage.conversation = Some(conversation);
        self.attached.extend(along.files);
        self.say(Some(text), Wish::Continue, stage).await
    }

    /// Goes back in front of a place. What becomes of files is shown and asked first.
    async fn go_back(
        &self,
        engine: &Engine,
        id: &ConversationId,
        place: &Place,
        stage: &mut Stage<'_>,
    ) -> Result<Option<Made>, Fault> {
        let changed = rewind::changed(engine, id, place).await?;
        changed.show(Wanted::Back, Form::Text, stage.output);
        let with_files = if changed.files.is_empty() {
            false
        } else {
            let menu = Menu::of(&[
                (YES, "go back, files too", "files become what is said above"),
                (FORK, "only the conversation", "files stay as they are"),
                (QUIT, "leave it", "nothing is changed"),
            ]);
            let key = stage.choose(&menu).await?;
            if key == QUIT {
                stage.output.talk("Nothing is changed.");
                return Ok(None);
            }
            key == YES
        };
        let made = rewind::fork(engine, id, place).await?;
        if with_files {
            let how = (STOP_WAIT_S, Form::Text, self.settings());
            if 0 < changed.take_back(Wanted::Back, how, stage.output).await? {
                stage.output.talk("Files that are not as they were left stay as they are.");
            }
        }
        Ok(Some(made))
    }

    /// Sits down at a fork. A question that is open there is asked.
    async fn go_to(&mut self, made: Made, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let Made { conversation, told, .. } = made;
        stage.output.talk(&told);
        self.conversation = Some(conversation.clone());
        stage.conversation = Some(conversation.clone());
        if self.asks(&conversation, stage).await? {
            return self.say(None, Wish::Continue, stage).await;
        }
        stage.output.talk("The next message goes there.");
        Ok(())
    }
}
