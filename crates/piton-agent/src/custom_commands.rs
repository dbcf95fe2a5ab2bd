//! Commands of the user: Markdown files with placeholders, typed as `/name words`.
//!
//! The user's own folders are read, and those of a workspace that is trusted. What a command says is sent as
//! what the user said. Where its text names a command for the shell, the output of that stands in its place; a
//! face runs it. A file of a workspace that does so counts only as it was approved, to the byte, and what it runs is
//! in the sandbox (`behind`).

mod behind;
mod pieces;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use piton_tools::open_regular;

pub use self::behind::{BroughtLines, RanLine};
pub use self::pieces::Piece;
use self::pieces::pieces;
use crate::front_matter::FrontMatter;
use crate::near::near;
use crate::settings::Settings;
use crate::trust::{Exact, Reading, Trust, is_inside, real, relative};

/// Most bytes of a command.
const BYTES_MAX: u64 = 64 * 1024;
/// How deep folders are looked through.
const DEPTH_MAX: usize = 3;
/// Most commands that count.
const COMMANDS_MAX: usize = 500;
/// Most entries of folders that are looked at in one place.
const LOOKED_AT_MAX: usize = 10_000;
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
    /// The workspace that brings it; none if it is the user's own.
    pub of: Option<PathBuf>,
}

/// What a command says with the words behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expanded {
    /// The name of the command.
    pub name: String,
    /// The workspace that brings it; none if it is the user's own. Only files of that workspace go along
    /// because its text names them.
    pub of: Option<PathBuf>,
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
    /// The workspace has one of this name, and nobody has trusted it.
    #[error("/{name} is there, in {}, but this workspace is not trusted", path.display())]
    Untrusted {
        /// The name.
        name: String,
        /// Its file, or the folder of a skill.
        path: PathBuf,
    },
    /// The workspace is trusted, but what the command starts is not approved as it is now.
    #[error("/{name} starts programs, and is not approved as it is now: {}", files.join(", "))]
    Held {
        /// The name.
        name: String,
        /// The files that are not approved.
        files: Vec<String>,
    },
    /// What a workspace brings runs in the sandbox, and this system has no wall for that.
    #[error("/{name} of this workspace was not run: its programs run in the sandbox, and {why}")]
    NoWall {
        /// The name.
        name: String,
        /// What is missing, as the end of a sentence.
        why: String,
    },
    /// Its programs cannot be run here.
    #[error("/{name} of this workspace was not run: {why}")]
    NotRun {
        /// The name.
        name: String,
        /// Why.
        why: String,
    },
    /// A directory below the root of the workspace has one of this name, and only the root counts.
    #[error("/{name} is there, in {}, but only the root of the workspace is looked through", path.display())]
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

/// The user's commands by name, then those of a workspace that is trusted. Of two with one name, the first
/// found counts.
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
        look(&place, None, &mut found);
    }
    if let Ok(root) = settings.workspace()
        && settings.trust_in(root).is_ok_and(|trust| trust.is_given())
    {
        found_in(root, home, &mut found);
    }
    found
}

/// The commands that a workspace brings, whether they count or not.
pub(crate) fn of_workspace(settings: &Settings, root: &Path) -> BTreeMap<String, CustomCommand> {
    let mut found = BTreeMap::new();
    found_in(root, settings.environment.user_directory(), &mut found);
    found
}

fn found_in(root: &Path, home: Option<&Path>, found: &mut BTreeMap<String, CustomCommand>) {
    // What lies in the home directory is the user's own.
    if home.is_some_and(|home| real(home) == real(root)) {
        return;
    }
    for folder in REPOSITORY_COMMANDS {
        look(&root.join(folder), Some(root), found);
    }
}

/// Looks through a folder. Links of a workspace that lead out of it are no commands.
fn look(place: &Path, of: Option<&Path>, found: &mut BTreeMap<String, CustomCommand>) {
    let mut folders = vec![(place.to_owned(), String::new(), DEPTH_MAX)];
    let mut left = LOOKED_AT_MAX;
    while let Some((folder, prefix, depth)) = folders.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten().take(left);
        for path in entries.map(|entry| entry.path()) {
            left = left.saturating_sub(1);
            let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
            if of.is_some_and(|root| !is_inside(&path, root)) {
                continue;
            }
            let name = format!("{prefix}{stem}");
            if path.is_dir() && 1 < depth {
                folders.push((path, format!("{name}:"), depth - 1));
            } else if path.extension().is_some_and(|end| end == "md") && found.len() < COMMANDS_MAX
            {
                let of = of.map(ToOwned::to_owned);
                found.entry(name.clone()).or_insert(CustomCommand { name, path, of });
            }
        }
    }
}

/// The command or skill of this name that the repository brings and that does not count.
pub fn of_repository(settings: &Settings, name: &str) -> Option<CustomFault> {
    let own = settings.config()?;
    let (here, root) = (settings.directory().ok()?, settings.workspace().ok()?);
    let is_trusted = settings.trust_in(root).is_ok_and(|trust| trust.is_given());
    let below = name.replace(':', "/");
    let home = settings.environment.user_directory();
    let places = here.ancestors().take_while(|place| place.starts_with(root));
    // What lies in the home directory is the user's own.
    for place in places.filter(|place| Some(*place) != home) {
        let command = format!("{below}.md");
        let found = REPOSITORY_COMMANDS.iter().map(|folder| place.join(folder).join(&command));
        let found = found.into_iter().find(|path| path.is_file());
        let found = found.map(|path| (path, own.join("commands").join(command)));
        let skills = REPOSITORY_SKILLS.iter().map(|folder| place.join(folder).join(&below));
        let skill = || skills.into_iter().find(|path| path.join("SKILL.md").is_file());
        let skill = || skill().map(|path| (path, own.join("skills").join(&below)));
        let Some((path, own)) = found.or_else(skill) else { continue };
        let name = name.to_owned();
        return match (place == root, is_trusted) {
            (false, _) => Some(CustomFault::OfRepository { name, path, own }),
            (true, false) => Some(CustomFault::Untrusted { name, path }),
            // It is among the commands, or a skill, which the model loads.
            (true, true) => None,
        };
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
    let Text { bytes, body, model } = command.text()?;
    let says = pieces(&body, &words);
    let exact = command.exact(&bytes, &says, settings, &mut Reading::new());
    if !exact.is_empty() {
        let trust = command.of.as_deref().and_then(|root| settings.trust_in(root).ok());
        let is_held =
            |exact: &&Exact| !trust.as_ref().is_some_and(|trust: &Trust| trust.holds(exact));
        let files: Vec<_> = exact.iter().filter(is_held).map(|it| it.path.clone()).collect();
        if !files.is_empty() {
            return Err(CustomFault::Held { name, files });
        }
    }
    let typed = Piece::Text(format!("{}\n\n", typed.trim_end()));
    let pieces = [typed].into_iter().chain(says).collect();
    let of = command.of.clone();
    Ok(Some(Expanded { name, of, words, pieces, model }))
}

/// What the file of a command says.
#[derive(Debug)]
struct Text {
    bytes: Vec<u8>,
    body: String,
    /// The model that it names.
    model: Option<String>,
}

impl CustomCommand {
    /// What the command starts, as a person should see it, and the files that they approve with that. None,
    /// if it starts nothing.
    pub(crate) fn starts(
        &self,
        settings: &Settings,
        reading: &mut Reading,
    ) -> Option<(Vec<String>, Vec<Exact>)> {
        let Text { bytes, body, .. } = self.text().ok()?;
        let says = pieces(&body, "");
        let exact = self.exact(&bytes, &says, settings, reading);
        let lines = says.into_iter().filter_map(|piece| match piece {
            Piece::Shell(line) => Some(line),
            Piece::Text(_) => None,
        });
        (!exact.is_empty()).then(|| (lines.collect(), exact))
    }

    /// The files whose bytes are approved before a command of a workspace starts something: its own, and those
    /// that its lines name. None for a command that starts nothing, or that is the user's own.
    fn exact(
        &self,
        bytes: &[u8],
        says: &[Piece],
        settings: &Settings,
        reading: &mut Reading,
    ) -> Vec<Exact> {
        let lines = says.iter().filter_map(|piece| match piece {
            Piece::Shell(line) => Some(line),
            Piece::Text(_) => None,
        });
        let lines: Vec<&String> = lines.collect();
        let (Some(root), false) = (&self.of, lines.is_empty()) else { return Vec::new() };
        let path = relative(&self.path, root);
        let path = path.unwrap_or_else(|| self.path.to_string_lossy().into_owned());
        let own = Exact::of_bytes(&path, bytes);
        let words = lines.into_iter().flat_map(|line| line.split(ends_word));
        let from = settings.directory().unwrap_or(root);
        [own].into_iter().chain(reading.named(words, from, root)).collect()
    }

    /// Reads its file.
    fn text(&self) -> Result<Text, CustomFault> {
        let Self { name, path, of } = self;
        let unusable =
            |why: String| CustomFault::Unusable { name: name.clone(), path: path.clone(), why };
        let failed = |error: io::Error| unusable(error.to_string());
        // A link may have been put there since it was found.
        if of.as_ref().is_some_and(|root| !is_inside(path, root)) {
            return Err(unusable("it leads out of the workspace".into()));
        }
        let mut bytes = Vec::new();
        let file = open_regular(path).map_err(failed)?;
        file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
        if BYTES_MAX < bytes.len() as u64 {
            return Err(unusable(format!("it has more than {BYTES_MAX} bytes")));
        }
        let (body, model) = {
            let text = str::from_utf8(&bytes).map_err(|error| unusable(error.to_string()))?;
            let read = FrontMatter::read(text).map_err(unusable)?;
            (read.body.trim().to_owned(), read.text("model").map(Into::into))
        };
        let commands = pieces(&body, "").into_iter().filter(|it| matches!(it, Piece::Shell(_)));
        if SHELL_COMMANDS_MAX < commands.count() {
            return Err(unusable(format!("it runs more than {SHELL_COMMANDS_MAX} commands")));
        }
        Ok(Text { bytes, body, model })
    }
}

/// What stands between the words of a line for the shell.
fn ends_word(letter: char) -> bool {
    letter.is_whitespace()
        || matches!(letter, ';' | '|' | '&' | '(' | ')' | '<' | '>' | '"' | '\'' | '`')
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
    fn what_lies_below_the_root_of_a_workspace_is_named_and_not_used() {
        let root = tempfile::tempdir().unwrap();
        let here = root.path().join("repo/sub");
        fs::create_dir_all(root.path().join("repo/.git")).unwrap();
        fs::create_dir_all(&here).unwrap();
        write(&root, "repo/sub/.claude/commands/git/ship.md", "Ship.");
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

    fn repository() -> (tempfile::TempDir, Settings) {
        let root = tempfile::tempdir().unwrap();
        let repo = root.path().canonicalize().unwrap().join("repo");
        fs::create_dir_all(repo.join(".git")).unwrap();
        let home = root.path().join("home");
        let variables = [("HOME".into(), home.into())];
        let settings = Settings::resolve(Environment::new(repo, variables)).unwrap();
        (root, settings)
    }

    fn trust(settings: &Settings, exact: &[Exact]) {
        let given = crate::trust::Given { by: "ada".into(), at_ms: 1 };
        settings.give_trust(settings.workspace().unwrap(), given, exact).unwrap();
    }

    #[test]
    fn commands_of_a_workspace_count_once_it_is_trusted_behind_the_users_own() {
        let (root, settings) = repository();
        write(&root, "repo/.claude/commands/git/ship.md", "Ship.");
        write(&root, "repo/.piton/commands/own.md", "Theirs.");
        write(&root, "home/.claude/commands/own.md", "Mine.");
        let fault = expand(&settings, "/git:ship").unwrap_err();
        assert!(matches!(fault, CustomFault::Untrusted { .. }), "{fault}");
        assert_eq!(all(&settings).len(), 1);
        trust(&settings, &[]);
        assert_eq!(said(expand(&settings, "/git:ship").unwrap().unwrap()), "/git:ship\n\nShip.");
        assert!(said(expand(&settings, "/own").unwrap().unwrap()).ends_with("Mine."));
    }

    #[test]
    fn a_command_of_a_workspace_that_starts_programs_counts_as_it_was_approved() {
        let (root, settings) = repository();
        write(&root, "repo/.claude/commands/run.md", "See !`./run.sh | cat`.");
        write(&root, "repo/run.sh", "one");
        trust(&settings, &[]);
        let held = |expected: &[&str]| match expand(&settings, "/run") {
            Err(CustomFault::Held { files, .. }) => assert_eq!(files, expected),
            other => panic!("{other:?}"),
        };
        held(&[".claude/commands/run.md", "run.sh"]);
        let command = all(&settings).remove("run").unwrap();
        let (lines, exact) = command.starts(&settings, &mut Reading::new()).unwrap();
        assert_eq!(lines, ["./run.sh | cat"]);
        trust(&settings, &exact);
        assert!(expand(&settings, "/run").unwrap().is_some());
        write(&root, "repo/run.sh", "two");
        held(&["run.sh"]);
        write(&root, "repo/run.sh", "one");
        write(&root, "repo/.claude/commands/run.md", "See !`./run.sh|cat`.");
        held(&[".claude/commands/run.md"]);
    }

    #[test]
    fn a_link_of_a_workspace_that_leads_out_is_no_command() {
        let (root, settings) = repository();
        write(&root, "home/secret.md", "secret");
        write(&root, "home/all/x.md", "secret");
        write(&root, "repo/.claude/commands/a.md", "fine");
        let commands = root.path().join("repo/.claude/commands");
        std::os::unix::fs::symlink(root.path().join("home/secret.md"), commands.join("b.md"))
            .unwrap();
        std::os::unix::fs::symlink("a.md", commands.join("c.md")).unwrap();
        std::os::unix::fs::symlink(root.path().join("home/all"), commands.join("d")).unwrap();
        trust(&settings, &[]);
        assert_eq!(all(&settings).into_keys().collect::<Vec<_>>(), ["a", "c"]);
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
