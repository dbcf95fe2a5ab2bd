//! What the flags mean on this machine, in this directory.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use crate::report::Fault;

/// Where the kernel says which boot this is; process ids mean nothing across boots.
const BOOT_FILE: &str = "/proc/sys/kernel/random/boot_id";

/// Where things are.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Where conversations are kept.
    pub(crate) home: PathBuf,
    /// The directory that a new conversation works in, canonical.
    pub(crate) workspace: PathBuf,
    /// The settings file, which need not be there.
    pub(crate) file: Option<PathBuf>,
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
        let workspace = env::current_dir().and_then(fs::canonicalize).map_err(Fault::Directory)?;
        // Whoever moves the data moves the settings with it.
        let (home, file) = match set("PITON_HOME") {
            Some(home) => (workspace.join(&home), Some(workspace.join(home))),
            None => (data_directory()?, config_directory()),
        };
        let file = file.map(|directory| directory.join("piton.toml"));
        Ok(Self { home, workspace, file, no_input: set("PITON_NO_INPUT").is_some() })
    }

    /// Whether the database is there. Looking must not make one.
    pub(crate) fn has_database(&self) -> bool {
        self.home.join("piton.db").exists()
    }

    /// Makes the home, for whoever comes before the store.
    pub(crate) fn make_home(&self) -> Result<(), Fault> {
        make_synced(&self.home).map_err(|source| Fault::Scratch { path: self.home.clone(), source })
    }

    /// Where tools keep long outputs while they are written.
    pub(crate) fn scratch(&self) -> Result<PathBuf, Fault> {
        let scratch = self.home.join("scratch");
        make(&scratch)?;
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

fn make(directory: &Path) -> Result<(), Fault> {
    fs::create_dir_all(directory)
        .map_err(|source| Fault::Scratch { path: directory.to_owned(), source })
}

/// The store syncs the directories it makes, because a synced file in a directory that is gone is
/// gone. It does not sync those it finds, so whoever makes them for it has to.
fn make_synced(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let Some(parent) = directory.parent() else { return Ok(()) };
    make_synced(parent)?;
    match fs::create_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => fs::File::open(parent)?.sync_all(),
    }
}

/// An environment variable with something in it.
fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}
