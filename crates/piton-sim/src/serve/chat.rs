//! `OpenAI` Chat Completions and its flavours, played.

mod objection;
mod speak;

use std::collections::BTreeMap;

use piton_core::event::FailureClass;
use piton_wire::openai_chat::{Flavour, rules};
use serde_json::{Value, json};

use super::asked::{Asked, list, text, texts};
use super::heard::Heard;
use super::openai::invalid;
use super::refusal::Refusal;
use super::reply::Reply;
use super::seal::Sealed;
use super::voice::{SCRIPTED, Voice};
use crate::demo::Gave;

/// Plays a server of Chat Completions.
#[derive(Debug)]
pub(super) struct Chat {
    pub(super) flavour: Flavour,
}

impl Voice for Chat {
    fn key_headers(&self) -> &'static [&'static str] {
        match self.flavour {
            Flavour::Local => &[],
            Flavour::OpenAi | Flavour::DeepSeek | Flavour::Mistral | Flavour::OpenRouter => {
                &["authorization"]
            }
        }
    }

    fn hear(&self, asked: &Asked) -> Heard {
        let mut heard = Heard::default();
        let mut names: BTreeMap<&str, &str> = BTreeMap::new();
        for message in list(&asked.body, "messages") {
            let said = texts(message.get("content")).concat();
            match text(message, "role") {
                "user" => heard.user(&said),
                "assistant" => {
                    heard.answer(&said);
                    for call in list(message, "tool_calls") {
                        names.insert(text(call, "id"), text(&call["function"], "name"));
                    }
                }
                "tool" => {
                    let id = text(message, "tool_call_id");
                    let name = (*names.get(id).unwrap_or(&"")).to_owned();
                    heard.result(Gave { name, text: said, is_error: false });
                }
                _ => {}
            }
        }
        heard
    }

    fn reject(&self, message: &str) -> Refusal {
        invalid(message, Value::Null, Value::Null)
    }

    fn objection(&self, asked: &Asked) -> Option<Refusal> {
        let findings = match self.flavour {
            // What only stricter servers want is not asked for here.
            Flavour::OpenAi => {
                let findings = rules::violations(&asked.body).into_iter();
                findings.filter(|finding| !finding.starts_with("C-ARGS-JSON")).collect()
            }
            flavour @ (Flavour::DeepSeek
            | Flavour::Mistral
            | Flavour::OpenRouter
            | Flavour::Local) => rules::flavour_violations(&asked.body, flavour),
        };
        objection::of(&findings, &asked.body)
    }

    fn sealed(&self, _asked: &Asked) -> Vec<Sealed> {
        // Reasoning is plain text here: nobody signs it.
        Vec::new()
    }

    fn bad_seal(&self, at: &str) -> Refusal {
        invalid(&format!("Invalid reasoning at {at}."), Value::Null, Value::Null)
    }

    fn stream(&self, reply: &Reply, asked: &Asked) -> Vec<String> {
        speak::events(self.flavour, reply, asked)
    }

    fn whole(&self, reply: &Reply, asked: &Asked) -> Value {
        speak::completion(self.flavour, reply, asked)
    }

    fn refuse(&self, class: FailureClass, status: Option<u16>, wait_ms: Option<u64>) -> Refusal {
        refuse(class, status).wait(wait_ms)
    }
}

/// A refusal as `OpenAI` words it, on either of its endpoints.
pub(super) fn refuse(class: FailureClass, status: Option<u16>) -> Refusal {
    let (usual, kind, code, message) = match class {
        FailureClass::Overloaded => (
            503,
            "service_unavailable_error",
            json!("server_is_overloaded"),
            "Our servers are currently overloaded. Please try again later.",
        ),
        FailureClass::RateLimited => (
            429,
            "requests",
            json!("rate_limit_exceeded"),
            "Rate limit reached for requests. Please try again later.",
        ),
        FailureClass::Auth => (
            401,
            "invalid_request_error",
            json!("invalid_api_key"),
            "Incorrect API key provided. You can find your API key in your account settings.",
        ),
        FailureClass::Quota => (
            429,
            "insufficient_quota",
            json!("insufficient_quota"),
            "You exceeded your current quota, please check your plan and billing details.",
        ),
        FailureClass::ContextOverflow => (
            400,
            "invalid_request_error",
            json!("context_length_exceeded"),
            "Your input exceeds the context window of this model. Please adjust your input and \
             try again.",
        ),
        FailureClass::ContentFilter => (
            400,
            "invalid_request_error",
            json!("content_filter"),
            "The response was filtered due to the prompt triggering the content management policy.",
        ),
        FailureClass::InvalidRequest => (400, "invalid_request_error", Value::Null, SCRIPTED),
        FailureClass::Network
        | FailureClass::StreamBroke
        | FailureClass::Stalled
        | FailureClass::Server
        | FailureClass::Malformed
        | FailureClass::Empty
        | FailureClass::TooLarge
        | FailureClass::Unknown => (
            500,
            "server_error",
            json!("server_error"),
            "The server had an error while processing your request. Sorry about that!",
        ),
    };
    let error = json!({ "message": message, "type": kind, "param": null, "code": code });
    Refusal::new(status.unwrap_or(usual), json!({ "error": error }))
}
