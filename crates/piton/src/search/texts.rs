//! What of an entry can be found, and what an entry says of earlier ones.

use std::collections::BTreeMap;

use piton_core::event::{AnswerPart, Entry, Event, InquiryAnswer, TurnEnd, UserPart};
use piton_core::id::{MessageId, Seq};
use piton_store::{IndexedText, TextChange};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tail::LastTurn;

/// Who said a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// A person: messages, files in them, answers to questions.
    User,
    /// The model: its answers.
    Assistant,
    /// The model, before it answered.
    Thinking,
    /// Calls, and what they gave.
    Tool,
    /// Titles of conversations.
    Title,
}

impl Scope {
    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Thinking => "thinking",
            Self::Tool => "tool",
            Self::Title => "title",
        }
    }
}

/// What has to be known of earlier entries to read the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Memo {
    /// The last turn that began.
    turn: u32,
    /// Where its messages are; zero if they are in the conversation that this one was cut from.
    messages: BTreeMap<String, u64>,
    /// The conversation was not given its title, but has it from the one that it was cut from.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    title_inherited: bool,
}

impl Memo {
    /// What was written down; nothing, if that cannot be read.
    pub(super) fn read(written: &str) -> Self {
        serde_json::from_str(written).unwrap_or_default()
    }

    /// What a fork begins with: the turn in which it was cut, and what was said there.
    pub(super) fn of_fork(begun: &LastTurn, title_inherited: bool) -> Self {
        let said = |message: &MessageId| (message.as_str().to_owned(), 0);
        let messages = begun.messages.iter().map(said).collect();
        Self { turn: begun.turn.0, messages, title_inherited }
    }

    pub(super) fn written(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What an entry changes in what can be found.
    pub(super) fn take(&mut self, entry: &Entry) -> Vec<TextChange> {
        if let Event::TurnStarted { turn, .. } = &entry.event {
            (self.turn, self.messages) = (turn.0, BTreeMap::new());
        }
        let mut changes = Vec::new();
        changes.extend(self.hides(entry));
        let is_inherited = self.title_inherited
            && matches!(&entry.event, Event::ConversationOpened { origin: Some(_), .. });
        let said = if is_inherited { Vec::new() } else { said(&entry.event) };
        changes.extend(said.into_iter().filter_map(|(scope, kind, text)| {
            let turn = if scope == Scope::Title { 0 } else { self.turn };
            let scope = scope.word();
            let said = IndexedText { seq: entry.seq, turn, scope, kind, text };
            (!said.text.trim().is_empty()).then_some(TextChange::Said(said))
        }));
        if let Event::UserMessage { message, .. } = &entry.event {
            self.messages.insert(message.as_str().to_owned(), entry.seq.0);
        }
        changes
    }

    /// Which earlier texts do not count any more.
    fn hides(&self, entry: &Entry) -> Option<TextChange> {
        let known = |message: &str| self.messages.get(message).copied().map(Seq);
        if let Event::TurnEnded { turn, end: TurnEnd::Discarded } = &entry.event {
            return Some(hidden(turn.0, Seq(0), entry.seq, "discarded"));
        }
        if let Event::TitleGiven { .. } = &entry.event {
            // Titles are of no turn.
            return Some(hidden(0, Seq(0), entry.seq, RENAMED));
        }
        if let Event::MessageRetried { message, .. } = &entry.event {
            let said = known(message.as_str())?;
            return Some(hidden(self.turn, said.next(), entry.seq, SUPERSEDED));
        }
        // Said anew, maybe in other words.
        let Event::UserMessage { message, .. } = &entry.event else { return None };
        let said = known(message.as_str())?;
        Some(hidden(self.turn, said, said, SUPERSEDED))
    }
}

/// Another title took its place.
const RENAMED: &str = "renamed";
/// Another attempt took its place.
const SUPERSEDED: &str = "superseded";

fn hidden(turn: u32, from: Seq, through: Seq, why: &'static str) -> TextChange {
    TextChange::Hidden { turn, from, through, why }
}

/// What is said in an entry: by whom, what it is, and the text.
fn said(event: &Event) -> Vec<(Scope, &'static str, String)> {
    if let Event::ConversationOpened { title: Some(title), .. } | Event::TitleGiven { title } =
        event
    {
        return vec![(Scope::Title, "title", title.clone())];
    }
    if let Event::UserMessage { parts, .. } = event {
        return parts.iter().map(typed).collect();
    }
    if let Event::InquiryAnswered { answer, .. } = event {
        let words = match answer {
            InquiryAnswer::Text { text } | InquiryAnswer::Deny { reason: Some(text) } => text,
            InquiryAnswer::Changed { arguments } => arguments,
            InquiryAnswer::Allow
            | InquiryAnswer::Deny { reason: None }
            | InquiryAnswer::Applied
            | InquiryAnswer::RunAgain
            | InquiryAnswer::LookAgain
            | InquiryAnswer::TreatAsDone
            | InquiryAnswer::Redacted
            | InquiryAnswer::Cancelled { .. } => return Vec::new(),
        };
        return vec![(Scope::User, "answer", words.to_string())];
    }
    if let Event::ModelAnswered { parts, .. } = event {
        return parts.iter().map(answered).collect();
    }
    if let Event::CallsPlanned { calls, .. } = event {
        let call = |name: &str, arguments: &str| (Scope::Tool, "call", called(name, arguments));
        return calls.iter().map(|it| call(&it.name, &it.arguments)).collect();
    }
    if let Event::ToolFinished { output, .. } = event {
        return vec![(Scope::Tool, "result", output.text.to_string())];
    }
    Vec::new()
}

fn typed(part: &UserPart) -> (Scope, &'static str, String) {
    match part {
        UserPart::Text { text } => (Scope::User, "message", text.to_string()),
        UserPart::File { name, .. } => (Scope::User, "file", name.clone()),
        UserPart::InlinedFile { name, text, .. } => {
            (Scope::User, "file", format!("{name}\n{text}"))
        }
    }
}

fn answered(part: &AnswerPart) -> (Scope, &'static str, String) {
    match part {
        AnswerPart::Text { text } => (Scope::Assistant, "answer", text.to_string()),
        AnswerPart::Reasoning { text } => (Scope::Thinking, "thought", text.to_string()),
        AnswerPart::Call { name, arguments, .. } => (Scope::Tool, "call", called(name, arguments)),
    }
}

/// A call in lines: people look for what is in its arguments, not for how JSON writes it.
fn called(name: &str, arguments: &str) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str(arguments) else {
        return format!("{name} {arguments}");
    };
    let field = |(key, value): (String, Value)| match value.as_str() {
        Some(text) => format!("{key}: {text}"),
        None => format!("{key}: {value}"),
    };
    let fields: Vec<_> = fields.into_iter().map(field).collect();
    format!("{name} {}", fields.join("\n")).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use piton_core::event::ToolOutput;
    use piton_core::event::{FinishReason, Outcome, Usage};
    use piton_core::id::{Attempt, CallId, Timestamp, TurnId};

    use super::*;

    fn changes(events: Vec<Event>) -> Vec<String> {
        let mut memo = Memo::default();
        let mut shown = Vec::new();
        for (event, seq) in events.into_iter().zip(1..) {
            // What is remembered is written down and read again between any two entries.
            memo = Memo::read(&memo.written());
            let entry = Entry { seq: Seq(seq), at: Timestamp(0), event };
            for change in memo.take(&entry) {
                shown.push(match change {
                    TextChange::Said(it) => {
                        format!("{}:{}:{}:{}:{}", it.seq, it.turn, it.scope, it.kind, it.text)
                    }
                    TextChange::Hidden { turn, from, through, why } => {
                        format!("turn {turn} {from} to {through} {why}")
                    }
                });
            }
        }
        shown
    }

    fn message(text: &str, attempt: Attempt) -> Event {
        let parts = vec![UserPart::text(text)];
        Event::UserMessage { message: MessageId::new("m1"), parts, attempt }
    }

    fn answer() -> Event {
        let call = CallId { turn: TurnId(1), step: 1, index: 0 };
        let arguments = "{\"command\":\"echo \\\"hi\\\"\"}".into();
        Event::ModelAnswered {
            parts: vec![
                AnswerPart::Reasoning { text: "hm".into() },
                AnswerPart::Text { text: "I say hi.".into() },
                AnswerPart::Call { call, provider_id: None, name: "shell".into(), arguments },
            ],
            finish: FinishReason::ToolCalls,
            usage: Usage::default(),
            dropped: Vec::new(),
            native: None,
        }
    }

    #[test]
    fn every_text_has_a_turn_and_who_said_it() {
        let call = CallId { turn: TurnId(1), step: 1, index: 0 };
        let output = ToolOutput::text("hi");
        let told = changes(vec![
            Event::TitleGiven { title: "greetings".into() },
            Event::TurnStarted { turn: TurnId(1), agent: None },
            message("greet", Attempt::FIRST),
            answer(),
            Event::ToolFinished { call, outcome: Outcome::Ok, output },
        ]);
        assert_eq!(
            told,
            [
                "turn 0 0 to 1 renamed",
                "1:0:title:title:greetings",
                "3:1:user:message:greet",
                "4:1:thinking:thought:hm",
                "4:1:assistant:answer:I say hi.",
                "4:1:tool:call:shell command: echo \"hi\"",
                "5:1:tool:result:hi",
            ]
        );
    }

    #[test]
    fn what_was_tried_before_is_superseded_and_a_left_turn_discarded() {
        let again = Attempt::FIRST.next();
        let told = changes(vec![
            Event::TurnStarted { turn: TurnId(1), agent: None },
            message("greet", Attempt::FIRST),
            Event::MessageRetried { message: MessageId::new("m1"), attempt: again },
            message("greet them", again),
            Event::TurnEnded { turn: TurnId(1), end: TurnEnd::Discarded },
        ]);
        assert_eq!(
            told,
            [
                "2:1:user:message:greet",
                "turn 1 3 to 3 superseded",
                "turn 1 2 to 2 superseded",
                "4:1:user:message:greet them",
                "turn 1 0 to 5 discarded",
            ]
        );
    }
}
