//! The flags of `piton fork` and `piton rewind`.

use clap::Args;
use piton::fork::ForkAt;
use piton_core::id::{MessageId, Seq, TurnId};

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
    /// Share everything through the end of this turn
    #[arg(long, value_name = "TURN", conflicts_with_all = ["before", "behind", "entry"])]
    pub(crate) at: Option<u32>,
    /// Share everything in front of this turn, or of the turn that this message began
    #[arg(long, value_name = "TURN|MESSAGE", visible_alias = "until", conflicts_with_all = ["behind", "entry"])]
    pub(crate) before: Option<String>,
    /// Share everything through this message, without its answer
    #[arg(long, value_name = "MESSAGE", conflicts_with = "entry")]
    pub(crate) behind: Option<String>,
    /// Share everything through this entry of the journal
    #[arg(long, value_name = "N")]
    pub(crate) entry: Option<u64>,
    /// The title of the fork; else that of the conversation
    #[arg(long, value_name = "TITLE")]
    pub(crate) title: Option<String>,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

impl Fork {
    /// Where it is cut.
    pub(crate) fn place(&self) -> ForkAt {
        let Self { at, before, behind, entry, .. } = self;
        let at = at.map(|turn| ForkAt::Turn(TurnId(turn)));
        let before = before.as_deref().map(in_front_of);
        let behind = behind.as_deref().map(|it| ForkAt::Behind(MessageId::new(it.trim())));
        let entry = entry.map(|entry| ForkAt::Entry(Seq(entry)));
        at.or(before).or(behind).or(entry).unwrap_or(ForkAt::End)
    }
}

/// In front of a turn, by its number, or of a message, by its id.
pub(crate) fn in_front_of(typed: &str) -> ForkAt {
    let typed = typed.trim();
    match typed.parse() {
        Ok(turn) if typed.len() <= TURN_DIGITS_MAX => ForkAt::BeforeTurn(TurnId(turn)),
        Ok(_) | Err(_) => ForkAt::Before(MessageId::new(typed)),
    }
}

/// The flags of `piton rewind`.
#[derive(Debug, Default, Args)]
pub(crate) struct Rewind {
    /// The turn that is to be as if it had not begun, or the message that began it. Without one, the turns
    /// are shown
    #[arg(value_name = "TURN|MESSAGE")]
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
        assert_eq!(in_front_of("3"), ForkAt::BeforeTurn(TurnId(3)));
        assert_eq!(in_front_of(" 12 "), ForkAt::BeforeTurn(TurnId(12)));
        for id in ["7kq2m9xd4t", "0123456789", "m1", "-1", ""] {
            assert_eq!(in_front_of(id), ForkAt::Before(MessageId::new(id)));
        }
        assert_eq!(Fork::default().place(), ForkAt::End);
        let at = Fork { at: Some(2), ..Fork::default() };
        assert_eq!(at.place(), ForkAt::Turn(TurnId(2)));
        let entry = Fork { entry: Some(9), ..Fork::default() };
        assert_eq!(entry.place(), ForkAt::Entry(Seq(9)));
    }
}
