//! Commands of the user: Markdown files with placeholders, typed as `/name words`.
//!
//! Only the user's own folders are read. What a command says is sent as what the user said.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::front_matter::FrontMatter;
use crate::near::near;
use crate::settings::Settings;

/// Most bytes of a command.
const BYTES_MAX: u64 = 64 * 1024;
/// How deep folders are looked through.
const DEPTH_MAX: usize = 3;
/// Most commands that count.
const COMMANDS_MAX: usize = 500;

/// A command of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomCommand {
    /// What is typed behind the stroke; a folder is divided off by a colon.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
}

/// What a command says with the words behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expanded {
    /// What is sent: what was typed, then what the command says.
    pub text: String,
    /// Who answers, if the command names a model.
    pub model: Option<String>,
}

/// Why a command cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CustomFault {
    /// There is none of this name, and others are nearly called so.
    #[error("there is no command /{name}; did you mean {}?", suggest(near))]
    Unknown {
        /// The name.
        name: String,
        /// The names that are near.
        near: Vec<String>,
    },
    /// Its file cannot be used.
    #[error("the command /{name} cannot be used: {}: {why}", path.display())]
    Unusable {
        /// The name.
        name: String,
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

fn suggest(near: &[String]) -> String {
    near.iter().map(|name| format!("/{name}")).collect::<Vec<_>>().join(" or ")
}

/// The user's commands by name. Of two with one name, the first found counts.
pub fn all(settings: &Settings) -> BTreeMap<String, CustomCommand> {
    let home = settings.environment.user_directory();
    let below = |path: &str| home.map(|home| home.join(path));
    let places = [
        settings.config().map(|own| own.join("commands")),
        below(".claude/commands"),
        below(".config/opencode/commands"),
        below(".codex/prompts"),
    ];
    let mut found = BTreeMap::new();
    for place in places.into_iter().flatten() {
        look(&place, "", DEPTH_MAX, &mut found);
    }
    found
}

fn look(place: &Path, prefix: &str, depth: usize, found: &mut BTreeMap<String, CustomCommand>) {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        let name = format!("{prefix}{stem}");
        if path.is_dir() && 1 < depth {
            look(&path, &format!("{name}:"), depth - 1, found);
        } else if path.extension().is_some_and(|end| end == "md") && found.len() < COMMANDS_MAX {
            found.entry(name.clone()).or_insert(CustomCommand { name, path });
        }
    }
}

/// What a typed text means: none, if it is no command.
pub fn expand(settings: &Settings, typed: &str) -> Result<Option<Expanded>, CustomFault> {
    let Some(rest) = typed.strip_prefix('/') else { return Ok(None) };
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_fit = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ':' | '.');
    if name.is_empty() || !name.chars().all(is_fit) {
        return Ok(None);
    }
    let commands = all(settings);
    let Some(command) = commands.get(name) else {
        let near = near(name, commands.keys().map(String::as_str));
        let name = name.to_owned();
        return if near.is_empty() { Ok(None) } else { Err(CustomFault::Unknown { name, near }) };
    };
    command.with(words.trim()).map(|(says, model)| {
        Some(Expanded { text: format!("{}\n\n{}", typed.trim_end(), says.trim()), model })
    })
}

impl CustomCommand {
    /// What it says with these words, and the model that it names.
    fn with(&self, words: &str) -> Result<(String, Option<String>), CustomFault> {
        let Self { name, path } = self;
        let unusable =
            |why: String| CustomFault::Unusable { name: name.clone(), path: path.clone(), why };
        let mut text = String::new();
        let file = File::open(path).map_err(|error| unusable(error.to_string()))?;
        let bytes = file.take(BYTES_MAX + 1).read_to_string(&mut text);
        let bytes = bytes.map_err(|error| unusable(error.to_string()))?;
        if BYTES_MAX < bytes as u64 {
            return Err(unusable(format!("it has more than {BYTES_MAX} bytes")));
        }
        let read = FrontMatter::read(&text).map_err(unusable)?;
        let says = filled(read.body, words);
        Ok((says, read.text("model").map(ToOwned::to_owned)))
    }
}

/// A text with its placeholders filled: `$ARGUMENTS` and `$@` are all words, `$1` to `$9` single ones. Words
/// of a text without placeholders stand behind it.
fn filled(text: &str, words: &str) -> String {
    let single: Vec<&str> = words.split_whitespace().collect();
    let (mut said, mut rest, mut used) = (String::with_capacity(text.len()), text, false);
    while let Some(at) = rest.find('$') {
        let (before, behind) = rest.split_at(at);
        said.push_str(before);
        let behind = behind.strip_prefix('$').unwrap_or_default();
        let number = behind.chars().next().and_then(|digit| digit.to_digit(10));
        if let Some(left) = behind.strip_prefix("ARGUMENTS").or_else(|| behind.strip_prefix('@')) {
            said.push_str(words);
            (rest, used) = (left, true);
        } else if let Some(number @ 1..=9) = number {
            said.push_str(single.get(number as usize - 1).unwrap_or(&""));
            (rest, used) = (behind.get(1..).unwrap_or_default(), true);
        } else {
            said.push('$');
            rest = behind;
        }
    }
    said.push_str(rest);
    if used || words.is_empty() { said } else { format!("{}\n\n{words}", said.trim_end()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;

    fn home() -> (tempfile::TempDir, Settings) {
        let root = tempfile::tempdir().unwrap();
        let variables = [("HOME".into(), root.path().into())];
        let settings = Settings::resolve(Environment::new("/".into(), variables)).unwrap();
        (root, settings)
    }

    fn write(root: &tempfile::TempDir, path: &str, content: &str) {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[test]
    fn placeholders_are_filled_and_other_strokes_stay() {
        for (text, words, expected) in [
            ("Look at $ARGUMENTS.", "a b", "Look at a b."),
            ("$2 then $1, $3!", "a b", "b then a, !"),
            ("All: $@", "$1 x", "All: $1 x"),
            ("It costs $0 and $HOME", "", "It costs $0 and $HOME"),
            ("Plain.\n", "more", "Plain.\n\nmore"),
            ("$", "", "$"),
        ] {
            assert_eq!(filled(text, words), expected, "{text}");
        }
    }

    #[test]
    fn a_command_says_what_its_file_says_behind_what_was_typed() {
        let (root, settings) = home();
        let text = "---\ndescription: Reviews.\nmodel: gemini/pro\n---\nReview $1.\n";
        write(&root, ".claude/commands/review.md", text);
        write(&root, ".config/piton/commands/git/commit.md", "Commit.");
        let expanded = expand(&settings, "/review a.rs").unwrap().unwrap();
        assert_eq!(expanded.text, "/review a.rs\n\nReview a.rs.");
        assert_eq!(expanded.model.as_deref(), Some("gemini/pro"));
        let expanded = expand(&settings, "/git:commit").unwrap().unwrap();
        assert_eq!((expanded.text.as_str(), expanded.model), ("/git:commit\n\nCommit.", None));
    }

    #[test]
    fn what_is_no_command_is_sent_as_it_is_and_a_near_miss_is_told() {
        let (root, settings) = home();
        write(&root, ".codex/prompts/review.md", "Review.");
        for text in ["/etc/hosts is odd", "/", "/ a", "a /review", "/zzz now", ""] {
            assert_eq!(expand(&settings, text), Ok(None), "{text}");
        }
        let error = expand(&settings, "/revew it").unwrap_err().to_string();
        assert_eq!(error, "there is no command /revew; did you mean /review?");
    }

    #[test]
    fn a_command_that_cannot_be_read_is_named() {
        let (root, settings) = home();
        write(&root, ".codex/prompts/a.md", "---\nmodel: b: c\n---\n");
        write(&root, ".codex/prompts/b.md", &"x".repeat(70_000));
        for text in ["/a", "/b"] {
            let error = expand(&settings, text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the command {text} cannot be used: ")), "{error}");
        }
    }
}
