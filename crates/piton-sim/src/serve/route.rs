//! Which path plays whom.

use piton_wire::openai_chat::Flavour;
use serde_json::{Value, json};

use super::anthropic::Anthropic;
use super::chat::Chat;
use super::gemini::{Framing, Gemini};
use super::refusal::Refusal;
use super::responses::{Codex, Responses};
use super::voice::Voice;

/// Where each provider is found.
pub const PATHS: [&str; 12] = [
    "POST /v1/messages",
    "POST /v1/chat/completions",
    "POST /v1/responses",
    "POST /backend-api/codex/responses",
    "POST /v1beta/models/MODEL:streamGenerateContent",
    "POST /v1beta/models/MODEL:generateContent",
    "POST /v1/models/MODEL:streamGenerateContent",
    "POST /v1/models/MODEL:generateContent",
    "POST /deepseek/chat/completions",
    "POST /mistral/v1/chat/completions",
    "POST /openrouter/api/v1/chat/completions",
    "POST /ollama/v1/chat/completions",
];

/// The variables under which the providers' own libraries, and piton, look for an address, and what
/// stands behind the server's own.
pub(super) const VARIABLES: [(&str, &str); 8] = [
    ("ANTHROPIC_BASE_URL", ""),
    ("OPENAI_BASE_URL", "/v1"),
    ("GOOGLE_GEMINI_BASE_URL", ""),
    ("CODEX_BASE_URL", "/backend-api/codex"),
    ("DEEPSEEK_BASE_URL", "/deepseek"),
    ("MISTRAL_BASE_URL", "/mistral/v1"),
    ("OPENROUTER_BASE_URL", "/openrouter/api/v1"),
    ("OLLAMA_HOST", "/ollama"),
];

/// Who is asked.
pub(super) struct Route {
    pub(super) dialect: &'static str,
    pub(super) voice: Box<dyn Voice>,
    /// What the path says of the model and the form of the answer; else the body does.
    pub(super) by_path: Option<(String, Streams)>,
}

/// Whether the answer comes in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Streams {
    Yes,
    No,
}

/// Finds who is asked.
pub(super) fn find(method: &str, path: &str, query: &str) -> Option<Route> {
    let chat = |flavour| Box::new(Chat { flavour }) as Box<dyn Voice>;
    let (dialect, voice) = match (method, path) {
        ("POST", "/v1/messages") => ("anthropic", Box::new(Anthropic) as Box<dyn Voice>),
        ("POST", "/v1/chat/completions") => ("openai-chat", chat(Flavour::OpenAi)),
        ("POST", "/v1/responses") => ("openai-responses", Box::new(Responses) as Box<dyn Voice>),
        ("POST", "/backend-api/codex/responses") => ("codex", Box::new(Codex) as Box<dyn Voice>),
        ("POST", "/deepseek/chat/completions" | "/deepseek/v1/chat/completions") => {
            ("deepseek", chat(Flavour::DeepSeek))
        }
        ("POST", "/mistral/v1/chat/completions") => ("mistral", chat(Flavour::Mistral)),
        ("POST", "/openrouter/api/v1/chat/completions") => {
            ("openrouter", chat(Flavour::OpenRouter))
        }
        ("POST", "/ollama/v1/chat/completions") => ("local-chat", chat(Flavour::Local)),
        ("POST", path) => return gemini(path, query),
        _ => return None,
    };
    Some(Route { dialect, voice, by_path: None })
}

fn gemini(path: &str, query: &str) -> Option<Route> {
    // Google's own library has moved from the one to the other.
    let rest = path.strip_prefix("/v1beta/").or_else(|| path.strip_prefix("/v1/"))?;
    let (model, method) = rest.strip_prefix("models/")?.rsplit_once(':')?;
    let events = query.split('&').any(|field| field == "alt=sse");
    let (streams, framing) = match method {
        "streamGenerateContent" if events => (Streams::Yes, Framing::Events),
        "streamGenerateContent" => (Streams::Yes, Framing::Array),
        "generateContent" => (Streams::No, Framing::Events),
        _ => return None,
    };
    let voice = Box::new(Gemini { framing });
    Some(Route { dialect: "gemini", voice, by_path: Some((model.to_owned(), streams)) })
}

/// Nobody is played there.
pub(super) fn nobody(method: &str, path: &str) -> Refusal {
    let paths = PATHS.join(", ");
    let message = format!("Nothing is served at {method} {path}. There is: {paths}.");
    let error: Value = json!({ "type": "not_found_error", "message": message });
    Refusal::new(404, json!({ "error": error }))
}
