//! Where programs are found that we run by their names, outside the sandbox.
//!
//! A confined command writes in its workspace and in temporary directories, and a directory of `PATH` may lie there
//! (`.venv/bin`). A program that it puts there under a known name would be run by us with all that we may do.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// Where programs of the system are, should nothing else be left.
const OF_SYSTEM: &str = "/usr/local/bin:/usr/bin:/bin";
/// Directories in which everybody writes, confined commands too.
const TEMPORARY: [&str; 2] = ["/tmp", "/dev/shm"];

impl Environment {
    /// `PATH` without the directories in which confined commands can put programs: below `written`, and below
    /// temporary ones. A directory that is not named from the root on is left out as well.
    pub fn path_without(&self, written: &[PathBuf]) -> OsString {
        let usual = written.iter().map(PathBuf::as_path).chain([self.temporary()]);
        let written: Vec<_> = usual.chain(TEMPORARY.map(Path::new)).map(real).collect();
        let path = self.value("PATH").map(OsStr::as_bytes).unwrap_or_default();
        let is_kept = |entry: &&[u8]| {
            let place = Path::new(OsStr::from_bytes(entry));
            let is_written =
                |place: &Path| written.iter().any(|written| place.starts_with(written));
            place.is_absolute() && !is_written(place) && !is_written(&real(place))
        };
        let kept: Vec<_> = path.split(|byte| *byte == b':').filter(is_kept).collect();
        // An empty one would stand for the present directory.
        if kept.is_empty() { OF_SYSTEM.into() } else { OsString::from_vec(kept.join(&b':')) }
    }

    /// The same for the present directory, where nothing more is known.
    pub fn path_beside(&self) -> OsString {
        let here = self.directory().ok().map(Path::to_owned);
        self.path_without(here.as_slice())
    }
}

/// A place behind its links, as far as it is there.
fn real(place: &Path) -> PathBuf {
    let there = place.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    there.map_or_else(
        || place.to_owned(),
        |(above, real)| match place.strip_prefix(above) {
            Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
            Ok(_) | Err(_) => real,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_program_is_found_where_commands_write() {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["work/.venv/bin", "bin", "added"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("work/.venv/bin", root.join("link")).unwrap();
        let names = ["work/.venv/bin", "link", "work/none", "bin", "added/x", "link/../../x"];
        let path = names.map(|name| root.join(name).display().to_string()).join(":");
        let path = format!(".::bin:{path}:/tmp/x:/usr/bin");
        let environment = |path: &str| Environment::new("/".into(), [("PATH".into(), path.into())]);
        let written = [root.join("work"), root.join("added")];
        let kept = environment(&path).path_without(&written);
        assert_eq!(kept, OsString::from(format!("{}:/usr/bin", root.join("bin").display())));
        assert_eq!(environment("/usr/bin").path_without(&["/".into()]), OF_SYSTEM);
    }
}
