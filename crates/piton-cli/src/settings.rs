//! What the flags mean on this machine, in this directory.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use crate::report::Fault;

/// Where the kernel says which boot this is; process ids mean nothing across boots.
const BOOT_FILE: &str = "/proc/sys/kernel/random/boot_id";

/// The name of the database in a home.
const DATABASE: &str = "piton.db";
/// What a process that was killed leaves beside it.
const LOG: &str = "piton.db-wal";
/// What a directory that we make allows: everything to its owner, nothing to others.
const PRIVATE: u32 = 0o700;

/// Where things are.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Where conversations are kept.
    pub(crate) home: PathBuf,
    /// The directory that a new conversation works in, canonical. Not everything needs one.
    workspace: io::Result<PathBuf>,
    /// The settings file, which need not be there.
    pub(crate) file: Option<PathBuf>,
    /// Where things are kept that can be made again.
    pub(crate) cache: Option<PathBuf>,
    /// Whether the environment forbids questions.
    pub(crate) no_input: bool,
}

/// How this machine and its present boot are called.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) host: String,
    pub(crate) boot: String,
}

impl Settings {
    /// Looks around.
    pub(crate) fn resolve() -> Result<Self, Fault> {
        let workspace = env::current_dir().and_then(fs::canonicalize);
        // Whoever moves the data moves the settings with it.
        let (home, file, cache) = match set("PITON_HOME").map(PathBuf::from) {
            Some(home) => {
                let home = if home.is_absolute() { home } else { here(&workspace)?.join(home) };
                (home.clone(), Some(home.clone()), Some(home.join("cache")))
            }
            None => (data_directory()?, config_directory(), cache_directory()),
        };
        let file = file.map(|directory| directory.join("piton.toml"));
        Ok(Self { home, workspace, file, cache, no_input: set("PITON_NO_INPUT").is_some() })
    }

    /// Where the user's own settings are.
    pub(crate) fn config(&self) -> Option<&Path> {
        self.file.as_deref().and_then(Path::parent)
    }

    /// Conversations, keys and rules, which are no business of a command or a tool.
    pub(crate) fn own_places(&self) -> Vec<PathBuf> {
        let places = [self.home.clone()].into_iter().chain(self.config().map(Into::into));
        // The files by their own names too: they may be links to where somebody keeps them.
        let files = [self.home.join(DATABASE)].into_iter().chain(self.file.clone());
        places.chain(files).collect()
    }

    /// Own files that have more than one name. The others could be anywhere, also where commands and
    /// tools may go, and nobody can tell from the file where they are.
    pub(crate) fn shared_files(&self) -> Vec<PathBuf> {
        let files = [self.home.join(DATABASE)].into_iter().chain(self.file.clone());
        let is_shared = |file: &PathBuf| fs::metadata(file).is_ok_and(|found| 1 < found.nlink());
        files.filter(is_shared).collect()
    }

    /// The directory that a new conversation works in. Its path is UTF-8: it is recorded as text, and
    /// another directory must not be found under what text makes of it.
    pub(crate) fn workspace(&self) -> Result<&Path, Fault> {
        let here = here(&self.workspace)?;
        here.to_str().map(Path::new).ok_or_else(|| Fault::DirectoryName(here.to_owned()))
    }

    /// Whether the database is there, or its log without it. Looking must not make one.
    pub(crate) fn has_database(&self) -> Result<bool, Fault> {
        for path in [DATABASE, LOG].map(|name| self.home.join(name)) {
            match fs::metadata(&path) {
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // Conversations that cannot be seen are not conversations that are not there.
                Err(source) => return Err(Fault::Home { path, source }),
            }
        }
        Ok(false)
    }

    /// Damaged databases that were set aside earlier, whole or in part. Nothing can be read in those
    /// that were empty.
    pub(crate) fn set_aside(&self) -> Vec<PathBuf> {
        let Ok(found) = fs::read_dir(&self.home) else { return Vec::new() };
        let mut aside: Vec<_> = found.flatten().map(|file| file.path()).collect();
        let is_empty = |path: &Path| fs::metadata(path).is_ok_and(|file| file.len() == 0);
        aside.retain(|path| is_aside(path) && !is_empty(path));
        // By number: the shorter name is the lower one.
        aside.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
        aside
    }

    /// Makes the home, for whoever comes before the store.
    pub(crate) fn make_home(&self) -> Result<(), Fault> {
        make_synced(&self.home).map_err(|source| Fault::Scratch { path: self.home.clone(), source })
    }

    /// Where commands are recorded.
    pub(crate) fn calls(&self) -> PathBuf {
        self.home.join("calls")
    }

    /// Where tools keep long outputs while they are written.
    pub(crate) fn scratch(&self) -> Result<PathBuf, Fault> {
        let scratch = self.home.join("scratch");
        make_private(&scratch)
            .map_err(|source| Fault::Scratch { path: scratch.clone(), source })?;
        Ok(scratch)
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

fn data_directory() -> Result<PathBuf, Fault> {
    let places = etcetera::choose_base_strategy().map_err(|_| Fault::NoHome)?;
    Ok(places.data_dir().join("piton"))
}

fn config_directory() -> Option<PathBuf> {
    let places = etcetera::choose_base_strategy().ok()?;
    Some(places.config_dir().join("piton"))
}

fn cache_directory() -> Option<PathBuf> {
    let places = etcetera::choose_base_strategy().ok()?;
    Some(places.cache_dir().join("piton"))
}

fn here(workspace: &io::Result<PathBuf>) -> Result<&Path, Fault> {
    let again = |error: &io::Error| match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => error.kind().into(),
    };
    workspace.as_deref().map_err(|error| Fault::Directory(again(error)))
}

fn is_aside(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let number = name.strip_prefix(DATABASE).and_then(|rest| rest.strip_prefix(".damaged-"));
    number.is_some_and(|number| number.chars().all(|digit| digit.is_ascii_digit()))
}

/// Makes a directory that nobody else can look into, and its parents.
pub(crate) fn make_private(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(PRIVATE).create(directory)
}

/// The store syncs the directories it makes, because a synced file in a directory that is gone is
/// gone. It does not sync those it finds, so whoever makes them for it has to.
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

/// An environment variable with something in it.
fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}
