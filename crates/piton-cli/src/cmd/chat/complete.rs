//! Completion of commands and paths, and lines that go on in the next one.

use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use piton_agent::known::{KNOWN, KnownModel};
use piton_agent::{Settings, custom_commands, mentions};
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use crate::flags::{EFFORTS, Mode};
use crate::slash;

/// What can be completed.
#[derive(Debug)]
pub(super) struct Words {
    /// Commands, without their slash.
    commands: Vec<String>,
    /// The directory that paths count from.
    here: PathBuf,
}

impl Words {
    pub(super) fn of(settings: &Settings) -> Self {
        let customs = custom_commands::all(settings);
        let own = slash::names().map(str::to_owned);
        let commands = own.chain(customs.into_keys()).collect();
        let here = settings.directory().map(Path::to_owned).unwrap_or_default();
        Self { commands, here }
    }

    /// Where the word begins that is being typed, and what it can become.
    fn candidates(&self, typed: &str) -> (usize, Vec<String>) {
        let start = typed.rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
        let word = typed.get(start..).unwrap_or_default();
        let fitting = |names: &mut dyn Iterator<Item = String>| -> Vec<String> {
            names.filter(|name| name.starts_with(word)).collect()
        };
        let found = match (typed.split_whitespace().next(), word.strip_prefix('@')) {
            (_, Some(path)) => {
                let paths = mentions::beginning(path, &self.here).into_iter();
                paths.map(|path| format!("@{path}")).collect()
            }
            (Some("/model"), None) if 0 < start => {
                fitting(&mut KNOWN.iter().map(KnownModel::typed))
            }
            (Some("/mode"), None) if 0 < start => {
                fitting(&mut Mode::value_variants().iter().map(|mode| mode.typed()))
            }
            (Some("/effort"), None) if 0 < start => {
                fitting(&mut EFFORTS.iter().map(|effort| (*effort).to_owned()))
            }
            (_, None) if start == 0 && word.starts_with('/') => {
                fitting(&mut self.commands.iter().map(|name| format!("/{name}")))
            }
            (_, None) => Vec::new(),
        };
        (start, found)
    }
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, found) = self.candidates(line.get(..pos).unwrap_or(line));
        let pair = |name: String| Pair { display: name.clone(), replacement: name };
        Ok((start, found.into_iter().map(pair).collect()))
    }
}

impl Validator for Words {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let goes_on = context.input().ends_with('\\');
        Ok(if goes_on { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {}

impl Helper for Words {}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn commands_and_paths_are_completed() {
        let world = tempfile::tempdir().unwrap();
        for name in ["src/main.rs", "src/.hidden", "sample.txt", "two words"] {
            let path = world.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let commands = vec!["model".into(), "mode".into(), "review".into()];
        let words = Words { commands, here: world.path().to_owned() };
        for (typed, start, expected) in [
            ("/mo", 0, vec!["/model", "/mode"]),
            ("/re", 0, vec!["/review"]),
            ("say /mo", 4, vec![]),
            ("look at @s", 8, vec!["@sample.txt", "@src/"]),
            ("@src/", 0, vec!["@src/main.rs"]),
            ("@src/.", 0, vec!["@src/.hidden"]),
            ("@two", 0, vec![]),
            ("@nowhere/x", 0, vec![]),
            ("/mode au", 6, vec!["auto"]),
            ("/effort m", 8, vec!["minimal", "medium", "max"]),
            ("", 0, vec![]),
        ] {
            let found = words.candidates(typed);
            assert_eq!(found, (start, expected.into_iter().map(String::from).collect()), "{typed}");
        }
    }
}
