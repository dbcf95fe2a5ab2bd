//! What a line means that is typed beside the turn of another process.

use std::fmt::Write as _;

use piton::{Command, NewMessage, OnIncomplete};
use piton_core::summary::shorten;
use piton_core::view::View;

use crate::cmd::query::beside::is_answer;
use crate::slash;

/// Longest text of a message that is shown again, in letters.
const SHOWN_LETTERS_MAX: usize = 60;

/// The commands: a name, what is written behind it, and what it does.
const ROWS: [(&str, &str, &str); 8] = [
    ("steer", "TEXT", "say something to the turn that runs, before its next request"),
    ("stop", "", "stop the turn and keep its work; again, to close it with what is there"),
    ("continue", "", "go on with the incomplete turn"),
    ("retry", "[MODEL]", "try the last message again from scratch, or with another model"),
    ("discard", "", "discard the incomplete turn; it stays in the journal, hidden"),
    ("queue", "[rm N|drop]", "show the messages that wait, or take them back"),
    ("help", "", "show this"),
    ("quit", "", "leave; nothing is stopped"),
];

/// What a line means.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Meaning {
    /// Something is sent.
    Order(Order),
    /// This is said, and nothing is done.
    Told(String),
    /// The person leaves.
    Quit,
}

/// Something to send.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Order {
    pub(super) what: What,
    /// What is said when it was taken.
    pub(super) told: String,
    /// The line, to be typed again if it is not taken.
    pub(super) line: String,
}

/// What is sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    Commands(Vec<Command>),
    /// The newest message is tried again, by this model.
    Retry(Option<String>),
}

/// How the turn stands beside which a line is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Somebody performs it.
    Runs,
    /// It is open, and nobody performs it.
    Rests,
    /// None is open.
    None,
}

/// Who performs the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Performer {
    /// A server, which takes every command.
    Server,
    /// A process with a turn of its own, which takes what goes into it.
    Process,
}

/// Reads a line.
pub(super) fn meaning(line: &str, view: &View, turn: Turn, performer: Performer) -> Meaning {
    let line = line.trim_end();
    let Some((name, words)) = command(line) else { return message(line, turn) };
    let order = |what, told: &str| {
        Meaning::Order(Order { what, told: told.to_owned(), line: line.to_owned() })
    };
    let one = |command, told: &str| order(What::Commands(vec![command]), told);
    let elsewhere = performer == Performer::Process;
    match name {
        "quit" | "exit" => Meaning::Quit,
        "help" | "?" => Meaning::Told(help()),
        "steer" if words.is_empty() => Meaning::Told("Say what: /steer TEXT".into()),
        "steer" => {
            let told = format!("goes into the turn: {}", shorten(words, SHOWN_LETTERS_MAX));
            one(Command::Steer { message: NewMessage::text(words) }, &told)
        }
        "queue" => queue(line, words, view),
        "stop" if turn == Turn::None => Meaning::Told("No turn is open.".into()),
        "stop" if turn == Turn::Runs => one(Command::Interrupt, "The turn is told to stop."),
        "continue" | "retry" | "discard" | "stop" if elsewhere => Meaning::Told(format!(
            "/{name} has to wait: another process works on the turn. /stop stops it."
        )),
        "stop" => one(Command::Stop, "The turn is closed with what is there."),
        "continue" => one(Command::Resume, "The turn goes on."),
        "discard" => {
            one(Command::Discard, "The turn is discarded. It stays in the journal, hidden.")
        }
        "retry" => {
            let model = Some(words.to_owned()).filter(|model| !model.is_empty());
            order(What::Retry(model), "The message is tried again.")
        }
        name if slash::names().any(|known| known == name) => Meaning::Told(format!(
            "/{name} is for a chat: leave with Ctrl-D, and when nobody works on the turn: piton --id ID"
        )),
        name => Meaning::Told(format!(
            "There is no command /{name}\n\
             hint: /help lists the commands. To send it as a message, begin with a blank."
        )),
    }
}

/// The name of a command and the words behind it; none, if a line is a message.
fn command(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix('/')?;
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_name = name == "?" || !name.is_empty() && name.chars().all(char::is_alphanumeric);
    is_name.then_some((name, words.trim()))
}

/// A message: it joins a turn that rests, and else waits for its own, which begins at once where none is open.
fn message(line: &str, turn: Turn) -> Meaning {
    if is_answer(line) {
        let said = "Not sent: that looks like the answer to a question, and none is open.";
        return Meaning::Told(said.into());
    }
    if line.starts_with('!') {
        return Meaning::Told("Commands of yours run in a chat, not from here.".into());
    }
    let message = NewMessage::text(line);
    let (command, told) = match turn {
        Turn::Rests => {
            let on_incomplete = OnIncomplete::Inject;
            (Command::Say { message, on_incomplete, agent: None }, String::new())
        }
        Turn::Runs => {
            let told = format!("queued: {}", shorten(line, SHOWN_LETTERS_MAX));
            (Command::Queue { message }, told)
        }
        Turn::None => (Command::Queue { message }, String::new()),
    };
    let what = What::Commands(vec![command]);
    Meaning::Order(Order { what, told, line: line.to_owned() })
}

/// Shows what waits, or takes it back.
fn queue(line: &str, words: &str, view: &View) -> Meaning {
    let all = || view.queue.iter().map(|queued| queued.id.clone());
    let messages: Vec<_> = match words.split_once(' ') {
        None if matches!(words, "" | "list") => {
            let rows = crate::cmd::query::requeue::rows(view).join("\n");
            return Meaning::Told(if rows.is_empty() { "No message waits.".into() } else { rows });
        }
        None if words == "drop" => all().collect(),
        Some(("rm", number)) => {
            let place = number.trim().parse::<usize>().ok().and_then(|it| it.checked_sub(1));
            place.and_then(|place| all().nth(place)).into_iter().collect()
        }
        Some(_) | None => {
            let said = "Just type a message to queue it; /queue rm N and /queue drop take back.";
            return Meaning::Told(said.into());
        }
    };
    if messages.is_empty() {
        return Meaning::Told("No such message waits; /queue shows those that do.".into());
    }
    let told = match messages.len() {
        1 => "A message is taken back.".to_owned(),
        count => format!("{count} messages are taken back."),
    };
    let commands = messages.into_iter().map(|message| Command::Unqueue { message }).collect();
    Meaning::Order(Order { what: What::Commands(commands), told, line: line.to_owned() })
}

/// The help.
fn help() -> String {
    let left = |name: &str, takes: &str| format!("/{name} {takes}");
    let width = ROWS.iter().map(|(name, takes, _)| left(name, takes).len()).max();
    let width = width.unwrap_or_default();
    let mut help = String::new();
    for (name, takes, does) in ROWS {
        // Writing to a string cannot fail.
        writeln!(help, "  {:width$}  {does}", left(name, takes)).unwrap_or_default();
    }
    help + "\n  A line is a message: it waits for the turn that runs, and else begins one.\n  \
            Ctrl-C and Ctrl-D leave; the turn goes on."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(line: &str, turn: Turn, performer: Performer) -> Option<What> {
        match meaning(line, &View::default(), turn, performer) {
            Meaning::Order(order) => Some(order.what),
            Meaning::Told(_) | Meaning::Quit => None,
        }
    }

    fn command_of(line: &str, turn: Turn) -> Option<Command> {
        match sent(line, turn, Performer::Server)? {
            What::Commands(commands) => commands.into_iter().next(),
            What::Retry(_) => None,
        }
    }

    #[test]
    fn a_line_is_a_message_that_waits_begins_a_turn_or_joins_one_that_rests() {
        let message = || NewMessage::text("hello there");
        for turn in [Turn::Runs, Turn::None] {
            let queued = Command::Queue { message: message() };
            assert_eq!(command_of("hello there", turn), Some(queued), "{turn:?}");
        }
        let on_incomplete = OnIncomplete::Inject;
        let joined = Command::Say { message: message(), on_incomplete, agent: None };
        assert_eq!(command_of("hello there", Turn::Rests), Some(joined));
        assert!(command_of(" /stop is a message", Turn::Runs).is_some());
        assert!(command_of("/usr/bin is a path", Turn::Runs).is_some());
        for nothing in ["y", "no", "!ls", "/steer", "/nonsense", "/model x", "/help"] {
            assert_eq!(command_of(nothing, Turn::Runs), None, "{nothing}");
        }
    }

    #[test]
    fn a_turn_is_stopped_while_it_runs_and_closed_when_it_rests() {
        assert_eq!(command_of("/stop", Turn::Runs), Some(Command::Interrupt));
        assert_eq!(command_of("/stop", Turn::Rests), Some(Command::Stop));
        assert_eq!(command_of("/stop", Turn::None), None);
        assert_eq!(command_of("/continue", Turn::Rests), Some(Command::Resume));
        assert_eq!(command_of("/discard", Turn::Rests), Some(Command::Discard));
        let retry = |line| sent(line, Turn::Rests, Performer::Server);
        assert_eq!(retry("/retry"), Some(What::Retry(None)));
        assert_eq!(retry("/retry demo"), Some(What::Retry(Some("demo".into()))));
    }

    #[test]
    fn a_process_with_a_turn_of_its_own_takes_only_what_goes_into_it() {
        for line in ["/continue", "/retry", "/discard"] {
            assert_eq!(sent(line, Turn::Runs, Performer::Process), None, "{line}");
        }
        for line in ["/stop", "/steer so", "then commit"] {
            assert!(sent(line, Turn::Runs, Performer::Process).is_some(), "{line}");
        }
    }
}
