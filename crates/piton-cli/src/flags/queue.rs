//! The flags of `piton queue`.

use clap::{Args, Subcommand};

use super::stop::STOP_WAIT_S;

/// The flags of `piton queue`.
#[derive(Debug, Args)]
pub(crate) struct QueueFlags {
    #[command(subcommand)]
    pub(crate) wish: Option<QueueWish>,
    /// The conversation, or the beginning of its id; else the newest one of this workspace
    #[arg(long, value_name = "ID", global = true)]
    pub(crate) id: Option<String>,
    /// How long to wait until a process at work on the conversation has taken it
    #[arg(long, value_name = "SECONDS", default_value_t = STOP_WAIT_S, global = true)]
    pub(crate) wait: u64,
    /// One JSON object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What to do with the messages that wait.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum QueueWish {
    /// Show them, with their numbers
    List,
    /// Write one anew, in your editor if no text is given; its files stay
    Edit {
        /// Its number in the list
        #[arg(value_name = "N")]
        number: usize,
        /// What it says from now on
        #[arg(value_name = "TEXT")]
        text: Vec<String>,
    },
    /// Give one another place in the order
    Move {
        /// Its number in the list
        #[arg(value_name = "N")]
        number: usize,
        /// Its number afterwards
        #[arg(value_name = "M")]
        to: usize,
    },
    /// Take one or several back: they are not sent any more
    Rm {
        /// Their numbers in the list
        #[arg(value_name = "N", required = true)]
        numbers: Vec<usize>,
    },
    /// Let one go into the open turn, before its next request
    Steer {
        /// Its number in the list
        #[arg(value_name = "N")]
        number: usize,
    },
    /// Let one wait for a turn of its own
    Next {
        /// Its number in the list
        #[arg(value_name = "N")]
        number: usize,
    },
}

impl QueueWish {
    /// What to type where words of a chat lack the number of a message; none if they lack nothing.
    pub(crate) fn lacking(words: &str) -> Option<&'static str> {
        let (verb, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let is_number = rest.trim().parse::<usize>().is_ok();
        match (verb, rest.trim()) {
            ("edit", "") => Some("/queue edit N TEXT"),
            ("move", "") => Some("/queue move N M"),
            ("move", _) if is_number => Some("/queue move N M"),
            ("rm", "") => Some("/queue rm N…"),
            ("steer", "") => Some("/queue steer N"),
            ("next", "") => Some("/queue next N"),
            _ => None,
        }
    }

    /// What to type in the place of words of a chat that are no message, but a command which there is not;
    /// none if they can be something to say.
    pub(crate) fn mistaken(words: &str) -> Option<&'static str> {
        let (verb, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        if !rest.split_whitespace().all(|number| number.parse::<usize>().is_ok()) {
            return None;
        }
        match (verb.to_lowercase().as_str(), rest.is_empty()) {
            ("clear" | "empty" | "reset", _)
            | ("delete" | "remove" | "del" | "cancel" | "undo", true) => {
                Some("/queue rm N takes one back, /queue drop all of them")
            }
            ("delete" | "remove" | "del" | "cancel" | "drop" | "undo", false) => {
                Some("/queue rm N takes one back")
            }
            ("show" | "ls" | "print" | "status", true) => {
                Some("/queue shows the messages that wait")
            }
            ("add" | "help" | "?", true) => Some(
                "/queue shows what waits, /queue TEXT adds to it, and edit, move, rm, steer and next N change it",
            ),
            _ => None,
        }
    }

    /// What words of a chat mean; none if they are something to say.
    pub(crate) fn of(words: &str) -> Option<Self> {
        let (verb, rest) = words.split_once(char::is_whitespace)?;
        let rest = rest.trim();
        let (number, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let number = number.parse().ok()?;
        match (verb, behind.trim()) {
            ("edit", "") => Some(Self::Edit { number, text: Vec::new() }),
            ("edit", text) => Some(Self::Edit { number, text: vec![text.to_owned()] }),
            ("move", to) => Some(Self::Move { number, to: to.parse().ok()? }),
            ("rm", others) => {
                let others = others.split_whitespace().map(str::parse);
                let numbers = [Ok(number)].into_iter().chain(others).collect::<Result<_, _>>();
                Some(Self::Rm { numbers: numbers.ok()? })
            }
            ("steer", "") => Some(Self::Steer { number }),
            ("next", "") => Some(Self::Next { number }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_chat_are_a_change_or_something_to_say() {
        let edit = |text: &[&str]| {
            let text = text.iter().map(|it| (*it).to_owned()).collect();
            Some(QueueWish::Edit { number: 2, text })
        };
        for (words, expected) in [
            ("edit 2", edit(&[])),
            ("edit 2 say it better", edit(&["say it better"])),
            ("move 2 1", Some(QueueWish::Move { number: 2, to: 1 })),
            ("rm 1", Some(QueueWish::Rm { numbers: vec![1] })),
            ("rm 2 1", Some(QueueWish::Rm { numbers: vec![2, 1] })),
            ("steer 1", Some(QueueWish::Steer { number: 1 })),
            ("next 3", Some(QueueWish::Next { number: 3 })),
            ("edit the file", None),
            ("rm 1 file", None),
            ("move on", None),
            ("rm", None),
        ] {
            assert_eq!(QueueWish::of(words), expected, "{words}");
        }
        for words in ["rm", "edit", "move", "move 2", "steer", "next"] {
            assert!(QueueWish::lacking(words).is_some(), "{words}");
        }
        for words in ["rm 1", "move 2 1", "foo", "rm the file", "next time", ""] {
            assert_eq!(QueueWish::lacking(words), None, "{words}");
        }
        for words in ["clear", "Delete", "remove 2", "drop 1 2", "show", "ls", "help"] {
            assert!(QueueWish::mistaken(words).is_some(), "{words}");
        }
        for words in ["drop", "list", "rm 1", "clear the table", "show me", "go", ""] {
            assert_eq!(QueueWish::mistaken(words), None, "{words}");
        }
    }
}
