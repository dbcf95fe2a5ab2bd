//! Tells database errors apart by what can be done about them.

use std::io;
use std::path::Path;

use rusqlite::{Error, ErrorCode};

use crate::StoreError;

/// Names an error of the database. Takes it by reference: one failed commit answers many callers.
pub(super) fn database(path: &Path, error: &Error) -> StoreError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Damaged { path, detail: error.to_string() }
        }
        _ => StoreError::Database { path, detail: error.to_string() },
    }
}

/// Whether another connection was in the way, so that trying again makes sense.
pub(super) fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Says the same error once more. A failed commit is answered to every caller whose append was in it.
pub(super) fn repeat(error: &StoreError) -> StoreError {
    use StoreError as E;
    match error {
        E::UnknownConversation(conversation) => E::UnknownConversation(conversation.clone()),
        E::UnknownBlob(digest) => E::UnknownBlob(digest.clone()),
        E::BlobSize { bytes } => E::BlobSize { bytes: *bytes },
        E::Letter { bytes } => E::Letter { bytes: *bytes },
        E::NewerFormat { path, found, known } => {
            E::NewerFormat { path: path.clone(), found: *found, known: *known }
        }
        E::Damaged { path, detail } => E::Damaged { path: path.clone(), detail: detail.clone() },
        E::DamagedBlob { path, detail } => {
            E::DamagedBlob { path: path.clone(), detail: detail.clone() }
        }
        E::DamagedEntry { path, conversation, seq, detail } => E::DamagedEntry {
            path: path.clone(),
            conversation: conversation.clone(),
            seq: *seq,
            detail: detail.clone(),
        },
        E::Full { path } => E::Full { path: path.clone() },
        E::Io { action, path, source } => {
            let source = io::Error::new(source.kind(), source.to_string());
            E::Io { action, path: path.clone(), source }
        }
        E::Database { path, detail } => E::Database { path: path.clone(), detail: detail.clone() },
        E::ForksTooDeep { conversation, most } => {
            E::ForksTooDeep { conversation: conversation.clone(), most: *most }
        }
        E::Closed => E::Closed,
    }
}
