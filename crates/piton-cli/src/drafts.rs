//! Drafts: what was typed, kept in a file until the journal has it.
//!
//! `PITON_HOME/drafts/WORKSPACE/MESSAGE` holds the text of a message and nothing else, so that a
//! person can read it without us. When the conversation is known, its id is added to the name:
//! `MESSAGE.CONVERSATION`. The message is meant for that conversation, also later. Only there can it
//! have arrived, and there it is looked for before anything is said or sent again.
//!
//! Files that go along with a message are named in `files/MESSAGE`, from the workspace if they lie in
//! it; their content is read when the message is sent. What standard input brought could not be read a
//! second time, so it is kept itself, in `parts/NAME/stdin`.
//!
//! A file belongs to the process that holds its lock, and is unsent when nobody does: the system
//! gives up the locks of a process however it dies. So every message has a file of its own, with a
//! name that nobody else uses, and two processes in one directory cannot take each other's.
//!
//! Nothing here is synced. A kill does not lose what was written, and that is what drafts are for;
//! after a power cut the text is in the shell's history, and a sync at every start would be felt.

mod bad;
mod sent;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use piton::chance::{Chance as _, SystemChance};
use piton_core::id::{ConversationId, MessageId};
use sha2::{Digest as _, Sha256};

use piton_agent::make_private;
use piton_core::summary::output_summary;

pub(crate) use self::bad::BadDraft;
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

/// The drafts of a workspace, and of other directories whose drafts are found there too.
#[derive(Debug)]
pub(crate) struct Drafts {
    /// Where new ones are kept.
    own: Shelf,
    others: Vec<Shelf>,
}

/// Where the drafts of one directory are kept.
#[derive(Debug)]
struct Shelf {
    directory: PathBuf,
    /// The directory that they were typed in or below.
    workspace: PathBuf,
}

/// A message that the journal may not have. Ours as long as this value lives; dropping it leaves
/// the file to whoever comes next.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) message: MessageId,
    pub(crate) text: String,
    /// Files that go along, with their whole paths.
    pub(crate) files: Vec<PathBuf>,
    /// The directory that the files are named from where they are listed.
    workspace: PathBuf,
    /// The conversation that it is meant for, as far as that was known.
    pub(crate) conversation: Option<ConversationId>,
    pub(crate) path: PathBuf,
    pub(crate) since: SystemTime,
    /// Keeps the lock.
    _file: File,
}

impl Drafts {
    /// The drafts of what is typed in `places`, of which the first is the workspace.
    pub(crate) fn new(home: &Path, places: &[&Path]) -> Self {
        let mut shelves = places.iter().map(|place| Shelf::new(home, place));
        let own = shelves.next().unwrap_or_else(|| Shelf::new(home, Path::new("/")));
        Self { own, others: shelves.collect() }
    }

    /// Keeps a text, whole or not at all.
    pub(crate) fn keep(&self, message: MessageId, text: &str) -> io::Result<Draft> {
        let Shelf { directory, workspace } = &self.own;
        make_private(directory)?;
        let path = directory.join(message.as_str());
        let half = path.with_extension(HALF);
        let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&half)?;
        let written = write(&file, text).and_then(|()| fs::rename(&half, &path));
        if let Err(error) = written {
            // What cannot be written can perhaps not be removed either; its age will do that.
            fs::remove_file(&half).unwrap_or_default();
            return Err(error);
        }
        let (text, since, workspace) = (text.to_owned(), SystemTime::now(), workspace.clone());
        let (conversation, files) = (None, Vec::new());
        Ok(Draft { message, text, files, workspace, conversation, path, since, _file: file })
    }

    /// Takes what no living process has, the newest first, and names what cannot be read.
    pub(crate) fn look(&self) -> Found {
        let mut found = Found::default();
        for shelf in [&self.own].into_iter().chain(&self.others) {
            shelf.look(&mut found);
        }
        found.unsent.sort_by_key(|draft| std::cmp::Reverse(draft.since));
        found
    }

    /// Those that could not be read and were set aside.
    pub(crate) fn set_aside(&self) -> Vec<BadDraft> {
        let shelves = [&self.own].into_iter().chain(&self.others);
        shelves.flat_map(|shelf| BadDraft::aside(&shelf.directory)).collect()
    }
}

/// What is kept.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Messages that no living process has, the newest first.
    pub(crate) unsent: Vec<Draft>,
    /// What cannot be read.
    pub(crate) bad: Vec<BadDraft>,
}

impl Shelf {
    fn new(home: &Path, workspace: &Path) -> Self {
        let digest = Sha256::digest(workspace.as_os_str().as_encoded_bytes());
        let mut name = String::new();
        for byte in digest.iter().take(NAME_BYTES) {
            // Writing to a string cannot fail.
            write!(name, "{byte:02x}").unwrap_or_default();
        }
        Self { directory: home.join("drafts").join(name), workspace: workspace.to_owned() }
    }

    fn look(&self, found: &mut Found) {
        let files = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        for file in files.filter(|file| file.file_type().is_ok_and(|kind| kind.is_file())) {
            match Draft::take(file.path(), &self.workspace) {
                Ok(draft) => found.unsent.extend(draft),
                Err(bad) => found.bad.push(bad),
            }
        }
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
        let names = files.iter().map(|path| self.shown(path).as_os_str().as_encoded_bytes());
        let names: Vec<_> = names.collect();
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE).open(&list)?;
        // No path has this byte in it.
        file.write_all(&names.join(&0))?;
        let before = std::mem::replace(&mut self.files, files.to_vec());
        self.remove_parts(before.iter().filter(|path| !files.contains(path)));
        Ok(())
    }

    /// Keeps what cannot be read again, and returns the file that it is in now.
    pub(crate) fn keep_part(&self, name: &str, content: &[u8]) -> io::Result<PathBuf> {
        let part = self.parts().join(MessageId::from_chance(SystemChance.next()).as_str());
        make_private(&part)?;
        let path = part.join(name);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&path)?;
        file.write_all(content)?;
        Ok(path)
    }

    /// The files that a person named.
    pub(crate) fn named_files(&self) -> Vec<PathBuf> {
        let parts = self.parts();
        self.files.iter().filter(|path| !path.starts_with(&parts)).cloned().collect()
    }

    /// A file as a person would name it in the workspace.
    pub(crate) fn shown<'a>(&self, path: &'a Path) -> &'a Path {
        seen_from(&self.workspace, path)
    }

    /// Where things are kept that cannot be read again.
    fn parts(&self) -> PathBuf {
        self.path.with_file_name("parts")
    }

    fn remove_parts<'a>(&self, files: impl Iterator<Item = &'a PathBuf>) {
        let parts = self.parts();
        for path in files.filter(|path| path.starts_with(&parts)) {
            fs::remove_file(path).unwrap_or_default();
            path.parent().map_or(Ok(()), fs::remove_dir).unwrap_or_default();
        }
    }

    /// Its text in short, with the names of its files.
    pub(crate) fn on_one_line(&self) -> String {
        let line = output_summary(&self.text);
        if self.files.is_empty() {
            return line;
        }
        let parts = self.parts();
        let names = self.files.iter().map(|path| match path.file_name() {
            Some(name) if path.starts_with(&parts) => name.to_string_lossy().into_owned(),
            Some(_) | None => self.shown(path).display().to_string(),
        });
        let names: Vec<_> = names.collect();
        format!("{line} (with {})", names.join(", "))
    }

    /// The journal has the message, or nobody wants it any more.
    pub(crate) fn remove(self) {
        // One that cannot be removed is found in the journal by the next run.
        fs::remove_file(&self.path).unwrap_or_default();
        if !self.files.is_empty() {
            fs::remove_file(list(&self.path, &self.message)).unwrap_or_default();
            self.remove_parts(self.files.iter());
        }
    }

    /// Another draft has taken its place, and these files with it.
    pub(crate) fn replaced(self, taken: &[PathBuf]) {
        // Those that were taken over are not removed with this draft.
        let left = self.files.iter().filter(|path| !taken.contains(path));
        self.remove_parts(left);
        fs::remove_file(list(&self.path, &self.message)).unwrap_or_default();
        fs::remove_file(&self.path).unwrap_or_default();
    }

    /// Writes another text in its place, whole or not at all.
    pub(crate) fn rewrite(self, text: &str) -> io::Result<Self> {
        let half = self.path.with_extension(HALF);
        let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&half)?;
        let written = write(&file, text).and_then(|()| fs::rename(&half, &self.path));
        if written.is_err() {
            fs::remove_file(&half).unwrap_or_default();
        }
        written?;
        Ok(Self { text: text.to_owned(), _file: file, ..self })
    }

    /// Takes a file, unless it is somebody's, gone, or says nothing.
    fn take(path: PathBuf, workspace: &Path) -> Result<Option<Self>, BadDraft> {
        let Some(stem) = path.file_stem().and_then(OsStr::to_str) else { return Ok(None) };
        let message = MessageId::new(stem);
        let conversation = path.extension().and_then(|end| end.to_str()).map(str::to_owned);
        if conversation.as_deref() == Some(HALF) {
            forget_half(&path);
            return Ok(None);
        }
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(BadDraft::new(&path, error)),
        };
        if file.try_lock().is_err() {
            return Ok(None);
        }
        // Its owner may have removed or renamed it before we had the lock.
        let since = fs::metadata(&path).and_then(|found| found.modified());
        let Ok(since) = since else { return Ok(None) };
        let mut bytes = Vec::new();
        let read = (&file).take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(|error| BadDraft::new(&path, error))?;
        if TEXT_BYTES_MAX < bytes.len() as u64 {
            return Err(BadDraft::new(&path, "it is larger than a message can be"));
        }
        let text = String::from_utf8(bytes).map_err(|_| BadDraft::new(&path, "it is not UTF-8"))?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        let conversation = conversation.map(ConversationId::new);
        let files = named(&list(&path, &message)).map(|file| workspace.join(file)).collect();
        let workspace = workspace.to_owned();
        let draft =
            Self { message, text, files, workspace, conversation, path, since, _file: file };
        Ok(Some(draft))
    }
}

/// Removes all drafts for a conversation, and what was kept to go along with them. Says which file stays.
pub(crate) fn forget_of(home: &Path, id: &ConversationId) -> Result<(), (PathBuf, io::Error)> {
    let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    for path in entries(&home.join("drafts")).flat_map(|shelf| entries(&shelf.path())) {
        let path = path.path();
        if path.extension().is_none_or(|of| of != id.as_str()) {
            continue;
        }
        let message = MessageId::new(path.file_stem().and_then(OsStr::to_str).unwrap_or_default());
        let (list, parts) = (list(&path, &message), path.with_file_name("parts"));
        let kept = named(&list).filter(|file| file.starts_with(&parts)).collect::<Vec<_>>();
        for gone in kept.iter().chain([&list, &path]) {
            match fs::remove_file(gone) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err((gone.clone(), error));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// A path as a person in `here` would write it.
pub(crate) fn seen_from<'a>(here: &Path, path: &'a Path) -> &'a Path {
    match path.strip_prefix(here) {
        Ok(below) if below.as_os_str().is_empty() => Path::new("."),
        Ok(below) => below,
        Err(_) => path,
    }
}

/// Where the files of a message are named.
fn list(draft: &Path, message: &MessageId) -> PathBuf {
    draft.with_file_name("files").join(message.as_str())
}

fn named(list: &Path) -> impl Iterator<Item = PathBuf> {
    // A message without files has no list.
    let names = fs::read(list).unwrap_or_default();
    let names: Vec<_> = names.split(|byte| *byte == 0).map(OsStr::from_bytes).collect();
    let names: Vec<_> =
        names.into_iter().filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    names.into_iter()
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
        Drafts::new(home.path(), &[Path::new(workspace)])
    }

    fn texts(drafts: &Drafts) -> Vec<String> {
        drafts.look().unsent.into_iter().map(|draft| draft.text).collect()
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
        here.look().unsent.pop().unwrap().remove();
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
        let mut draft = here.look().unsent.pop().unwrap();
        assert_eq!(draft.message, MessageId::new("a"));
        assert_eq!(draft.conversation, Some(ConversationId::new("c2")));
        draft.say_again(MessageId::new("b")).unwrap();
        drop(draft);
        let draft = here.look().unsent.pop().unwrap();
        assert_eq!((draft.message, draft.conversation), (MessageId::new("b"), None));
    }

    #[test]
    fn a_draft_names_the_files_that_go_along() {
        let home = TempDir::new().unwrap();
        let here = drafts(&home, "/here");
        let files = [PathBuf::from("/here/a b.png"), PathBuf::from("/here/../c\n.pdf")];
        let mut draft = here.keep(MessageId::new("a"), "see").unwrap();
        draft.name_files(&files).unwrap();
        draft.say_again(MessageId::new("b")).unwrap();
        draft.goes_to(&ConversationId::new("c"));
        drop(draft);
        let mut draft = here.look().unsent.pop().unwrap();
        assert_eq!(draft.files, files);
        draft.name_files(&files[..1]).unwrap();
        drop(draft);
        let draft = here.look().unsent.pop().unwrap();
        assert_eq!(draft.files, files[..1]);
        draft.remove();
        assert_eq!(fs::read_dir(here.own.directory.join("files")).unwrap().count(), 0);
    }

    #[test]
    fn what_cannot_be_read_again_is_kept_with_its_draft_and_goes_with_it() {
        let home = TempDir::new().unwrap();
        let here = drafts(&home, "/here");
        let mut draft = here.keep(MessageId::new("a"), "see").unwrap();
        let part = draft.keep_part("stdin", b"diff").unwrap();
        draft.name_files(&["/here/b".into(), part.clone()]).unwrap();
        drop(draft);
        let draft = here.look().unsent.pop().unwrap();
        assert_eq!(draft.named_files(), [PathBuf::from("/here/b")]);
        assert_eq!(draft.on_one_line(), "see (with b, stdin)");
        assert_eq!(fs::read(&part).unwrap(), b"diff");
        let mut other = here.keep(MessageId::new("c"), "see this").unwrap();
        other.name_files(&draft.files).unwrap();
        draft.replaced(&other.files);
        assert!(part.exists(), "the other draft has it now");
        drop(other);
        assert_eq!(texts(&here), ["see this"]);
        let draft = here.look().unsent.pop().unwrap();
        draft.remove();
        assert!(!part.exists());
        assert_eq!(fs::read_dir(here.own.directory.join("parts")).unwrap().count(), 0);
    }

    #[test]
    fn drafts_of_a_directory_are_found_from_it_beside_those_of_the_workspace() {
        let home = TempDir::new().unwrap();
        let mut old = drafts(&home, "/here/sub").keep(MessageId::new("a"), "old").unwrap();
        old.name_files(&["/here/sub/x".into()]).unwrap();
        drop(old);
        let both = Drafts::new(home.path(), &[Path::new("/here"), Path::new("/here/sub")]);
        drop(both.keep(MessageId::new("b"), "new").unwrap());
        assert_eq!(texts(&both).len(), 2);
        assert_eq!(texts(&drafts(&home, "/here")), ["new"]);
        let found = both.look().unsent.into_iter().find(|draft| draft.text == "old").unwrap();
        assert_eq!(found.files, [PathBuf::from("/here/sub/x")]);
    }

    #[test]
    fn what_is_half_written_or_unreadable_is_no_draft() {
        let home = TempDir::new().unwrap();
        let here = drafts(&home, "/here");
        drop(here.keep(MessageId::new("a"), "whole").unwrap());
        fs::write(here.own.directory.join("b.half"), "hal").unwrap();
        fs::write(here.own.directory.join("c"), [0xff, 0xfe]).unwrap();
        fs::write(here.own.directory.join("d"), " \n").unwrap();
        fs::create_dir(here.own.directory.join("e")).unwrap();
        assert_eq!(texts(&here), ["whole"]);
        assert!(here.own.directory.join("b.half").exists(), "somebody may be writing it");
        let bad = here.look().bad;
        let whys: Vec<_> = bad.iter().map(|bad| (bad.name(), bad.why.as_str())).collect();
        assert_eq!(whys, [("c".to_owned(), "it is not UTF-8")]);
        for bad in bad {
            bad.set_aside().unwrap();
        }
        assert!(here.look().bad.is_empty(), "it is told once");
        let aside = here.set_aside().pop().unwrap();
        assert_eq!(aside.name(), "c");
        aside.remove().unwrap();
        assert!(here.set_aside().is_empty());
    }

    #[test]
    fn a_draft_that_is_written_anew_stays_ours_and_keeps_its_files() {
        let home = TempDir::new().unwrap();
        let here = drafts(&home, "/here");
        let mut draft = here.keep(MessageId::new("a"), "first").unwrap();
        draft.name_files(&["/here/b".into()]).unwrap();
        draft.meant_for(&ConversationId::new("c")).unwrap();
        let draft = draft.rewrite("second").unwrap();
        assert!(texts(&here).is_empty(), "nobody else may take it");
        drop(draft);
        let draft = here.look().unsent.pop().unwrap();
        assert_eq!((draft.text.as_str(), draft.files.len()), ("second", 1));
        assert_eq!(draft.conversation, Some(ConversationId::new("c")));
    }
}
