//! Rules for commands: what they match in a command line.

use std::collections::BTreeSet;

use regex::Regex;

use super::line::Line;
use super::runners::{base_name, copies_runner, is_plain, is_runner};

/// How deep commands in arguments are followed.
const DEPTH_MAX: usize = 4;

/// What a rule for commands says: some words, and whether more may follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    words: Vec<String>,
    open: bool,
}

/// What a rule says of commands: their words, their form, or both.
#[derive(Clone, Debug)]
pub(super) struct Matcher {
    words: Option<Pattern>,
    form: Option<Regex>,
}

/// What can be said of a command line and a rule that forbids.
/// The greater one is the worse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sight {
    /// It does not do what the rule names, as far as its own commands go.
    Absent,
    /// It does not name it, but any command can reach any file.
    Reachable,
    /// Nobody can know from reading it.
    Hidden,
    /// It does what the rule names.
    Found,
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
            Ok([words]) if line.doubt.is_none() => Some(Self { words, open }),
            Ok(_) | Err(_) => None,
        }
    }

    /// The rule for exactly this command; `None` if it cannot be written in plain words.
    pub(super) fn exactly(words: &[String]) -> Option<String> {
        let text = written(words);
        let pattern = Self::read(&text)?;
        (pattern.words == words && !pattern.open).then_some(text)
    }

    /// The rule for whatever begins like this command: with its program, and with what that is told to
    /// do.
    pub(super) fn first_words(words: &[String]) -> Option<String> {
        let has_task = words.get(1).is_some_and(|word| is_task(word));
        Self::beginning(words.get(..if has_task { 2 } else { 1 })?)
    }

    /// The rule for whatever this program is told to do.
    pub(super) fn program(words: &[String]) -> Option<String> {
        Self::beginning(words.get(..1)?)
    }

    fn beginning(words: &[String]) -> Option<String> {
        let text = format!("{} *", written(words));
        let pattern = Self::read(&text)?;
        (pattern.words == words && pattern.open).then_some(text)
    }

    /// Whether it allows what another one names exactly.
    pub(super) fn covers(&self, exact: &Self) -> bool {
        self.is(&exact.words)
    }

    fn is(&self, words: &[String]) -> bool {
        if self.open { words.starts_with(&self.words) } else { words == self.words }
    }

    /// Whether a command may be this one in other words: with more options in front of what is named,
    /// or with the same options in another form.
    fn resembles(&self, words: &[String]) -> bool {
        let (Some((own, more)), Some((program, arguments))) =
            (self.words.split_first(), words.split_first())
        else {
            return false;
        };
        if more.is_empty() || base_name(own) != base_name(program) {
            return false;
        }
        // A value in front of what the program is told to do may give that another meaning.
        let in_front = arguments.iter().take_while(|word| !is_task(word));
        if more.first().is_some_and(|word| is_task(word))
            && in_front.clone().any(|word| is_setting(word))
        {
            return true;
        }
        let (wanted, given) = (Options::of(more), Options::of(arguments));
        let mut rest = given.plain.iter();
        // Words in front may be values of options.
        let named = if self.open {
            wanted.plain.iter().all(|word| rest.any(|other| other == word))
        } else {
            given.plain.ends_with(&wanted.plain)
        };
        named && given.may_include(&wanted)
    }

    /// Whether the arguments of another command may make it run this one: they name it.
    fn is_named_in(&self, arguments: &[String]) -> bool {
        let Some((program, more)) = self.words.split_first() else { return false };
        let name = base_name(program);
        let text = arguments.join(" ").to_ascii_lowercase();
        // The program that reads the text may remove quotes, and may turn an escape into a line end.
        let bare = text.replace(['\'', '"', '\\'], "");
        let spaced = spaced(&text);
        let named = [&text, &bare, &spaced].into_iter().any(|text| has_word(text, &name));
        // Behind the letter of an option: `-Prm`.
        let short = |word: &String| word.starts_with('-') && !word.starts_with("--");
        let glued = |word: &String| short(word) && word.to_ascii_lowercase().contains(&name);
        !name.is_empty()
            && (named || arguments.iter().any(glued))
            && more.iter().all(|word| bare.contains(&word.to_ascii_lowercase()))
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

impl Matcher {
    pub(super) fn new(words: Option<Pattern>, form: Option<Regex>) -> Self {
        Self { words, form }
    }

    /// Whether it is for exactly one command.
    pub(super) fn is_closed(&self) -> bool {
        self.words.as_ref().is_some_and(|pattern| !pattern.open)
    }

    fn is(&self, words: &[String]) -> bool {
        self.words.as_ref().is_none_or(|pattern| pattern.is(words))
            && self.form.as_ref().is_none_or(|form| form.is_match(&written(words)))
    }

    /// The same for what must not be missed: a program counts wherever it lies.
    fn names(&self, words: &[String]) -> bool {
        let plain = || {
            let mut words = words.to_vec();
            if let Some(program) = words.first_mut() {
                *program = base_name(program);
            }
            written(&words)
        };
        let has_form = |form: &Regex| form.is_match(&written(words)) || form.is_match(&plain());
        self.words.as_ref().is_none_or(|pattern| pattern.names(words))
            && self.form.as_ref().is_none_or(has_form)
    }

    fn resembles(&self, words: &[String]) -> bool {
        self.words.as_ref().is_some_and(|pattern| pattern.resembles(words))
    }

    /// Whether the arguments of another command may make it run what this says: they name it.
    fn is_named_in(&self, arguments: &[String]) -> bool {
        let behind = |from: usize| arguments.get(from..).unwrap_or_default();
        let has_form = || (0..arguments.len()).any(|from| self.names(behind(from)));
        self.words.as_ref().map_or_else(has_form, |pattern| pattern.is_named_in(arguments))
    }
}

/// A command as one text, in which one word cannot look like two.
pub(super) fn written(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The arguments of a command, with its options apart.
struct Options<'a> {
    plain: Vec<&'a String>,
    letters: BTreeSet<char>,
    has_long: bool,
}

impl<'a> Options<'a> {
    fn of(arguments: &'a [String]) -> Self {
        let is_option = |word: &&String| word.starts_with('-') && 1 < word.len();
        let (options, plain): (Vec<_>, Vec<_>) = arguments.iter().partition(is_option);
        let (long, short): (Vec<_>, Vec<_>) =
            options.into_iter().partition(|word| word.starts_with("--"));
        let letters = short.into_iter().flat_map(|word| word.chars().skip(1)).collect();
        Self { plain, letters, has_long: !long.is_empty() }
    }

    /// A long option may stand for any letter.
    fn may_include(&self, others: &Self) -> bool {
        self.has_long || !others.has_long && others.letters.is_subset(&self.letters)
    }
}

/// Whether every command of the line is allowed by one of the rules.
pub(super) fn allows(patterns: &[Matcher], line: &Line) -> bool {
    let allowed = |words: &Vec<String>| is_allowed(patterns, words);
    line.is_certain() && !line.commands.is_empty() && line.commands.iter().all(allowed)
}

/// Whether a command of the line is allowed by one of the rules.
pub(super) fn is_allowed(patterns: &[Matcher], words: &[String]) -> bool {
    patterns.iter().any(|pattern| pattern.is(words))
}

/// Whether a word behind a program looks like what that is told to do: `commit`, `run`, `db:migrate`. A number,
/// an option, a path and an address do not.
fn is_task(word: &str) -> bool {
    let inner = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || "-_:".contains(it);
    word.starts_with(|first: char| first.is_ascii_lowercase()) && word.chars().all(inner)
}

/// Whether a word may set something to a value.
fn is_setting(word: &str) -> bool {
    word.contains('=')
}

/// Whether the line runs a command that the rule names, also inside another one.
pub(super) fn finds(pattern: &Matcher, line: &Line) -> Sight {
    find(pattern, line, 0)
}

fn find(pattern: &Matcher, line: &Line, depth: usize) -> Sight {
    let certain = if line.is_certain() { Sight::Absent } else { Sight::Hidden };
    line.seen().map(|words| find_in(pattern, words, depth)).fold(certain, Sight::max)
}

fn find_in(pattern: &Matcher, words: &[String], depth: usize) -> Sight {
    if pattern.names(words) {
        return Sight::Found;
    }
    let Some((program, arguments)) = words.split_first() else { return Sight::Absent };
    if !is_runner(program) {
        let named = !is_plain(program) && pattern.is_named_in(arguments);
        let doubtful = named || copies_runner(words) || pattern.resembles(words);
        return if doubtful { Sight::Hidden } else { Sight::Absent };
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

/// The text with a blank for every backslash and the letter behind it.
fn spaced(text: &str) -> String {
    let mut letters = text.chars();
    let mut spaced = String::new();
    while let Some(letter) = letters.next() {
        let escape = letter == '\\' && letters.next().is_some();
        spaced.push(if escape { ' ' } else { letter });
    }
    spaced
}

/// Whether a text names a program. `rm-all`, `--rm` and `rm.rs` do not name `rm`.
fn has_word(text: &str, name: &str) -> bool {
    let inner = |letter: char| letter.is_alphanumeric() || "_-".contains(letter);
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let mut behind = text.get(at + name.len()..).unwrap_or_default().chars();
        let ends = match behind.next() {
            Some('.') => !behind.next().is_some_and(char::is_alphanumeric),
            next => !next.is_some_and(inner),
        };
        ends && !before.is_some_and(|before| inner(before) || before == '.')
    })
}

fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_./:=,@%+-^".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else if word.contains('\'') && !word.contains('"') {
        format!("\"{word}\"")
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
