//! A question with answers to choose from: one of them, words of one's own, or none.

use piton::Reply;
use piton_core::question::have_numbers;
use piton_core::view::{Shape, Wants};

use super::heard::Heard;
use super::keys::{self, Key, Menu};

/// Answers to choose from.
#[derive(Clone, Debug)]
pub(super) struct ChoicePrompt {
    wants: Wants,
    options: Vec<String>,
    /// Whether the next line is an answer in own words.
    is_typing: bool,
}

impl ChoicePrompt {
    /// None if something else is wanted than one of several answers.
    pub(super) fn of(wants: &Wants) -> Option<Self> {
        let Shape::Choice { options } = &wants.shape else { return None };
        Some(Self { wants: wants.clone(), options: options.clone(), is_typing: false })
    }

    /// Back from own words to the options; says whether anybody was there.
    pub(super) fn go_back(&mut self) -> bool {
        std::mem::take(&mut self.is_typing)
    }

    /// What to show in front of the cursor.
    pub(super) fn text(&self, question: &str) -> String {
        if self.is_typing {
            return "your own answer (empty: back): ".into();
        }
        let numbered = have_numbers(&self.options);
        let others = self.others().into_iter().map(|(key, says)| {
            if self.is_free(key) { format!("({}) {says}", key.letter) } else { says.to_owned() }
        });
        let line = |(place, says): (usize, String)| {
            let mark = if numbered { (place + 1).to_string() } else { "-".into() };
            format!("  {mark}  {says}\n")
        };
        let lines: String =
            self.options.iter().cloned().chain(others).enumerate().map(line).collect();
        let words = if numbered { "number or words" } else { "one of them" };
        let default = self.wants.default.as_ref();
        let default = default.map(|it| format!(", empty line: {it}")).unwrap_or_default();
        format!("{question}\n{lines}{words}{default}: ")
    }

    /// Takes in a line.
    pub(super) fn hear(&mut self, line: &str) -> Heard {
        if self.go_back() {
            return match line.trim() {
                "" => Heard::Ask,
                own => Heard::Reply(Reply::Text(own.to_owned())),
            };
        }
        // What is meant by an option is never taken for a key.
        let takes = match self.wants.without_own_words().read(line) {
            Ok(option) => return Heard::Reply(Reply::Text(option)),
            Err(takes) => takes,
        };
        let line = line.trim();
        if line == "?" {
            return Heard::Told(self.explained());
        }
        let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match (self.other(line).or_else(|| self.other(first)), rest.trim()) {
            (Some(keys::NO), _) if self.other(line) == Some(keys::NO) => Heard::Reply(Reply::Deny),
            (Some(keys::QUIT), "") => Heard::Leave,
            (Some(keys::TYPE), own) if !own.is_empty() && self.other(line).is_none() => {
                Heard::Reply(Reply::Text(own.to_owned()))
            }
            (Some(keys::TYPE), _) => {
                self.is_typing = true;
                Heard::Ask
            }
            _ => Heard::Unclear(takes),
        }
    }

    /// What can be answered beside the options.
    fn others(&self) -> Vec<(Key, &'static str)> {
        let own = self.wants.own_words.then_some((keys::TYPE, "your own answer"));
        own.into_iter().chain([(keys::NO, "no answer")]).collect()
    }

    /// Whether a letter cannot be meant for an option.
    fn is_free(&self, key: Key) -> bool {
        let begins = |option: &String| option.trim().to_lowercase().starts_with(key.letter);
        !self.options.iter().any(begins)
    }

    /// What a text beside the options means: the words that are shown, their number, or a key.
    fn other(&self, text: &str) -> Option<Key> {
        let (text, others) = (text.to_lowercase(), self.others());
        if let Some((key, _)) = others.iter().find(|(_, says)| *says == text) {
            return Some(*key);
        }
        if let Ok(number) = text.parse::<usize>() {
            let place = number.checked_sub(1 + self.options.len())?;
            let place = have_numbers(&self.options).then_some(place)?;
            return others.get(place).map(|(key, _)| *key);
        }
        let keys = others.into_iter().map(|(key, _)| key).chain([keys::QUIT]);
        let free: Vec<_> = keys.filter(|key| self.is_free(*key)).map(|key| (key, "", "")).collect();
        Menu::of(&free).find(&text)
    }

    /// What `?` says.
    fn explained(&self) -> String {
        let own = "  t  your own answer: the next line, or what stands behind the t\n";
        let own = if self.wants.own_words { own } else { "" };
        format!(
            "  type the number of an option, or its words\n{own}  \
             n  no answer: whoever asks is told that there is none\n  \
             q  leave the question open, and the turn where it is\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(options: &[&str], own_words: bool) -> ChoicePrompt {
        let options = options.iter().map(|it| (*it).to_owned()).collect();
        let shape = Shape::Choice { options };
        ChoicePrompt::of(&Wants { shape, own_words, ..Wants::default() }).unwrap()
    }

    fn check(options: &[&str], lines: &[&str], expected: Option<Reply>) {
        let mut prompt = prompt(options, true);
        let heard = lines.iter().find_map(|line| prompt.hear(line).reply());
        assert_eq!(heard, expected, "{lines:?}");
    }

    fn text(text: &str) -> Reply {
        Reply::Text(text.into())
    }

    #[test]
    fn an_answer_is_an_option_own_words_or_none() {
        let colours = ["red", "blue"];
        check(&colours, &["green", "2"], Some(text("blue")));
        for lines in [&["t", "dark green"][..], &["3", "dark green"], &["T dark green"]] {
            check(&colours, lines, Some(text("dark green")));
        }
        check(&colours, &["t", "", "red"], Some(text("red")));
        for line in ["n", "no", "4", "no answer"] {
            check(&colours, &[line], Some(Reply::Deny));
        }
        assert_eq!(prompt(&colours, true).hear("q"), Heard::Leave);
        assert!(matches!(prompt(&colours, false).hear("t"), Heard::Unclear(_)));
        assert_eq!(prompt(&colours, false).hear("3"), Heard::Reply(Reply::Deny));
    }

    // Whoever types `n` at Yes and No may mean No.
    #[test]
    fn a_key_is_never_taken_for_an_option_nor_an_option_for_a_key() {
        let words = ["Yes", "No", "two of them"];
        check(&words, &["n", "t"], None);
        check(&words, &["no"], Some(text("No")));
        check(&words, &["5"], Some(Reply::Deny));
        check(&words, &["your own answer", "three"], Some(text("three")));
        check(&["1.5", "none"], &["2", "4", "n", "no answer"], Some(Reply::Deny));
    }

    #[test]
    fn what_can_be_answered_is_shown() {
        assert_eq!(
            prompt(&["red", "No"], true).text("Which?"),
            "Which?\n  1  red\n  2  No\n  3  (t) your own answer\n  4  no answer\nnumber or words: "
        );
        assert_eq!(
            prompt(&["2"], false).text("Which?"),
            "Which?\n  -  2\n  -  (n) no answer\none of them: "
        );
    }
}
