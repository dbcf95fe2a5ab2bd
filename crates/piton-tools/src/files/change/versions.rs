//! Old versions of changed files, kept for a while so that a change can be taken back.
//!
//! One file per change in `<scratch>/undo`: a line that says what it is, then the old content. It is
//! written before the change is made, so it may also speak of one that was not made. Kept are the
//! newest [`UNDO_VERSIONS_MAX`] of at most [`UNDO_BYTES_MAX`] bytes together, for [`UNDO_DAYS_MAX`]
//! days.
//!
//! Knows contents and digests; how a file is changed, `change` knows.

use std::fs::{self, DirBuilder, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use piton_core::id::{ConversationId, Digest};
use serde::{Deserialize, Serialize};

use super::content::EDIT_BYTES_MAX;
use crate::contract::Site;
use crate::files::digest;
use crate::files::regular::open_regular;

/// Most bytes that are kept.
pub const UNDO_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Most versions that are kept.
pub const UNDO_VERSIONS_MAX: usize = 1_000;
/// For how many days.
pub const UNDO_DAYS_MAX: u64 = 7;

/// How many versions are kept before the oldest are looked for again.
const KEPT_BETWEEN_SWEEPS: u32 = 32;
/// Longest first line, in bytes: two paths and some digests.
const LINE_BYTES_MAX: u64 = 64 * 1024;
/// Letters of a name behind that of the conversation.
const NAME_LETTERS: usize = 16;
const PRIVATE_DIRECTORY: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// Counts what was kept since the last sweep.
static KEPT: AtomicU32 = AtomicU32::new(0);

/// Old versions of changed files.
#[derive(Clone, Debug)]
pub struct Undo {
    pub(in crate::files) scratch: PathBuf,
    pub(in crate::files) directory: PathBuf,
}

/// One change that can be taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Whose change it was.
    pub conversation: ConversationId,
    /// Where.
    pub workspace: PathBuf,
    /// The file, relative to the workspace.
    pub path: String,
    /// The digest of the content that is kept; absent if there was no file.
    pub before: Option<Digest>,
    /// The digest of what took its place; absent if the file was removed.
    pub after: Option<Digest>,
    /// When, in microseconds since the epoch: two changes can be made within a millisecond.
    pub at_us: u64,
    /// It was taken back: taking it back once more makes the change again.
    #[serde(default)]
    pub undone: bool,
    /// The file was overwritten in place, so it may be torn.
    #[serde(default)]
    pub(crate) in_place: bool,
    /// The rights of the file before; absent if there was no file, and in versions that an older build
    /// kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<u32>,
    /// The name of the patch that changed several files together, if this is one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
}

impl Undo {
    /// The versions that tools with this scratch directory keep.
    pub fn new(scratch: &Path) -> Self {
        Self { scratch: scratch.to_owned(), directory: scratch.join("undo") }
    }

    /// All changes of files in `workspace`, the newest first.
    pub fn of(&self, workspace: &Path) -> Vec<(String, Version)> {
        // A name with a dot was not finished.
        let names = self.names().into_iter().filter(|(name, ..)| !name.contains('.'));
        let all = names.filter_map(|(name, ..)| Some((self.read(&name).ok()?.0, name)));
        let mut all: Vec<_> = all
            .filter(|(version, _)| version.workspace == workspace)
            .map(|(version, name)| (name, version))
            .collect();
        all.sort_by(|(one, a), (other, b)| b.at_us.cmp(&a.at_us).then_with(|| one.cmp(other)));
        all
    }

    /// The old content of a change; absent if there was no file.
    pub fn content(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let (version, content) = self.read(name)?;
        Ok(version.before.map(|_| content))
    }

    /// Keeps the content before a change. `durable` if the change would be lost without it.
    pub(crate) fn keep(
        &self,
        version: &Version,
        content: Option<&[u8]>,
        durable: bool,
    ) -> io::Result<()> {
        let name = name(version);
        self.put_aside(&name, version)?;
        self.write(&name, version, content.unwrap_or_default(), durable)?;
        let kept = KEPT.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        if kept.is_multiple_of(KEPT_BETWEEN_SWEEPS) {
            self.sweep();
        }
        Ok(())
    }

    /// Gives an older change between the same two contents another name. It is another change, and not an
    /// earlier run of this one, if the file was changed in between.
    fn put_aside(&self, name: &str, version: &Version) -> io::Result<()> {
        let Ok((older, _)) = self.read(name) else { return Ok(()) };
        let (first, last) = (older.at_us.min(version.at_us), older.at_us.max(version.at_us));
        let lies_between =
            |it: &Version| it.path == version.path && first < it.at_us && it.at_us < last;
        if self.of(&version.workspace).iter().any(|(_, it)| lies_between(it)) {
            let aside = self.directory.join(format!("{name}-{}", older.at_us));
            fs::rename(self.directory.join(name), aside)?;
        }
        Ok(())
    }

    /// Forgets a change that was not made.
    pub(crate) fn drop(&self, version: &Version) {
        fs::remove_file(self.directory.join(name(version))).ok();
    }

    /// The content before a change that was made in place, if it was.
    pub(crate) fn before_in_place(&self, version: &Version) -> Option<Vec<u8>> {
        let (found, content) = self.read(&name(version)).ok()?;
        let is_whole = found.before == Some(digest::of(&content));
        (found.in_place && is_whole).then_some(content)
    }

    /// The version that was kept for a change, and the content before it, if both are whole.
    pub(in crate::files) fn kept(&self, version: &Version) -> Option<(Version, Option<Vec<u8>>)> {
        let (found, content) = self.read(&name(version)).ok()?;
        let content = found.before.is_some().then_some(content);
        (found.before == content.as_deref().map(digest::of)).then_some((found, content))
    }

    /// Removes what is too old or too much.
    pub(crate) fn sweep(&self) {
        let mut names = self.names();
        names.sort_by_key(|(_, _, at)| std::cmp::Reverse(*at));
        let oldest = SystemTime::now().checked_sub(Duration::from_hours(24 * UNDO_DAYS_MAX));
        let mut bytes = 0;
        for (index, (name, length, at)) in names.iter().enumerate() {
            bytes += length;
            let is_old = oldest.is_some_and(|oldest| *at < oldest);
            if is_old || UNDO_BYTES_MAX < bytes || UNDO_VERSIONS_MAX <= index {
                fs::remove_file(self.directory.join(name)).ok();
            }
        }
    }

    /// Names, lengths and ages of all files, also of those that were not finished.
    fn names(&self) -> Vec<(String, u64, SystemTime)> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let entries = entries.filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            let name = entry.file_name().into_string().ok()?;
            Some((name, metadata.len(), metadata.modified().ok()?))
        });
        entries.collect()
    }

    pub(in crate::files) fn read(&self, name: &str) -> io::Result<(Version, Vec<u8>)> {
        let file = open_regular(&self.directory.join(name))?;
        let mut file = BufReader::new(file.take(LINE_BYTES_MAX + EDIT_BYTES_MAX));
        let mut line = Vec::new();
        file.read_until(b'\n', &mut line)?;
        let version = serde_json::from_slice(&line)?;
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        Ok((version, content))
    }

    fn write(
        &self,
        name: &str,
        version: &Version,
        content: &[u8],
        durable: bool,
    ) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(&self.directory)?;
        let mut line = serde_json::to_vec(version)?;
        line.push(b'\n');
        // Not a name of a version, and nobody else's.
        let part = self.directory.join(format!("{name}.{}", std::process::id()));
        let mut file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(PRIVATE_FILE)
            .open(&part)?;
        let written = file
            .write_all(&line)
            .and_then(|()| file.write_all(content))
            .and_then(|()| if durable { file.sync_data() } else { Ok(()) })
            .and_then(|()| fs::rename(&part, self.directory.join(name)));
        if written.is_err() {
            // It takes up room where there may be none.
            fs::remove_file(&part).ok();
        }
        written?;
        if durable {
            File::open(&self.directory)?.sync_data()?;
        }
        Ok(())
    }
}

/// The same for every run of the same change. Of several changes between the same two contents, the last
/// that was kept has it.
pub(in crate::files) fn name(version: &Version) -> String {
    let Version { conversation, workspace, path, before, after, undone, .. } = version;
    let (workspace, before) = (workspace.display(), before.as_ref().map_or("", Digest::as_str));
    let after = after.as_ref().map_or("", Digest::as_str);
    let whole = digest::of(format!("{workspace}\0{path}\0{before}\0{after}").as_bytes());
    let letters: String = whole.as_str().chars().take(NAME_LETTERS).collect();
    // One that was taken back takes the place of none that was made.
    format!("{conversation}-{letters}{}", if *undone { "-undone" } else { "" })
}

fn now_us() -> u64 {
    let elapsed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}

impl Version {
    pub(crate) fn of(
        site: &Site,
        path: &str,
        before: Option<Digest>,
        after: Option<Digest>,
    ) -> Self {
        Self {
            conversation: site.conversation.clone(),
            workspace: site.workspace.clone(),
            path: path.to_owned(),
            before,
            after,
            at_us: now_us(),
            undone: false,
            in_place: false,
            mode: None,
            patch: None,
        }
    }

    /// The change that takes this one back. It stays where this one was in the list.
    pub(crate) fn turned(&self) -> Self {
        Self {
            before: self.after.clone(),
            after: self.before.clone(),
            undone: !self.undone,
            in_place: false,
            mode: None,
            ..self.clone()
        }
    }
}
