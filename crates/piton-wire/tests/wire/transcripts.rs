//! Transcripts to encode, made the only way there is: from journals.

use std::sync::Arc;

use piton_core::event::{
    AnswerPart, ConfigChange, EffectClass, Entry, Event, FinishReason, Handle, Native, Outcome,
    ToolOutput, ToolSpec, Usage, UserPart,
};
use piton_core::id::{Attempt, CallId, Digest, MessageId, Seq, Timestamp, TurnId};
use piton_core::state::State;
use piton_core::transcript::Transcript;
use piton_wire::Ask;

/// A request's frame.
pub(crate) fn ask(provider: &str, model: &str) -> Ask {
    Ask {
        provider: provider.into(),
        host: format!("{provider}.invalid"),
        model: model.into(),
        max_tokens: Some(4096),
        effort: None,
        cache_key: "conversation".into(),
    }
}

/// Builds a journal event by event.
#[derive(Debug)]
pub(crate) struct Journal {
    state: State,
    turn: u32,
    step: u32,
}

impl Journal {
    /// A journal with a system prompt and one tool.
    pub(crate) fn new() -> Self {
        let mut journal = Self { state: State::default(), turn: 0, step: 0 };
        let tool = ToolSpec::new(
            "look",
            "Looks.",
            r#"{"type":"object","properties":{"path":{"type":"string"}}}"#,
            EffectClass::ReadOnly,
        );
        let change = ConfigChange {
            system: Some("Be brief.".into()),
            tools: Some(vec![tool]),
            ..ConfigChange::default()
        };
        journal.push(Event::ConfigChanged { change });
        journal
    }

    pub(crate) fn push(&mut self, event: Event) -> &mut Self {
        let entry = Entry { seq: self.state.end.next(), at: Timestamp(1), event };
        self.state.apply(&entry);
        assert_ne!(self.state.end, Seq(0));
        self
    }

    /// The user begins a turn.
    pub(crate) fn user(&mut self, text: &str) -> &mut Self {
        self.turn += 1;
        self.step = 0;
        self.push(Event::TurnStarted { turn: TurnId(self.turn), agent: None });
        self.inject(text)
    }

    /// The user says something more in the open turn.
    pub(crate) fn inject(&mut self, text: &str) -> &mut Self {
        let message = MessageId::new(format!("m{}", self.state.end));
        let parts = vec![UserPart::text(text)];
        self.push(Event::UserMessage { message, parts, attempt: Attempt::FIRST })
    }

    /// The model answers with text and calls (tool, arguments, provider id).
    pub(crate) fn answer(
        &mut self,
        text: &str,
        calls: &[(&str, &str, &str)],
        native: Option<Native>,
    ) -> &mut Self {
        self.step += 1;
        self.push(Event::ModelAsked {
            step: self.step,
            attempt: Attempt::FIRST,
            model: "script/one".parse().unwrap(),
            digest: Digest::new("0"),
            tokens_estimated: 0,
        });
        let mut parts = Vec::new();
        if !text.is_empty() {
            parts.push(AnswerPart::Text { text: text.into() });
        }
        for (index, (name, arguments, id)) in (0..).zip(calls) {
            parts.push(AnswerPart::Call {
                call: CallId { turn: TurnId(self.turn), step: self.step, index },
                provider_id: Some((*id).to_owned()).filter(|id| !id.is_empty()),
                name: (*name).into(),
                arguments: Arc::from(*arguments),
            });
        }
        let finish = if calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
        let (usage, dropped) = (Usage::default(), Vec::new());
        self.push(Event::ModelAnswered { parts, finish, usage, dropped, native })
    }

    /// A call of the last answer ends.
    pub(crate) fn finish(&mut self, index: u32, outcome: Outcome, text: &str) -> &mut Self {
        let call = CallId { turn: TurnId(self.turn), step: self.step, index };
        let effect = EffectClass::ReadOnly;
        self.push(Event::ToolStarted { call, effect, handle: Handle::None });
        let output = ToolOutput::text(text);
        self.push(Event::ToolFinished { call, outcome, output })
    }

    /// The turn is over.
    pub(crate) fn end(&mut self) -> &mut Self {
        let end = piton_core::event::TurnEnd::Completed;
        self.push(Event::TurnEnded { turn: TurnId(self.turn), end })
    }

    /// What a model would be sent now.
    pub(crate) fn transcript(&self) -> Transcript {
        Transcript::from(&self.state)
    }
}
