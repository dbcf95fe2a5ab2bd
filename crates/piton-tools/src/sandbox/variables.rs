//! What a confined command sees of the environment.
//!
//! Names say what a variable is for. One with a secret in it, or with the address of a service that acts for
//! its user, is not passed on, unless the policy names it.

use std::process::Command;

use super::looks;
use super::policy::Policy;
use crate::proxy::variables as proxy;

/// Words of a name, between underscores, by which it holds a secret or leads to a service.
const WORDS: [&str; 17] = [
    "AUTH",
    "COOKIE",
    "CREDENTIAL",
    "CREDENTIALS",
    "KEY",
    "KEYS",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "PRIVATE",
    "SECRET",
    "SECRETS",
    "SOCK",
    "SOCKET",
    "TOKEN",
];

/// First words of names of services, and of accounts at providers of machines.
const FIRST_WORDS: [&str; 9] =
    ["AWS", "AZURE", "DBUS", "DOCKER", "GCP", "GOOGLE", "KUBECONFIG", "STY", "TMUX"];

/// Ends of words that say the same.
const LAST_LETTERS: [&str; 4] = ["APIKEY", "PASSWORD", "SECRET", "TOKEN"];

impl Policy {
    /// Gives a command the variables that it may see.
    pub(crate) fn set_variables(&self, command: &mut Command) {
        if self.looks.is_some() {
            return looks::set_variables(command);
        }
        for (name, _) in std::env::vars_os() {
            let passed = |known: &String| name == known.as_str();
            if !self.env.iter().any(passed) && name.to_str().is_none_or(is_withheld) {
                command.env_remove(name);
            }
        }
        if !self.granted.hosts.is_empty() {
            proxy::set_variables(&self.granted.hosts, command);
        }
    }
}

/// Whether a variable is not passed on by its name. One that is no text is not known.
fn is_withheld(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let mut words = name.split('_');
    let first = words.clone().next().unwrap_or_default();
    let is_secret = |word: &str| {
        WORDS.contains(&word) || LAST_LETTERS.iter().any(|letters| word.ends_with(letters))
    };
    FIRST_WORDS.contains(&first) || words.any(is_secret) || name.ends_with("_PWD")
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
        ] {
            assert!(is_withheld(name), "{name}");
        }
        for name in
            ["PATH", "HOME", "LANG", "CARGO_HOME", "KEYMAP", "PASSAGE", "TOKENIZERS", "MONKEY", "_"]
        {
            assert!(!is_withheld(name), "{name}");
        }
    }
}
