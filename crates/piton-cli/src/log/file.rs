//! The file of the log: opened with the first record, set aside when it is large, bounded in number.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use piton_agent::make_private;

/// The newest records. Older ones are in `piton.log.1` and so on.
pub(super) const NAME: &str = "piton.log";
/// From this size on, a file is set aside, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Older files that are kept.
const OLDER_MAX: usize = 3;
/// What the file allows: everything to its owner, nothing to others.
const PRIVATE: u32 = 0o600;

/// The file of the log. Several processes may write to it.
pub(super) struct LogFile {
    path: PathBuf,
    /// A directory that others make, and make durable: without it nothing is written.
    inside: Option<PathBuf>,
    open: Mutex<Option<File>>,
}

impl LogFile {
    /// Touches nothing.
    pub(super) fn new(path: PathBuf, inside: Option<PathBuf>) -> Self {
        Self { path, inside, open: Mutex::default() }
    }

    /// Adds a record. One that cannot be written is lost: a log stops nobody.
    pub(super) fn append(&self, record: &str) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.write(&mut open, record).unwrap_or_else(|_| *open = None);
    }

    fn write(&self, open: &mut Option<File>, record: &str) -> io::Result<()> {
        let is_full = |file: &File| file.metadata().map(|found| FILE_BYTES_MAX <= found.len());
        if let Some(file) = open.as_ref().filter(|file| is_full(file).unwrap_or(true)) {
            self.set_aside(file)?;
            *open = None;
        }
        if open.is_none() {
            let file = self.opened()?;
            // Another process may have filled it.
            if is_full(&file)? {
                self.set_aside(&file)?;
                *open = Some(self.opened()?);
            } else {
                *open = Some(file);
            }
        }
        // One write for one record: those of several processes do not mix.
        open.as_mut().map_or(Ok(()), |file| file.write_all(record.as_bytes()))
    }

    fn opened(&self) -> io::Result<File> {
        if self.inside.as_deref().is_some_and(|place| !place.is_dir()) {
            return Err(io::ErrorKind::NotFound.into());
        }
        make_private(self.directory())?;
        OpenOptions::new().append(true).create(true).mode(PRIVATE).open(&self.path)
    }

    fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// Makes room, unless another process has done so meanwhile.
    fn set_aside(&self, full: &File) -> io::Result<()> {
        let one_at_a_time = File::open(self.directory())?;
        one_at_a_time.lock()?;
        let now = match fs::metadata(&self.path) {
            Ok(now) => now,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let full = full.metadata()?;
        if (now.dev(), now.ino()) != (full.dev(), full.ino()) {
            return Ok(());
        }
        for age in (1..OLDER_MAX).rev() {
            // One that is not there yet leaves a gap, which fills.
            fs::rename(self.older(age), self.older(age + 1)).unwrap_or_default();
        }
        fs::rename(&self.path, self.older(1))
    }

    fn older(&self, age: usize) -> PathBuf {
        self.path.with_file_name(format!("{NAME}.{age}"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::thread;

    use super::*;

    #[test]
    fn the_file_comes_with_the_first_record_and_is_private() {
        let place = tempfile::tempdir().unwrap();
        let log = LogFile::new(place.path().join("log").join(NAME), None);
        assert!(!log.path.exists());
        log.append("one\n");
        log.append("two\n");
        assert_eq!(fs::read_to_string(&log.path).unwrap(), "one\ntwo\n");
        assert_eq!(fs::metadata(&log.path).unwrap().permissions().mode() & 0o777, PRIVATE);
    }

    #[test]
    fn large_files_are_set_aside_and_only_so_many_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(NAME);
        let record = format!("{}\n", "x".repeat(256 * 1024 - 1));
        let write = |log: &LogFile| (0..40).for_each(|_| log.append(&record));
        // Two writers, as two processes would be.
        let logs = [LogFile::new(path.clone(), None), LogFile::new(path.clone(), None)];
        thread::scope(|scope| {
            for log in &logs {
                scope.spawn(|| write(log));
            }
        });
        let files: Vec<_> = fs::read_dir(place.path()).unwrap().flatten().collect();
        assert!(files.len() <= 1 + OLDER_MAX, "{files:?}");
        assert!(path.with_file_name("piton.log.3").exists());
        for file in files {
            let length = file.metadata().unwrap().len();
            // Each writer may have looked before the other wrote.
            assert!(length <= FILE_BYTES_MAX + 2 * record.len() as u64, "{length}");
        }
    }

    #[test]
    fn a_log_that_cannot_be_written_stops_nobody() {
        LogFile::new("/proc/no/piton.log".into(), None).append("lost\n");
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("home");
        // The store makes its home durable when it makes it, and only then.
        LogFile::new(home.join("log").join(NAME), Some(home.clone())).append("lost\n");
        assert!(!home.exists());
    }
}
