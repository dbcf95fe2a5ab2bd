//! Files that go with a message: read whole before anything is begun, with limits.

use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use piton::{CommandError, Conversation, FileLeftOut, FilesFault};
use piton_agent::{mentions, typed};
use piton_core::attachment::FILES_BYTES_MAX;
use piton_core::command::UserPart;

use super::opened::Opened;
use super::stdin::NAME;
use crate::drafts::seen_from;
use crate::report::{AttachFault, Fault};

/// What standard input is called where something is wrong with it.
const STDIN: &str = "standard input";

/// What becomes of a standard input with nothing in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Empty {
    /// Nobody named it, so nothing goes along.
    Ignored,
    /// It was named, as a file would be.
    Refused,
}

/// A file as it was found.
#[derive(Debug)]
pub(in crate::cmd) struct Attached {
    name: String,
    content: Vec<u8>,
}

impl Attached {
    /// What standard input brought; none if that is nothing and need not be anything.
    pub(super) fn piped(content: Vec<u8>, empty: Empty) -> Result<Option<Self>, AttachFault> {
        let path = || PathBuf::from(STDIN);
        match content.len() as u64 {
            0 if empty == Empty::Ignored => Ok(None),
            0 => Err(AttachFault::Empty { path: path() }),
            bytes if FILES_BYTES_MAX < bytes => Err(AttachFault::Large { path: path() }),
            _ => Ok(Some(Self { name: NAME.into(), content })),
        }
    }

    /// A text that was made here.
    pub(in crate::cmd) fn text(name: String, text: String) -> Self {
        Self { name, content: text.into_bytes() }
    }

    /// A file that is kept elsewhere.
    pub(super) fn bytes(name: String, content: Vec<u8>) -> Self {
        Self { name, content }
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What is in it.
    pub(super) fn content(&self) -> &[u8] {
        &self.content
    }
}

/// Reads files, whose paths are whole. They are named as seen from `here`. May block: what is named may
/// be a pipe.
pub(super) fn read(paths: &[PathBuf], here: &Path) -> Result<Vec<Attached>, AttachFault> {
    paths.iter().map(|path| read_one(path, here)).collect()
}

/// The paths that are pipes: reading one waits until another process has written to it.
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

/// Makes the files parts of a message, if the model takes them. They are durable when this returns.
pub(super) async fn keep(opened: &Opened, attached: &[Attached]) -> Result<Vec<UserPart>, Fault> {
    let parts = keep_for(&opened.conversation, attached).await?;
    let fault = |fault| match fault {
        FilesFault::Refused { file: FileLeftOut { name, why }, model } => {
            AttachFault::Refused { name, model: typed(&model), why }
        }
        FilesFault::TooLarge { bytes } => AttachFault::Together { bytes },
    };
    opened.engine.check_files(&opened.model, &parts).map_err(fault)?;
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

fn read_one(whole: &Path, here: &Path) -> Result<Attached, AttachFault> {
    let path = || seen_from(here, whole).to_owned();
    let unreadable = |source| AttachFault::Unreadable { path: path(), source };
    let file = File::open(whole).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(AttachFault::Directory { path: path() });
    }
    let mut content = Vec::new();
    // One more than allowed, so that too much is told from just enough.
    file.take(FILES_BYTES_MAX + 1).read_to_end(&mut content).map_err(unreadable)?;
    match content.len() as u64 {
        0 => Err(AttachFault::Empty { path: path() }),
        bytes if FILES_BYTES_MAX < bytes => Err(AttachFault::Large { path: path() }),
        _ => Ok(Attached { name: mentions::name(&path()), content }),
    }
}
