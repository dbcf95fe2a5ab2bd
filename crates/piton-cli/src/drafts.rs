//! Drafts: what was typed, kept in a file until the journal has it.
//!
//! `PITON_HOME/drafts/WORKSPACE/MESSAGE` holds the text of a message and nothing else, so that a
//! person can read it without us. When the conversation is known, its id is added to the name:
//! `MESSAGE.CONVERSATION`. The message is meant for that conversation, also later. Only there can it
//! have arrived, and there it is looked for before anything is said or sent again.
//!
//! Files that go along with a message are named in `files/MESSAGE`; their content is read when the
//! message is sent.
//!
//! A file belongs to the process that holds its lock, and is unsent when nobody does: the system
//! gives up the locks of a process however it dies. So every message has a file of its own, with a
//! name that nobody else uses, and two processes in one directory cannot take each other's.
//!
//! Nothing here is synced. A kill does not lose what was written, and that is what drafts are for;
//! after a power cut the text is in the shell's history, and a sync at every start would be felt.

mod sent;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use piton_core::id::{ConversationId, MessageId};
use sha2::{Digest as _, Sha256};

use piton_agent::make_private;
use piton_core::summary::output_summary;

pub(crate) use self::sent::only_unsent;

/// Unsent messages that are kept for a directory; beyond that the oldest ones go.
pub(crate) const DRAFTS_MAX: usize = 8;
/// Largest message, in bytes.
pub(crate) const TEXT_BYTES_MAX: u64 = 2 * 1024 * 1024;
/// Bytes of the workspace's digest that name its directory: far more than there are directories.
const NAME_BYTES: usize = 8;
/// How the name of a file ends that is still being written.
const HALF: &str = "half";
/// After this time a half-written file is nobody's: writing one takes milliseconds.
const HALF_AGE_MAX: Duration = Duration::from_mins(1);

/// What a draft allows: everything to its owner, nothing to others.
const PRIVATE: u32 = 0o600;

/// The drafts of one directory.
#[derive(Debug)]
pub(crate) struct Drafts {
    directory: PathBuf,
}

/// A message that the journal may not have. Ours as long as this value lives; dropping it leaves
/// the file to whoever comes next.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) message: MessageId,
    pub(crate) text: String,
    /// Files that go along, as they were named in the same directory.
    pub(crate) files: Vec<PathBuf>,
    /// The conversation that it is meant for, as far as that was known.
    pub(crate) conversation: Option<ConversationId>,
    pub(crate) path: PathBuf,
    pub(crate) since: SystemTime,
    /// Keeps the lock.
    _file: File,
}

impl Drafts {
    /// The drafts of what is typed in `workspace`.
    pub(crate) fn new(home: &Path, workspace: &Path) -> Self {
        let digest = Sha256::digest(workspace.as_os_str().as_encoded_bytes());
        let mut name = String::new();
        for byte in digest.iter().take(NAME_BYTES) {
            // Writing to a string cannot fail.
            write!(name, "{byte:02x}").unwrap_or_default();
        }
        Self { directory: home.join("drafts").join(name) }
    }

    /// Keeps a text, whole or not at all.
    pub(crate) fn keep(&self, message: MessageId, text: &str) -> io::Result<Draft> {
        make_private(&self.directory)?;
        let path = self.directory.join(message.as_str());
        let half = path.with_extension(HALF);
        let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&half)?;
        let written = write(&file, text).and_then(|()| fs::rename(&half, &path));
        if let Err(error) = written {
            // What cannot be written can perhaps not be removed either; its age will do that.
            fs::remove_file(&half).unwrap_or_default();
            return Err(error);
        }
        let (text, since) = (text.to_owned(), SystemTime::now());
        let (conversation, files) = (None, Vec::new());
        Ok(Draft { message, text, files, conversation, path, since, _file: file })
    }

    /// Takes what no living process has, the newest first. What cannot be read is left alone.
    pub(crate) fn unsent(&self) -> Vec<Draft> {
        let Ok(found) = fs::read_dir(&self.directory) else { return Vec::new() };
        let mut drafts: Vec<_> =
            found.flatten().filter_map(|file| Draft::take(file.path())).collect();
        drafts.sort_by_key(|draft| std::cmp::Reverse(draft.since));
        drafts
    }
}

impl Draft {
    /// Remembers the conversation that the message is meant for.
    pub(crate) fn meant_for(&mut self, conversation: &ConversationId) -> io::Result<()> {
        let path = self.path.with_extension(conversation.as_str());
        fs::rename(&self.path, &path)?;
        (self.path, self.conversation) = (path, Some(conversation.clone()));
        Ok(())
    }

    /// Remembers where the message is about to go. From here on it may arrive there.
    pub(crate) fn goes_to(&mut self, conversation: &ConversationId) {
        if self.meant_for(conversation).is_err() {
            // A draft that does not know where it went could be sent twice, which is worse than
            // having none for the moment that is left.
            fs::remove_file(&self.path).unwrap_or_default();
        }
    }

    /// Gives the same text another name: it was sent, and is said once more.
    pub(crate) fn say_again(&mut self, message: MessageId) -> io::Result<()> {
        let path = self.path.with_file_name(message.as_str());
        if !self.files.is_empty() {
            fs::rename(list(&self.path, &self.message), list(&self.path, &message))?;
        }
        fs::rename(&self.path, &path)?;
        (self.path, self.message, self.conversation) = (path, message, None);
        Ok(())
    }

    /// Remembers the files that go along, instead of others.
    pub(crate) fn name_files(&mut self, files: &[PathBuf]) -> io::Result<()> {
        if self.files == files {
            return Ok(());
        }
        let list = list(&self.path, &self.message);
        make_private(list.parent().unwrap_or(&list))?;
        let names: Vec<_> = files.iter().map(|path| path.as_os_str().as_encoded_bytes()).collect();
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE).open(&list)?;
        // No path has this byte in it.
        file.write_all(&names.join(&0))?;
        self.files = files.to_vec();
        Ok(())
    }

    /// Its text in short, with the names of its files.
    pub(crate) fn on_one_line(&self) -> String {
        let line = output_summary(&self.text);
        if self.files.is_empty() {
            return line;
        }
        let names: Vec<_> = self.files.iter().map(|path| path.display().to_string()).collect();
        format!("{line} (with {})", names.join(", "))
    }

    /// The journal has the message, or nobody wants it any more.
    pub(crate) fn remove(self) {
        // One that cannot be removed is found in the journal by the next run.
        fs::remove_file(&self.path).unwrap_or_default();
        if !self.files.is_empty() {
            fs::remove_file(list(&self.path, &self.message)).unwrap_or_default();
        }
    }

    fn take(path: PathBuf) -> Option<Self> {
        let message = MessageId::new(path.file_stem()?.to_str()?);
        let conversation = path.extension().and_then(|end| end.to_str()).map(str::to_owned);
        if conversation.as_deref() == Some(HALF) {
            forget_half(&path);
            return None;
        }
        let file = File::open(&path).ok()?;
        file.try_lock().ok()?;
        // Its owner may have removed or renamed it before we had the lock.
        let since = fs::metadata(&path).and_then(|found| found.modified()).ok()?;
        let mut text = String::new();
        let read = (&file).take(TEXT_BYTES_MAX + 1).read_to_string(&mut text);
        let usable = read.is_ok_and(|bytes| bytes as u64 <= TEXT_BYTES_MAX);
        let conversation = conversation.map(ConversationId::new);
        let files = named(&list(&path, &message));
        (usable && !text.trim().is_empty()).then_some(Self {
            message,
            text,
            files,
            conversation,
            path,
            since,
            _file: file,
        })
    }
}

/// Where the files of a message are named.
fn list(draft: &Path, message: &MessageId) -> PathBuf {
    draft.with_file_name("files").join(message.as_str())
}

fn named(list: &Path) -> Vec<PathBuf> {
    let Ok(names) = fs::read(list) else { return Vec::new() };
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect()
}

fn write(mut file: &File, text: &str) -> io::Result<()> {
    // Locked under its first name, so that nobody ever sees it free.
    file.try_lock()?;
    file.write_all(text.as_bytes())
}

/// Removes what a process that died while writing has left behind.
fn forget_half(path: &Path) {
    let modified = fs::metadata(path).and_then(|found| found.modified());
    let age = modified.ok().and_then(|modified| modified.elapsed().ok());
    if age.is_some_and(|age| HALF_AGE_MAX < age) {
        fs::remove_file(path).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn drafts(home: &TempDir, workspace: &str) -> Drafts {
        Drafts::new(home.path(), Path::new(workspace))
    }

    fn texts(drafts: &Drafts) -> Vec<String> {
        drafts.unsent().into_iter().map(|draft| draft.text).collect()
    }

    #[test]
    fn a_draft_is_unsent_once_its_process_is_gone() {
        let home = TempDir::new().unwrap();
        let here = drafts(&home, "/here");
        let draft = here.keep(MessageId::new("a"), "hello\n").unwrap();
        assert!(texts(&here).is_empty(), "it is on its way");
        drop(draft);
        assert_eq!(texts(&here), ["hello\n"]);
        assert!(texts(&drafts(&home, "/there")).is_empty());
        here.unsent().pop().unwrap().remove();
        assert!(texts(&here).is_empty());
    }

    #[test]
    fn a_draft_remembers_where_it_was_about_to_go() {
        let home = TempDir::new().unwrap();
        let here = drafts(&home, "/here");
        let mut draft = here.keep(MessageId::new("a"), "hello").unwrap();
        draft.goes_to(&ConversationId::new("c1"));
        draft.goes_to(&ConversationId::new("c2"));
        assert!(texts(&here).is_empty(), "renaming keeps the lock");
        drop(draft);
        let mut draft = here.unsent().pop().unwrap();
        assert_eq!(draft.message, MessageId::new("a"));
        assert_eq!(draft.conversation, Some(ConversationId::new("c2")));
        draft.say_again(MessageId::new("b")).unwrap();
        drop(draft);
        let draft = here.unsent().pop().unwrap();
        assert_eq!((draft.message, draft.conversation), (MessageId::new("b"), None));
    }

    #[test]
    fn a_draft_names_the_files_that_go_along() {
        let home = TempDir::new().unwrap();
        let here = drafts(&home, "/here");
        let files = [PathBuf::from("a b.png"), PathBuf::from("../c\n.pdf")];
        let mut draft = here.keep(MessageId::new("a"), "see").unwrap();
        draft.name_files(&files).unwrap();
        draft.say_again(MessageId::new("b")).unwrap();
        draft.goes_to(&ConversationId::new("c"));
        drop(draft);
        let mut draft = here.unsent().pop().unwrap();
        assert_eq!(draft.files, files);
        draft.name_files(&files[..1]).unwrap();
        drop(draft);
        let draft = here.unsent().pop().unwrap();
        assert_eq!(draft.files, files[..1]);
        draft.remove();
        assert_eq!(fs::read_dir(here.directory.join("files")).unwrap().count(), 0);
    }

    #[test]
    fn what_is_half_written_or_unreadable_is_no_draft() {
        let home = TempDir::new().unwrap();
        let here = drafts(&home, "/here");
        drop(here.keep(MessageId::new("a"), "whole").unwrap());
        fs::write(here.directory.join("b.half"), "hal").unwrap();
        fs::write(here.directory.join("c"), [0xff, 0xfe]).unwrap();
        fs::write(here.directory.join("d"), " \n").unwrap();
        fs::create_dir(here.directory.join("e")).unwrap();
        assert_eq!(texts(&here), ["whole"]);
        assert!(here.directory.join("b.half").exists(), "somebody may be writing it");
    }
}
