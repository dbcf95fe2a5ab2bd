//! Requests are append-only: to the same model every body begins, byte for byte, as the last answered
//! one did, unless an event between them changed the past (DESIGN 6; K14, X4, X11).

use std::collections::BTreeMap;

use piton_core::event::{AnswerPart, FinishReason};
use piton_core::id::TurnId;
use piton_core::state::{State, Step};
use serde_json::value::RawValue;

use super::voices::{VOICES, Voice};

/// Marks for caches move from request to request, and are no part of what is said.
const CACHE_MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;
/// What closes a list of messages.
const CLOSING: [char; 3] = ['"', '}', ']'];

/// A body as far as a provider compares it with a later one.
#[derive(Clone, Debug)]
struct Sent {
    head: String,
    messages: String,
    /// Whether it asks for thoughts: older models are sent theirs only then.
    thinks: bool,
    rewrites: u64,
    /// Whether its answer stands behind it in later ones.
    is_followed: bool,
}

impl Sent {
    fn of(state: &State, body: &str) -> Self {
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(body).unwrap();
        let all = |names: &[&str]| {
            let found = names.iter().filter_map(|name| fields.get(*name));
            found.map(|raw| raw.get().replace(CACHE_MARK, "")).collect::<String>()
        };
        Self {
            head: all(&["system", "instructions", "systemInstruction", "tools"]),
            messages: all(&["messages", "input", "contents"]),
            thinks: fields.contains_key("thinking"),
            rewrites: state.rewrites,
            is_followed: false,
        }
    }

    /// What later bodies begin with. Where the answer is not sent again, formats join the user's next
    /// words to the last ones, and one writes both as a list then.
    fn beginning(&self) -> &str {
        let end = if self.is_followed { None } else { self.messages.rfind(r#"{"role":"user""#) };
        let begin = end.map_or(&*self.messages, |end| &self.messages[..end]);
        begin.trim_end_matches(CLOSING)
    }
}

/// What was sent to each voice in one journal.
#[derive(Debug, Default)]
pub(crate) struct Beginnings {
    /// The last request, and the step that it asked for.
    last: Option<(Voice, TurnId, u32, Sent)>,
    answered: Vec<(Voice, Sent)>,
    /// Pairs of answered requests that were compared.
    pub(crate) compared: u64,
}

impl Beginnings {
    /// Takes in a request that is about to leave.
    pub(crate) fn ask(&mut self, state: &State, voice: Voice, body: &str) {
        self.settle(state);
        let Some(turn) = state.open_turn() else { return };
        self.last = Some((voice, turn.id, turn.next_step(), Sent::of(state, body)));
    }

    /// Whether the last request was answered, and begins as the answered one before it.
    pub(crate) fn settle(&mut self, state: &State) {
        let Some((voice, turn, number, sent)) = self.last.take() else { return };
        let turn = state.turns.iter().find(|known| known.id == turn);
        let step = turn.and_then(|turn| turn.steps().find(|step| step.number == number));
        let Some(step) = step.filter(|step| step.answer.is_some()) else { return };
        let sent = Sent { is_followed: is_replayed(step), ..sent };
        let earlier = self.answered.iter().position(|(known, _)| *known == voice);
        if let Some((_, earlier)) = earlier.map(|place| self.answered.swap_remove(place))
            && earlier.rewrites == sent.rewrites
            && earlier.thinks == sent.thinks
        {
            self.compared += 1;
            check(voice, &earlier, &sent);
        }
        self.answered.push((voice, sent));
    }
}

fn check(voice: Voice, earlier: &Sent, later: &Sent) {
    assert_eq!(earlier.head, later.head, "{voice:?}: system or tools changed");
    assert!(
        later.messages.starts_with(earlier.beginning()),
        "{voice:?}: an answered request was changed:\n{}\n{}",
        earlier.messages,
        later.messages
    );
}

/// The control: the note that asked again is missing behind the next answer.
#[test]
#[should_panic(expected = "an answered request was changed")]
fn a_note_that_is_dropped_behind_the_answer_is_noticed() {
    let sent = |notes: &str, rest: &str| {
        let hello = r#"{"role":"user","content":[{"type":"text","text":"hi"}"#;
        let body = format!(r#"{{"messages":[{hello}{notes}]}}{rest}]}}"#);
        Sent { is_followed: true, ..Sent::of(&State::default(), &body) }
    };
    let answer = r#",{"role":"assistant","content":[{"type":"text","text":"so"}]}"#;
    check(VOICES[0], &sent(r#",{"type":"text","text":"again"}"#, ""), &sent("", answer));
}

/// Whether an answer is sent again: a refusal is not, and neither are thoughts alone.
fn is_replayed(step: &Step) -> bool {
    let has_text = |part: &AnswerPart| match part {
        AnswerPart::Text { text } => !text.trim().is_empty(),
        AnswerPart::Reasoning { .. } | AnswerPart::Call { .. } => false,
    };
    step.answer.as_ref().is_some_and(|answer| {
        let says = !step.calls.is_empty() || answer.parts.iter().any(has_text);
        says && answer.finish != FinishReason::Refused
    })
}
