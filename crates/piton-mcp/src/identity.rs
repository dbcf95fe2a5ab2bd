//! Which server a list of tools belongs to, and how that server looked when it gave the list.
//!
//! Two digests. The first stays the same while the server is the same one: its name, how it is reached
//! and where it is started. The second changes with all that can be seen of it without asking: its
//! variables, its headers, its whole address, and the files that it is started from.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::place::Place;
use crate::settings::{Launch, ServerSettings};
use crate::text::{digest, head};

/// Letters of a digest.
const DIGEST_LETTERS: usize = 32;
/// Most arguments of a program that are looked at.
const ARGUMENTS_MAX: usize = 64;

/// A server, as far as it can be told without asking it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Which one it is.
    pub(crate) name: String,
    /// How it looks now.
    pub(crate) look: String,
}

impl Identity {
    /// Looks at the server from outside. There is none if its settings cannot be used.
    pub(crate) fn of(settings: &ServerSettings, place: &Place) -> Option<Self> {
        let launch = settings.launch.as_ref().ok()?;
        let (whereabouts, look) = match launch {
            Launch::Program { command, args, env, cwd } => {
                let directory = cwd.as_ref().map_or_else(PathBuf::new, Clone::clone);
                let directory = place.workspace.join(directory);
                let look = program_look(command, args, env, &directory);
                (directory.display().to_string(), look)
            }
            Launch::Http { url, headers } => (String::new(), format!("{url} {headers:?}")),
        };
        let name = format!("{:?} {} {whereabouts:?}", settings.name, launch.identity());
        Some(Self { name: short(&name), look: short(&look) })
    }
}

fn short(text: &str) -> String {
    head(&digest(text.as_bytes()), DIGEST_LETTERS).to_owned()
}

/// The variables of a program, and the files that it is made of as far as its command names them: a
/// script is an argument of the program that runs it.
fn program_look(
    command: &str,
    args: &[String],
    env: &BTreeMap<String, String>,
    directory: &Path,
) -> String {
    let mut look = format!("{env:?}");
    let program = program(command, env, directory);
    let named = args.iter().take(ARGUMENTS_MAX).map(|arg| directory.join(arg));
    for path in program.into_iter().chain(named) {
        if let Some(file) = fs::metadata(&path).ok().filter(Metadata::is_file) {
            let changed = (file.mtime(), file.mtime_nsec());
            // Writing to a string cannot fail.
            write!(look, " {} {} {changed:?}", path.display(), file.len()).unwrap_or_default();
        }
    }
    look
}

/// The file that is started, as the system finds it.
fn program(command: &str, env: &BTreeMap<String, String>, directory: &Path) -> Option<PathBuf> {
    if command.contains('/') {
        return Some(directory.join(command));
    }
    let given = env.get("PATH").map(Into::into);
    let path = given.or_else(|| std::env::var_os("PATH"))?;
    std::env::split_paths(&path).map(|place| place.join(command)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::Expand;
    use crate::settings::{Origin, WrittenServer};

    fn identity(written: &WrittenServer, workspace: &Path) -> Identity {
        let settings = written.settle("a", Origin::Settings, &Expand::new(&|_| None, &[]));
        let http = || Err(String::new());
        let (lists, calls) = (PathBuf::new(), PathBuf::new());
        let place = Place { workspace: workspace.to_owned(), lists, calls, http };
        Identity::of(&settings, &place).unwrap()
    }

    fn program(command: &str, args: &[&str]) -> WrittenServer {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        WrittenServer { command: Some(command.into()), args, ..WrittenServer::default() }
    }

    #[test]
    fn another_command_argument_address_or_directory_is_another_server() {
        let here = Path::new("/no/here");
        let one = identity(&program("x", &["1"]), here);
        let url = |url: &str| WrittenServer { url: Some(url.into()), ..WrittenServer::default() };
        for (other, workspace) in [
            (program("y", &["1"]), here),
            (program("x", &["2"]), here),
            (program("x", &["1"]), Path::new("/no/there")),
            (url("http://h"), here),
        ] {
            assert_ne!(identity(&other, workspace).name, one.name, "{other:?}");
        }
        let far = identity(&url("http://h/mcp?key=1"), here);
        assert_eq!(identity(&url("http://h/mcp?key=1"), Path::new("/no/there")), far);
        // A key that changes makes no other server, but one that looks otherwise.
        let turned = identity(&url("http://h/mcp?key=2"), here);
        assert!(turned.name == far.name && turned.look != far.look);
    }

    #[test]
    fn variables_and_files_that_change_are_seen() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        let script = place.join("server.py");
        let tool = |key: &str| {
            let env = [("KEY".to_owned(), key.to_owned())].into();
            WrittenServer { env, ..program("./run", &["server.py", "--flag"]) }
        };
        let mut seen = vec![identity(&tool("1"), place)];
        seen.push(identity(&tool("2"), place));
        fs::write(place.join("run"), "1").unwrap();
        seen.push(identity(&tool("1"), place));
        fs::write(&script, "1").unwrap();
        seen.push(identity(&tool("1"), place));
        fs::write(&script, "12").unwrap();
        seen.push(identity(&tool("1"), place));
        for (at, one) in seen.iter().enumerate() {
            assert!(!seen.iter().skip(at + 1).any(|other| other.look == one.look), "{at}");
            assert_eq!(one.name, seen[0].name);
        }
        assert_eq!(identity(&tool("1"), place), seen[4]);
    }

    #[test]
    fn a_program_is_looked_for_where_it_would_be_started_from() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("serve");
        let path = [("PATH".to_owned(), directory.path().display().to_string())].into();
        assert_eq!(super::program("serve", &path, Path::new("/")), None);
        fs::write(&file, "").unwrap();
        assert_eq!(super::program("serve", &path, Path::new("/")), Some(file));
        assert_eq!(super::program("./a", &path, Path::new("/w")), Some("/w/./a".into()));
    }
}
