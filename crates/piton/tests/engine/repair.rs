//! A provider refuses a signature of its own: the history is repaired, durably, and not for ever.

use std::path::Path;
use std::sync::Arc;

use piton::model::OneModel;
use piton::transport::{Auth, Endpoint, HttpModel};
use piton::{Engine, NewMessage, OnIncomplete};
use piton_core::event::{BreakReason, Event, Limits, ModelRef};
use piton_core::id::{ConversationId, Seq};
use piton_core::outcome::{Cause, Ending};
use piton_core::state::Config;
use piton_proof::world::{World, world_tools};
use piton_store::{Journal, MemoryJournal};
use piton_wire::anthropic::Anthropic;
use piton_wire::openai_responses::OpenAiResponses;
use piton_wire::{Ask, Dialect};

use crate::transport::{Server, refusal, stream};

/// A thought with its signature, and a call.
const SIGNED_CALL: &[&str] = &[
    r#"{"type":"message_start","message":{"id":"m","content":[],"usage":{}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm.","signature":"c2lnbmVk"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"x","name":"look","input":{}}}"#,
    r#"{"type":"content_block_stop","index":1}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
    r#"{"type":"message_stop"}"#,
];
const HELLO: &[&str] = &[
    r#"{"type":"message_start","message":{"id":"m","content":[],"usage":{}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hello"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
    r#"{"type":"message_stop"}"#,
];
const BAD_SIGNATURE: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#;
const SIGNATURE: &str = "c2lnbmVk";

/// A conversation that several processes work on, one after the other.
struct Place {
    journal: Arc<dyn Journal>,
    world: World,
    id: ConversationId,
}

impl Place {
    fn new() -> Self {
        let id = ConversationId::new("repair");
        Self { journal: Arc::new(MemoryJournal::new()), world: World::default(), id }
    }

    /// A new process: nothing is left of the last one but the journal.
    fn engine(&self, server: &Server, dialect: Arc<dyn Dialect>, model: &str) -> Engine {
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let base_url = server.base_url.clone();
        let endpoint = Endpoint { base_url, auth: Auth::None, headers: vec![] };
        let ask = Ask {
            provider: "test".into(),
            host: "127.0.0.1".into(),
            model: model.into(),
            max_tokens: Some(100),
            effort: None,
            cache_key: "c".into(),
        };
        let model = Arc::new(HttpModel::new(client, dialect, endpoint, ask));
        let mut builder = Engine::builder(self.journal.clone(), Arc::new(OneModel(model)));
        for tool in world_tools(&self.world, &self.journal) {
            builder = builder.tool(tool);
        }
        builder.build()
    }

    async fn begin(&self, engine: &Engine) -> Ending {
        let mut session = engine.create_as(self.id.clone(), Path::new("/")).await.unwrap();
        let limits =
            Limits { backoff_ms: 0, backoff_ms_max: 1, failures_max: 1, ..Limits::default() };
        let model = Some(ModelRef { provider: "test".into(), model: "m".into() });
        let mut config = Config { model, limits, ..Config::default() };
        engine.offer_tools(&mut config);
        session.configure(&config);
        session.send(NewMessage::text("go"), OnIncomplete::Ask).await.unwrap()
    }

    async fn go_on(&self, engine: &Engine) -> Ending {
        engine.open(&self.id).await.unwrap().resume().await.unwrap()
    }

    /// Failures and repairs, in order.
    async fn story(&self) -> Vec<String> {
        let records = self.journal.read(&self.id, Seq(0), 1_000).await.unwrap();
        let events = records.iter().map(|it| Event::from_stored(it.format, &it.body));
        let told = events.filter_map(|event| {
            if let Event::ModelPartial { text, .. } = event {
                return Some(format!("partial {text}"));
            }
            if let Event::ModelFailed { class, .. } = event {
                return Some(format!("{class:?}"));
            }
            if let Event::HistoryRepaired { steps } = event {
                let steps: Vec<_> = steps.iter().map(ToString::to_string).collect();
                return Some(format!("repaired {}", steps.join(" ")));
            }
            let Event::TurnBroke { reason, .. } = event else { return None };
            Some(format!("broke {reason:?}"))
        });
        told.collect()
    }
}

fn bodies(server: &Server) -> Vec<String> {
    let body = |request: String| request.split_once("\r\n\r\n").unwrap().1.to_owned();
    server.seen().into_iter().map(body).collect()
}

fn rejection() -> String {
    refusal("400 Bad Request", "", BAD_SIGNATURE)
}

// J51, J52
#[tokio::test]
async fn a_refused_signature_is_left_out_for_good() {
    let place = Place::new();
    let down = refusal("503 Service Unavailable", "", "{}");
    let first = Server::start(vec![stream(SIGNED_CALL), rejection(), down]).await;
    let engine = place.engine(&first, Arc::new(Anthropic), "claude-opus-4-7");
    let Ending::Incomplete(_) = place.begin(&engine).await else { panic!("the service is down") };
    let story = ["InvalidRequest", "repaired 1.1", "Overloaded", "broke ApiError"];
    assert_eq!(place.story().await, story);
    let sent = bodies(&first);
    let signed: Vec<bool> = sent.iter().map(|body| body.contains(SIGNATURE)).collect();
    assert_eq!(signed, [false, true, false]);

    // Another process, later: the repaired form, byte for byte, without trying the refused one.
    drop(engine);
    let second = Server::start(vec![stream(HELLO)]).await;
    let engine = place.engine(&second, Arc::new(Anthropic), "claude-opus-4-7");
    assert_eq!(place.go_on(&engine).await, Ending::Done);
    assert_eq!(bodies(&second), sent[2..], "a resumed request is the same request");
    assert_eq!(place.world.ledger().len(), 1, "the tool ran once");
}

// J51: what cannot shrink is not sent again.
#[tokio::test]
async fn a_repair_that_does_not_help_ends_the_turn_with_the_error() {
    let place = Place::new();
    let server = Server::start(vec![stream(SIGNED_CALL), rejection(), rejection()]).await;
    let engine = place.engine(&server, Arc::new(Anthropic), "claude-opus-4-7");
    let ending = place.begin(&engine).await;
    let Ending::Incomplete(Cause { reason, message, .. }) = &ending else { panic!("{ending:?}") };
    assert_eq!(*reason, Some(BreakReason::ApiError));
    assert!(message.contains("Invalid `signature`"), "{message}");
    assert_eq!(server.seen().len(), 3);
    let story = ["InvalidRequest", "repaired 1.1", "InvalidRequest", "broke ApiError"];
    assert_eq!(place.story().await, story);
}

// J44, J51, O21: Responses may say it in the middle of a stream.
#[tokio::test]
async fn partial_text_is_kept_when_a_stream_is_refused_midway() {
    let reasoning = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAABpitonTest0001"}}"#;
    let call = r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"f","call_id":"x","name":"look","arguments":"{}"}}"#;
    let done = r#"{"type":"response.completed","response":{"status":"completed"}}"#;
    let half =
        r#"{"type":"response.output_text.delta","output_index":0,"item_id":"m","delta":"Half"}"#;
    let refused = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_encrypted_content","message":"The encrypted content gAAAAABpitonTest0001 could not be verified."}}}"#;
    let place = Place::new();
    let server = Server::start(vec![
        stream(&[reasoning, call, done]),
        stream(&[half, refused]),
        stream(&[half, refused]),
    ])
    .await;
    let engine = place.engine(&server, Arc::new(OpenAiResponses::Public), "gpt-5");
    let Ending::Incomplete(_) = place.begin(&engine).await else {
        panic!("nothing is left to repair")
    };
    let story = [
        "partial Half",
        "InvalidRequest",
        "repaired 1.1",
        "partial Half",
        "InvalidRequest",
        "broke ApiError",
    ];
    assert_eq!(place.story().await, story);
    let kept: Vec<bool> = bodies(&server).iter().map(|it| it.contains("gAAAAAB")).collect();
    assert_eq!(kept, [false, true, false]);
}
