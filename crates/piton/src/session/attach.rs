//! Files of messages: attached before they are sent, and refused before anything is written.

use piton_core::event::{TurnEnd, UserPart};
use piton_core::state::Turn;
use piton_store::AppendError;

use super::Session;
use crate::error::SessionError;
use crate::files::{self, FileLeftOut};

impl Session {
    /// Makes a part of a message of a file: text as text, anything else kept beside the journal.
    /// It is durable when this returns, so the original is needed no more.
    pub async fn attach(&self, name: &str, content: &[u8]) -> Result<UserPart, SessionError> {
        let kept = files::keep(&*self.parts.journal, name, content).await;
        Ok(kept.map_err(AppendError::from)?)
    }

    /// The files of the conversation that the model is only told of.
    pub fn files_left_out(&self) -> Vec<FileLeftOut> {
        let Some(model) = &self.state().config.model else { return Vec::new() };
        let turns = self.state().turns.iter().filter(|turn| turn.end != Some(TurnEnd::Discarded));
        let said = turns.flat_map(Turn::said);
        said.flat_map(|said| files::left_out(&*self.parts.models, model, &said.parts)).collect()
    }

    /// Refuses files before anything is written: an error of the provider would come too late.
    pub fn check_files(&self, parts: &[UserPart]) -> Result<(), SessionError> {
        let model = self.state().config.model.as_ref();
        Ok(files::check(&*self.parts.models, model, parts)?)
    }
}
