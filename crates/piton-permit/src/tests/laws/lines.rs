//! Command lines of every kind, with what is known of them by the way they are made.

use super::tape::Tape;

/// Most commands that are joined in a line.
const COMMANDS_MAX: usize = 4;
/// Most words behind a program.
const WORDS_MAX: usize = 4;
/// Most changes of a real line.
const CHANGES_MAX: usize = 6;
/// Most letters of a line of random ones.
const LETTERS_MAX: usize = 40;

/// Programs that do more than look, whatever is behind them.
const DOING: [&str; 16] = [
    "cargo", "rm", "make", "npm", "cp", "./x", "/bin/rm", "docker", "tee", "chmod", "kill", "curl",
    "touch", "mv", "gcc", "zz",
];
const LOOKING: [&str; 8] = ["ls", "git", "cat", "grep", "wc", "find", "echo", "sort"];
const WORDS: [&str; 28] = [
    "b",
    "-rf",
    "src",
    "status",
    "push",
    "test",
    "--all",
    "src/main.rs",
    "-n",
    "5",
    "a b",
    "it's",
    "",
    "x;y",
    "$HOME",
    "&&",
    "*",
    "-o",
    "--output=c",
    "ü",
    "commit",
    "install",
    "|",
    "a=b",
    "run",
    "# no",
    "-delete",
    "/etc/hosts",
];
const OPERATORS: [&str; 9] = [" && ", "&&", " || ", "; ", ";", " | ", "|", "\n", " ||"];
const BEHIND: [&str; 6] = ["", " 2>&1", " >/dev/null", " 2> /dev/null", " </dev/null", "  "];

/// What makes a line one that nobody can read for certain. `%` stands for a command in it.
const UNCLEAR: [&str; 40] = [
    "% $X",
    "% $(%)",
    "% `%`",
    "% \"$(%)\"",
    "(%)",
    "{ %; }",
    "% &",
    "% & %",
    "% <(%)",
    "% >(%)",
    "if %; then %; fi",
    "for x in a b; do %; done",
    "while %; do %; done",
    "% > f",
    "% >> f",
    "% < f",
    "A=1 %",
    "PATH=. %",
    "! %",
    "% # note",
    "% *.rs",
    "f() { %; }; f",
    "% <<E\n$(%)\nE",
    "case a in a) %;; esac",
    "%\\\n && %",
    "% {a,b}",
    "% ~/x",
    "% &&",
    "&& %",
    "% ;; %",
    "% 'a",
    "% \"a",
    "% ${x:-$(%)}",
    "% $((1))",
    "coproc %",
    "% >|f",
    "% &> f",
    "% <<< x",
    "% ?",
    "% [a]",
];

/// Programs that run the command behind them.
const WRAPPED: [&str; 10] = [
    "sudo %",
    "env %",
    "timeout 5 %",
    "nice -n 5 %",
    "xargs %",
    "nohup %",
    "env A=1 %",
    "time %",
    "exec %",
    "sudo -u x env %",
];
/// Programs that run the command line in the text behind them.
const TOLD: [&str; 5] = ["sh -c '%'", "bash -c '%'", "eval '%'", "sudo sh -c '%'", "sh -ec '%'"];

/// Letters that mean something, and letters that look like others.
const LETTERS: [&str; 48] = [
    " ",
    "a",
    "ls",
    "rm",
    "b",
    ";",
    "&",
    "|",
    "\n",
    "'",
    "\"",
    "$",
    "`",
    "\\",
    "(",
    ")",
    "<",
    ">",
    "{",
    "}",
    "*",
    "?",
    "[",
    "]",
    "#",
    "!",
    "~",
    "=",
    "-",
    "/",
    ".",
    "\t",
    "\r",
    "\0",
    "\u{1b}",
    "\u{a0}",
    "\u{200b}",
    "\u{202e}",
    "\u{3164}",
    "ü",
    "ѕ",
    "0",
    "2",
    "/dev/null",
    "&1",
    "\u{85}",
    "if ",
    "EOF",
];

/// Real lines, of other tests.
const REAL: [&str; 2] =
    [include_str!("../looks/harmless.txt"), include_str!("../looks/asking.txt")];

/// A line, and what is known of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Made {
    pub(super) text: String,
    /// All commands that the shell runs by itself, if the line is plain.
    pub(super) commands: Option<Vec<Vec<String>>>,
    /// More commands that run in it.
    pub(super) inside: Vec<Vec<String>>,
    /// Whether nobody can know from reading all that runs.
    pub(super) is_unclear: bool,
}

impl Made {
    /// All commands that are known to run in it.
    pub(super) fn known(&self) -> impl Iterator<Item = &Vec<String>> {
        self.commands.iter().flatten().chain(&self.inside)
    }
}

/// A line of any kind.
pub(super) fn line(tape: &mut Tape<'_>) -> Made {
    match tape.below(8) {
        0 | 1 => plain(tape),
        2 | 3 => unclear(tape),
        4 => wrapped(tape),
        5 | 6 => Made { text: changed(tape), ..Made::default() },
        _ => Made { text: letters(tape), ..Made::default() },
    }
}

/// A line that can be read for certain.
pub(super) fn plain(tape: &mut Tape<'_>) -> Made {
    let mut commands = vec![command(tape)];
    let mut text = written(tape, &commands[0]);
    for _ in 0..tape.below(COMMANDS_MAX) {
        text += tape.one(&OPERATORS);
        commands.push(command(tape));
        text += &written(tape, &commands[commands.len() - 1]);
    }
    Made { text, commands: Some(commands), ..Made::default() }
}

fn unclear(tape: &mut Tape<'_>) -> Made {
    let (text, inside) = filled(tape, &UNCLEAR, written);
    let joined = if tape.is_one_in(3) { Some(plain(tape)) } else { None };
    let (text, more) = match joined {
        // Behind a comment nothing runs, and behind an open quote nothing is known.
        Some(other) => (format!("{}\n{text}", other.text), other.commands),
        None => (text, None),
    };
    let inside = inside.into_iter().chain(more.into_iter().flatten()).collect();
    Made { text, commands: None, inside, is_unclear: true }
}

/// A plain line of one program that runs another one.
fn wrapped(tape: &mut Tape<'_>) -> Made {
    let (text, inside) = if tape.is_one_in(2) {
        filled(tape, &TOLD, |_, words| words.join(" "))
    } else {
        filled(tape, &WRAPPED, written)
    };
    Made { text, commands: None, inside, is_unclear: false }
}

/// A form with a command in place of each `%`.
fn filled(
    tape: &mut Tape<'_>,
    forms: &[&str],
    write: impl Fn(&mut Tape<'_>, &[String]) -> String,
) -> (String, Vec<Vec<String>>) {
    let form = tape.one(forms);
    let mut parts = form.split('%');
    let mut text = parts.next().unwrap().to_owned();
    let mut inside = Vec::new();
    for part in parts {
        let mut words = command(tape);
        // What is told as a text is written as it is.
        if form.contains("'%'") {
            words.retain(|word| !word.is_empty() && word.chars().all(is_plain));
        }
        text += &write(tape, &words);
        text += part;
        inside.push(words);
    }
    (text, inside)
}

pub(super) fn command(tape: &mut Tape<'_>) -> Vec<String> {
    let program = if tape.is_one_in(2) { tape.one(&LOOKING) } else { tape.one(&DOING) };
    let mut words = vec![program.to_owned()];
    for _ in 0..tape.below(WORDS_MAX) {
        words.push(tape.one(&WORDS).to_owned());
    }
    words
}

/// Whether a program is one that may only look.
pub(super) fn may_look(program: &str) -> bool {
    LOOKING.contains(&program)
}

/// Whether a program is one that writes nothing and starts nothing, whatever it is told.
pub(super) fn may_print(program: &str) -> bool {
    ["ls", "cat", "grep", "wc", "echo"].contains(&program)
}

fn written(tape: &mut Tape<'_>, words: &[String]) -> String {
    let (program, arguments) = words.split_first().unwrap();
    let mut text = program.clone();
    for word in arguments {
        text += tape.one(&[" ", "  ", "\t"]);
        text += &quoted(tape, word);
    }
    text + tape.one(&BEHIND)
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_./:=,@%+-".contains(letter)
}

/// A word as a shell reads it, in one of several ways.
fn quoted(tape: &mut Tape<'_>, word: &str) -> String {
    let bare = !word.is_empty() && word.chars().all(is_plain);
    let way = tape.below(4);
    if word.contains('\'') {
        return format!("\"{word}\"");
    }
    match way {
        0 | 1 if bare => word.to_owned(),
        2 if !word.contains('$') => format!("\"{word}\""),
        3 if bare => format!("{word}''"),
        _ => format!("'{word}'"),
    }
}

/// A real line, with letters lost, doubled or put in, or with another one behind it.
pub(super) fn changed(tape: &mut Tape<'_>) -> String {
    let real: Vec<&str> = REAL.iter().flat_map(|text| text.lines()).collect();
    let mut text: Vec<char> = tape.one(&real).chars().collect();
    for _ in 0..tape.below(CHANGES_MAX) {
        let at = tape.below(text.len() + 1);
        match tape.below(4) {
            0 => drop((at < text.len()).then(|| text.remove(at))),
            1 => drop(text.splice(at..at, tape.one(&LETTERS).chars())),
            2 => drop(text.get(at).copied().map(|letter| text.insert(at, letter))),
            _ => drop(text.splice(at.., tape.one(&real).chars())),
        }
    }
    text.into_iter().collect()
}

fn letters(tape: &mut Tape<'_>) -> String {
    let count = tape.below(LETTERS_MAX);
    let mut text = String::new();
    for _ in 0..count {
        if tape.is_one_in(8) {
            let number = u32::try_from(tape.below(0x11_0000)).unwrap();
            text.push(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER));
        } else {
            text += tape.one(&LETTERS);
        }
    }
    text
}
