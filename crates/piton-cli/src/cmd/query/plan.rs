//! What a query comes to: a table over what was typed and what is there.

use std::io::{self, Read as _};

use piton::OnIncomplete;

use crate::drafts::TEXT_BYTES_MAX;
use crate::flags::Query;
use crate::report::Fault;

// JSON escaping can make six bytes of one only for control characters; of text that people write it
// makes at most two, and a message must fit one entry.
const _: () = assert!(2 * TEXT_BYTES_MAX < piton_store::ENTRY_BYTES_MAX as u64);

/// What the flags ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Say something.
    Say,
    /// Go on with the incomplete turn.
    Continue,
    /// Discard the incomplete turn.
    Discard,
}

/// What is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    /// Whether the last turn is not over.
    pub(crate) incomplete: bool,
    /// Whether there is something to say.
    pub(crate) text: bool,
    /// Whether somebody can be asked.
    pub(crate) person: bool,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Send the text.
    Send(OnIncomplete),
    /// Resume the incomplete turn.
    Resume,
    /// Discard the incomplete turn.
    Discard,
    /// There is no incomplete turn to go on with.
    NothingToContinue,
    /// There is no incomplete turn to discard.
    NothingToDiscard,
    /// Ask what to do with the incomplete turn.
    Choose,
    /// Refuse, and say what can be done.
    Refuse,
}

/// Decides what to do.
pub(crate) fn plan(wish: Wish, situation: Situation) -> Plan {
    let Situation { incomplete, text, person } = situation;
    match (wish, incomplete, text) {
        (Wish::Say, false, _) | (Wish::Continue | Wish::Discard, false, true) => {
            Plan::Send(OnIncomplete::Ask)
        }
        (Wish::Continue, false, false) => Plan::NothingToContinue,
        (Wish::Discard, false, false) => Plan::NothingToDiscard,
        (Wish::Continue, true, false) => Plan::Resume,
        (Wish::Continue, true, true) => Plan::Send(OnIncomplete::Inject),
        (Wish::Discard, true, false) => Plan::Discard,
        (Wish::Discard, true, true) => Plan::Send(OnIncomplete::Discard),
        (Wish::Say, true, _) if person => Plan::Choose,
        (Wish::Say, true, _) => Plan::Refuse,
    }
}

/// What was typed, checked before anything is opened: the wish, and what to say.
pub(crate) fn request(query: &Query) -> Result<(Wish, Option<String>), Fault> {
    let wish = match (&query.resume, query.discard_turn) {
        (Some(_), _) => Wish::Continue,
        (None, true) => Wish::Discard,
        (None, false) => Wish::Say,
    };
    let behind = query.resume.clone().flatten();
    let typed = match (query.text.clone(), behind) {
        (Some(_), Some(_)) => return Err(Fault::TwoTexts),
        (None, Some(_)) if query.draft => return Err(Fault::TwoTexts),
        (text, behind) => text.or(behind),
    };
    let text = match typed.as_deref() {
        Some("-") => Some(read_stdin()?),
        Some(_) | None => typed,
    };
    match text {
        None if wish == Wish::Say && !query.draft => Err(Fault::NoText),
        Some(text) if text.trim().is_empty() => Err(Fault::EmptyText),
        Some(text) if TEXT_BYTES_MAX < text.len() as u64 => {
            Err(Fault::LongText { bytes_max: TEXT_BYTES_MAX })
        }
        text => Ok((wish, text)),
    }
}

fn read_stdin() -> Result<String, Fault> {
    let mut text = String::new();
    // One more than allowed, so that too much is told from just enough.
    io::stdin().take(TEXT_BYTES_MAX + 1).read_to_string(&mut text).map_err(Fault::Stdin)?;
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wish: Wish, incomplete: bool, text: bool, expected: Plan) {
        for person in [false, true] {
            let situation = Situation { incomplete, text, person };
            assert_eq!(plan(wish, situation), expected, "{wish:?} {situation:?}");
        }
    }

    // J22
    #[test]
    fn without_an_incomplete_turn_the_flags_change_nothing() {
        check(Wish::Say, false, true, Plan::Send(OnIncomplete::Ask));
        check(Wish::Continue, false, true, Plan::Send(OnIncomplete::Ask));
        check(Wish::Discard, false, true, Plan::Send(OnIncomplete::Ask));
        check(Wish::Continue, false, false, Plan::NothingToContinue);
        check(Wish::Discard, false, false, Plan::NothingToDiscard);
    }

    // J21, J25, X1
    #[test]
    fn a_flag_says_what_becomes_of_an_incomplete_turn() {
        check(Wish::Continue, true, false, Plan::Resume);
        check(Wish::Continue, true, true, Plan::Send(OnIncomplete::Inject));
        check(Wish::Discard, true, false, Plan::Discard);
        check(Wish::Discard, true, true, Plan::Send(OnIncomplete::Discard));
    }

    // J23, J24, J27
    #[test]
    fn without_a_flag_a_person_chooses_or_nothing_is_done() {
        let situation = Situation { incomplete: true, text: true, person: false };
        assert_eq!(plan(Wish::Say, situation), Plan::Refuse);
        assert_eq!(plan(Wish::Say, Situation { person: true, ..situation }), Plan::Choose);
    }
}
