//! The flags of `piton fork` and `piton rewind`.

use clap::Args;

/// Most digits of a number that is taken for a turn; ids of messages are longer.
const TURN_DIGITS_MAX: usize = 6;

/// The flags of `piton fork`.
#[derive(Debug, Default, Args)]
pub(crate) struct Fork {
    /// The conversation, or the beginning of its id; else the newest one of this workspace
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The same, as other commands take it
    #[arg(long = "id", value_name = "ID", conflicts_with = "id", hide = true)]
    pub(crate) id_flag: Option<String>,
    /// Share everything through the end of this turn; -1 is the last one
    #[arg(long, value_name = "TURN", allow_negative_numbers = true, conflicts_with_all = ["before", "behind", "entry"])]
    pub(crate) at: Option<i64>,
    /// Share everything in front of this turn, or of the turn that this message began
    #[arg(long, value_name = "TURN|MESSAGE", visible_alias = "until", allow_negative_numbers = true, conflicts_with_all = ["behind", "entry"])]
    pub(crate) before: Option<String>,
    /// Share everything through this message, without its answer
    #[arg(long, value_name = "MESSAGE", conflicts_with = "entry")]
    pub(crate) behind: Option<String>,
    /// Share everything through this entry of the journal
    #[arg(long, value_name = "N")]
    pub(crate) entry: Option<u64>,
    /// The title of the fork; else that of the conversation
    #[arg(long, value_name = "TITLE", value_parser = title)]
    pub(crate) title: Option<String>,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where a fork is cut, as somebody asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Behind everything.
    End,
    /// Behind a turn. Below 0 it is counted from the end.
    Turn(i64),
    /// In front of a place.
    Before(Place),
    /// Behind a message, by the beginning of its id.
    Behind(String),
    /// Behind an entry.
    Entry(u64),
}

/// A place of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A turn. Below 0 it is counted from the end.
    Turn(i64),
    /// A message, by the beginning of its id.
    Message(String),
}

impl Fork {
    /// Where it is cut.
    pub(crate) fn cut(&self) -> Cut {
        let Self { at, before, behind, entry, .. } = self;
        let before = before.as_deref().map(|typed| Cut::Before(Place::of(typed)));
        let behind = behind.as_deref().map(|typed| Cut::Behind(typed.trim().to_owned()));
        let at = at.map(Cut::Turn).or(before).or(behind);
        at.or(entry.map(Cut::Entry)).unwrap_or(Cut::End)
    }
}

impl Place {
    /// A turn, by its number, or a message, by its id.
    pub(crate) fn of(typed: &str) -> Self {
        let typed = typed.trim();
        let digits = typed.strip_prefix('-').unwrap_or(typed).len();
        match typed.parse() {
            Ok(turn) if digits <= TURN_DIGITS_MAX => Self::Turn(turn),
            Ok(_) | Err(_) => Self::Message(typed.to_owned()),
        }
    }
}

/// A title has something in it, as `piton rename` says, too.
fn title(typed: &str) -> Result<String, String> {
    let words: Vec<&str> = typed.split_whitespace().collect();
    if words.is_empty() { Err("the title is empty".into()) } else { Ok(words.join(" ")) }
}

/// The flags of `piton rewind`.
#[derive(Debug, Default, Args)]
pub(crate) struct Rewind {
    /// The turn that is to be as if it had not begun (-1 is the last one), or the message that began it. Without one, the turns
    /// are shown
    #[arg(value_name = "TURN|MESSAGE", allow_negative_numbers = true)]
    pub(crate) place: Option<String>,
    /// The conversation, or the beginning of its id; else the newest one of this workspace
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Also take back what was changed in files from that turn on
    #[arg(long, requires = "place")]
    pub(crate) files: bool,
    /// Only show what would be done with files
    #[arg(long, requires = "files")]
    pub(crate) preview: bool,
    /// How long to wait for a process that works on the conversation
    #[arg(long, value_name = "SECONDS", default_value_t = super::stop::STOP_WAIT_S, allow_negative_numbers = true)]
    pub(crate) wait: u64,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_number_is_a_turn_and_anything_else_a_message() {
        assert_eq!(Place::of("3"), Place::Turn(3));
        assert_eq!(Place::of(" 12 "), Place::Turn(12));
        assert_eq!(Place::of("-1"), Place::Turn(-1));
        for id in ["7kq2m9xd4t", "0123456789", "m1", "-", ""] {
            assert_eq!(Place::of(id), Place::Message(id.into()));
        }
        assert_eq!(Fork::default().cut(), Cut::End);
        let at = Fork { at: Some(2), ..Fork::default() };
        assert_eq!(at.cut(), Cut::Turn(2));
        let entry = Fork { entry: Some(9), ..Fork::default() };
        assert_eq!(entry.cut(), Cut::Entry(9));
    }
}
