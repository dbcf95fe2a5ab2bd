//! What a confined command sees of the environment.
//!
//! Names say what a variable is for. One with a secret in it, or with the address of a service that acts for
//! its user, is not passed on, unless the policy names it. Nor is an address with a password in it, whatever its name.

use std::ffi::{OsStr, OsString};
use std::process::Command;

use super::looks;
use super::policy::Policy;
use crate::proxy::variables as proxy;

/// Words of a name, between underscores and without digits at their end, by which it holds a secret or leads to a
/// service.
const WORDS: [&str; 3] = ["PAT", "PRIVATE", "PWD"];
/// Ends of words that say the same.
const ENDS: [&str; 17] = [
    "AUTH",
    "AUTHORITY",
    "COOKIE",
    "CRED",
    "CREDS",
    "DSN",
    "KEY",
    "KEYS",
    "PASS",
    "PASSCODE",
    "PW",
    "SECRETS",
    "SOCK",
    "SOCKET",
    "SOCKS",
    "TOKEN",
    "TOKENS",
];
/// What says the same wherever it stands in a word. What stands in other words as well (`PASSAGE`, `TOKENIZER`) counts
/// at their ends only.
const PARTS: [&str; 7] =
    ["APIKEY", "AUTHTOKEN", "CREDENTIAL", "PASSFILE", "PASSPHRASE", "PASSW", "SECRET"];
/// First words of names of services, and of accounts at providers of machines.
const FIRST_WORDS: [&str; 10] =
    ["AWS", "AZURE", "DBUS", "DOCKER", "GCP", "GOOGLE", "GPG", "KUBECONFIG", "STY", "TMUX"];
/// The directory that a shell is in, and the one before: no passwords.
const DIRECTORIES: [&str; 2] = ["PWD", "OLDPWD"];

impl Policy {
    /// Gives a command the variables that it may see.
    pub(crate) fn set_variables(&self, command: &mut Command) {
        if self.looks.is_some() {
            return looks::set_variables(command);
        }
        for name in self.withheld() {
            command.env_remove(name);
        }
        if !self.granted.hosts.is_empty() {
            proxy::set_variables(&self.granted.hosts, command);
        }
    }

    /// The names of variables that a command is not given.
    pub(super) fn withheld(&self) -> impl Iterator<Item = OsString> {
        std::env::vars_os().filter_map(|(name, value)| {
            let is_passed = self.env.iter().any(|known| name == known.as_str());
            let is_secret = || name.to_str().is_none_or(is_withheld) || has_password(&value);
            (!is_passed && is_secret()).then_some(name)
        })
    }
}

/// Whether a variable is not passed on by its name. One that is no text is not known.
fn is_withheld(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_first = |first: &str| FIRST_WORDS.contains(&first);
    let is_secret = |word: &str| {
        let word = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
        WORDS.contains(&word)
            || ENDS.iter().any(|end| word.ends_with(end))
            || PARTS.iter().any(|part| word.contains(part))
    };
    !DIRECTORIES.contains(&name.as_str())
        && (name.split('_').next().is_some_and(is_first) || name.split('_').any(is_secret))
}

/// Whether a value is an address with a password in it: `scheme://user:password@host`.
fn has_password(value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    value.split("://").skip(1).any(|rest| {
        let is_end = |letter: char| letter.is_whitespace() || "/?#\"'".contains(letter);
        let place = rest.split(is_end).next().unwrap_or_default();
        let user = place.rsplit_once('@').and_then(|(user, _)| user.split_once(':'));
        user.is_some_and(|(_, password)| !password.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_services_are_withheld_by_their_names() {
        for name in [
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "NPM_AUTH_TOKEN",
            "PGPASSWORD",
            "MYSQL_PWD",
            "OPENAI_APIKEY",
            "AWS_PROFILE",
            "SSH_AUTH_SOCK",
            "DBUS_SESSION_BUS_ADDRESS",
            "TMUX",
            "TMUX_PANE",
            "db_password",
            "TOKEN",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "DOCKER_HOST",
            "SSHPASS",
            "SECRETKEY",
            "ACCESSKEY",
            "AUTHTOKEN1",
            "OPENAI_KEY2",
            "DB_PASS1",
            "LDAP_BINDPW",
            "MY_CREDS",
            "GPG_AGENT_INFO",
            "XAUTHORITY",
            "PGPASSFILE",
            "SENTRY_DSN",
        ] {
            assert!(is_withheld(name), "{name}");
        }
        for name in [
            "PATH",
            "PWD",
            "OLDPWD",
            "HOME",
            "LANG",
            "CARGO_HOME",
            "KEYMAP",
            "KEYBOARD",
            "PASSAGE",
            "TOKENIZERS_PARALLELISM",
            "GIT_AUTHOR_NAME",
            "DATABASE_URL",
            "SSH_CONNECTION",
            "_",
        ] {
            assert!(!is_withheld(name), "{name}");
        }
    }

    #[test]
    fn an_address_with_a_password_is_withheld_by_its_value() {
        let has = |value: &str| has_password(value.as_ref());
        for value in [
            "postgres://me:secret@db:5432/x",
            "http://me:p%40ss@proxy:3128",
            "a=1 https://x.org redis://:secret@cache/0",
            "jdbc:mysql://me:a:b@db/x",
        ] {
            assert!(has(value), "{value}");
        }
        for value in [
            "http://proxy:3128",
            "ssh://git@host:22/x",
            "https://host:443/a@b",
            "https://me:@host",
            "me:secret@host",
        ] {
            assert!(!has(value), "{value}");
        }
    }
}
