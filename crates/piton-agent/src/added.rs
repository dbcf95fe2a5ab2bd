//! Directories beside the workspace that a person lets tools work in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::settings::{Settings, SettingsError};

/// Most directories that a conversation works in beside its workspace.
pub const ADDED_DIRECTORIES_MAX: usize = 64;

/// Why tools cannot work in a directory.
#[derive(Debug, thiserror::Error)]
pub enum AddedError {
    /// It is not there, or closed to us.
    #[error("cannot add the directory {}", path.display())]
    Unusable {
        /// What was typed.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is something else.
    #[error("cannot add {}: it is no directory", path.display())]
    NoDirectory {
        /// What was typed.
        path: PathBuf,
    },
    /// Its path cannot be written down.
    #[error("cannot add {}: its path is not UTF-8", path.display())]
    Name {
        /// What was typed.
        path: PathBuf,
    },
    /// It belongs to piton.
    #[error("cannot add {}: piton keeps its own settings and conversations there", path.display())]
    Own {
        /// What was typed.
        path: PathBuf,
    },
    /// The present directory is gone or closed to us.
    #[error(transparent)]
    Here(#[from] SettingsError),
}

impl Settings {
    /// A directory that a person adds to the workspace, named from the present directory: its whole path
    /// without links, as conversations record it.
    pub fn added_directory(&self, typed: &Path) -> Result<String, AddedError> {
        let path = || typed.to_owned();
        let real = fs::canonicalize(self.directory()?.join(typed))
            .map_err(|source| AddedError::Unusable { path: path(), source })?;
        if !real.is_dir() {
            return Err(AddedError::NoDirectory { path: path() });
        }
        let own = self.own_places().into_iter();
        let mut own = own.map(|place| fs::canonicalize(&place).unwrap_or(place));
        if own.any(|place| real.starts_with(place)) {
            return Err(AddedError::Own { path: path() });
        }
        let real = real.to_str().ok_or_else(|| AddedError::Name { path: path() })?;
        Ok(real.to_owned())
    }

    /// A directory that a person takes out again, as conversations have recorded it. It may be gone.
    pub fn removed_directory(&self, typed: &Path) -> Result<String, AddedError> {
        let path = self.directory()?.join(typed);
        let real = fs::canonicalize(&path).unwrap_or_else(|_| path.components().collect());
        real.into_os_string().into_string().map_err(|path| AddedError::Name { path: path.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;

    #[test]
    fn a_directory_is_added_by_its_real_path_or_refused() {
        let world = tempfile::tempdir().unwrap();
        let world = world.path().canonicalize().unwrap();
        for directory in ["here", "lib", "home/scratch"] {
            fs::create_dir_all(world.join(directory)).unwrap();
        }
        fs::write(world.join("file"), "").unwrap();
        std::os::unix::fs::symlink("lib", world.join("link")).unwrap();
        let variables = [("PITON_HOME".into(), world.join("home").into())];
        let environment = Environment::new(world.join("here"), variables);
        let settings = Settings::resolve(environment).unwrap();
        let lib = world.join("lib").to_str().unwrap().to_owned();
        for typed in ["../lib", "../link", "../here/../lib/", &lib] {
            assert_eq!(settings.added_directory(Path::new(typed)).unwrap(), lib, "{typed}");
        }
        fs::remove_dir(&lib).unwrap();
        for typed in [&lib, &format!("{lib}/")] {
            assert_eq!(settings.removed_directory(Path::new(typed)).unwrap(), lib, "it is gone");
        }
        let refused = |typed: &str| settings.added_directory(Path::new(typed)).unwrap_err();
        assert!(matches!(refused("../none"), AddedError::Unusable { .. }));
        assert!(matches!(refused("../file"), AddedError::NoDirectory { .. }));
        assert!(matches!(refused("../home"), AddedError::Own { .. }));
        assert!(matches!(refused("../home/scratch"), AddedError::Own { .. }));
    }
}
