//! The environment of a process as data.
//!
//! [`Environment::of_process`] is the only place that reads it. Everything else is handed an
//! environment, so that a command from another process can bring its own, and a test can make one.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use zeroize::Zeroizing;

/// Keys by the names of the variables that they came in. Wiped when dropped.
pub(crate) type Keys = BTreeMap<OsString, Zeroizing<Vec<u8>>>;

/// Variables and directories of a process. Cheap to clone.
#[derive(Clone)]
pub struct Environment {
    variables: Arc<BTreeMap<OsString, OsString>>,
    /// Variables that the process no longer has: nobody else sees them, and no other program inherits them.
    keys: Arc<Keys>,
    user_directory: Option<PathBuf>,
    directory: Result<PathBuf, Arc<io::Error>>,
    temporary: PathBuf,
}

impl Environment {
    /// The environment of this process as it is now.
    pub fn of_process() -> Self {
        let directory = std::env::current_dir().and_then(fs::canonicalize).map_err(Arc::new);
        Self {
            variables: Arc::new(std::env::vars_os().collect()),
            keys: Arc::default(),
            user_directory: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            directory,
            temporary: std::env::temp_dir(),
        }
    }

    /// An environment with these variables, whose present directory is `directory`.
    pub fn new(
        directory: PathBuf,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        let variables: BTreeMap<_, _> = variables.into_iter().collect();
        let path = |name: &str| variables.get(OsStr::new(name)).map(PathBuf::from);
        let (user_directory, temporary) = (path("HOME"), path("TMPDIR"));
        Self {
            variables: Arc::new(variables),
            keys: Arc::default(),
            user_directory,
            directory: Ok(directory),
            temporary: temporary.unwrap_or_else(|| "/tmp".into()),
        }
    }

    /// The same with keys that were taken out of the variables of the process.
    pub(crate) fn with_keys(mut self, keys: Keys) -> Self {
        self.keys = Arc::new(keys);
        self
    }

    /// The value of a variable, unless it is empty.
    pub fn value(&self, name: &str) -> Option<&OsStr> {
        self.look_up(name).filter(|value| !value.is_empty())
    }

    /// The value of a variable, if it is text that is not blank.
    pub fn text(&self, name: &str) -> Option<String> {
        let value = self.look_up(name)?.to_str()?;
        Some(value.to_owned()).filter(|value| !value.trim().is_empty())
    }

    /// The same for a key. It is wiped when it is dropped.
    pub(crate) fn key(&self, name: &str) -> Option<Zeroizing<String>> {
        self.text(name).map(Zeroizing::new)
    }

    /// The names of all variables that are text.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().chain(self.keys.keys()).filter_map(|name| name.to_str())
    }

    /// Gives a program the keys too. Only for our own program, which puts them away again, and for those that
    /// the user named to deal with keys.
    pub fn give_keys(&self, command: &mut Command) {
        command.envs(self.keys.iter().map(|(name, key)| (name, OsStr::from_bytes(key))));
    }

    fn look_up(&self, name: &str) -> Option<&OsStr> {
        let name = OsStr::new(name);
        let key = || self.keys.get(name).map(|key| OsStr::from_bytes(key));
        self.variables.get(name).map(OsString::as_os_str).or_else(key)
    }

    /// The user's own directory.
    pub fn user_directory(&self) -> Option<&Path> {
        self.user_directory.as_deref()
    }

    /// The present directory, canonical; an error if it is gone or closed to us.
    pub fn directory(&self) -> Result<&Path, Arc<io::Error>> {
        self.directory.as_deref().map_err(Arc::clone)
    }

    /// Where temporary files are kept.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// A directory of the XDG base directory specification: what the variable says if that is
    /// absolute, else the usual place below the user's own directory.
    pub(crate) fn base_directory(&self, variable: &str, usual: &str) -> Option<PathBuf> {
        let said = self.value(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        said.or_else(|| Some(self.user_directory()?.join(usual)))
    }
}

/// Names only: values may be keys.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("variables", &self.variables.keys().collect::<Vec<_>>())
            .field("keys", &self.keys.keys().collect::<Vec<_>>())
            .field("user_directory", &self.user_directory)
            .field("directory", &self.directory)
            .field("temporary", &self.temporary)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Environment::new("/here".into(), variables)
    }

    #[test]
    fn a_variable_without_content_is_not_set() {
        let environment = environment(&[("A", ""), ("B", " \n"), ("C", " c ")]);
        assert_eq!((environment.value("A"), environment.text("B")), (None, None));
        assert_eq!(environment.text("C").as_deref(), Some(" c "));
        assert_eq!(environment.text("D"), None);
    }

    #[test]
    fn a_base_directory_is_absolute_or_below_the_users_own() {
        let usual = |variables| environment(variables).base_directory("XDG_X", ".x");
        assert_eq!(usual(&[("HOME", "/me")]), Some("/me/.x".into()));
        assert_eq!(usual(&[("HOME", "/me"), ("XDG_X", "/x")]), Some("/x".into()));
        assert_eq!(usual(&[("HOME", "/me"), ("XDG_X", "x")]), Some("/me/.x".into()));
        assert_eq!(usual(&[]), None);
    }

    #[test]
    fn values_are_shown_to_nobody() {
        let shown = |environment: Environment| {
            let shown = format!("{environment:?}");
            assert!(shown.contains("ANTHROPIC_API_KEY") && !shown.contains("s3cret"), "{shown}");
        };
        shown(environment(&[("ANTHROPIC_API_KEY", "s3cret")]));
        shown(with_key());
    }

    fn with_key() -> Environment {
        let key = ("ANTHROPIC_API_KEY".into(), b"s3cret".to_vec().into());
        environment(&[("HOME", "/me")]).with_keys([key].into())
    }

    #[test]
    fn a_key_that_was_put_away_is_found_under_its_name() {
        let environment = with_key();
        assert_eq!(environment.text("ANTHROPIC_API_KEY").as_deref(), Some("s3cret"));
        assert_eq!(environment.names().collect::<Vec<_>>(), ["HOME", "ANTHROPIC_API_KEY"]);
        let mut command = Command::new("true");
        environment.give_keys(&mut command);
        let given: Vec<_> = command.get_envs().collect();
        assert_eq!(given, [(OsStr::new("ANTHROPIC_API_KEY"), Some(OsStr::new("s3cret")))]);
    }
}
