//! What a model is sent: a provider-neutral message list that cannot be out of order.
//!
//! [`Transcript::from`] a state is the only way to make one, so an invalid sequence cannot be sent:
//! results stand directly behind their calls, in call order, exactly one per call. A call without
//! an end gets a truthful synthetic result here, never in the journal.

mod context;
mod files;
mod message;
mod one_shot;
mod parts;
mod size;

use std::sync::Arc;

pub use self::context::{typed, without_context};
pub use self::files::Files;
pub use self::message::{Assistant, CallResult, Message};
pub(crate) use self::one_shot::OneShot;
pub use self::parts::Parts;
pub(crate) use self::size::head_tokens;
use self::size::message_letters;
use self::size::{AnswerRoom, head_letters};
use crate::answer::EMPTY_NOTE;
use crate::coordinate;
use crate::event::{
    AnswerPart, BlobRef, Effort, FinishReason, ModelRef, Native, Outcome, OutputFile, ToolSpec,
    UserPart,
};
use crate::id::ConversationId;
use crate::state::{Answered, Call, Item, Progress, Said, State, Step, Turn};
use crate::summary::bounded_arguments;

const OPEN_TEXT: &str = "Interrupted before it was run; it had no effect.";
const DOUBT_TEXT: &str = "Interrupted, outcome unknown; check before repeating.";
/// Marks the text of an answer that was cut off.
pub const CUT_MARK: &str = "[This answer was cut off here; it was never finished.]";
const LENGTH_NOTE: &str =
    "Your answer was cut off by the output limit. Continue exactly where it stopped.";
/// What precedes a summary of earlier turns.
pub const SUMMARY_HEADING: &str = "[Earlier conversation summary — treat as background context]";

/// A valid message list with the tools and the system prompt it goes with.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript {
    model: Option<ModelRef>,
    effort: Effort,
    answer: AnswerRoom,
    system: Arc<str>,
    tools: Arc<[ToolSpec]>,
    /// Letters of the two.
    head_letters: usize,
    /// Letters that count as one token (D7).
    divisor: u64,
    messages: Arc<Vec<Message>>,
    settled: Settled,
    /// The conversation, which the state does not know. The engine adds it, and the files, before sending.
    conversation: Option<ConversationId>,
    files: Files,
}

/// How much of a transcript stays as it is while the turn goes on: all but what the last item of
/// the last turn became.
#[derive(Clone, Copy, Debug, Default)]
struct Settled {
    /// The past that it was made from.
    past: u64,
    /// Items of the last turn.
    items: usize,
    messages: usize,
    letters: usize,
}

/// Two transcripts that say the same are the same, whatever they were made from.
impl PartialEq for Settled {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl From<&State> for Transcript {
    fn from(state: &State) -> Self {
        let mut messages = Vec::new();
        let mut settled = Settled { past: state.past, ..Settled::default() };
        if let Some(overlay) = &state.overlay {
            let summary = UserPart::text(format!("{SUMMARY_HEADING}\n\n{}", overlay.summary));
            let told = context::part(&overlay.context);
            messages.push(Message::User(std::iter::once(summary).chain(told).collect()));
        }
        for turn in &state.turns {
            settled = settled.with(&messages, 0);
            if state.is_sent(turn) {
                settled = add_turn(&mut messages, state, turn, settled);
            }
        }
        let config = &state.config;
        let mut made = Self {
            model: config.model.clone(),
            effort: config.effort,
            answer: AnswerRoom::default(),
            system: config.system.clone(),
            tools: config.tools.clone(),
            head_letters: head_letters(&config.system, &config.tools),
            divisor: config.limits.divisor(),
            messages: Arc::new(messages),
            settled,
            conversation: None,
            files: Files::default(),
        };
        made.answer = made.room(state);
        made
    }
}

impl Transcript {
    /// Brings it up to a later state of the same conversation. The same as making it anew, in time
    /// proportional to what is new; gives the number of messages that were there before.
    pub fn update(&mut self, state: &State) -> usize {
        let shown = state.turns.last().filter(|turn| state.is_sent(turn));
        if self.settled.past != state.past || shown.is_none() {
            *self = Self::from(state);
            return 0;
        }
        let kept = self.settled.messages;
        let messages = Arc::make_mut(&mut self.messages);
        messages.truncate(kept);
        if let Some(turn) = shown {
            self.settled = add_turn(messages, state, turn, self.settled);
        }
        self.answer = self.room(state);
        debug_assert_eq!(self.messages, Self::from(state).messages, "an update loses nothing");
        kept
    }

    fn room(&self, state: &State) -> AnswerRoom {
        let expected = state.tokens_expected(self.tokens_estimated());
        AnswerRoom { set: state.config.answer_tokens_max, window: state.window(), expected }
    }

    /// Who is asked.
    pub fn model(&self) -> Option<&ModelRef> {
        self.model.as_ref()
    }

    /// How much it should think.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// Most tokens of its answer; 0 leaves it to the provider. Never more than the window has room for.
    pub fn answer_tokens_max(&self) -> u32 {
        self.answer.tokens_max()
    }

    /// Most tokens of an answer that the window has room for, where it is known. A format that must name a
    /// number, also where nobody said one, names no larger one.
    pub fn answer_tokens_left(&self) -> Option<u32> {
        self.answer.left()
    }

    /// What a person set for that; 0 is nothing.
    pub fn answer_tokens_set(&self) -> u32 {
        self.answer.set
    }

    /// Says which conversation it belongs to; providers keep prompt caches by that.
    #[must_use]
    pub fn in_conversation(self, conversation: ConversationId) -> Self {
        Self { conversation: Some(conversation), ..self }
    }

    /// The conversation it belongs to, if somebody said so.
    pub fn conversation(&self) -> Option<&ConversationId> {
        self.conversation.as_ref()
    }

    /// The files that it refers to.
    pub fn files_wanted(&self) -> impl Iterator<Item = &BlobRef> {
        files::of(&self.messages)
    }

    /// Adds what the files hold.
    #[must_use]
    pub fn with_files(self, files: Files) -> Self {
        Self { files, ..self }
    }

    /// What the files hold, as far as somebody added it.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// The system prompt.
    pub fn system(&self) -> &str {
        &self.system
    }

    /// The tools offered.
    pub fn tools(&self) -> &[ToolSpec] {
        &self.tools
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }
}

/// The estimated size of the next request, in tokens. Where it begins with the last answered request of the
/// open turn, only what is new is looked at.
pub(crate) fn tokens_of_next(state: &State) -> u64 {
    let Some((turn, place, estimated)) = last_answered(state) else {
        return Transcript::from(state).tokens_estimated();
    };
    let mut messages = Vec::new();
    add_turn(&mut messages, state, turn, Settled { items: place, ..Settled::default() });
    let new: usize = messages.iter().map(message_letters).sum();
    estimated.saturating_add(new as u64 / state.config.limits.divisor())
}

/// The last answered step of the open turn, with the size of its request.
fn last_answered(state: &State) -> Option<(&Turn, usize, u64)> {
    let turn = state.open_turn()?;
    let is_answered = |item: &Item| matches!(item, Item::Step(step) if step.answer.is_some());
    let place = turn.items.iter().rposition(is_answered)?;
    let Item::Step(Step { request, .. }) = turn.items.get(place)? else { return None };
    state.begins_with(*request).then_some((turn, place, request.estimated))
}

fn note(text: &str) -> Message {
    Message::User(vec![UserPart::text(text)])
}

impl Settled {
    /// After more messages, and so many items of a turn.
    fn with(self, messages: &[Message], items: usize) -> Self {
        let more: usize = messages.iter().skip(self.messages).map(message_letters).sum();
        Self { messages: messages.len(), letters: self.letters + more, items, ..self }
    }
}

/// Adds the items that are not settled yet; says what is settled now.
fn add_turn(messages: &mut Vec<Message>, state: &State, turn: &Turn, settled: Settled) -> Settled {
    let mut now = settled;
    let mut items = turn.items.iter().skip(settled.items).peekable();
    // What the next request tells stands in front of its answer, where it stays.
    let mut untold = if turn.end.is_none() { &*state.untold } else { &[] };
    while let Some(item) = items.next() {
        if items.peek().is_none() {
            now = now.with(messages, turn.items.len() - 1);
        }
        match item {
            Item::User(said) => add_said(messages, turn, said),
            // A summary stands for it.
            Item::Step(step) if state.covers(turn, step) => {}
            Item::Step(step) => {
                add_told(messages, &step.told);
                if step.answer.is_none() && items.peek().is_none() {
                    add_told(messages, std::mem::take(&mut untold));
                }
                match &step.answer {
                    Some(answer) => {
                        // The same question when the request is repeated: its step then stands behind.
                        let continued = match items.peek() {
                            Some(Item::Step(_)) => true,
                            Some(Item::User(_)) => false,
                            None => turn.end.is_none(),
                        };
                        if step.request.noted {
                            messages.push(note(EMPTY_NOTE));
                        }
                        let native = state.native_sent(step).cloned();
                        add_answer(messages, step, answer, Sent { native, continued });
                    }
                    None => add_unanswered(messages, turn, step, items.peek().is_some()),
                }
            }
        }
    }
    add_told(messages, untold);
    now
}

fn add_told(messages: &mut Vec<Message>, told: &[Arc<str>]) {
    messages.extend(told.iter().map(|text| note(text)));
}

fn add_said(messages: &mut Vec<Message>, turn: &Turn, said: &Said) {
    let parts = said.parts.iter().enumerate().filter(|(_, part)| part.has_content());
    let mut parts: Vec<_> = parts
        .map(|(place, part)| match part {
            UserPart::File { name, media_type, .. } if said.left_out.contains(&place) => {
                files::no_longer_sent(name, media_type)
            }
            UserPart::Text { .. } | UserPart::File { .. } | UserPart::InlinedFile { .. } => {
                part.clone()
            }
        })
        .collect();
    if !parts.is_empty() {
        let is_first =
            matches!(turn.items.first(), Some(Item::User(first)) if first.message == said.message);
        parts.splice(0..0, context::part(&turn.context).filter(|_| is_first));
        parts.extend(coordinate::note_behind(turn, said).map(UserPart::text));
        messages.push(Message::User(parts));
    }
}

/// How an answer goes into a request.
struct Sent {
    native: Option<Native>,
    /// Whether the model is asked to go on from it.
    continued: bool,
}

fn add_answer(messages: &mut Vec<Message>, step: &Step, answer: &Answered, sent: Sent) {
    // What came with a refusal is shown to people, but no model is to build on it.
    if answer.finish == FinishReason::Refused {
        return;
    }
    // A call part that the fold did not take up has no result, so it must not be sent either.
    let taken = |part: &AnswerPart| match part {
        AnswerPart::Call { call, name, .. } => {
            !name.is_empty() && step.calls.iter().any(|known| known.id == *call)
        }
        AnswerPart::Text { text } | AnswerPart::Reasoning { text } => !text.trim().is_empty(),
    };
    let parts = sendable(&answer.parts, taken);
    if !parts.is_empty() {
        messages.push(Message::Assistant(Assistant { parts, native: sent.native }));
    }
    if !step.calls.is_empty() {
        messages.push(Message::Results(step.calls.iter().map(result).collect()));
    }
    if step.planned {
        messages.push(note(&coordinate::synthesis_note(step)));
    }
    if !answer.dropped.is_empty() {
        let names = answer.dropped.join(", ");
        messages.push(note(&format!(
            "These calls were cut off by the output limit and not run: {names}. \
             Repeat what is still needed, with shorter arguments."
        )));
    } else if sent.continued && answer.finish == FinishReason::Length && step.calls.is_empty() {
        messages.push(note(LENGTH_NOTE));
    }
}

/// The parts to send: all of them, shared, in the usual case.
fn sendable(parts: &Arc<[AnswerPart]>, taken: impl Fn(&AnswerPart) -> bool) -> Arc<[AnswerPart]> {
    // The same call twice in one answer is one call.
    let is_repeated = |place: usize, part: &AnswerPart| match part {
        AnswerPart::Call { call, .. } => parts.iter().take(place).any(|known| {
            matches!(known, AnswerPart::Call { call: earlier, .. } if earlier == call)
                && taken(known)
        }),
        AnswerPart::Text { .. } | AnswerPart::Reasoning { .. } => false,
    };
    let kept = |(place, part): &(usize, &AnswerPart)| taken(part) && !is_repeated(*place, part);
    if parts.iter().enumerate().all(|item| kept(&item)) {
        return parts.clone();
    }
    parts.iter().enumerate().filter(kept).map(|(_, part)| part.clone()).collect()
}

fn add_unanswered(messages: &mut Vec<Message>, turn: &Turn, step: &Step, followed: bool) {
    let over = followed || turn.end.is_some();
    if over && !step.streamed.text.is_empty() {
        let text = format!("{}\n\n{CUT_MARK}", step.streamed.text).into();
        let parts = [AnswerPart::Text { text }].into();
        messages.push(Message::Assistant(Assistant { parts, native: None }));
    }
    if !over && 0 < step.empties {
        messages.push(note(EMPTY_NOTE));
    }
}

/// The images that a call gave. An output that is sent shortened has no room for them, and providers want
/// nothing but text in that of a call that failed.
fn files_given(call: &Call) -> Vec<UserPart> {
    let is_ok = matches!(&call.progress, Progress::Done(ended) if ended.outcome == Outcome::Ok);
    let files = call.files().iter().enumerate();
    let files = files.filter(|_| is_ok && call.shortened.is_none());
    let given = files.map(|(place, file)| {
        let OutputFile { name, media_type, blob } = file.clone();
        if call.left_out.contains(&place) {
            return files::no_longer_sent(&name, &media_type);
        }
        UserPart::File { name, media_type, blob }
    });
    given.collect()
}

/// What the model is told of a call that a person changed. Its own words stay as it wrote them: requests
/// are append-only.
fn changed_note(call: &Call) -> String {
    let (arguments, left_out) = bounded_arguments(&call.arguments);
    let more = if left_out == 0 { "" } else { ", and more" };
    format!("[The user changed the arguments of this call to {arguments}{more}]")
}

fn result(call: &Call) -> CallResult {
    let (text, is_error) = match &call.progress {
        Progress::Waiting => (OPEN_TEXT.into(), true),
        Progress::Running(_) | Progress::InDoubt(_) | Progress::Parked(_) => {
            (DOUBT_TEXT.into(), true)
        }
        Progress::Done(ended) => {
            let text = call.shortened.as_ref().unwrap_or(&ended.output.text);
            let text = if text.trim().is_empty() { "(no output)".into() } else { text.clone() };
            let changed = call.asked.as_ref().map(|_| format!("{}\n{text}", changed_note(call)));
            (changed.map_or(text, Into::into), ended.outcome != Outcome::Ok)
        }
    };
    let (provider_id, name) = (call.provider_id.clone(), call.name.clone());
    CallResult { call: call.id, provider_id, name, text, files: files_given(call), is_error }
}
