//! Tokens at rest: a file for each in the home, named by the digest of its secret.
//!
//! The secret itself is nowhere. A file of its own for each token needs no lock: programs and servers
//! add and revoke at the same time, and a server sees it at the next request.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use piton_agent::make_private;
use piton_core::id::Timestamp;
use serde::{Deserialize, Serialize};

use crate::chance::{self, NoChance, digest, secret};
use crate::limits::{CODE_SECONDS, COOKIE_SECONDS, NAME_LETTERS_MAX};

/// What a token's file allows: reading and writing to its owner, nothing to others.
const PRIVATE: u32 = 0o600;

/// Who holds a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bearer {
    /// A program, until the token is revoked.
    Program,
    /// A browser that redeemed a code, as long as a cookie lives.
    Browser,
    /// Nobody yet: the one-time code of a printed address, which a browser changes for a token of its own.
    Code,
}

impl Bearer {
    /// How long it counts, in milliseconds; none is until it is revoked.
    fn life_ms(self) -> Option<u64> {
        match self {
            Self::Program => None,
            Self::Browser => Some(COOKIE_SECONDS * 1_000),
            Self::Code => Some(CODE_SECONDS * 1_000),
        }
    }
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRow {
    /// Its name.
    pub name: String,
    /// Who holds it.
    pub bearer: Bearer,
    /// When it was made.
    pub made: Timestamp,
}

impl TokenRow {
    fn counts(&self, now: Timestamp) -> bool {
        self.bearer.life_ms().is_none_or(|life| now.ms_since(self.made) <= life)
    }
}

/// Why a token cannot be made, found or revoked.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The name cannot be used.
    #[error("a token's name has letters, digits, - and _, and at most {NAME_LETTERS_MAX} of them")]
    Name,
    /// There is one of this name.
    #[error("there is a token {0} already")]
    Exists(String),
    /// No secret can be made.
    #[error(transparent)]
    Chance(#[from] NoChance),
    /// The directory of tokens cannot be used.
    #[error("cannot use {}", path.display())]
    Files {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The tokens of a home.
#[derive(Clone, Debug)]
pub struct Tokens {
    directory: PathBuf,
}

impl Tokens {
    /// Those of a home, which need not be there.
    pub fn of(home: &Path) -> Self {
        Self { directory: home.join("serve").join("tokens") }
    }

    /// Makes one, and says its secret, which nobody can say again.
    pub fn add(&self, name: &str, bearer: Bearer, now: Timestamp) -> Result<String, TokenError> {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || NAME_LETTERS_MAX < name.len() || !name.chars().all(is_letter) {
            return Err(TokenError::Name);
        }
        if self.all()?.iter().any(|row| row.name == name) {
            return Err(TokenError::Exists(name.to_owned()));
        }
        let secret = secret()?;
        let row = TokenRow { name: name.to_owned(), bearer, made: now };
        let text = serde_json::to_string(&row).unwrap_or_default();
        self.write(&digest(&secret), &text).map_err(|source| self.files(source))?;
        Ok(secret)
    }

    /// A code that signs one browser in, once: `/sign-in?code=…`. Those that are too old are taken away.
    pub fn code(&self, now: Timestamp) -> Result<String, TokenError> {
        for (path, row) in self.files_of_all()? {
            if !row.counts(now) {
                fs::remove_file(&path).map_err(|source| self.files(source))?;
            }
        }
        self.add(&format!("code-{}", chance::name()), Bearer::Code, now)
    }

    /// Uses a code up; whether it was one that counts. Of two that bring it at once, one has it.
    pub(crate) fn redeem(&self, code: &str, now: Timestamp) -> bool {
        let path = self.directory.join(digest(code));
        let is_code = |row: TokenRow| row.bearer == Bearer::Code && row.counts(now);
        read(&path).is_some_and(is_code) && fs::remove_file(&path).is_ok()
    }

    /// Revokes all of a name; whether there was one.
    pub fn revoke(&self, name: &str) -> Result<bool, TokenError> {
        let mut found = false;
        for (path, row) in self.files_of_all()? {
            if row.name == name {
                fs::remove_file(&path).map_err(|source| self.files(source))?;
                found = true;
            }
        }
        Ok(found)
    }

    /// All of them but codes, the oldest first.
    pub fn all(&self) -> Result<Vec<TokenRow>, TokenError> {
        let mut rows: Vec<_> = self.files_of_all()?.into_iter().map(|(_, row)| row).collect();
        rows.retain(|row| row.bearer != Bearer::Code);
        rows.sort_by(|one, other| (one.made, &one.name).cmp(&(other.made, &other.name)));
        Ok(rows)
    }

    /// The name of the token with this digest, if it counts.
    pub(crate) fn owner(&self, digest: &str, now: Timestamp) -> Option<String> {
        let row = read(&self.directory.join(digest))?;
        (row.bearer != Bearer::Code && row.counts(now)).then_some(row.name)
    }

    /// When a token was last made or revoked; none before the first one.
    pub(super) fn changed(&self) -> Option<SystemTime> {
        fs::metadata(&self.directory).and_then(|found| found.modified()).ok()
    }

    fn write(&self, digest: &str, text: &str) -> io::Result<()> {
        make_private(&self.directory)?;
        let mut options = fs::OpenOptions::new();
        let options = options.write(true).create_new(true).mode(PRIVATE);
        let mut file = options.open(self.directory.join(digest))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    fn files_of_all(&self) -> Result<Vec<(PathBuf, TokenRow)>, TokenError> {
        let found = match fs::read_dir(&self.directory) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(self.files(source)),
        };
        let paths = found.flatten().map(|file| file.path());
        // A file that was torn while it was written is nobody's token.
        Ok(paths.filter_map(|path| read(&path).map(|row| (path, row))).collect())
    }

    fn files(&self, source: io::Error) -> TokenError {
        TokenError::Files { path: self.directory.clone(), source }
    }
}

fn read(path: &Path) -> Option<TokenRow> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const NOW: Timestamp = Timestamp(1_000);

    #[test]
    fn a_token_counts_until_it_is_revoked_and_its_secret_is_nowhere() {
        let home = tempfile::tempdir().unwrap();
        let tokens = Tokens::of(home.path());
        let secret = tokens.add("laptop", Bearer::Program, NOW).unwrap();
        assert_eq!(tokens.owner(&digest(&secret), NOW).as_deref(), Some("laptop"));
        assert_eq!(tokens.owner(&digest("another"), NOW), None);
        for file in fs::read_dir(home.path().join("serve/tokens")).unwrap() {
            let path = file.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            assert!(!text.contains(&secret) && !path.to_string_lossy().contains(&secret));
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, PRIVATE);
        }
        assert!(matches!(tokens.add("laptop", Bearer::Program, NOW), Err(TokenError::Exists(_))));
        assert!(tokens.revoke("laptop").unwrap());
        assert!(!tokens.revoke("laptop").unwrap());
        assert_eq!(tokens.owner(&digest(&secret), NOW), None);
    }

    #[test]
    fn a_browser_is_signed_in_for_so_long_and_a_program_until_it_is_revoked() {
        let home = tempfile::tempdir().unwrap();
        let tokens = Tokens::of(home.path());
        let later = NOW.plus_ms(COOKIE_SECONDS * 1_000 + 1);
        for (bearer, counts) in [(Bearer::Program, true), (Bearer::Browser, false)] {
            let name = format!("{bearer:?}");
            let secret = tokens.add(&name, bearer, NOW).unwrap();
            assert_eq!(tokens.owner(&digest(&secret), later).is_some(), counts, "{name}");
        }
    }

    #[test]
    fn a_code_is_good_once_and_not_for_ever_and_is_no_token() {
        let home = tempfile::tempdir().unwrap();
        let tokens = Tokens::of(home.path());
        let code = tokens.code(NOW).unwrap();
        assert_eq!(tokens.owner(&digest(&code), NOW), None);
        assert_eq!(tokens.all().unwrap(), []);
        assert!(!tokens.redeem("another", NOW));
        assert!(tokens.redeem(&code, NOW));
        assert!(!tokens.redeem(&code, NOW));
        let program = tokens.add("laptop", Bearer::Program, NOW).unwrap();
        assert!(!tokens.redeem(&program, NOW));
        let (late, later) = (tokens.code(NOW).unwrap(), NOW.plus_ms(CODE_SECONDS * 1_000 + 1));
        assert!(!tokens.redeem(&late, later));
        // The next one takes those away that are too old, and nothing else.
        tokens.code(later).unwrap();
        assert_eq!(fs::read_dir(home.path().join("serve/tokens")).unwrap().count(), 2);
        assert!(tokens.owner(&digest(&program), later).is_some());
    }

    #[test]
    fn a_name_with_a_path_in_it_is_refused() {
        let home = tempfile::tempdir().unwrap();
        for name in ["", "../up", "a b", "a/b", &"a".repeat(NAME_LETTERS_MAX + 1)] {
            let made = Tokens::of(home.path()).add(name, Bearer::Program, NOW);
            assert!(matches!(made, Err(TokenError::Name)), "{name}");
        }
    }
}
