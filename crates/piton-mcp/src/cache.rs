//! Lists of tools at rest: a turn begins without asking a server, and goes on while one is away.
//!
//! They are kept in piton's own directory, which no tool and no command can write to: whoever changes
//! a list could say of a tool that it only reads. They are bounded in number, size and age.

use std::fs::{self, DirBuilder, DirEntry};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use piton_tools::read_regular;
use serde::{Deserialize, Serialize};

use crate::identity::Identity;
use crate::listing::Listing;

/// Version of the files.
const FORMAT: u32 = 2;
/// What the directory allows: everything to its owner, nothing to others.
const PRIVATE: u32 = 0o700;
/// Largest list that is kept, in bytes. A server with a larger one is asked at each turn.
const LIST_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Most lists that are kept; the oldest go first.
const LISTS_MAX: usize = 256;
/// How long a list is good without a look at its server: a week.
const LIST_AGE_MAX: Duration = Duration::from_hours(7 * 24);

#[derive(Debug, Serialize, Deserialize)]
struct File {
    format: u32,
    /// How the server looked.
    look: String,
    listing: Listing,
}

/// A list that was kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) listing: Listing,
    /// Whether it is good without asking: the server looks as it did, and the list is not too old.
    pub(crate) is_fresh: bool,
}

/// What a server offered when it was last asked. What cannot be read is not there.
pub(crate) fn read(directory: &Path, server: &Identity, now: SystemTime) -> Option<Kept> {
    let path = path(directory, server);
    let about = fs::metadata(&path).ok()?;
    if LIST_BYTES_MAX < usize::try_from(about.len()).ok()? {
        return None;
    }
    let file: File = serde_json::from_str(&read_regular(&path).ok()?).ok()?;
    // A list from the future says nothing about its age.
    let age = about.modified().ok().and_then(|at| now.duration_since(at).ok());
    let is_young = age.is_some_and(|age| age <= LIST_AGE_MAX);
    let is_fresh = is_young && file.look == server.look;
    (file.format == FORMAT).then_some(Kept { listing: file.listing, is_fresh })
}

/// Keeps it. Whether that works is no matter of the turn: then the server is asked again.
pub(crate) fn write(directory: &Path, server: &Identity, listing: &Listing) {
    let file = File { format: FORMAT, look: server.look.clone(), listing: listing.clone() };
    let write = || -> io::Result<()> {
        let bytes = serde_json::to_vec(&file)?;
        // The home above it is the store's to make: it must survive a power cut.
        match DirBuilder::new().mode(PRIVATE).create(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let path = path(directory, server);
        if LIST_BYTES_MAX < bytes.len() {
            return fs::remove_file(path);
        }
        // Only its owner can read a file that is made like this.
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(&bytes)?;
        file.persist(path)?;
        forget_oldest(directory)
    };
    write().unwrap_or_default();
}

fn path(directory: &Path, server: &Identity) -> PathBuf {
    directory.join(format!("{}.json", server.name))
}

/// Holds the number of lists in bounds, with what writers that were killed left behind.
fn forget_oldest(directory: &Path) -> io::Result<()> {
    let mut all: Vec<DirEntry> = fs::read_dir(directory)?.flatten().collect();
    let excess = all.len().saturating_sub(LISTS_MAX);
    if excess == 0 {
        return Ok(());
    }
    all.sort_by_cached_key(|file| file.metadata().and_then(|file| file.modified()).ok());
    all.iter().take(excess).try_for_each(|file| fs::remove_file(file.path()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn server(name: &str, look: &str) -> Identity {
        Identity { name: name.into(), look: look.into() }
    }

    fn listing(tool: &str) -> Listing {
        let tool = serde_json::json!({"name": tool, "description": "", "schema": "{}",
            "read_only": true, "idempotent": false});
        serde_json::from_value(serde_json::json!({"tools": [tool], "left_out": []})).unwrap()
    }

    fn look(directory: &Path, server: &Identity) -> Option<Kept> {
        read(directory, server, SystemTime::now())
    }

    #[test]
    fn a_list_is_found_again_for_the_same_server_only() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("lists");
        let one = server("a", "1");
        assert_eq!(look(&directory, &one), None);
        write(&directory, &one, &listing("t"));
        let kept = |is_fresh| Some(Kept { listing: listing("t"), is_fresh });
        assert_eq!(look(&directory, &one), kept(true));
        assert_eq!(look(&directory, &server("a", "2")), kept(false));
        assert_eq!(look(&directory, &server("b", "1")), None);
        fs::write(path(&directory, &one), "{").unwrap();
        assert_eq!(look(&directory, &one), None);
    }

    #[test]
    fn an_old_list_and_one_from_the_future_are_not_good_without_asking() {
        let home = tempfile::tempdir().unwrap();
        let (one, now) = (server("a", "1"), SystemTime::now());
        write(home.path(), &one, &listing("t"));
        let fresh = |now| read(home.path(), &one, now).unwrap().is_fresh;
        let minute = Duration::from_mins(1);
        assert!(fresh(now + LIST_AGE_MAX - minute));
        assert!(!fresh(now + LIST_AGE_MAX + minute));
        assert!(!fresh(now - minute));
    }

    #[test]
    fn lists_are_private_and_bounded_in_number_and_size() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("lists");
        for number in 0..LISTS_MAX + 3 {
            write(&directory, &server(&format!("s{number}"), ""), &listing("t"));
        }
        assert_eq!(fs::read_dir(&directory).unwrap().count(), LISTS_MAX);
        let last = server(&format!("s{}", LISTS_MAX + 2), "");
        assert!(look(&directory, &last).is_some());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&directory), mode(&path(&directory, &last))), (0o700, 0o600));
        write(&directory, &last, &listing(&"t".repeat(LIST_BYTES_MAX)));
        assert_eq!(look(&directory, &last), None);
    }

    // The store makes the home, and syncs what it makes.
    #[test]
    fn no_home_is_made() {
        let home = tempfile::tempdir().unwrap();
        let above = home.path().join("home");
        write(&above.join("lists"), &server("a", "1"), &listing("t"));
        assert!(!above.exists());
    }
}
