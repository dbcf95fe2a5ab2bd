//! Files of a conversation: kept beside the journal when they are attached, added to a transcript
//! when it is sent.
//!
//! A file is durable before any entry refers to it, so a conversation needs the original no more.

use std::sync::{Mutex, PoisonError};

use piton_core::attachment;
use piton_core::event::{FailureClass, UserPart};
use piton_core::transcript::{Files, Transcript};
use piton_store::{Journal, StoreError};

use crate::model::ModelFailure;

/// Makes a part of a message of a file. A short text becomes part of the message, anything else
/// is kept beside the journal.
pub(crate) async fn keep(
    journal: &dyn Journal,
    name: &str,
    content: &[u8],
) -> Result<UserPart, StoreError> {
    let media_type = attachment::media_type(name, content);
    let name = plain_name(name);
    if let Some(text) = attachment::inlined(media_type, content) {
        let (media_type, text) = (media_type.into(), text.into());
        return Ok(UserPart::InlinedFile { name, media_type, text });
    }
    let blob = journal.put_blob(content).await?;
    Ok(UserPart::File { name, media_type: media_type.into(), blob })
}

/// A name goes to the model in a line of its own, and must not look like more.
fn plain_name(name: &str) -> String {
    let plain = |letter: char| if letter.is_control() { '_' } else { letter };
    name.chars().map(plain).collect()
}

/// The files that are in memory: those of the last request, so that each is read once.
#[derive(Debug, Default)]
pub(crate) struct FileShelf(Mutex<Files>);

impl FileShelf {
    /// Adds to a transcript what its files hold. A file that is gone stays out: the model is told.
    pub(crate) async fn fill(
        &self,
        transcript: Transcript,
        journal: &dyn Journal,
    ) -> Result<Transcript, ModelFailure> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut files = Files::default();
        for blob in transcript.files_wanted() {
            let content = match known.share(&blob.digest) {
                Some(content) => content,
                None => match journal.blob(&blob.digest).await {
                    Ok(content) => content.into(),
                    Err(StoreError::UnknownBlob(_) | StoreError::DamagedBlob { .. }) => continue,
                    Err(error) => {
                        let message = format!("cannot read an attached file: {error}");
                        return Err(ModelFailure::new(FailureClass::Unknown, message));
                    }
                },
            };
            files.insert(blob.digest.clone(), content);
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&files);
        Ok(transcript.with_files(files))
    }
}
