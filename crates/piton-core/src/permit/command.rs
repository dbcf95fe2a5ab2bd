//! Rules for commands: what they match in a command line.

use super::line::Line;
use super::runners::{base_name, is_mover, is_runner};

/// How deep commands in arguments are followed.
const DEPTH_MAX: usize = 4;

/// What a rule for commands says: some words, and whether more may follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    words: Vec<String>,
    open: bool,
}

/// What can be said of a command line and a rule that forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// It runs what the rule names.
    Found,
    /// It does not, as far as its own commands go.
    Absent,
    /// Nobody can know from reading it.
    Hidden,
}

impl Pattern {
    /// Reads a rule. `None` if it is not one command in plain words.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if text == "*" {
            return Some(Self { words: Vec::new(), open: true });
        }
        let (text, open) = match text.strip_suffix(" *") {
            Some(text) => (text, true),
            None => (text, false),
        };
        let line = Line::read(text);
        match <[Vec<String>; 1]>::try_from(line.commands) {
            Ok([words]) if line.certain => Some(Self { words, open }),
            Ok(_) | Err(_) => None,
        }
    }

    /// The rule for exactly this command; `None` if it cannot be written in plain words.
    pub(super) fn exactly(words: &[String]) -> Option<String> {
        let text = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let pattern = Self::read(&text)?;
        (pattern.words == words && !pattern.open).then_some(text)
    }

    fn is(&self, words: &[String]) -> bool {
        if self.open { words.starts_with(&self.words) } else { words == self.words }
    }

    /// The same for what must not be missed: a program counts wherever it lies.
    fn names(&self, words: &[String]) -> bool {
        let (Some((own, more)), Some((program, arguments))) =
            (self.words.split_first(), words.split_first())
        else {
            return self.is(words);
        };
        base_name(own) == base_name(program)
            && if self.open { arguments.starts_with(more) } else { arguments == more }
    }
}

/// Whether every command of the line is allowed by one of the rules.
pub(super) fn allows(patterns: &[Pattern], line: &Line) -> bool {
    let alone = line.commands.len() == 1;
    let allowed = |words: &Vec<String>| {
        let runner = words.first().is_none_or(|program| is_runner(program) || is_mover(program));
        patterns.iter().any(|pattern| {
            // What runs other commands, or changes what they mean, is allowed alone and word for
            // word: with words of its own, with input or in front of others it is another command.
            pattern.is(words) && (!runner || alone && !pattern.open)
        })
    };
    line.certain && !line.commands.is_empty() && line.commands.iter().all(allowed)
}

/// Whether the line runs a command that the rule names, also inside another one.
pub(super) fn finds(pattern: &Pattern, line: &Line) -> Sight {
    find(pattern, line, 0)
}

fn find(pattern: &Pattern, line: &Line, depth: usize) -> Sight {
    let mut hidden = !line.certain;
    for words in line.seen() {
        match find_in(pattern, words, depth) {
            Sight::Found => return Sight::Found,
            Sight::Hidden => hidden = true,
            Sight::Absent => {}
        }
    }
    if hidden { Sight::Hidden } else { Sight::Absent }
}

fn find_in(pattern: &Pattern, words: &[String], depth: usize) -> Sight {
    if pattern.names(words) {
        return Sight::Found;
    }
    let Some((program, arguments)) = words.split_first() else { return Sight::Absent };
    if !is_runner(program) {
        return Sight::Absent;
    }
    let behind = |from: usize| arguments.get(from..).unwrap_or_default();
    if (0..arguments.len()).any(|from| pattern.names(behind(from))) {
        return Sight::Found;
    }
    if depth < DEPTH_MAX {
        let joined = arguments.join(" ");
        let mut texts = arguments.iter().chain([&joined]);
        if texts.any(|text| find(pattern, &Line::read(text), depth + 1) == Sight::Found) {
            return Sight::Found;
        }
    }
    // What it runs may be in a file, in a variable or on its input.
    Sight::Hidden
}

fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_./:=,@%+-^".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else if word.contains('\'') {
        format!("\"{word}\"")
    } else {
        format!("'{word}'")
    }
}
