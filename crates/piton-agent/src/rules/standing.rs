//! The standing rules as they are now: people write them and take them back while a process lives.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::WrittenRule;
use crate::settings_file::SettingsFile;

/// The rules of a settings file. They are read again when the file is another one.
#[derive(Debug)]
pub(crate) struct Standing {
    file: Option<PathBuf>,
    read: Mutex<Read>,
}

/// What was read, and from which state of the file.
#[derive(Debug)]
struct Read {
    rules: Vec<WrittenRule>,
    state: Option<FileState>,
}

/// What tells one state of a file from another: none if there is no file.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Standing {
    /// Those of a file in the state that it has now.
    pub(crate) fn new(file: Option<&Path>, rules: Vec<WrittenRule>) -> Self {
        let state = file.and_then(FileState::of);
        Self { file: file.map(Path::to_owned), read: Mutex::new(Read { rules, state }) }
    }

    /// The rules as they are now. A file that cannot be read leaves those that were read last.
    pub(crate) fn now(&self) -> Vec<WrittenRule> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = &self.file else { return read.rules.clone() };
        // Before the file is read: what is written meanwhile is read the next time.
        let state = FileState::of(file);
        if state != read.state
            && let Ok(settings) = SettingsFile::read(file)
        {
            *read = Read { rules: settings.permissions, state };
        }
        read.rules.clone()
    }
}

impl FileState {
    fn of(file: &Path) -> Option<Self> {
        let found = fs::metadata(file).ok()?;
        let changed = (found.ctime(), found.ctime_nsec());
        Some(Self { inode: found.ino(), bytes: found.len(), changed })
    }
}

#[cfg(test)]
mod tests {
    use piton_core::event::RuleEffect;

    use super::*;

    fn effects(standing: &Standing) -> Vec<RuleEffect> {
        standing.now().into_iter().map(|it| it.rule.effect).collect()
    }

    #[test]
    fn rules_count_as_the_file_says_them_now() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("piton.toml");
        let text = "[[permissions]]\ntool = \"shell\"\neffect = \"allow\"\n";
        fs::write(&file, text).unwrap();
        let standing = Standing::new(Some(&file), SettingsFile::read(&file).unwrap().permissions);
        assert_eq!(effects(&standing), [RuleEffect::Allow]);
        let two = format!("{text}\n[[permissions]]\ntool = \"glob\"\neffect = \"deny\"\n");
        fs::write(&file, two).unwrap();
        assert_eq!(effects(&standing), [RuleEffect::Allow, RuleEffect::Deny]);
        fs::write(&file, "permissions = 1").unwrap();
        let kept = effects(&standing);
        assert_eq!(kept, [RuleEffect::Allow, RuleEffect::Deny], "a typing error loses no rule");
        fs::remove_file(&file).unwrap();
        assert_eq!(effects(&standing), []);
    }
}
