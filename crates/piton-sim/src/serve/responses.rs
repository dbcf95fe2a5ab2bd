//! `OpenAI` Responses and the Codex variant of it, played.

mod encrypted;
mod objection;
mod speak;

use std::collections::BTreeMap;

use piton_core::event::FailureClass;
use piton_wire::openai_responses::rules;
use serde_json::{Value, json};

use super::asked::{Asked, list, text, texts};
use super::chat;
use super::heard::Heard;
use super::openai::invalid;
use super::refusal::Refusal;
use super::reply::Reply;
use super::seal::Sealed;
use super::voice::{Voice, event};
use crate::demo::Gave;

/// Plays the public API.
#[derive(Debug)]
pub(super) struct Responses;

/// Plays the backend behind a `ChatGPT` login.
#[derive(Debug)]
pub(super) struct Codex;

impl Voice for Responses {
    fn key_headers(&self) -> &'static [&'static str] {
        &["authorization"]
    }

    fn hear(&self, asked: &Asked) -> Heard {
        let mut heard = Heard::default();
        if let Some(said) = asked.body.get("input").and_then(Value::as_str) {
            heard.user(said);
        }
        let mut names: BTreeMap<&str, &str> = BTreeMap::new();
        for item in list(&asked.body, "input") {
            match (text(item, "type"), text(item, "role")) {
                ("function_call", _) => {
                    names.insert(text(item, "call_id"), text(item, "name"));
                    heard.answer("");
                }
                ("function_call_output", _) => {
                    let name = (*names.get(text(item, "call_id")).unwrap_or(&"")).to_owned();
                    let output = item.get("output");
                    heard.result(Gave { name, text: texts(output).concat(), is_error: false });
                }
                ("reasoning", _) => heard.answer(""),
                (_, "assistant") => heard.answer(&texts(item.get("content")).concat()),
                (_, "user") => heard.user(&texts(item.get("content")).concat()),
                _ => {}
            }
        }
        heard
    }

    fn reject(&self, message: &str) -> Refusal {
        invalid(message, Value::Null, Value::Null)
    }

    fn objection(&self, asked: &Asked) -> Option<Refusal> {
        if let Some(id) = asked.body.get("previous_response_id").and_then(Value::as_str) {
            // Nothing is kept here, so nothing can be found.
            let message = format!("Previous response with id '{id}' not found.");
            let param = json!("previous_response_id");
            return Some(invalid(&message, param, json!("previous_response_not_found")));
        }
        objection::of(&rules::violations(&asked.body), &asked.body)
    }

    fn sealed(&self, asked: &Asked) -> Vec<Sealed> {
        let items = list(&asked.body, "input").iter().enumerate();
        let reasoning = items.filter(|(_, item)| text(item, "type") == "reasoning");
        let sealed = reasoning.filter(|(_, item)| !text(item, "encrypted_content").is_empty());
        sealed
            .map(|(at, item)| Sealed {
                at: format!("input[{at}]"),
                condition: encrypted::check(
                    text(item, "encrypted_content"),
                    &asked.model,
                    &asked.before("input", at),
                ),
            })
            .collect()
    }

    fn bad_seal(&self, at: &str) -> Refusal {
        let message = "The encrypted content gAAA... could not be verified. Reason: Encrypted \
                       content could not be decrypted or parsed.";
        invalid(message, json!(at), json!("invalid_encrypted_content"))
    }

    fn stream(&self, reply: &Reply, asked: &Asked) -> Vec<String> {
        speak::events(reply, asked, speak::Last::Whole)
    }

    fn whole(&self, reply: &Reply, asked: &Asked) -> Value {
        speak::response(reply, asked)
    }

    fn refuse(&self, class: FailureClass, status: Option<u16>, wait_ms: Option<u64>) -> Refusal {
        chat::refuse(class, status).wait(wait_ms)
    }

    fn event(&self, refusal: &Refusal) -> String {
        let error = refusal.body.get("error").unwrap_or(&Value::Null);
        let (code, message) = (error.get("code"), error.get("message"));
        let response = json!({
            "id": "resp_sim_failed",
            "object": "response",
            "status": "failed",
            "error": { "code": code, "message": message },
            "output": [],
        });
        event(Some("response.failed"), &json!({ "type": "response.failed", "response": response }))
    }
}

impl Voice for Codex {
    fn key_headers(&self) -> &'static [&'static str] {
        Responses.key_headers()
    }

    fn hear(&self, asked: &Asked) -> Heard {
        Responses.hear(asked)
    }

    fn reject(&self, message: &str) -> Refusal {
        objection::detail(message)
    }

    fn objection(&self, asked: &Asked) -> Option<Refusal> {
        objection::of(&rules::codex_violations(&asked.body), &asked.body)
    }

    fn sealed(&self, asked: &Asked) -> Vec<Sealed> {
        Responses.sealed(asked)
    }

    fn bad_seal(&self, at: &str) -> Refusal {
        Responses.bad_seal(at)
    }

    fn stream(&self, reply: &Reply, asked: &Asked) -> Vec<String> {
        // This backend leaves the items out of the last event.
        speak::events(reply, asked, speak::Last::Bare)
    }

    fn whole(&self, reply: &Reply, asked: &Asked) -> Value {
        Responses.whole(reply, asked)
    }

    fn refuse(&self, class: FailureClass, status: Option<u16>, wait_ms: Option<u64>) -> Refusal {
        if class == FailureClass::Auth {
            return self.no_key();
        }
        if class == FailureClass::Quota {
            let error = json!({
                "type": "usage_limit_reached",
                "message": "The usage limit has been reached",
                "plan_type": "plus",
            });
            return Refusal::new(status.unwrap_or(429), json!({ "error": error }));
        }
        Responses.refuse(class, status, wait_ms)
    }

    fn no_key(&self) -> Refusal {
        let detail = "Could not parse your authentication token. Please try signing in again.";
        Refusal::new(401, json!({ "detail": detail }))
    }

    fn event(&self, refusal: &Refusal) -> String {
        Responses.event(refusal)
    }
}
