//! The entries of a long conversation, as an agent would have written them.

use piton_core::event::{
    AnswerPart, EffectClass, Event, FinishReason, Handle, ModelRef, Outcome as End,
};
use piton_core::event::{ToolOutput, TurnEnd, Usage, UserPart};
use piton_core::id::{Attempt, CallId, Digest, MessageId, TurnId};

/// How many.
pub(crate) const ENTRIES: usize = 100_000;
/// Steps of a turn; each has four entries.
const STEPS: u32 = 20;

/// A conversation of 100,000 entries.
pub(crate) fn long(workspace: String) -> Vec<Event> {
    of(workspace, ENTRIES)
}

/// A conversation of so many entries. Titles at its beginning fill it up, so that its last turn is whole.
pub(crate) fn of(workspace: String, entries: usize) -> Vec<Event> {
    let mut events =
        vec![Event::ConversationOpened { workspace, title: None, origin: None, parent: None }];
    let title = Event::TitleGiven { title: "a long day".into() };
    let rest = entries.saturating_sub(1) % whole_turn(TurnId(1)).len();
    events.extend(std::iter::repeat_n(title, rest));
    for turn in 1.. {
        if entries <= events.len() {
            break;
        }
        events.extend(whole_turn(TurnId(turn)));
    }
    events.truncate(entries);
    events
}

fn whole_turn(turn: TurnId) -> Vec<Event> {
    let message = MessageId::new(format!("m{}", turn.0));
    let parts = vec![UserPart::text("please do the next thing on the list")];
    let mut events = vec![
        Event::TurnStarted { turn, agent: None },
        Event::UserMessage { message, parts, attempt: Attempt::FIRST },
    ];
    for step in 1..=STEPS {
        events.extend(whole_step(CallId { turn, step, index: 0 }));
    }
    events.push(Event::TurnEnded { turn, end: TurnEnd::Completed });
    events
}

fn whole_step(call: CallId) -> [Event; 4] {
    [
        Event::ModelAsked {
            step: call.step,
            attempt: Attempt::FIRST,
            model: ModelRef { provider: "bench".into(), model: "none".into() },
            digest: Digest::new("0".repeat(64)),
            tokens_estimated: 1_000,
        },
        Event::ModelAnswered {
            parts: vec![
                AnswerPart::Text { text: "I will look at the file and then change it.".into() },
                AnswerPart::Call {
                    call,
                    provider_id: Some("call_0123456789".into()),
                    name: "shell".into(),
                    arguments: r#"{"command":"cargo test --workspace"}"#.into(),
                },
            ],
            finish: FinishReason::ToolCalls,
            usage: Usage { input: 1_000, output: 50, cached: 900 },
            dropped: Vec::new(),
            native: None,
        },
        Event::ToolStarted { call, effect: EffectClass::Once, handle: Handle::None },
        Event::ToolFinished {
            call,
            outcome: End::Ok,
            output: ToolOutput::text("test result: ok. 12 passed; 0 failed\n".repeat(8)),
        },
    ]
}
