//! The flags of `piton undo`.

use clap::Args;

use super::stop::STOP_WAIT_S;

/// The flags of `piton undo`.
#[derive(Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Undo {
    /// The number of a change in the list; else the newest one that was not taken back. `list` shows the list
    #[arg(value_name = "N", value_parser = which)]
    pub(crate) which: Option<Which>,
    /// Show the changes that can be taken back, with their numbers
    #[arg(long, conflicts_with_all = ["which", "show"])]
    pub(crate) list: bool,
    /// Print the old version instead of putting it back
    #[arg(long)]
    pub(crate) show: bool,
    /// Take back all changes of a turn of the conversation; without a number, of its last turn
    #[arg(long, value_name = "TURN", allow_negative_numbers = true, num_args = 0..=1, default_missing_value = "0", conflicts_with_all = ["which", "list", "show"])]
    pub(crate) turn: Option<i64>,
    /// With --turn: only show what would be done
    #[arg(long, requires = "turn")]
    pub(crate) preview: bool,
    /// With --turn: make again what was taken back
    #[arg(long, requires = "turn")]
    pub(crate) again: bool,
    /// Only changes of this conversation, or of those whose ids begin so
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// How long to wait for a process that works on the conversation of the change
    #[arg(long, value_name = "SECONDS", default_value_t = STOP_WAIT_S, allow_negative_numbers = true)]
    pub(crate) wait: u64,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which changes are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The one with this number.
    Number(usize),
    /// All: they are shown.
    List,
}

fn which(typed: &str) -> Result<Which, String> {
    match typed {
        "list" => Ok(Which::List),
        number => {
            number.parse().map(Which::Number).map_err(|_| "a number, or list, is wanted".into())
        }
    }
}

impl Undo {
    /// The number of the change that is meant, if one is.
    pub(crate) fn number(&self) -> Option<usize> {
        match self.which? {
            Which::Number(number) => Some(number),
            Which::List => None,
        }
    }
}
