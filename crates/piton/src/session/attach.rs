//! Files of messages: attached before they are sent, and refused before anything is written.

use piton_core::attachment::FILES_BYTES_MAX;
use piton_core::event::{TurnEnd, UserPart};
use piton_core::state::Turn;
use piton_store::AppendError;

use super::Session;
use crate::error::{FileLeftOut, SessionError};
use crate::{files, orders};

impl Session {
    /// Makes a part of a message of a file: text as text, anything else kept beside the journal.
    /// It is durable when this returns, so the original is needed no more.
    pub async fn attach(&self, name: &str, content: &[u8]) -> Result<UserPart, SessionError> {
        let kept = files::keep(&*self.parts.journal, name, content).await;
        Ok(kept.map_err(AppendError::from)?)
    }

    /// The files of the conversation that the model is only told of.
    pub fn files_left_out(&self) -> Vec<FileLeftOut> {
        let turns = self.state().turns.iter().filter(|turn| turn.end != Some(TurnEnd::Discarded));
        let said = turns.flat_map(Turn::said);
        said.flat_map(|said| self.refused(&said.parts)).collect()
    }

    /// The files among parts that the configured model does not take.
    fn refused(&self, parts: &[UserPart]) -> Vec<FileLeftOut> {
        let refused = orders::refused_files(&self.parts, self.state(), parts);
        refused.into_iter().map(|(name, why)| FileLeftOut { name, why }).collect()
    }

    /// Refuses files before anything is written: an error of the provider would come too late.
    pub fn check_files(&self, parts: &[UserPart]) -> Result<(), SessionError> {
        let model = self.state().config.model.clone();
        if let (Some(file), Some(model)) = (self.refused(parts).into_iter().next(), model) {
            return Err(SessionError::FileRefused { file, model });
        }
        let bytes = orders::files_bytes(parts);
        if FILES_BYTES_MAX < bytes { Err(SessionError::FilesSize { bytes }) } else { Ok(()) }
    }
}
