//! Files that go with a message: read whole before anything is begun, with limits.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Component, Path, PathBuf};

use piton::{CommandError, Conversation};
use piton_agent::typed;
use piton_core::attachment::{self, FILES_BYTES_MAX};
use piton_core::command::UserPart;

use super::open::Opened;
use crate::report::Fault;

/// A file as it was found.
#[derive(Debug)]
pub(super) struct Attached {
    name: String,
    content: Vec<u8>,
}

/// Why a file cannot go along.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttachFault {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// It is a directory.
    #[error("{} is a directory", path.display())]
    Directory { path: PathBuf },
    /// There is nothing in it.
    #[error("{} is empty", path.display())]
    Empty { path: PathBuf },
    /// It is larger than a message may be.
    #[error("{} is larger than {}", path.display(), attachment::limit(FILES_BYTES_MAX))]
    Large { path: PathBuf },
    /// The model does not take it.
    #[error("{name} cannot be sent: {model} {why}")]
    Refused { name: String, model: String, why: String },
    /// All files together are larger than a message may be.
    #[error("the files have {}, and one message takes {}", attachment::size(*bytes), attachment::limit(FILES_BYTES_MAX))]
    Together { bytes: u64 },
}

impl AttachFault {
    /// What to do about it.
    pub(crate) fn hints(&self) -> Vec<String> {
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
                let model = "choose a model that takes it with --model; docs/models.md says what each takes";
                return vec![model.into(), others.into()];
            }
            Self::Together { .. } => "send fewer or smaller files",
        };
        vec![hint.into()]
    }
}

/// Reads files. May block: what is named may be a pipe.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<Attached>, AttachFault> {
    paths.iter().map(|path| read_one(path)).collect()
}

/// Those that may keep us waiting, because somebody has to write to them.
pub(super) fn pipes(paths: &[PathBuf]) -> impl Iterator<Item = &Path> {
    let is_pipe = |path: &&Path| fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
    paths.iter().map(PathBuf::as_path).filter(is_pipe)
}

/// Whether files can go along, as far as can be told without opening them.
pub(super) fn could_go(paths: &[PathBuf]) -> bool {
    paths.iter().all(|path| {
        let fits = |found: Metadata| (1..=FILES_BYTES_MAX).contains(&found.len());
        fs::metadata(path).is_ok_and(|found| !found.is_dir() && (!found.is_file() || fits(found)))
    })
}

/// Makes parts of a message of them, which the model takes; durable from here on.
pub(super) async fn keep(opened: &Opened, attached: &[Attached]) -> Result<Vec<UserPart>, Fault> {
    let parts = keep_for(&opened.conversation, attached).await?;
    let mut together = 0;
    for part in &parts {
        let UserPart::File { name, media_type, blob } = part else { continue };
        together += blob.bytes;
        let why = opened.engine.refusal_of_file(&opened.model, media_type, blob.bytes);
        if let Some(why) = why {
            let (name, model) = (name.clone(), typed(&opened.model));
            return Err(AttachFault::Refused { name, model, why }.into());
        }
    }
    if FILES_BYTES_MAX < together {
        return Err(AttachFault::Together { bytes: together }.into());
    }
    Ok(parts)
}

/// The same for a message that is left for another process, whose model takes them or not.
pub(super) async fn keep_for(
    conversation: &Conversation,
    attached: &[Attached],
) -> Result<Vec<UserPart>, CommandError> {
    let mut parts = Vec::with_capacity(attached.len());
    for Attached { name, content } in attached {
        parts.push(conversation.attach(name, content).await?);
    }
    Ok(parts)
}

fn read_one(path: &Path) -> Result<Attached, AttachFault> {
    let path = || path.to_owned();
    let unreadable = |source| AttachFault::Unreadable { path: path(), source };
    let file = File::open(path()).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(AttachFault::Directory { path: path() });
    }
    let mut content = Vec::new();
    // One more than allowed, so that too much is told from just enough.
    file.take(FILES_BYTES_MAX + 1).read_to_end(&mut content).map_err(unreadable)?;
    match content.len() as u64 {
        0 => Err(AttachFault::Empty { path: path() }),
        bytes if FILES_BYTES_MAX < bytes => Err(AttachFault::Large { path: path() }),
        _ => Ok(Attached { name: name(&path()), content }),
    }
}

/// What the model and people call it: the path as typed if it leads down from here, else its last
/// part. Where somebody's files lie is nobody's business.
fn name(path: &Path) -> String {
    let is_down = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let told = if path.components().all(is_down) {
        path.components().filter(|part| matches!(part, Component::Normal(_))).collect()
    } else {
        PathBuf::from(path.file_name().unwrap_or(path.as_os_str()))
    };
    told.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_no_more_than_was_typed_from_here() {
        for (path, expected) in
            [("a.png", "a.png"), ("./b/./a.png", "b/a.png"), ("/x/y/a.png", "a.png"), ("../a", "a")]
        {
            assert_eq!(name(Path::new(path)), expected);
        }
    }
}
