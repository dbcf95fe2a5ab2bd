//! Where conversations, settings and caches are on this machine.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::environment::Environment;
use crate::workspace;

/// Where the kernel says which boot this is; process ids mean nothing across boots.
const BOOT_FILE: &str = "/proc/sys/kernel/random/boot_id";

/// The name of the database in a home.
const DATABASE: &str = "piton.db";
/// What a process that was killed leaves beside it.
const LOG: &str = "piton.db-wal";
/// What a directory that we make allows: everything to its owner, nothing to others.
const PRIVATE: u32 = 0o700;

/// Why a directory of ours cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The present directory is gone or closed to us.
    #[error("cannot use the present directory")]
    Directory(#[source] Arc<io::Error>),
    /// The present directory cannot be written down.
    #[error("the path of the present directory is not UTF-8: {}", .0.display())]
    DirectoryName(PathBuf),
    /// Nobody knows where to keep conversations.
    #[error("there is no home directory to keep conversations in")]
    NoHome,
    /// Nobody knows whether there are conversations.
    #[error("cannot look at {}", path.display())]
    Home {
        /// The database.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A directory of ours cannot be made.
    #[error("cannot make {}", path.display())]
    Make {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Where things are.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where conversations are kept.
    pub home: PathBuf,
    /// The settings file, which need not be there.
    pub file: Option<PathBuf>,
    /// Where things are kept that can be made again.
    pub cache: Option<PathBuf>,
    /// Where the log is written.
    pub log: Option<PathBuf>,
    /// The environment that all of this was found in.
    pub environment: Environment,
    /// The root of the repository that the present directory is in.
    pub repository: Option<PathBuf>,
}

/// How this machine and its present boot are called.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) host: String,
    pub(crate) boot: String,
}

impl Settings {
    /// Finds the directories that an environment names.
    pub fn resolve(environment: Environment) -> Result<Self, SettingsError> {
        let base = |variable, usual| environment.base_directory(variable, usual).map(piton);
        let moved = moved_home(&environment)?;
        let file = file_in(&environment)?;
        let (home, cache, log) = match moved {
            Some(home) => (home.clone(), Some(home.join("cache")), Some(home.join("log"))),
            None => (
                base("XDG_DATA_HOME", ".local/share").ok_or(SettingsError::NoHome)?,
                base("XDG_CACHE_HOME", ".cache"),
                base("XDG_STATE_HOME", ".local/state"),
            ),
        };
        let here = environment.directory().ok();
        let repository =
            here.and_then(|here| workspace::repository(here, environment.user_directory()));
        Ok(Self { home, file, cache, log, environment, repository })
    }

    /// Where the user's own settings are.
    pub fn config(&self) -> Option<&Path> {
        self.file.as_deref().and_then(Path::parent)
    }

    /// Conversations, keys and rules, which are no business of a command or a tool.
    pub fn own_places(&self) -> Vec<PathBuf> {
        let directories = [self.home.clone()].into_iter().chain(self.config().map(Into::into));
        let directories = directories.chain(self.log.clone());
        // The files by their own names too: they may be links to another directory.
        directories.chain(self.own_files()).collect()
    }

    /// Own files that have more than one name. Nobody can tell from the file where its other names
    /// are: they may be in a directory that commands and tools can reach.
    pub fn shared_files(&self) -> Vec<PathBuf> {
        let is_shared = |file: &PathBuf| fs::metadata(file).is_ok_and(|found| 1 < found.nlink());
        self.own_files().filter(is_shared).collect()
    }

    /// The files that hold conversations, keys and rules.
    fn own_files(&self) -> impl Iterator<Item = PathBuf> {
        [self.home.join(DATABASE)].into_iter().chain(self.file.clone())
    }

    /// The present directory. Its path is UTF-8: it is recorded as text, and another directory must not
    /// be found under what text makes of it.
    pub fn directory(&self) -> Result<&Path, SettingsError> {
        let here = here(&self.environment)?;
        here.to_str().map(Path::new).ok_or_else(|| SettingsError::DirectoryName(here.to_owned()))
    }

    /// The directory that a new conversation works in: the repository's root, or the present directory
    /// where there is none.
    pub fn workspace(&self) -> Result<&Path, SettingsError> {
        let here = self.directory()?;
        Ok(self.repository.as_deref().unwrap_or(here))
    }

    /// The directories whose conversations, drafts and changes are found from here: the workspace, and
    /// the present directory, which builds before repositories counted took for the workspace.
    pub fn found_from_here(&self) -> Result<Vec<&Path>, SettingsError> {
        let (workspace, here) = (self.workspace()?, self.directory()?);
        Ok(if workspace == here { vec![workspace] } else { vec![workspace, here] })
    }

    /// Whether the database is there, or its log without it. Looking must not make one.
    pub fn has_database(&self) -> Result<bool, SettingsError> {
        for path in [DATABASE, LOG].map(|name| self.home.join(name)) {
            match fs::metadata(&path) {
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // Conversations that cannot be seen are not conversations that are not there.
                Err(source) => return Err(SettingsError::Home { path, source }),
            }
        }
        Ok(false)
    }

    /// Damaged databases that were set aside earlier, whole or in part, and not brought back yet.
    /// Nothing can be read in those that were empty.
    pub fn set_aside(&self) -> Vec<PathBuf> {
        self.all_aside().into_iter().filter(|path| brought_back(path).is_none()).collect()
    }

    /// Damaged databases from which all that can be read was brought back.
    pub fn brought_back(&self) -> Vec<(PathBuf, BroughtBack)> {
        let all = self.all_aside().into_iter();
        all.filter_map(|path| brought_back(&path).map(|how| (path, how))).collect()
    }

    /// Notes beside a damaged database that what can be read in it was brought back. A note that cannot be
    /// written is not there.
    pub fn note_brought_back(&self, path: &Path, how: BroughtBack) {
        if !self.all_aside().iter().any(|aside| aside == path) {
            return;
        }
        let word = match how {
            BroughtBack::Whole => WHOLE,
            BroughtBack::InPart => "part",
        };
        fs::write(back_note(path), word).ok();
    }

    fn all_aside(&self) -> Vec<PathBuf> {
        let Ok(found) = fs::read_dir(&self.home) else { return Vec::new() };
        let mut aside: Vec<_> = found.flatten().map(|file| file.path()).collect();
        let is_empty = |path: &Path| fs::metadata(path).is_ok_and(|file| file.len() == 0);
        aside.retain(|path| is_aside(path) && !is_empty(path));
        // By number: the shorter name is the lower one.
        aside.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
        aside
    }

    /// Makes the home, for files that are written there before the store is opened.
    pub fn make_home(&self) -> Result<(), SettingsError> {
        make_synced(&self.home)
            .map_err(|source| SettingsError::Make { path: self.home.clone(), source })
    }

    /// Where commands are recorded.
    pub fn calls(&self) -> PathBuf {
        self.home.join("calls")
    }

    /// Where tools keep long outputs while they are written.
    pub fn scratch(&self) -> Result<PathBuf, SettingsError> {
        let scratch = self.home.join("scratch");
        make_private(&scratch)
            .map_err(|source| SettingsError::Make { path: scratch.clone(), source })?;
        Ok(scratch)
    }

    /// The same for a process that keeps nothing. Where there is no place of our own, it is the temporary directory,
    /// in which commands write as well.
    pub fn passing_scratch(&self) -> PathBuf {
        let own = self.home.is_dir().then(|| self.scratch().ok()).flatten();
        own.unwrap_or_else(|| self.environment.temporary().to_owned())
    }
}

impl Machine {
    /// Asks the system.
    pub(crate) fn ask() -> Self {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let boot = fs::read_to_string(BOOT_FILE).unwrap_or_default().trim().to_owned();
        Self { host, boot }
    }
}

/// The settings file that an environment names. It need not be there.
pub(crate) fn file_in(environment: &Environment) -> Result<Option<PathBuf>, SettingsError> {
    let usual = || environment.base_directory("XDG_CONFIG_HOME", ".config").map(piton);
    // A user who moves the data moves the settings with it.
    let config = moved_home(environment)?.or_else(usual);
    Ok(config.map(|directory| directory.join("piton.toml")))
}

fn moved_home(environment: &Environment) -> Result<Option<PathBuf>, SettingsError> {
    let Some(home) = environment.value("PITON_HOME").map(PathBuf::from) else { return Ok(None) };
    Ok(Some(if home.is_absolute() { home } else { here(environment)?.join(home) }))
}

fn piton(base: PathBuf) -> PathBuf {
    base.join("piton")
}

fn here(environment: &Environment) -> Result<&Path, SettingsError> {
    environment.directory().map_err(SettingsError::Directory)
}

/// How much of a damaged database was brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BroughtBack {
    /// All of it.
    Whole,
    /// What could be read.
    InPart,
}

/// What the note says if everything was brought back.
const WHOLE: &str = "whole";

fn back_note(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".back");
    name.into()
}

fn brought_back(database: &Path) -> Option<BroughtBack> {
    let said = fs::read_to_string(back_note(database)).ok()?;
    Some(if said == WHOLE { BroughtBack::Whole } else { BroughtBack::InPart })
}

fn is_aside(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let number = name.strip_prefix(DATABASE).and_then(|rest| rest.strip_prefix(".damaged-"));
    number.is_some_and(|number| number.chars().all(|digit| digit.is_ascii_digit()))
}

/// Makes a directory that nobody else can look into, and its parents.
pub fn make_private(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(PRIVATE).create(directory)
}

/// The store syncs the directories it makes, because a synced file in a directory that is gone is
/// gone. It does not sync a directory that it finds, so this function does.
fn make_synced(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let Some(parent) = directory.parent() else { return Ok(()) };
    make_synced(parent)?;
    match fs::DirBuilder::new().mode(PRIVATE).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => fs::File::open(parent)?.sync_all(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Settings::resolve(Environment::new("/here".into(), variables))
    }

    #[test]
    fn conversations_and_settings_are_where_the_environment_says() {
        let usual = found(&[("HOME", "/me")]).unwrap();
        assert_eq!(usual.home, Path::new("/me/.local/share/piton"));
        assert_eq!(usual.file.as_deref(), Some(Path::new("/me/.config/piton/piton.toml")));
        assert_eq!(usual.cache.as_deref(), Some(Path::new("/me/.cache/piton")));
        assert_eq!(usual.log.as_deref(), Some(Path::new("/me/.local/state/piton")));
        let moved = found(&[("HOME", "/me"), ("PITON_HOME", "p")]).unwrap();
        assert_eq!(moved.home, Path::new("/here/p"));
        assert_eq!(moved.file.as_deref(), Some(Path::new("/here/p/piton.toml")));
        let split = found(&[("XDG_DATA_HOME", "/d")]).unwrap();
        assert_eq!((split.home, split.file), ("/d/piton".into(), None));
        assert!(matches!(found(&[]), Err(SettingsError::NoHome)));
    }

    // A link may lead to the file from elsewhere, so the file is closed by its own name too.
    #[test]
    fn every_own_file_is_an_own_place() {
        let settings = found(&[("HOME", "/me")]).unwrap();
        let places = settings.own_places();
        assert!(settings.own_files().all(|file| places.contains(&file)), "{places:?}");
        assert!(places.contains(&settings.home));
    }

    #[test]
    fn an_own_file_with_a_second_name_is_found() {
        let home = tempfile::tempdir().unwrap();
        let settings = found(&[("PITON_HOME", home.path().to_str().unwrap())]).unwrap();
        let file = settings.file.clone().unwrap();
        fs::write(&file, "").unwrap();
        assert_eq!(settings.shared_files(), Vec::<PathBuf>::new());
        fs::hard_link(&file, home.path().join("other")).unwrap();
        assert_eq!(settings.shared_files(), [file]);
    }
}
