//! Files of a conversation: kept beside the journal when they are attached, checked before a message
//! is recorded, added to a transcript when it is sent.
//!
//! A file is durable before any entry refers to it, so a conversation needs the original no more.

use std::sync::{Mutex, PoisonError};

use piton_core::attachment::{self, FILES_BYTES_MAX};
use piton_core::event::{FailureClass, ModelRef, UserPart};
use piton_core::transcript::{Files, Transcript};
use piton_store::{Journal, StoreError};

use crate::model::{ModelFailure, Models};

/// A file that the model cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLeftOut {
    /// Its name.
    pub name: String,
    /// Why; goes behind the model's name.
    pub why: String,
}

/// Why the files of a message cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilesFault {
    /// The model does not take one of them.
    #[error("{} cannot be sent: {model} {}", file.name, file.why)]
    Refused {
        /// The file.
        file: FileLeftOut,
        /// The model that was to get it.
        model: ModelRef,
    },
    /// Together they are too large for one request.
    #[error("the files have {}, and one message takes {}", attachment::size(*bytes), attachment::limit(FILES_BYTES_MAX))]
    TooLarge {
        /// All of them together.
        bytes: u64,
    },
}

/// Refuses the files of a message before anything is recorded: an error of the provider would come
/// too late.
pub(crate) fn check(
    models: &dyn Models,
    model: Option<&ModelRef>,
    parts: &[UserPart],
) -> Result<(), FilesFault> {
    if let Some(model) = model
        && let Some(file) = left_out(models, model, parts).into_iter().next()
    {
        return Err(FilesFault::Refused { file, model: model.clone() });
    }
    let bytes = parts.iter().map(|part| match part {
        UserPart::File { blob, .. } => blob.bytes,
        UserPart::Text { .. } | UserPart::InlinedFile { .. } => 0,
    });
    match bytes.sum() {
        bytes if FILES_BYTES_MAX < bytes => Err(FilesFault::TooLarge { bytes }),
        _ => Ok(()),
    }
}

/// The files among parts that a model does not take.
pub(crate) fn left_out(
    models: &dyn Models,
    model: &ModelRef,
    parts: &[UserPart],
) -> Vec<FileLeftOut> {
    let left_out = |part: &UserPart| {
        let UserPart::File { name, media_type, blob } = part else { return None };
        let why = refusal(models, model, media_type, blob.bytes)?;
        Some(FileLeftOut { name: name.clone(), why })
    };
    parts.iter().filter_map(left_out).collect()
}

/// Why a model is not sent a file, if it is not. Goes behind the model's name.
pub(crate) fn refusal(
    models: &dyn Models,
    model: &ModelRef,
    media_type: &str,
    bytes: u64,
) -> Option<String> {
    // A model that cannot be found says so when it is asked.
    models.find(model).ok()?.refusal(media_type, bytes)
}

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
