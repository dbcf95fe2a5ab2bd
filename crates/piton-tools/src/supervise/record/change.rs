//! What is said in a log about changes of what others obey.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Bytes in a text: each is the letter of its number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub(crate) struct Raw(pub(crate) Vec<u8>);

impl From<String> for Raw {
    fn from(text: String) -> Self {
        Self(text.chars().map(|letter| u8::try_from(letter).unwrap_or(b'?')).collect())
    }
}

impl From<Raw> for String {
    fn from(raw: Raw) -> Self {
        raw.0.into_iter().map(char::from).collect()
    }
}

impl Raw {
    pub(crate) fn of(path: &Path) -> Self {
        Self(path.as_os_str().as_bytes().to_vec())
    }

    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(OsString::from_vec(self.0.clone()))
    }
}

/// A change of what others obey. Written before it is put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    /// Where.
    pub(crate) place: Raw,
    /// In which way.
    pub(crate) kind: Kind,
    /// The number of the file that keeps what it was changed to; absent if there was no room for one.
    pub(crate) kept: Option<u32>,
}

/// What happened to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Made,
    Changed,
    Removed,
}

/// What was done about changes in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Decision {
    /// They stay put back.
    Refused,
    /// A person wanted them: they were made again.
    Applied,
    /// A person wanted them, and something else stood at one of the places by then.
    Overtaken,
}
