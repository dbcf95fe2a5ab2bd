//! The scripted model over real HTTP on loopback, held against the readers of `piton-wire`.

mod faults;
mod objections;
mod seals;
mod streams;

use std::sync::Arc;

use piton_sim::script::Script;
use piton_sim::serve::Server;
use piton_wire::anthropic::Anthropic;
use piton_wire::gemini::Gemini;
use piton_wire::openai_chat::{Flavour, OpenAiChat};
use piton_wire::openai_responses::OpenAiResponses;
use piton_wire::{Ask, Dialect};
use serde_json::{Value, json};

/// A provider, and the smallest request that it takes.
struct Played {
    dialect: Arc<dyn Dialect>,
    name: &'static str,
    path: &'static str,
    model: &'static str,
    body: Value,
}

fn played() -> Vec<Played> {
    let chat = |flavour, name, path| Played {
        dialect: Arc::new(OpenAiChat { flavour }),
        name,
        path,
        model: "m",
        body: json!({
            "model": "m",
            "stream": true,
            "stream_options": { "include_usage": true },
            "messages": [{ "role": "user", "content": "go" }],
        }),
    };
    let gemini = |model, path| Played {
        dialect: Arc::new(Gemini),
        name: "gemini",
        path,
        model,
        body: json!({ "contents": [{ "role": "user", "parts": [{ "text": "go" }] }] }),
    };
    vec![
        Played {
            dialect: Arc::new(Anthropic),
            name: "anthropic",
            path: "/v1/messages",
            model: "claude-sonnet-4-5",
            body: json!({
                "model": "claude-sonnet-4-5",
                "max_tokens": 100,
                "stream": true,
                "messages": [{ "role": "user", "content": "go" }],
            }),
        },
        Played {
            dialect: Arc::new(OpenAiResponses::Public),
            name: "openai-responses",
            path: "/v1/responses",
            model: "m",
            body: json!({
                "model": "m",
                "stream": true,
                "store": false,
                "include": ["reasoning.encrypted_content"],
                "input": "go",
            }),
        },
        Played {
            dialect: Arc::new(OpenAiResponses::Codex),
            name: "codex",
            path: "/backend-api/codex/responses",
            model: "m",
            body: json!({
                "model": "m",
                "stream": true,
                "store": false,
                "instructions": "be brief",
                "include": ["reasoning.encrypted_content"],
                "input": [{ "role": "user", "content": "go" }],
            }),
        },
        gemini("gemini-2.5-pro", "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"),
        gemini("gemini-3-pro", "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"),
        gemini("gemini-3-pro", "/v1beta/models/gemini-3-pro:streamGenerateContent"),
        chat(Flavour::OpenAi, "openai-chat", "/v1/chat/completions"),
        chat(Flavour::DeepSeek, "deepseek", "/deepseek/chat/completions"),
        chat(Flavour::Mistral, "mistral", "/mistral/v1/chat/completions"),
        chat(Flavour::OpenRouter, "openrouter", "/openrouter/api/v1/chat/completions"),
        chat(Flavour::Local, "local-chat", "/ollama/v1/chat/completions"),
    ]
}

impl Played {
    fn ask(&self) -> Ask {
        Ask {
            provider: self.name.into(),
            host: "127.0.0.1".into(),
            model: self.model.into(),
            max_tokens: Some(100),
            effort: None,
            cache_key: "c".into(),
        }
    }
}

fn script(json: &Value) -> Script {
    Script::parse(&json.to_string()).unwrap()
}

thread_local! {
    // Loading certificates takes far longer than a request does. Connections are not kept, because
    // the next test of this thread has another runtime.
    static CLIENT: reqwest::Client = {
        rustls::crypto::ring::default_provider().install_default().ok();
        reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap()
    };
}

fn client() -> reqwest::Client {
    CLIENT.with(Clone::clone)
}

/// Sends a body with a key in every header that may carry one.
async fn post(
    server: &Server,
    path: &str,
    body: &impl std::fmt::Display,
) -> Result<reqwest::Response, reqwest::Error> {
    let request = client().post(format!("{}{path}", server.url()));
    let request = request.header("x-api-key", "k3y").header("x-goog-api-key", "k3y");
    request.bearer_auth("k3y").body(body.to_string()).send().await
}

/// The status, and the body as JSON.
async fn refused(server: &Server, path: &str, body: &Value) -> (u16, Value) {
    let response = post(server, path, body).await.unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_str(&response.text().await.unwrap()).unwrap_or_default())
}
