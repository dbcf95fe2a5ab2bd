//! What can go wrong with files that go with a message.

use std::io;
use std::path::PathBuf;

use piton_core::attachment::{self, FILES_BYTES_MAX};

/// Why a file cannot go along.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttachFault {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The path names a directory.
    #[error("{} is a directory", path.display())]
    Directory { path: PathBuf },
    /// The file is empty.
    #[error("{} is empty", path.display())]
    Empty { path: PathBuf },
    /// The file is larger than a message may be.
    #[error("{} is larger than {}", path.display(), attachment::limit(FILES_BYTES_MAX))]
    Large { path: PathBuf },
    /// The model does not take the file.
    #[error("{name} cannot be sent: {model} {why}")]
    Refused { name: String, model: String, why: String },
    /// All files together are larger than a message may be.
    #[error("the files have {}, and one message takes {}", attachment::size(*bytes), attachment::limit(FILES_BYTES_MAX))]
    Together { bytes: u64 },
}

impl AttachFault {
    /// What to do next, one way per line.
    pub(super) fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Unreadable { .. } => "check the path after --file; it counts from here",
            Self::Directory { .. } => "name files one by one; the tools can look into directories",
            Self::Empty { .. } => "there is nothing to send in it; leave it out",
            Self::Large { .. } => {
                "make it smaller, or leave it in this directory and name it: tools read files in parts"
            }
            Self::Refused { .. } => {
                let others =
                    "or leave it in this directory and name it, and let the tools look at it";
                let model = "choose a model that takes it with --model; piton help models says what each takes";
                return vec![model.into(), others.into()];
            }
            Self::Together { .. } => "send fewer or smaller files",
        };
        vec![hint.into()]
    }
}
