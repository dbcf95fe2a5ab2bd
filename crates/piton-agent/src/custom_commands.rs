//! Commands of the user: Markdown files with placeholders, typed as `/name words`.
//!
//! Only the user's own folders are read. What a command says is sent as what the user said. Where its text
//! names a command for the shell, the output of that stands in its place; a face runs it.

mod pieces;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

pub use self::pieces::Piece;
use self::pieces::pieces;
use crate::front_matter::FrontMatter;
use crate::near::near;
use crate::settings::Settings;

/// Most bytes of a command.
const BYTES_MAX: u64 = 64 * 1024;
/// How deep folders are looked through.
const DEPTH_MAX: usize = 3;
/// Most commands that count.
const COMMANDS_MAX: usize = 500;
/// Most commands for the shell in one text.
const SHELL_COMMANDS_MAX: usize = 16;
/// Folders of a repository in which other agents look for commands.
const REPOSITORY_COMMANDS: [&str; 4] =
    [".piton/commands", ".claude/commands", ".opencode/commands", ".codex/prompts"];
/// The same for skills, which other agents take by name as well.
const REPOSITORY_SKILLS: [&str; 3] = [".piton/skills", ".claude/skills", ".agents/skills"];

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
    /// The name of the command.
    pub name: String,
    /// The words behind the name.
    pub words: String,
    /// What is sent, piece by piece: what was typed, then what the command says.
    pub pieces: Vec<Piece>,
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
    /// The repository has one of this name, and what a repository brings is not used.
    #[error("/{name} is there, in {}, but what a repository brings is not used", path.display())]
    OfRepository {
        /// The name.
        name: String,
        /// Its file, or the folder of a skill.
        path: PathBuf,
        /// Where it would be the user's own.
        own: PathBuf,
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

/// The command or skill of this name that the repository brings and the user does not have.
pub fn of_repository(settings: &Settings, name: &str) -> Option<CustomFault> {
    let own = settings.config()?;
    let (here, root) = (settings.directory().ok()?, settings.workspace().ok()?);
    let below = name.replace(':', "/");
    let home = settings.environment.user_directory();
    let places = here.ancestors().take_while(|place| place.starts_with(root));
    // What lies in the home directory is the user's own.
    for place in places.filter(|place| Some(*place) != home) {
        let command = format!("{below}.md");
        let found = REPOSITORY_COMMANDS.iter().map(|folder| place.join(folder).join(&command));
        if let Some(path) = found.into_iter().find(|path| path.is_file()) {
            let (name, own) = (name.to_owned(), own.join("commands").join(command));
            return Some(CustomFault::OfRepository { name, path, own });
        }
        let found = REPOSITORY_SKILLS.iter().map(|folder| place.join(folder).join(&below));
        if let Some(path) = found.into_iter().find(|path| path.join("SKILL.md").is_file()) {
            let (name, own) = (name.to_owned(), own.join("skills").join(below));
            return Some(CustomFault::OfRepository { name, path, own });
        }
    }
    None
}

/// What a typed text means: none, if it is no command.
pub fn expand(settings: &Settings, typed: &str) -> Result<Option<Expanded>, CustomFault> {
    let Some(rest) = typed.strip_prefix('/') else { return Ok(None) };
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_fit = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ':' | '.');
    if name.is_empty() || !name.chars().all(is_fit) || name.starts_with('.') {
        return Ok(None);
    }
    let commands = all(settings);
    let Some(command) = commands.get(name) else {
        if let Some(fault) = of_repository(settings, name) {
            return Err(fault);
        }
        let near = near(name, commands.keys().map(String::as_str));
        let name = name.to_owned();
        return if near.is_empty() { Ok(None) } else { Err(CustomFault::Unknown { name, near }) };
    };
    let (name, words) = (name.to_owned(), words.trim().to_owned());
    let (says, model) = command.with(&words)?;
    let typed = Piece::Text(format!("{}\n\n", typed.trim_end()));
    let pieces = [typed].into_iter().chain(says).collect();
    Ok(Some(Expanded { name, words, pieces, model }))
}

impl CustomCommand {
    /// What it says with these words, and the model that it names.
    fn with(&self, words: &str) -> Result<(Vec<Piece>, Option<String>), CustomFault> {
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
        let says = pieces(read.body.trim(), words);
        let commands = says.iter().filter(|piece| matches!(piece, Piece::Shell(_))).count();
        if SHELL_COMMANDS_MAX < commands {
            return Err(unusable(format!("it runs more than {SHELL_COMMANDS_MAX} commands")));
        }
        Ok((says, read.text("model").map(ToOwned::to_owned)))
    }
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

    fn said(expanded: Expanded) -> String {
        let texts = expanded.pieces.into_iter().map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Shell(command) => format!("<{command}>"),
        });
        texts.collect()
    }

    #[test]
    fn a_command_says_what_its_file_says_behind_what_was_typed() {
        let (root, settings) = home();
        let text = "---\ndescription: Reviews.\nmodel: gemini/pro\n---\nReview $1.\n";
        write(&root, ".claude/commands/review.md", text);
        write(&root, ".config/piton/commands/git/commit.md", "Commit.");
        let expanded = expand(&settings, "/review a.rs").unwrap().unwrap();
        assert_eq!(expanded.model.as_deref(), Some("gemini/pro"));
        assert_eq!(said(expanded), "/review a.rs\n\nReview a.rs.");
        let expanded = expand(&settings, "/git:commit").unwrap().unwrap();
        assert_eq!(expanded.model, None);
        assert_eq!(said(expanded), "/git:commit\n\nCommit.");
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
    fn what_a_repository_brings_is_named_and_not_used() {
        let root = tempfile::tempdir().unwrap();
        let here = root.path().join("repo/sub");
        fs::create_dir_all(root.path().join("repo/.git")).unwrap();
        fs::create_dir_all(&here).unwrap();
        write(&root, "repo/.claude/commands/git/ship.md", "Ship.");
        write(&root, "repo/sub/.claude/skills/fly/SKILL.md", "Fly.");
        let home = root.path().join("home");
        let variables = [("HOME".into(), home.clone().into())];
        let settings = Settings::resolve(Environment::new(here, variables)).unwrap();
        for (text, kind) in [("/git:ship it", "commands/git/ship.md"), ("/fly", "skills/fly")] {
            let fault = expand(&settings, text).unwrap_err();
            let CustomFault::OfRepository { own, .. } = fault else { panic!("{fault}") };
            assert_eq!(own, home.join(".config/piton").join(kind));
        }
        for text in ["/ship", "/../x", "/.git", "/sub"] {
            assert_eq!(expand(&settings, text), Ok(None), "{text}");
        }
        write(&root, "home/.claude/commands/fly.md", "My own.");
        assert!(expand(&settings, "/fly").unwrap().is_some());
    }

    #[test]
    fn a_command_that_cannot_be_read_is_named() {
        let (root, settings) = home();
        write(&root, ".codex/prompts/a.md", "---\nmodel: b: c\n---\n");
        write(&root, ".codex/prompts/b.md", &"x".repeat(70_000));
        write(&root, ".codex/prompts/c.md", &"!`true` ".repeat(17));
        for text in ["/a", "/b", "/c"] {
            let error = expand(&settings, text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the command {text} cannot be used: ")), "{error}");
        }
    }
}
