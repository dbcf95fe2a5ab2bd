//! What a chat shows of its conversation again, and how it names, writes out and puts it away. Each is the
//! command of the shell with the same name.

use std::path::PathBuf;

use piton_core::id::ConversationId;

use super::Sitting;
use crate::cmd::query::stage::Stage;
use crate::cmd::{export, print, rename, shelve};
use crate::flags::{Archive, Export, Print, Rename, Turns};
use crate::report::{Fault, Report};

/// What is said where there is nothing to show, name or put away.
const NOT_BEGUN: &str = "This conversation has not begun.";

impl Sitting {
    /// The conversation; says so where none has begun.
    fn begun_one(&self, stage: &mut Stage<'_>) -> Option<ConversationId> {
        if self.conversation.is_none() {
            stage.output.talk(NOT_BEGUN);
        }
        self.conversation.clone()
    }

    /// Shows turns, with all attempts if that is what the command is called.
    pub(super) async fn print(
        &self,
        name: &str,
        words: &str,
        stage: &mut Stage<'_>,
    ) -> Result<(), Fault> {
        let Some(id) = self.begun_one(stage) else { return Ok(()) };
        let attempts = name == "attempts";
        let turns = match words {
            "" if attempts => Some(Turns::last(1)),
            "" => None,
            words => match words.parse() {
                Ok(turns) => Some(turns),
                Err(why) => {
                    stage.output.talk(&format!("/{name} [TURNS]: {why}"));
                    return Ok(());
                }
            },
        };
        let mut flags = Print::below(id.to_string(), turns);
        flags.attempts = attempts;
        let done = print::run(&flags, self.settings(), stage.output).await?;
        self.tell(&done, stage);
        Ok(())
    }

    pub(super) async fn rename(&self, words: String, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let Some(id) = self.begun_one(stage) else { return Ok(()) };
        if words.is_empty() {
            let title = self.view(stage).await?.head.title;
            stage.output.talk(&format!("It is called: {title}; to name it: /rename TITLE"));
            return Ok(());
        }
        let (id, title) = (id.to_string(), vec![words]);
        let flags = Rename { id, title, json: false, suggest: false };
        let done = rename::run(&flags, self.settings(), stage.output).await?;
        self.tell(&done, stage);
        Ok(())
    }

    /// Writes the conversation to a file; without a name, to one that is named after it.
    pub(super) async fn export(&self, words: &str, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let Some(id) = self.begun_one(stage) else { return Ok(()) };
        let named = PathBuf::from(words);
        let file = if words.is_empty() { PathBuf::from(format!("piton-{id}.md")) } else { named };
        let flags = Export { id: Some(id.to_string()), format: None, output: Some(file) };
        let done = export::run(&flags, self.settings(), stage.output).await?;
        self.tell(&done, stage);
        Ok(())
    }

    /// Puts the conversation away. The chat goes on with another one.
    pub(super) async fn archive(&mut self, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let Some(id) = self.begun_one(stage) else { return Ok(()) };
        let flags = Archive { ids: vec![id.to_string()], back: false, json: false };
        let done = shelve::run(&flags, self.settings(), stage.output).await?;
        self.tell(&done, stage);
        self.begin_another(stage);
        Ok(())
    }

    fn tell(&self, done: &Report, stage: &mut Stage<'_>) {
        done.tell_in_chat(self.conversation.as_ref(), stage.output);
    }
}
