//! What a query comes to: a table over what was typed and what is there.

use std::path::PathBuf;

use piton::OnIncomplete;

use crate::flags::Query;
use crate::report::InputFault;

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
    /// Say something behind everything else, and leave an incomplete turn as it is.
    Leave,
    /// Say something to the open turn.
    Steer,
    /// Try a message again.
    Retry,
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
    /// Put the text behind the incomplete turn.
    Queue,
    /// Resume the incomplete turn.
    Resume,
    /// Discard the incomplete turn.
    Discard,
    /// Try the message again.
    Retry,
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
        (Wish::Say, false, _) | (Wish::Continue, false, true) if waiting && person => {
            Plan::ChooseWaiting
        }
        (Wish::Say | Wish::Queue | Wish::Leave, false, _)
        | (Wish::Continue | Wish::Discard, false, true) => Plan::Send(OnIncomplete::Ask),
        (Wish::Leave, true, _) => Plan::Queue,
        (Wish::Retry, _, _) => Plan::Retry,
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

/// Where the message comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// From nowhere: none is needed.
    Nowhere,
    /// From the command line.
    Words(String),
    /// From standard input, as `-` says.
    Stdin,
    /// From a file.
    File(PathBuf),
    /// Nobody says where from, and one is needed.
    Unsaid,
}

/// What was typed, checked before anything is read or opened: the wish, and where the message is.
pub(crate) fn request(query: &Query) -> Result<(Wish, Source), InputFault> {
    let wish = match (&query.resume, query.discard_turn) {
        _ if query.retry.is_some() => Wish::Retry,
        (Some(_), _) => Wish::Continue,
        (None, _) if query.go_on => Wish::Continue,
        (None, true) => Wish::Discard,
        (None, false) if query.queue => Wish::Queue,
        (None, false) if query.steer => Wish::Steer,
        (None, false) => Wish::Say,
    };
    let words = (!query.text.is_empty()).then(|| query.text.join(" "));
    let behind = query.resume.clone().flatten();
    let two = |first| Err(InputFault::TwoTexts { first, second: "one beside it" });
    let source = match (words, behind, &query.prompt_file) {
        (_, Some(_), _) if query.draft => return two("one for --continue"),
        (Some(_), Some(_), _) => return two("one for --continue"),
        (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => return two("one in --prompt-file"),
        (Some(text), None, None) | (None, Some(text), None) if text == "-" => Source::Stdin,
        (Some(text), None, None) | (None, Some(text), None) => Source::Words(text),
        (None, None, Some(path)) if path.as_os_str() == "-" => Source::Stdin,
        (None, None, Some(path)) => Source::File(path.clone()),
        (None, None, None) if says_nothing(query, wish) => Source::Unsaid,
        (None, None, None) => Source::Nowhere,
    };
    Ok((wish, source))
}

/// Whether something is to be said, and nothing is there to say. Binding alone needs no words.
fn says_nothing(query: &Query, wish: Wish) -> bool {
    let says = match wish {
        Wish::Say => query.workspace.is_none(),
        Wish::Queue | Wish::Leave | Wish::Steer => true,
        Wish::Continue | Wish::Discard | Wish::Retry => false,
    };
    says && !query.draft && query.files.is_empty()
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

    // X9: a retry is wanted by name, whatever became of the turn.
    #[test]
    fn a_message_is_tried_again_whether_its_turn_is_over_or_not() {
        check(Wish::Retry, true, false, Plan::Retry);
        check(Wish::Retry, false, false, Plan::Retry);
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
        check(Wish::Leave, false, true, Plan::Send(OnIncomplete::Ask));
        check(Wish::Leave, true, true, Plan::Queue);
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
        // What is typed in a chat is to be added to a turn that is open; here none is.
        assert_eq!(plan(Wish::Continue, person), Plan::ChooseWaiting);
        assert_eq!(plan(Wish::Continue, nobody), Plan::Send(OnIncomplete::Ask));
        let silent = Situation { text: false, ..person };
        assert_eq!(plan(Wish::Continue, silent), Plan::Release);
    }
}
