//! Which paths a call names, and what a rule for paths can say of it.
//!
//! Knows texts only, like [`super::path`].

use serde_json::{Map, Value};

use super::command::Sight;
use super::line::Line;
use super::path::{ends_like, folded, matches, within};
use super::roles::Kind;

/// What parts a word of a command line into texts that may be paths.
const EDGES: [char; 4] = ['=', ':', '@', ','];

/// What a call can touch.
pub(super) enum Reach {
    /// These paths; `None` for one of which it is not clear where it leads.
    Paths(Vec<Option<String>>),
    /// Whatever its commands open. `None` if it is not clear where they run.
    Commands {
        /// Where they run.
        directory: Option<String>,
        /// What they name.
        words: Vec<String>,
    },
    /// Nobody here knows which of its texts are paths.
    Texts(Vec<String>),
}

impl Reach {
    /// Of a tool that runs a command line, or types into one, and may name paths beside it.
    pub(super) fn of_line(
        line: &Line,
        workspace: &str,
        directory: &str,
        paths: &[Option<String>],
    ) -> Self {
        let directory = within(workspace, directory);
        let words = line.words().chain(paths.iter().flatten()).cloned().collect();
        Self::Commands { directory, words }
    }

    /// Of any other tool.
    pub(super) fn of_tool(
        kind: Kind,
        fields: &Map<String, Value>,
        mut paths: Vec<Option<String>>,
    ) -> Self {
        if kind != Kind::Unknown {
            if paths.is_empty() {
                paths.push(Some(".".into()));
            }
            return Self::Paths(paths);
        }
        let mut texts = Vec::new();
        for value in fields.values() {
            collect(value, &mut texts);
        }
        Self::Texts(texts)
    }

    /// What a rule for these paths says of it.
    pub(super) fn sight(&self, workspace: &str, pattern: &str) -> Sight {
        let rule = Wanted { workspace, pattern };
        match self {
            Self::Paths(paths) => {
                let sights = paths.iter().map(|path| match path {
                    Some(path) => rule.in_path(path),
                    None => Sight::Hidden,
                });
                sights.fold(Sight::Absent, Sight::max)
            }
            Self::Commands { directory: None, .. } => Sight::Hidden,
            Self::Commands { directory: Some(directory), words } => {
                let named = words.iter().map(|word| rule.in_word(directory, word));
                let here = rule.in_text(directory);
                named.fold(Sight::Reachable.max(here), Sight::max)
            }
            Self::Texts(texts) => {
                texts.iter().map(|text| rule.in_prose(text)).fold(Sight::Absent, Sight::max)
            }
        }
    }

    /// Texts of a tool that declares nothing.
    pub(super) fn texts(&self) -> &[String] {
        match self {
            Self::Texts(texts) => texts,
            Self::Paths(_) | Self::Commands { .. } => &[],
        }
    }
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) => {
            for value in values {
                collect(value, texts);
            }
            // It may be the words of one command.
            let words: Vec<_> = values.iter().filter_map(Value::as_str).collect();
            texts.push(words.join(" "));
        }
        Value::Object(fields) => fields.values().for_each(|value| collect(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The paths that a rule is about, and what texts that may be paths are held against.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    workspace: &'a str,
    pattern: &'a str,
}

impl Wanted<'_> {
    /// A path in the workspace. In capital letters it may be the same file, and may be another one.
    fn in_path(self, path: &str) -> Sight {
        if matches(self.pattern, path) {
            Sight::Found
        } else if matches(&folded(self.pattern), &folded(path)) {
            Sight::Hidden
        } else {
            Sight::Absent
        }
    }

    /// A text that may be a path. One that leaves the workspace may lead back into it by a link.
    fn in_text(self, text: &str) -> Sight {
        let text = text.strip_prefix("file://").unwrap_or(text);
        if let Some(path) = within(self.workspace, text) {
            return self.in_path(&path);
        }
        let names: Vec<_> = text.split('/').filter(|it| !matches!(*it, "" | ".")).collect();
        if ends_like(self.pattern, &names) { Sight::Hidden } else { Sight::Absent }
    }

    /// A text that may be a path, or have one in it.
    fn in_prose(self, text: &str) -> Sight {
        let edge = |letter: char| !letter.is_alphanumeric() && !"/._-+%".contains(letter);
        let parts = text.split(edge).filter(|part| part.contains(['/', '.']));
        let within = parts.map(|part| self.in_text(part).min(Sight::Hidden));
        within.fold(self.in_text(text), Sight::max)
    }

    /// A word of a command line: a path, or an option with one in it, such as `--file=x` or `-fx`.
    fn in_word(self, directory: &str, word: &str) -> Sight {
        let glued = word.strip_prefix('-').and_then(|rest| rest.get(1..));
        let parts = word.split(EDGES).chain([word]).chain(glued).filter(|part| !part.is_empty());
        let from = |part: &str| {
            let below = if part.starts_with('/') { part } else { &format!("{directory}/{part}") };
            self.in_text(below)
        };
        parts.map(from).fold(Sight::Absent, Sight::max)
    }
}
