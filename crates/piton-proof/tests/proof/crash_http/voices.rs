//! Dialects as providers of a crash suite: the real transport, and a server per run.

use std::fmt;
use std::sync::Arc;

use piton::model::{Model, ModelFailure, Models};
use piton::transport::{Auth, Endpoint, HttpModel, Secret};
use piton_core::event::{FailureClass, Limits, ModelRef, ToolSpec};
use piton_core::transcript::Transcript;
use piton_proof::crash::provider::{Provider, Run};
use piton_proof::crash::turns::TurnScript;
use piton_sim::serve::Server;
use piton_wire::anthropic::Anthropic;
use piton_wire::cache::Cache;
use piton_wire::gemini::Gemini;
use piton_wire::openai_chat::{Flavour, OpenAiChat};
use piton_wire::openai_responses::OpenAiResponses;
use piton_wire::{Ask, Decoder, Dialect, Effort, Failure, Takes};

/// Hexadecimal digits of a seal of the server.
const SEAL_DIGITS: usize = 72;
const SEAL_MARK: &str = "simu";

/// What is in the first thought of every script.
const FIRST_THOUGHT: &str = "at once.";

/// A dialect at a server.
#[derive(Clone, Copy)]
pub(crate) struct Voice {
    pub(crate) name: &'static str,
    model: &'static str,
    /// The variable that names its address, and what the dialect wants behind it.
    address: (&'static str, &'static str),
    dialect: fn() -> Arc<dyn Dialect>,
    /// How its thoughts come back to it.
    thoughts: Thoughts,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Thoughts {
    Sealed,
    Plain,
    Never,
}

impl fmt::Debug for Voice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

const fn voice(
    name: &'static str,
    model: &'static str,
    address: (&'static str, &'static str),
    dialect: fn() -> Arc<dyn Dialect>,
) -> Voice {
    Voice { name, model, address, dialect, thoughts: Thoughts::Sealed }
}

/// The five dialects; of Chat Completions the flavour that has most to keep.
pub(crate) const DIALECTS: [Voice; 5] = [
    voice("anthropic", "claude-sonnet-4-5", ("ANTHROPIC_BASE_URL", ""), || Arc::new(Anthropic)),
    Voice {
        thoughts: Thoughts::Plain,
        ..voice("openrouter", "anthropic/claude-sonnet-4.5", ("OPENROUTER_BASE_URL", ""), || {
            Arc::new(OpenAiChat { flavour: Flavour::OpenRouter })
        })
    },
    voice("openai", "gpt-5", ("OPENAI_BASE_URL", ""), || Arc::new(OpenAiResponses::Public)),
    voice("codex", "gpt-5-codex", ("CODEX_BASE_URL", ""), || Arc::new(OpenAiResponses::Codex)),
    voice("gemini", "gemini-3-pro", ("GOOGLE_GEMINI_BASE_URL", "/v1beta"), || Arc::new(Gemini)),
];

/// The other flavours of Chat Completions.
pub(crate) const FLAVOURS: [Voice; 4] = [
    Voice {
        thoughts: Thoughts::Never,
        ..voice("openai-chat", "gpt-5", ("OPENAI_BASE_URL", ""), || {
            Arc::new(OpenAiChat { flavour: Flavour::OpenAi })
        })
    },
    Voice {
        thoughts: Thoughts::Plain,
        ..voice("deepseek", "deepseek-v4", ("DEEPSEEK_BASE_URL", ""), || {
            Arc::new(OpenAiChat { flavour: Flavour::DeepSeek })
        })
    },
    Voice {
        thoughts: Thoughts::Never,
        ..voice("mistral", "mistral-large", ("MISTRAL_BASE_URL", ""), || {
            Arc::new(OpenAiChat { flavour: Flavour::Mistral })
        })
    },
    Voice {
        thoughts: Thoughts::Plain,
        ..voice("local", "qwen3", ("OLLAMA_HOST", "/v1"), || {
            Arc::new(OpenAiChat { flavour: Flavour::Local })
        })
    },
];

/// A dialect that does not keep what it should: the control.
pub(crate) const ALTERED: Voice =
    Voice { dialect: || Arc::new(Spoiling(Anthropic, alter_seal)), ..DIALECTS[0] };

/// A dialect that changes what was said before an answer: the control.
pub(crate) const REWRITTEN: Voice =
    Voice { dialect: || Arc::new(Spoiling(Anthropic, alter_beginning)), ..DIALECTS[0] };

impl Voice {
    /// Whether a body holds the thought that every script begins with, as it should.
    fn is_reminded(self, body: &str) -> bool {
        match self.thoughts {
            Thoughts::Sealed => seal_place(body).is_some(),
            Thoughts::Plain => body.contains(FIRST_THOUGHT),
            Thoughts::Never => !body.contains(FIRST_THOUGHT),
        }
    }

    fn model_ref(self) -> ModelRef {
        ModelRef { provider: self.name.into(), model: self.model.into() }
    }

    fn http_model(self, base_url: &str, client: reqwest::Client) -> HttpModel {
        let key = Arc::new(Secret::new("k3y"));
        let auth = match self.name {
            "anthropic" => Auth::Header("x-api-key", key),
            "gemini" => Auth::Header("x-goog-api-key", key),
            _ => Auth::Bearer(key),
        };
        let ask = Ask {
            provider: self.name.into(),
            host: "loopback".into(),
            model: self.model.into(),
            max_tokens: Some(8_192),
            effort: Some(Effort::Medium),
            cache_key: "simulated".into(),
        };
        let endpoint = Endpoint { base_url: base_url.into(), auth, headers: Vec::new() };
        HttpModel::new(client, (self.dialect)(), endpoint, ask)
    }
}

/// One voice, or one that another takes over from.
#[derive(Clone, Copy)]
pub(crate) struct OverHttp {
    pub(crate) first: Voice,
    pub(crate) then: Option<Voice>,
}

impl fmt::Debug for OverHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.then {
            None => write!(f, "{:?}", self.first),
            Some(then) => write!(f, "{:?} to {then:?}", self.first),
        }
    }
}

impl Provider for OverHttp {
    fn begin(&self, turn: &TurnScript) -> Box<dyn Run> {
        Box::new(HttpRun { server: Server::start(turn.script()).unwrap(), cast: *self })
    }

    fn first_model(&self, _turn: &TurnScript) -> ModelRef {
        self.first.model_ref()
    }

    fn next_model(&self) -> Option<ModelRef> {
        self.then.map(Voice::model_ref)
    }

    fn limits(&self) -> Limits {
        Limits { backoff_ms: 1, backoff_ms_max: 1, ..Limits::default() }
    }
}

#[derive(Debug)]
struct HttpRun {
    server: Server,
    cast: OverHttp,
}

impl Run for HttpRun {
    fn models(&self) -> Arc<dyn Models> {
        let voices = [Some(self.cast.first), self.cast.then];
        let model = |voice: Voice| {
            let (variable, behind) = voice.address;
            let base_url = format!("{}{behind}", self.server.base_url(variable));
            let model: Arc<dyn Model> = Arc::new(voice.http_model(&base_url, client()));
            (voice.model_ref(), model)
        };
        Arc::new(HttpModels(voices.into_iter().flatten().map(model).collect()))
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for seen in self.server.seen() {
            let body = String::from_utf8_lossy(&seen.body);
            let Some(step) = seen.step else {
                problems.push(format!("{} was refused: {} {body}", seen.path, seen.note));
                continue;
            };
            if 0 < step && self.cast.then.is_none() && !self.cast.first.is_reminded(&body) {
                problems.push(format!("no thought came back: {body}"));
            }
        }
        problems
    }

    fn bodies(&self) -> Vec<String> {
        let seen = self.server.seen().into_iter();
        seen.map(|seen| format!("{} {}", seen.path, String::from_utf8_lossy(&seen.body))).collect()
    }
}

/// Where the digits of the first seal begin.
fn seal_place(text: &str) -> Option<usize> {
    text.match_indices(SEAL_MARK).map(|(at, mark)| at + mark.len()).find(|at| {
        let digits = text.as_bytes().get(*at..*at + SEAL_DIGITS);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

#[derive(Debug)]
struct HttpModels(Vec<(ModelRef, Arc<dyn Model>)>);

impl Models for HttpModels {
    fn find(&self, model: &ModelRef) -> Result<Arc<dyn Model>, ModelFailure> {
        let found = self.0.iter().find(|(known, _)| known == model);
        let nobody = || ModelFailure::new(FailureClass::Unknown, format!("who is {model}?"));
        found.map(|(_, model)| model.clone()).ok_or_else(nobody)
    }
}

thread_local! {
    // Loading certificates takes far longer than a request does.
    static CLIENT: reqwest::Client = {
        rustls::crypto::ring::default_provider().install_default().ok();
        reqwest::Client::builder().no_proxy().pool_max_idle_per_host(2).build().unwrap()
    };
}

fn client() -> reqwest::Client {
    CLIENT.with(Clone::clone)
}

/// Spoils bodies on their way out.
#[derive(Debug)]
struct Spoiling(Anthropic, fn(&mut String));

impl Dialect for Spoiling {
    fn path(&self, ask: &Ask) -> String {
        self.0.path(ask)
    }

    fn headers(&self, ask: &Ask) -> Vec<(&'static str, String)> {
        self.0.headers(ask)
    }

    fn encode(&self, transcript: &Transcript, ask: &Ask, cache: &mut Cache) -> Vec<u8> {
        let mut body = String::from_utf8(self.0.encode(transcript, ask, cache)).unwrap();
        (self.1)(&mut body);
        body.into_bytes()
    }

    fn takes(&self, ask: &Ask) -> Takes {
        self.0.takes(ask)
    }

    fn decoder(&self, tools: &[ToolSpec], ask: &Ask) -> Box<dyn Decoder> {
        self.0.decoder(tools, ask)
    }

    fn failure(
        &self,
        status: u16,
        header: &dyn Fn(&str) -> Option<String>,
        body: &[u8],
    ) -> Failure {
        self.0.failure(status, header, body)
    }
}

/// Changes a digit of a seal on its way back.
fn alter_seal(body: &mut String) {
    if let Some(at) = seal_place(body) {
        let digit = if body[at..].starts_with('0') { "1" } else { "0" };
        body.replace_range(at..=at, digit);
    }
}

/// The first message is another one as soon as there is an answer behind it.
fn alter_beginning(body: &mut String) {
    if seal_place(body).is_some() {
        *body = body.replacen(
            r#""messages":[{"role":"user","content":[{"type":"text","text":""#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"Please: "#,
            1,
        );
    }
}
