//! Opening a conversation of 100,000 entries.

use std::sync::Arc;
use std::time::Instant;

use piton::Engine;
use piton::model::OneModel;
use piton_core::event::{
    AnswerPart, EffectClass, Event, FinishReason, Handle, ModelRef, Outcome as End,
};
use piton_core::event::{ToolOutput, TurnEnd, Usage, UserPart};
use piton_core::id::{Attempt, CallId, ConversationId, Digest, MessageId, Seq, Timestamp, TurnId};
use piton_sim::demo::DemoModel;
use piton_store::{
    Batch, CommitName, Durability, Holder, Journal, NewRecord, SqliteJournal, StatusRow,
};

use crate::Bench;
use crate::measure::{Outcome, median, runtime, shown};
use crate::report::{Row, Target};

const ENTRIES: usize = 100_000;
/// Steps of a turn; each has four entries.
const STEPS: u32 = 20;
const ROUNDS: usize = 5;

/// Time from `open` to a folded state.
pub(crate) fn open(bench: &Bench) -> Outcome<Vec<Row>> {
    let home = bench.dir.path().join("fold");
    let (journal, _) = SqliteJournal::open(&home)?;
    let journal = Arc::new(journal);
    let id = ConversationId::new("long");
    let runtime = runtime()?;
    runtime.block_on(fill(&journal, &id, bench))?;
    let engine = Engine::builder(journal, Arc::new(OneModel(Arc::new(DemoModel)))).build();
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let session = runtime.block_on(engine.open(&id))?;
        times.push(start.elapsed());
        if session.state().end != Seq(ENTRIES as u64) || session.state().strays != 0 {
            return Err(format!("folded to {}", session.state().end).into());
        }
    }
    let value = median(times);
    Ok(vec![Row {
        what: "open and fold 100,000 entries",
        value: shown(value),
        floor: "one second".into(),
        figure: value.as_secs_f64(),
        unit: " s",
        target: Target::AtMost(1.0),
    }])
}

async fn fill(journal: &SqliteJournal, id: &ConversationId, bench: &Bench) -> Outcome<()> {
    let holder = Holder { pid: 1, host: "bench".into(), since: Timestamp(0) };
    let lease = journal.lease(id, holder).await?;
    let workspace = bench.dir.path().to_string_lossy().into_owned();
    let mut events =
        vec![Event::ConversationOpened { workspace, title: None, origin: None, parent: None }];
    for turn in 1.. {
        if ENTRIES <= events.len() {
            break;
        }
        events.extend(whole_turn(TurnId(turn)));
    }
    events.truncate(ENTRIES);
    let mut end = Seq(0);
    for events in events.chunks(1_000) {
        let records = events
            .iter()
            .map(|event| NewRecord { at: Timestamp(1), format: 1, body: event.to_stored() })
            .collect();
        let (name, status) = (CommitName::fresh(), StatusRow::default());
        let batch = Batch { name, expected: end, records, status, durability: Durability::Relaxed };
        end = journal.append(&lease, batch).await?;
    }
    Ok(())
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
