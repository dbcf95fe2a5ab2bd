//! Anthropic Messages, played.

mod objection;
mod speak;

use std::collections::BTreeMap;

use piton_core::event::FailureClass;
use serde_json::{Value, json};

use super::asked::{Asked, list, text, texts};
use super::heard::Heard;
use super::refusal::Refusal;
use super::reply::Reply;
use super::seal::{self, Sealed};
use super::voice::{SCRIPTED, Voice, event};
use crate::demo::Gave;

/// Plays Anthropic.
#[derive(Debug)]
pub(super) struct Anthropic;

impl Voice for Anthropic {
    fn key_headers(&self) -> &'static [&'static str] {
        &["x-api-key", "authorization"]
    }

    fn hear(&self, asked: &Asked) -> Heard {
        let mut heard = Heard::default();
        let mut names: BTreeMap<&str, &str> = BTreeMap::new();
        for message in list(&asked.body, "messages") {
            let content = message.get("content");
            let is_model = text(message, "role") == "assistant";
            if let Some(said) = content.and_then(Value::as_str) {
                if is_model { heard.answer(said) } else { heard.user(said) }
            }
            for block in list(message, "content") {
                match text(block, "type") {
                    "tool_use" => {
                        names.insert(text(block, "id"), text(block, "name"));
                        heard.answer("");
                    }
                    "tool_result" => heard.result(Gave {
                        name: (*names.get(text(block, "tool_use_id")).unwrap_or(&"")).to_owned(),
                        text: texts(block.get("content")).concat(),
                        is_error: block.get("is_error") == Some(&Value::Bool(true)),
                    }),
                    _ if is_model => heard.answer(text(block, "text")),
                    "text" => heard.user(text(block, "text")),
                    _ => {}
                }
            }
        }
        heard
    }

    fn reject(&self, message: &str) -> Refusal {
        refusal(400, message)
    }

    fn objection(&self, asked: &Asked) -> Option<Refusal> {
        let findings = piton_wire::anthropic::rules::violations(&asked.body);
        let first = findings.first()?;
        Some(refusal(400, &objection::wording(first, &asked.body)))
    }

    fn sealed(&self, asked: &Asked) -> Vec<Sealed> {
        let mut found = Vec::new();
        let is_thought = |block: &&Value| text(block, "type") == "thinking";
        let messages = list(&asked.body, "messages").iter().enumerate();
        // In the order in which the turns have them, which join messages of one side.
        let mut places = messages.flat_map(|(place, message)| {
            list(message, "content").iter().filter(is_thought).map(move |_| place)
        });
        for (turn, blocks) in objection::turns(&asked.body).iter().enumerate() {
            for (at, block) in blocks.blocks.iter().enumerate() {
                if is_thought(&block) {
                    let before = asked.before("messages", places.next().unwrap_or_default());
                    let (signature, thought) = (text(block, "signature"), text(block, "thinking"));
                    found.push(Sealed {
                        at: format!("messages.{turn}.content.{at}"),
                        condition: seal::check(signature, &asked.model, thought, &before),
                    });
                }
            }
        }
        found
    }

    fn bad_seal(&self, at: &str) -> Refusal {
        refusal(400, &format!("{at}: Invalid `signature` in `thinking` block"))
    }

    fn stream(&self, reply: &Reply, asked: &Asked) -> Vec<String> {
        speak::events(reply, asked)
    }

    fn whole(&self, reply: &Reply, asked: &Asked) -> Value {
        speak::message(reply, asked)
    }

    fn refuse(&self, class: FailureClass, status: Option<u16>, wait_ms: Option<u64>) -> Refusal {
        let (usual, message) = match class {
            FailureClass::Overloaded => (529, "Overloaded"),
            FailureClass::RateLimited => (
                429,
                "This request would exceed your organization's rate limit. Please try again later.",
            ),
            FailureClass::Auth => (401, "invalid x-api-key"),
            FailureClass::Quota => (
                400,
                "Your credit balance is too low to access the Anthropic API. Please go to Plans & \
                 Billing to upgrade or purchase credits.",
            ),
            FailureClass::ContextOverflow => {
                (400, "prompt is too long: 250000 tokens > 200000 maximum")
            }
            FailureClass::ContentFilter => (400, "Output blocked by content filtering policy"),
            FailureClass::InvalidRequest => (400, SCRIPTED),
            FailureClass::Network
            | FailureClass::StreamBroke
            | FailureClass::Stalled
            | FailureClass::Server
            | FailureClass::Malformed
            | FailureClass::Empty
            | FailureClass::TooLarge
            | FailureClass::Unknown => (500, "Internal server error"),
        };
        refusal(status.unwrap_or(usual), message).wait(wait_ms)
    }

    fn no_key(&self) -> Refusal {
        refusal(401, "x-api-key header is required")
    }

    fn event(&self, refusal: &Refusal) -> String {
        event(Some("error"), &refusal.body)
    }
}

fn refusal(status: u16, message: &str) -> Refusal {
    let kind = match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 | 529 => "overloaded_error",
        500..=599 => "api_error",
        _ => "invalid_request_error",
    };
    let error = json!({ "type": kind, "message": message });
    let body = json!({ "type": "error", "error": error, "request_id": "req_sim" });
    let mut refusal = Refusal::new(status, body);
    refusal.headers.push(("request-id", "req_sim".into()));
    refusal
}
