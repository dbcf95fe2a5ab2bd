//! Faults at the wire, in every dialect: whatever breaks an answer on its way is a failure that
//! passes, is told, and is tried again; and nothing of a broken answer is taken for a whole one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use piton::model::OneModel;
use piton::transport::{Auth, Endpoint, HttpModel, Secret, Timeouts};
use piton::{Engine, NewMessage, OnIncomplete};
use piton_core::answer::Delta;
use piton_core::event::{AnswerPart, Event, FailureClass, Limits, ModelRef};
use piton_core::id::{ConversationId, Seq};
use piton_core::outcome::Ending;
use piton_core::state::Config;
use piton_proof::world::{World, world_tools};
use piton_sim::script::{Fault, FaultKind, Script};
use piton_sim::serve::{Options, Server};
use piton_store::{Journal, MemoryJournal};
use piton_wire::anthropic::Anthropic;
use piton_wire::gemini::Gemini;
use piton_wire::openai_chat::{Flavour, OpenAiChat};
use piton_wire::openai_responses::OpenAiResponses;
use piton_wire::{Ask, Dialect};

/// Most entries that are read back.
const ENTRIES_MAX: usize = 100_000;

/// A dialect, where it is served, and how the key goes along.
struct Spoken {
    dialect: Arc<dyn Dialect>,
    below: &'static str,
    model: &'static str,
    key: Option<&'static str>,
}

fn all() -> [Spoken; 6] {
    let chat = |flavour| Arc::new(OpenAiChat { flavour });
    let spoken = |dialect, below, model, key| Spoken { dialect, below, model, key };
    [
        spoken(Arc::new(Anthropic), "", "claude-sonnet-4-5", Some("x-api-key")),
        spoken(Arc::new(OpenAiResponses::Public), "/v1", "gpt-5", None),
        spoken(Arc::new(OpenAiResponses::Codex), "/backend-api/codex", "gpt-5-codex", None),
        spoken(chat(Flavour::OpenAi), "/v1", "gpt-4o", None),
        spoken(chat(Flavour::Local), "/ollama/v1", "llama", None),
        spoken(Arc::new(Gemini), "/v1beta", "gemini-3-pro", Some("x-goog-api-key")),
    ]
}

impl Spoken {
    fn ask(&self) -> Ask {
        Ask {
            provider: "test".into(),
            host: "127.0.0.1".into(),
            model: self.model.into(),
            max_tokens: Some(100),
            effort: None,
            cache_key: "c".into(),
        }
    }

    fn endpoint(&self, server: &Server) -> Endpoint {
        let secret = Arc::new(Secret::new("k3y"));
        let auth = match self.key {
            Some(header) => Auth::Header(header, secret),
            None => Auth::Bearer(secret),
        };
        Endpoint { base_url: format!("{}{}", server.url(), self.below), auth, headers: Vec::new() }
    }

    /// After how many bytes of a whole answer its end mark has come.
    fn end_mark(&self, whole: &[u8]) -> usize {
        let ended = |bytes: &[u8]| {
            let (mut decoder, mut deltas) = (self.dialect.decoder(&[], &self.ask()), Vec::new());
            decoder.push(bytes, &mut deltas).unwrap();
            decoder.end(&mut deltas).unwrap();
            deltas.iter().any(|delta| matches!(delta, Delta::End { .. }))
        };
        (0..=whole.len()).find(|count| ended(&whole[..*count])).unwrap()
    }
}

struct Ran {
    ending: Ending,
    events: Vec<Event>,
}

impl Ran {
    fn failures(&self) -> Vec<FailureClass> {
        let class = |event: &Event| {
            if let Event::ModelFailed { class, .. } = event { Some(*class) } else { None }
        };
        self.events.iter().filter_map(class).collect()
    }

    /// The texts of all answers.
    fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for event in &self.events {
            if let Event::ModelAnswered { parts, .. } = event {
                let text = |part: &AnswerPart| match part {
                    AnswerPart::Text { text } => Some(text.to_string()),
                    AnswerPart::Reasoning { .. } | AnswerPart::Call { .. } => None,
                };
                texts.extend(parts.iter().filter_map(text));
            }
        }
        texts
    }
}

/// One turn over the server. There is no end to its patience with failures, but it does not wait.
async fn run(server: &Server, spoken: &Spoken) -> Ran {
    run_within(server, spoken, Timeouts::default()).await
}

async fn run_within(server: &Server, spoken: &Spoken, timeouts: Timeouts) -> Ran {
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let model =
        HttpModel::new(client, spoken.dialect.clone(), spoken.endpoint(server), spoken.ask());
    let model = model.timeouts(timeouts);
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let (world, id) = (World::default(), ConversationId::new("wire"));
    let mut builder = Engine::builder(journal.clone(), Arc::new(OneModel(Arc::new(model))));
    // Some providers repeat the tools in every answer; those that none is asked for make it long.
    let look = |tool: &Arc<dyn piton_tools::Tool>| &*tool.spec().name == "look";
    for tool in world_tools(&world, &journal).into_iter().filter(look) {
        builder = builder.tool(tool);
    }
    let engine = builder.build();
    let mut session = engine.create_as(id.clone(), Path::new("/")).await.unwrap();
    let limits = Limits {
        failures_max: u32::MAX,
        attempts_max: u32::MAX,
        backoff_ms: 0,
        backoff_ms_max: 0,
        ..Limits::default()
    };
    let model = Some(ModelRef { provider: "test".into(), model: spoken.model.into() });
    let mut config = Config { model, limits, system: "Be brief.".into(), ..Config::default() };
    engine.offer_tools(&mut config);
    session.configure(&config);
    let ending = session.send(NewMessage::text("go"), OnIncomplete::Ask).await.unwrap();
    let records = journal.read(&id, Seq(0), ENTRIES_MAX).await.unwrap();
    let events = records.iter().map(|it| Event::from_stored(it.format, &it.body)).collect();
    Ran { ending, events }
}

fn served(script: &str, options: Options) -> Server {
    Server::with(Script::parse(script).unwrap(), options).unwrap()
}

const HI: &str = r#"{ "steps": [{ "say": "Hi" }] }"#;
const IN_TWO: &str = r#"{ "steps": [{ "say": "Hi", "chunk": 1 }] }"#;

/// How many turns share the bytes of an answer.
const TURNS: usize = 8;

/// The body of the whole answer, byte for byte.
async fn whole(spoken: &Spoken) -> Vec<u8> {
    let server = served(HI, Options::default());
    assert_eq!(run(&server, spoken).await.texts(), ["Hi"]);
    let seen = server.seen().remove(0);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.post(format!("{}{}", server.url(), seen.path)).body(seen.body);
    let request = request.header("x-api-key", "k").header("x-goog-api-key", "k").bearer_auth("k");
    request.send().await.unwrap().bytes().await.unwrap().to_vec()
}

/// Breaks the answer after its first byte, then after its second, and so on to the last: as often as
/// its end mark is missing there is a failure, and the next one is the answer. The connection breaks
/// and the body just ends, in turns.
async fn breaks_everywhere(spoken: &Spoken) {
    let whole = whole(spoken).await;
    let (end_mark, whole_len) = (spoken.end_mark(&whole), whole.len());
    let fault = |bytes: usize| {
        let kind = if bytes.is_multiple_of(2) { FaultKind::Drop } else { FaultKind::Cut };
        (Some(0), Fault::new(kind).after_bytes(bytes))
    };
    // Several turns at a time, each with its share of the bytes: they wait more than they work.
    let turns = (0..TURNS).map(|first| async move {
        let bytes = || (first..whole_len).step_by(TURNS);
        let server =
            served(HI, Options { faults: bytes().map(fault).collect(), ..Options::default() });
        let ran = run(&server, spoken).await;
        assert_eq!((&ran.ending, ran.texts()), (&Ending::Done, vec!["Hi".to_owned()]));
        let failures = ran.failures();
        assert_eq!(failures.len(), bytes().filter(|bytes| *bytes < end_mark).count());
        assert!(failures.iter().all(|class| class.is_transient()), "{failures:?}");
        let digests: Vec<String> = server.seen().into_iter().map(|seen| seen.sha256).collect();
        assert!(digests.windows(2).all(|two| two[0] == two[1]), "each try is the same request");
    });
    join_all(turns).await;
}

// J44, J45, J46, D71
#[tokio::test]
async fn an_answer_of_anthropic_that_breaks_at_any_byte_is_asked_for_again() {
    breaks_everywhere(&all()[0]).await;
}

// J44, J45, J46, D71
#[tokio::test]
async fn an_answer_of_responses_that_breaks_at_any_byte_is_asked_for_again() {
    breaks_everywhere(&all()[1]).await;
}

// J44, J45, J46, D71
#[tokio::test]
async fn an_answer_of_chat_completions_that_breaks_at_any_byte_is_asked_for_again() {
    breaks_everywhere(&all()[3]).await;
}

// J44, J45, J46, D71
#[tokio::test]
async fn an_answer_of_gemini_that_breaks_at_any_byte_is_asked_for_again() {
    breaks_everywhere(&all()[5]).await;
}

const TURN: &str = r#"{ "steps": [
    { "think": "Hm, grün.", "say": "Looking: 日本.", "calls": [{ "tool": "look" }], "chunk": 2 },
    { "say": "Done: ü.", "chunk": 2 }
] }"#;

/// A turn with a tool that nothing disturbs.
async fn goes_through(options: Options) {
    for spoken in all() {
        let server = served(TURN, options.clone());
        let ran = run(&server, &spoken).await;
        let seen = server.seen();
        assert_eq!(ran.ending, Ending::Done, "{seen:?}");
        assert_eq!(ran.texts(), ["Looking: 日本.", "Done: ü."], "{seen:?}");
        assert_eq!(ran.failures(), [], "{seen:?}");
        assert!(seen.iter().all(|seen| seen.status == 200) && seen.len() == 2, "{seen:?}");
    }
}

#[tokio::test]
async fn an_answer_byte_by_byte_is_the_same_answer() {
    goes_through(Options { split: 1, ..Options::default() }).await;
}

#[tokio::test]
async fn a_packed_answer_is_the_same_answer() {
    goes_through(Options { gzip: true, ..Options::default() }).await;
    goes_through(Options { gzip: true, split: 1, ..Options::default() }).await;
}

// J44, J47: silence, before the answer and inside it
#[tokio::test]
async fn an_answer_that_falls_silent_is_asked_for_again() {
    let soon = Duration::from_millis(500);
    let timeouts = Timeouts { first_byte: soon, idle: soon, ..Timeouts::default() };
    let told = |ran: &Ran, least: usize| {
        assert_eq!((ran.ending.clone(), ran.texts()), (Ending::Done, vec!["Hi".to_owned()]));
        let failures = ran.failures();
        // On a machine that is busy enough, an answer that does not stall may seem to.
        let stalled = failures.iter().all(|class| *class == FailureClass::Stalled);
        assert!(least <= failures.len() && stalled, "{failures:?}");
    };
    for spoken in all() {
        let faults = vec![(Some(0), Fault::new(FaultKind::Stall).after(1).times(2))];
        let server = served(IN_TWO, Options { faults, ..Options::default() });
        told(&run_within(&server, &spoken, timeouts).await, 2);
    }
    let faults = vec![(Some(0), Fault::new(FaultKind::Stall))];
    let server = served(HI, Options { faults, ..Options::default() });
    told(&run_within(&server, &all()[3], timeouts).await, 1);
}

#[tokio::test]
async fn garbage_is_never_part_of_an_answer() {
    for spoken in all() {
        let faults = (0..4).map(|after| (Some(0), Fault::new(FaultKind::Garbage).after(after)));
        let server = served(IN_TWO, Options { faults: faults.collect(), ..Options::default() });
        let ran = run(&server, &spoken).await;
        assert_eq!((ran.ending.clone(), ran.texts()), (Ending::Done, vec!["Hi".to_owned()]));
        let failures = ran.failures();
        assert!(failures.iter().all(|class| class.is_transient()), "{failures:?}");
        // As often as it comes before the end mark.
        assert!(!failures.is_empty(), "{}", spoken.model);
    }
}

// D71, J49, J50: told before the answer, and inside it
#[tokio::test]
async fn a_provider_in_trouble_is_asked_again() {
    let classes = [FailureClass::Overloaded, FailureClass::RateLimited, FailureClass::Server];
    for spoken in all() {
        let told = classes.iter().flat_map(|class| {
            let fault = Fault::new(FaultKind::Fail(*class)).retry_after_ms(1);
            [(Some(0), fault), (Some(0), fault.after(1))]
        });
        let server = served(IN_TWO, Options { faults: told.collect(), ..Options::default() });
        let ran = run(&server, &spoken).await;
        assert_eq!((ran.ending.clone(), ran.texts()), (Ending::Done, vec!["Hi".to_owned()]));
        let expected: Vec<_> = classes.iter().flat_map(|class| [*class; 2]).collect();
        assert_eq!(ran.failures(), expected, "{}", spoken.model);
    }
}
