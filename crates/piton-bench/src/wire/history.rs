//! A conversation of any length, and the dialects that it is written in.

use piton_core::event::{
    AnswerPart, ConfigChange, EffectClass, Entry, Event, FinishReason, Handle, ModelRef, Outcome,
    ToolOutput, ToolSpec, Usage, UserPart,
};
use piton_core::id::{Attempt, CallId, Digest, MessageId, Timestamp, TurnId};
use piton_core::state::State;
use piton_core::transcript::Transcript;
use piton_wire::anthropic::Anthropic;
use piton_wire::gemini::Gemini;
use piton_wire::openai_chat::{Flavour, OpenAiChat};
use piton_wire::openai_responses::OpenAiResponses;
use piton_wire::{Ask, Dialect};

/// The dialects, with the names of their rows: from scratch, and the next request.
pub(crate) const DIALECTS: [(&str, &str, &str); 4] = [
    ("anthropic", "encode 1,000 messages, Anthropic", "the next request, Anthropic"),
    ("chat", "encode 1,000 messages, Chat", "the next request, Chat"),
    ("responses", "encode 1,000 messages, Responses", "the next request, Responses"),
    ("gemini", "encode 1,000 messages, Gemini", "the next request, Gemini"),
];

/// A dialect by its name.
pub(crate) fn dialect(name: &str) -> Box<dyn Dialect> {
    match name {
        "anthropic" => Box::new(Anthropic),
        "chat" => Box::new(OpenAiChat { flavour: Flavour::OpenRouter }),
        "responses" => Box::new(OpenAiResponses::Public),
        _ => Box::new(Gemini),
    }
}

/// What a request is made with.
pub(crate) fn ask(name: &str) -> Ask {
    let model = match name {
        "anthropic" => "claude-opus-4-7",
        "gemini" => "gemini-3-pro",
        _ => "gpt-5",
    };
    Ask {
        provider: "bench".into(),
        host: "bench.invalid".into(),
        model: model.into(),
        max_tokens: Some(4096),
        effort: None,
        cache_key: "bench".into(),
    }
}

/// A conversation that grows: one turn, with the user's message, then answers and results.
pub(crate) struct History {
    state: State,
    steps: u32,
}

impl History {
    pub(crate) fn new() -> Self {
        let mut history = Self { state: State::default(), steps: 0 };
        let tool = ToolSpec::new(
            "read_file",
            "Reads a file.",
            r#"{"type":"object","properties":{"path":{"type":"string"}}}"#,
            EffectClass::ReadOnly,
        );
        let change = ConfigChange {
            system: Some("You are a coding agent.".repeat(40).into()),
            tools: Some(vec![tool]),
            ..ConfigChange::default()
        };
        history.push(Event::ConfigChanged { change });
        history.push(Event::TurnStarted { turn: TurnId(1), agent: None });
        let (message, parts) = (MessageId::new("m"), vec![UserPart::text("Find the bug.")]);
        history.push(Event::UserMessage { message, parts, attempt: Attempt::FIRST });
        history
    }

    /// Goes on until there are so many messages; gives what a model is sent then.
    pub(crate) fn grow_to(&mut self, messages: u32) -> Transcript {
        while 1 + 2 * self.steps < messages {
            self.step();
        }
        Transcript::from(&self.state)
    }

    fn push(&mut self, event: Event) {
        let entry = Entry { seq: self.state.end.next(), at: Timestamp(1), event };
        self.state.apply(&entry);
    }

    fn step(&mut self) {
        self.steps += 1;
        let step = self.steps;
        self.push(Event::ModelAsked {
            step,
            attempt: Attempt::FIRST,
            model: ModelRef { provider: "bench".into(), model: "m".into() },
            digest: Digest::new("0"),
            tokens_estimated: 0,
        });
        let call = CallId { turn: TurnId(1), step, index: 0 };
        let arguments = format!(r#"{{"path":"src/module_{step}.rs","first_line":{step}}}"#);
        let text = format!("Step {step}: this \"line\" is read next.\n").repeat(4);
        let parts = vec![
            AnswerPart::Text { text: text.into() },
            AnswerPart::Call {
                call,
                provider_id: Some(format!("call_{step}")),
                name: "read_file".into(),
                arguments: arguments.into(),
            },
        ];
        let (finish, usage, dropped) = (FinishReason::ToolCalls, Usage::default(), Vec::new());
        self.push(Event::ModelAnswered { parts, finish, usage, dropped, native: None });
        self.push(Event::ToolStarted { call, effect: EffectClass::ReadOnly, handle: Handle::None });
        let output = ToolOutput::text("    let x = \"a\\n\";\n\tfn main() {}\n".repeat(12));
        self.push(Event::ToolFinished { call, outcome: Outcome::Ok, output });
    }
}
