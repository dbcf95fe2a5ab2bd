//! The keys of all menus: one letter means one thing, wherever it is offered. Nothing is read or shown here.
//!
//! `docs/terminal.md` has the same table, and a test holds the two together.

use super::heard::type_one_of;

/// A key, its word, and what it does in every menu that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) letter: char,
    /// Can be typed in place of the letter.
    word: &'static str,
    /// For the table of keys.
    means: &'static str,
}

macro_rules! keys {
    ($($name:ident $letter:literal $word:literal $means:literal)*) => {
        $(pub(crate) const $name: Key = Key { letter: $letter, word: $word, means: $means };)*
        /// All of them.
        #[cfg(test)]
        const ALL: &[Key] = &[$($name),*];
    };
}

keys! {
    YES 'y' "yes" "agrees: the call runs, the form is filled in"
    NO 'n' "no" "refuses; behind it there can be a reason"
    ALWAYS 'a' "always" "agrees, also for later calls like this one"
    NEVER 'v' "never" "refuses, also for later calls like this one"
    EDIT 'e' "edit" "changes the text first: the command, the rule, the message"
    DONE 'm' "done" "it is done already, nothing is run"
    TYPE 't' "type" "a text follows: the result of a call, a reply"
    RESUME 'r' "run" "goes on with what was begun, or runs it again"
    AGAIN 'g' "retry" "tries the message again, from scratch"
    DISCARD 'd' "discard" "throws away what is there"
    FOLLOW 'f' "first" "what is there goes first, then your message"
    STEER 's' "steer" "your message goes into the turn that runs"
    LOOK 'l' "look" "looks on"
    WAIT 'w' "wait" "waits"
    OTHER 'o' "other" "begins another conversation"
    FORK 'k' "fork" "forks the conversation, and goes on there"
    CONVERSATION 'c' "conversation" "how far a rule reaches: this conversation"
    PROJECT 'p' "project" "how far a rule reaches: this project"
    USER 'u' "user" "how far a rule reaches: everywhere"
    BACK 'b' "back" "to the question before"
    QUIT 'q' "quit" "leaves everything as it is; a question stays open"
}

/// What is typed to have a menu explained.
const HELP: &str = "?";

/// A menu: keys, and what each does here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Menu {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    key: Key,
    /// In the line of the menu.
    says: String,
    /// What `?` says beside that.
    more: &'static str,
}

/// What a typed line means to a menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pressed {
    /// One of its keys.
    Key(Key),
    /// To be shown, and then it is asked again.
    Told(String),
}

impl Menu {
    /// Keys with what they do here, and what is said of that when somebody asks.
    pub(crate) fn of(entries: &[(Key, &str, &'static str)]) -> Self {
        let entry = |(key, says, more): &(Key, &str, &'static str)| Entry {
            key: *key,
            says: (*says).to_owned(),
            more,
        };
        Self { entries: entries.iter().map(entry).collect() }
    }

    /// What to show in front of the cursor.
    pub(crate) fn line(&self) -> String {
        let shown = self.entries.iter().filter(|entry| !entry.says.is_empty());
        let shown = shown.map(|entry| format!("({}) {}, ", entry.key.letter, entry.says));
        format!("{}({HELP}) help: ", shown.collect::<String>())
    }

    /// What is understood.
    pub(crate) fn takes(&self) -> String {
        let letters: Vec<char> = self.entries.iter().map(|entry| entry.key.letter).collect();
        type_one_of(&letters)
    }

    /// What a typed line means: a letter, a word, or the number of an entry.
    pub(crate) fn hear(&self, line: &str) -> Pressed {
        let word = line.trim().to_lowercase();
        if word == HELP {
            return Pressed::Told(self.explained());
        }
        match self.find(&word) {
            Some(key) => Pressed::Key(key),
            None => Pressed::Told(super::not_understood(&self.takes())),
        }
    }

    /// The key that a word in small letters stands for.
    pub(crate) fn find(&self, word: &str) -> Option<Key> {
        let number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let by_number = || self.entries.get(number?);
        let is_meant = |entry: &&Entry| {
            entry.key.word == word || word.chars().eq(std::iter::once(entry.key.letter))
        };
        let found = self.entries.iter().find(is_meant).or_else(by_number);
        found.map(|entry| entry.key)
    }

    /// Every key with its number and what it does.
    pub(crate) fn explained(&self) -> String {
        let line = |(place, entry): (usize, &Entry)| {
            let Entry { key, says, more } = entry;
            let between = if says.is_empty() || more.is_empty() { "" } else { ": " };
            format!("  {}  {}  {says}{between}{more}\n", place + 1, key.letter)
        };
        self.entries.iter().enumerate().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../../docs/terminal.md");

    #[test]
    fn a_letter_means_one_thing_in_all_menus_and_the_page_says_which() {
        for key in ALL {
            let same = ALL.iter().filter(|other| other.letter == key.letter);
            assert_eq!(same.count(), 1, "{key:?}");
            let row = format!("| `{}`, `{}` | {} |", key.letter, key.word, key.means);
            assert!(PAGE.contains(&row), "docs/terminal.md lacks {row}");
        }
    }

    #[test]
    fn a_key_is_typed_as_a_letter_a_word_or_a_number() {
        let menu = Menu::of(&[(RESUME, "resume it", ""), (QUIT, "quit", "nothing changes")]);
        assert_eq!(menu.line(), "(r) resume it, (q) quit, (?) help: ");
        for typed in ["q", " Q ", "quit", "2"] {
            assert_eq!(menu.hear(typed), Pressed::Key(QUIT), "{typed}");
        }
        for typed in ["", "0", "3", "resume it", "-1", "qq"] {
            let told = "Not understood: type r or q.\n".into();
            assert_eq!(menu.hear(typed), Pressed::Told(told), "{typed}");
        }
        let told = "  1  r  resume it\n  2  q  quit: nothing changes\n";
        assert_eq!(menu.hear("?"), Pressed::Told(told.into()));
    }
}
