//! A command line, as far as it is certain what a shell makes of it.
//!
//! This is no shell. It reads plain words, `&&`, `||`, `;`, `|`, new lines and quotes without
//! anything in them that a shell would replace. Of all else it says that it is not certain, and
//! still names the commands that can be seen in it, so that what is denied is found there too.

use std::iter::Peekable;
use std::str::Chars;

/// How deep commands in commands are followed.
const DEPTH_MAX: usize = 8;
/// Longest command line that is read, in bytes. A person should look at a longer one.
const LINE_BYTES_MAX: usize = 16 * 1024;
/// How much of the target of a redirection is looked at, in letters: more than the longest that is
/// certain, with what ends it.
const TARGET_CHARS_MAX: usize = 16;

/// Reasons for doubt, as what the command does.
const UNFINISHED: &str = "is not complete";
const BACKSLASH: &str = "has a backslash";
const SUBSTITUTION: &str = "has a command in place of a word";
const REDIRECTION: &str = "reads or writes a file with `<` or `>`";

/// Words that begin or join commands. What follows them is a command.
const RESERVED: [&str; 20] = [
    "!", "{", "}", "if", "then", "elif", "else", "fi", "for", "in", "while", "until", "do", "done",
    "case", "esac", "function", "select", "coproc", "[[",
];

/// Letters by their kind, and blanks by their look: the fillers of Hangul, and two vowels of Khmer.
const UNSEEN: [char; 6] = ['\u{115f}', '\u{1160}', '\u{17b4}', '\u{17b5}', '\u{3164}', '\u{ffa0}'];

/// Whether a letter is invisible although Unicode counts it among the letters. The one list of them:
/// what rules do not take for certain, questions to people do not show as it is.
pub fn is_unseen(letter: char) -> bool {
    UNSEEN.contains(&letter)
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The words of each command, in order.
    pub(super) commands: Vec<Vec<String>>,
    /// The files of redirections.
    pub(super) files: Vec<String>,
    /// Why it is not certain that the shell runs exactly these commands with exactly these words: what the
    /// command does, for people.
    pub(super) doubt: Option<&'static str>,
    /// Whether it does, but for words in which it puts names of files.
    pub(super) plain: bool,
    /// Those words: the place of the command, and of the word in it.
    pub(super) globs: Vec<(usize, usize)>,
    /// The places of commands that read what the one in front of them prints.
    pub(super) piped: Vec<usize>,
}

impl Line {
    /// Reads a command line.
    pub(super) fn read(text: &str) -> Self {
        if LINE_BYTES_MAX < text.len() {
            return Self { doubt: Some("is too long"), ..Self::default() };
        }
        Self::read_at(text, 0)
    }

    /// Whether the shell runs exactly these commands with exactly these words.
    pub(super) fn is_certain(&self) -> bool {
        self.doubt.is_none()
    }

    /// Makes it uncertain. The first reason is the one that counts.
    pub(super) fn doubt(&mut self, why: &'static str) {
        self.doubt.get_or_insert(why);
    }

    fn read_at(text: &str, depth: usize) -> Self {
        let mut reader = Reader {
            rest: text.chars().peekable(),
            line: Self { plain: true, ..Self::default() },
            words: Vec::new(),
            word: None,
            form: Form::default(),
            skipping: false,
            joined: false,
            depth,
        };
        reader.read();
        reader.line
    }

    /// All words, also those that name files of redirections.
    pub(super) fn words(&self) -> impl Iterator<Item = &String> {
        self.commands.iter().flatten().chain(&self.files)
    }

    /// The commands that can be seen, without what stands in front of their names.
    pub(super) fn seen(&self) -> impl Iterator<Item = &[String]> {
        self.commands.iter().map(|words| {
            let before = words.iter().take_while(|word| is_reserved(word) || is_assignment(word));
            words.get(before.count()..).unwrap_or_default()
        })
    }
}

fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.trim_end_matches('+');
    !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// How a word is written.
#[derive(Clone, Copy, Default)]
struct Form {
    /// It has a quote in it.
    quoted: bool,
    /// The shell puts names of files in its place.
    globbed: bool,
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    line: Line,
    words: Vec<String>,
    word: Option<String>,
    /// How the present word is written.
    form: Form,
    /// Whether the next word is the file of a redirection.
    skipping: bool,
    /// Whether the last operator wants a command behind it.
    joined: bool,
    depth: usize,
}

impl Reader<'_> {
    fn read(&mut self) {
        while let Some(letter) = self.rest.next() {
            self.take(letter);
        }
        self.end_command();
        if self.joined {
            self.doubt(UNFINISHED);
        }
    }

    fn take(&mut self, letter: char) {
        match letter {
            ' ' | '\t' => self.end_word(),
            '\n' => self.end_command(),
            ';' => self.operator(false),
            '&' if self.next_is('&') => self.operator(true),
            '|' if self.next_is('|') => self.operator(true),
            '|' => {
                self.operator(true);
                self.line.piped.push(self.line.commands.len());
            }
            '&' | '(' | ')' => {
                let background = letter == '&';
                self.doubt(if background { "runs in the background" } else { "has parentheses" });
                self.end_command();
            }
            '<' | '>' => self.redirection(letter),
            '\'' => self.single_quotes(),
            '"' => self.double_quotes(),
            '$' | '`' => self.replaced(letter),
            '\\' => {
                self.doubt(BACKSLASH);
                match self.rest.next() {
                    Some('\n') | None => {}
                    Some(plain) => self.push(plain),
                }
            }
            '*' | '?' | '[' => {
                self.line.doubt("has a pattern for names of files");
                self.form.globbed = true;
                self.push(letter);
            }
            '{' | '}' => {
                self.doubt("has braces");
                self.push(letter);
            }
            '#' | '!' if self.word.is_none() => {
                self.doubt(if letter == '#' { "has a comment" } else { "has a `!`" });
                self.push(letter);
            }
            '~' if self.may_be_home() => {
                self.doubt("has a `~`");
                self.push(letter);
            }
            plain => self.push(plain),
        }
    }

    /// A tilde is replaced at the beginning of a word, and in what is assigned.
    fn may_be_home(&self) -> bool {
        self.word.as_ref().is_none_or(|word| word.is_empty() || word.ends_with([':', '=']))
    }

    fn next_is(&mut self, wanted: char) -> bool {
        self.rest.next_if_eq(&wanted).is_some()
    }

    fn doubt(&mut self, why: &'static str) {
        self.line.doubt(why);
        self.line.plain = false;
    }

    /// Adds to the present word. What a person cannot see, or can take for something else, is not
    /// certain.
    fn push(&mut self, letter: char) {
        if letter.is_control() && letter != '\t' && letter != '\n'
            || !letter.is_ascii() && !letter.is_alphanumeric()
            || is_unseen(letter)
        {
            self.doubt("has letters that cannot be seen, or look like others");
        }
        self.word.get_or_insert_default().push(letter);
    }

    fn end_word(&mut self) {
        let Form { quoted, globbed } = std::mem::take(&mut self.form);
        let Some(word) = self.word.take() else { return };
        // What runs, and what is written to, is named. Quotes in a pattern are nothing to guess about.
        if globbed && (self.skipping || self.words.is_empty() || quoted) {
            self.doubt("has a pattern for names of files");
        }
        if globbed {
            self.line.globs.push((self.line.commands.len(), self.words.len()));
        }
        if std::mem::take(&mut self.skipping) {
            return self.line.files.push(word);
        }
        // A name that is written in a strange way is not what it looks like.
        let strange =
            || quoted || word.is_empty() || !word.is_ascii() || word.contains(['=', '\n', '\t']);
        if self.words.is_empty() && is_reserved(&word) {
            self.doubt("has a loop, a condition or the like");
        } else if self.words.is_empty() && is_assignment(&word) {
            self.doubt("sets a variable");
        } else if self.words.is_empty() && strange() {
            self.doubt("names a program in an unusual way");
        }
        self.words.push(word);
    }

    fn end_command(&mut self) {
        self.end_word();
        self.skipping = false;
        if !self.words.is_empty() {
            self.joined = false;
            self.line.commands.push(std::mem::take(&mut self.words));
        }
    }

    fn operator(&mut self, joins: bool) {
        self.end_word();
        if self.words.is_empty() {
            self.doubt(UNFINISHED);
        }
        self.end_command();
        self.joined = joins;
    }

    fn single_quotes(&mut self) {
        self.begin_quotes();
        loop {
            match self.rest.next() {
                Some('\'') => return,
                Some(letter) => self.push(letter),
                None => return self.doubt(UNFINISHED),
            }
        }
    }

    fn double_quotes(&mut self) {
        self.begin_quotes();
        loop {
            match self.rest.next() {
                Some('"') => return,
                Some(letter @ ('$' | '`')) => self.replaced(letter),
                Some('\\') => {
                    self.doubt(BACKSLASH);
                    if let Some(letter) = self.rest.next() {
                        self.push(letter);
                    }
                }
                Some(letter) => self.push(letter),
                None => return self.doubt(UNFINISHED),
            }
        }
    }

    fn begin_quotes(&mut self) {
        self.form.quoted = true;
        self.word.get_or_insert_default();
    }

    /// Something stands for a text that nobody knows before it runs.
    fn replaced(&mut self, letter: char) {
        let is_command = letter == '`' || self.rest.peek() == Some(&'(');
        self.doubt(if is_command { SUBSTITUTION } else { "uses a variable" });
        if letter == '`' {
            let inner: String = self.rest.by_ref().take_while(|letter| *letter != '`').collect();
            self.inner(&inner);
        } else if self.next_is('(') {
            self.parentheses();
        } else {
            self.push(letter);
        }
    }

    /// Reads the commands up to the closing parenthesis.
    fn parentheses(&mut self) {
        let mut open = 1;
        let mut inner = String::new();
        for letter in self.rest.by_ref() {
            match letter {
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                break;
            }
            inner.push(letter);
        }
        self.inner(&inner);
    }

    fn inner(&mut self, text: &str) {
        self.word.get_or_insert_default();
        if self.depth < DEPTH_MAX {
            let inner = Line::read_at(text, self.depth + 1);
            self.line.commands.extend(inner.commands);
            self.line.files.extend(inner.files);
        }
    }

    /// Only what leads to nothing or to another output is certain.
    fn redirection(&mut self, letter: char) {
        let numbered = |word: &String| word.chars().all(|digit| digit.is_ascii_digit());
        let number = self.word.as_ref().filter(|word| !self.form.quoted && numbered(word));
        match number.map(String::len) {
            Some(1) => drop(self.word.take()),
            // Some shells take it for a word.
            Some(_) => {
                self.doubt(REDIRECTION);
                self.end_word();
            }
            None => self.end_word(),
        }
        if self.next_is('(') {
            self.doubt(SUBSTITUTION);
            return self.parentheses();
        }
        let rest: String = self.rest.clone().take(TARGET_CHARS_MAX).collect();
        // However far away it is: a shell looks for it as long as there are blanks.
        let target = self.rest.clone().skip_while(|letter| [' ', '\t'].contains(letter));
        let target: String = target.take(TARGET_CHARS_MAX).collect();
        let ends = |rest: &str| rest.chars().next().is_none_or(|next| " \t\n;|&".contains(next));
        let harmless = target.strip_prefix("/dev/null").is_some_and(ends)
            || letter == '>'
                && ["&1", "&2"].iter().any(|to| rest.strip_prefix(to).is_some_and(ends));
        if harmless {
            self.next_is('&');
        } else {
            self.doubt(REDIRECTION);
            while self.rest.next_if(|letter| "<>&|-".contains(*letter)).is_some() {}
        }
        self.skipping = true;
    }
}
