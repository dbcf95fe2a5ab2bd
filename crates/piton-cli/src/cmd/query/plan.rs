//! What a query comes to: a table over what was typed and what is there.

use std::io::ErrorKind::InvalidData;
use std::io::{self, Read as _};

use piton::OnIncomplete;
use piton_store::ENTRY_BYTES_MAX;

use crate::drafts::TEXT_BYTES_MAX;
use crate::flags::Query;
use crate::report::Fault;

/// Largest stored form of a text, in bytes: an entry, less what it says besides.
const STORED_BYTES_MAX: usize = ENTRY_BYTES_MAX - 4 * 1024;
// Of text that people write, JSON makes at most two bytes of one. It makes six of a control character.
const _: () = assert!(2 * TEXT_BYTES_MAX < STORED_BYTES_MAX as u64);

/// What the flags ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Say something.
    Say,
    /// Go on with the incomplete turn.
    Continue,
    /// Discard the incomplete turn.
    Discard,
    /// Say something behind everything else.
    Queue,
    /// Say something to the open turn.
    Steer,
}

/// What is there.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Situation {
    /// Whether the last turn is not over.
    pub(crate) incomplete: bool,
    /// Whether messages wait for a turn of their own, and none is open.
    pub(crate) waiting: bool,
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
    /// Let the messages go that wait.
    Release,
    /// Ask what to do with the messages that wait.
    ChooseWaiting,
    /// There is no open turn to say it to.
    NothingToSteer,
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
    let Situation { incomplete, waiting, text, person } = situation;
    match (wish, incomplete, text) {
        (Wish::Say, false, _) if waiting && person => Plan::ChooseWaiting,
        (Wish::Say | Wish::Queue, false, _) | (Wish::Continue | Wish::Discard, false, true) => {
            Plan::Send(OnIncomplete::Ask)
        }
        (Wish::Queue, true, _) => Plan::Send(OnIncomplete::Resume),
        (Wish::Steer, false, _) => Plan::NothingToSteer,
        (Wish::Continue, false, false) if waiting => Plan::Release,
        (Wish::Continue, false, false) => Plan::NothingToContinue,
        (Wish::Discard, false, false) => Plan::NothingToDiscard,
        (Wish::Continue, true, false) => Plan::Resume,
        (Wish::Continue, true, true) | (Wish::Steer, true, _) => Plan::Send(OnIncomplete::Inject),
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
        (None, false) if query.queue => Wish::Queue,
        (None, false) if query.steer => Wish::Steer,
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
        None if says_nothing(query, wish) => Err(Fault::NoText),
        Some(text) => Ok((wish, Some(sendable(text)?))),
        None => Ok((wish, None)),
    }
}

/// Whether something is to be said, and nothing is there to say. Binding alone needs no words.
fn says_nothing(query: &Query, wish: Wish) -> bool {
    let says = match wish {
        Wish::Say => query.workspace.is_none(),
        Wish::Queue | Wish::Steer => true,
        Wish::Continue | Wish::Discard => false,
    };
    says && !query.draft && query.files.is_empty()
}

fn sendable(text: String) -> Result<String, Fault> {
    if text.trim().is_empty() {
        return Err(Fault::EmptyText);
    }
    check_size(text.len())?;
    let stored = serde_json::to_string(&text).map_or(usize::MAX, |stored| stored.len());
    if STORED_BYTES_MAX < stored {
        return Err(Fault::LongStored { bytes: stored, bytes_max: STORED_BYTES_MAX });
    }
    Ok(text)
}

fn check_size(bytes: usize) -> Result<(), Fault> {
    if TEXT_BYTES_MAX < bytes as u64 {
        return Err(Fault::LongText { bytes_max: TEXT_BYTES_MAX });
    }
    Ok(())
}

fn read_stdin() -> Result<String, Fault> {
    let mut bytes = Vec::new();
    // One more than allowed, so that too much is told from just enough.
    io::stdin().take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(Fault::Stdin)?;
    piped(bytes)
}

/// The size comes first: what was cut off may be the rest of a character, or all but white space.
fn piped(bytes: Vec<u8>) -> Result<String, Fault> {
    check_size(bytes.len())?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|error| Fault::Stdin(io::Error::new(InvalidData, error)))?;
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wish: Wish, incomplete: bool, text: bool, expected: Plan) {
        for person in [false, true] {
            let situation = Situation { incomplete, waiting: false, text, person };
            assert_eq!(plan(wish, situation), expected, "{wish:?} {situation:?}");
        }
    }

    #[test]
    fn what_is_piped_in_is_whole_or_too_large() {
        let most = usize::try_from(TEXT_BYTES_MAX).unwrap();
        let long = |bytes: Vec<u8>| matches!(piped(bytes), Err(Fault::LongText { .. }));
        let mut blank_at_the_border = vec![b'a'; most];
        blank_at_the_border.push(b'\n');
        assert!(long(blank_at_the_border));
        let mut cut_in_a_letter = vec![b'a'; most];
        cut_in_a_letter.push("é".as_bytes()[0]);
        assert!(long(cut_in_a_letter));
        assert_eq!(piped(vec![b'a'; most]).unwrap().len(), most);
        assert_eq!(piped(b" two\nlines \n\n".to_vec()).unwrap(), " two\nlines");
        assert!(matches!(piped(vec![b'a', 0xff]), Err(Fault::Stdin(_))));
    }

    #[test]
    fn a_text_is_measured_as_it_is_stored() {
        let most = usize::try_from(TEXT_BYTES_MAX).unwrap();
        let check = |text: String, fits: bool| match sendable(text) {
            Ok(_) => assert!(fits),
            Err(fault) => assert!(!fits && matches!(fault, Fault::LongStored { .. }), "{fault}"),
        };
        check("\"".repeat(most), true);
        check("\x01".repeat(most), false);
        check("\x01".repeat(STORED_BYTES_MAX / 6 - 1), true);
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
        let situation = Situation { incomplete: true, waiting: false, text: true, person: false };
        assert_eq!(plan(Wish::Say, situation), Plan::Refuse);
        assert_eq!(plan(Wish::Say, Situation { person: true, ..situation }), Plan::Choose);
    }

    #[test]
    fn a_message_that_is_queued_or_steers_takes_an_open_turn_for_what_it_is() {
        check(Wish::Queue, false, true, Plan::Send(OnIncomplete::Ask));
        check(Wish::Queue, true, true, Plan::Send(OnIncomplete::Resume));
        check(Wish::Steer, true, true, Plan::Send(OnIncomplete::Inject));
        check(Wish::Steer, false, true, Plan::NothingToSteer);
    }

    #[test]
    fn messages_that_wait_are_asked_about_or_go_first() {
        let nobody = Situation { incomplete: false, waiting: true, text: true, person: false };
        let person = Situation { person: true, ..nobody };
        assert_eq!(plan(Wish::Say, nobody), Plan::Send(OnIncomplete::Ask));
        assert_eq!(plan(Wish::Say, person), Plan::ChooseWaiting);
        assert_eq!(plan(Wish::Queue, person), Plan::Send(OnIncomplete::Ask));
        let silent = Situation { text: false, ..person };
        assert_eq!(plan(Wish::Continue, silent), Plan::Release);
    }
}
