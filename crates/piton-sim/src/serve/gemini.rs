//! Gemini `generateContent`, played.

mod framing;
mod objection;
mod speak;

use piton_core::event::FailureClass;
use piton_wire::gemini::rules;
use serde_json::{Value, json};

pub(super) use self::framing::Framing;
use super::asked::{Asked, list, set, text};
use super::heard::Heard;
use super::refusal::Refusal;
use super::reply::Reply;
use super::seal::{self, Sealed};
use super::voice::{SCRIPTED, Voice};
use crate::demo::Gave;

/// What the service takes where a signature was never given.
const NO_SIGNATURE: [&str; 2] =
    ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

/// Plays Gemini.
#[derive(Debug)]
pub(super) struct Gemini {
    pub(super) framing: Framing,
}

impl Voice for Gemini {
    fn key_headers(&self) -> &'static [&'static str] {
        &["x-goog-api-key", "authorization"]
    }

    fn hear(&self, asked: &Asked) -> Heard {
        let mut heard = Heard::default();
        for content in list(&asked.body, "contents") {
            let is_model = text(content, "role") == "model";
            for part in list(content, "parts") {
                if let Some(response) = part.get("functionResponse") {
                    let given = &response["response"];
                    let said = ["output", "result", "error"].iter().find_map(|key| given.get(*key));
                    let said = said.unwrap_or(given);
                    heard.result(Gave {
                        name: text(response, "name").to_owned(),
                        text: said.as_str().map_or_else(|| said.to_string(), str::to_owned),
                        is_error: given.get("error").is_some(),
                    });
                } else if is_model {
                    heard.answer(text(part, "text"));
                } else if part.get("text").is_some() {
                    heard.user(text(part, "text"));
                }
            }
        }
        heard
    }

    fn reject(&self, message: &str) -> Refusal {
        self.refusal(400, message, Vec::new())
    }

    fn objection(&self, asked: &Asked) -> Option<Refusal> {
        let findings = rules::violations_for(&asked.model, &asked.body);
        let first = findings.first()?;
        Some(self.refusal(400, &objection::wording(first), Vec::new()))
    }

    fn sealed(&self, asked: &Asked) -> Vec<Sealed> {
        let mut found = Vec::new();
        for (content, it) in list(&asked.body, "contents").iter().enumerate() {
            for (at, part) in list(it, "parts").iter().enumerate() {
                let signature = text(part, "thoughtSignature");
                if !signature.is_empty() && !NO_SIGNATURE.contains(&signature) {
                    let before = asked.before("contents", content);
                    let name = text(&part["functionCall"], "name");
                    found.push(Sealed {
                        at: format!("contents[{content}].parts[{at}]"),
                        condition: seal::check(signature, &asked.model, name, &before),
                    });
                }
            }
        }
        found
    }

    fn bad_seal(&self, at: &str) -> Refusal {
        let message = format!("Corrupted thought signature. Position: {at}.");
        self.refusal(400, &message, Vec::new())
    }

    fn stream(&self, reply: &Reply, asked: &Asked) -> Vec<String> {
        speak::chunks(self.framing, reply, asked)
    }

    fn whole(&self, reply: &Reply, asked: &Asked) -> Value {
        speak::response(reply, asked)
    }

    fn refuse(&self, class: FailureClass, status: Option<u16>, wait_ms: Option<u64>) -> Refusal {
        let mut details = Vec::new();
        let (usual, message) = match class {
            FailureClass::Overloaded => (503, "The model is overloaded. Please try again later."),
            FailureClass::RateLimited => (429, "Resource has been exhausted (e.g. check quota)."),
            FailureClass::Auth => {
                details.push(json!({
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "API_KEY_INVALID",
                    "domain": "googleapis.com",
                }));
                (400, "API key not valid. Please pass a valid API key.")
            }
            FailureClass::Quota => {
                details.push(json!({
                    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                    "violations": [{
                        "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
                    }],
                }));
                (
                    429,
                    "You exceeded your current quota, please check your plan and billing details.",
                )
            }
            FailureClass::ContextOverflow => (
                400,
                "The input token count (1250074) exceeds the maximum number of tokens allowed \
                 (1048576).",
            ),
            FailureClass::ContentFilter => (400, "The prompt was blocked by safety filters."),
            FailureClass::InvalidRequest => (400, SCRIPTED),
            FailureClass::Network
            | FailureClass::StreamBroke
            | FailureClass::Stalled
            | FailureClass::Server
            | FailureClass::Malformed
            | FailureClass::Empty
            | FailureClass::TooLarge
            | FailureClass::Unknown => (500, "An internal error has occurred. Please retry."),
        };
        if let Some(wait_ms) = wait_ms {
            let delay = format!("{}.{:03}s", wait_ms / 1000, wait_ms % 1000);
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": delay,
            }));
        }
        self.refusal(status.unwrap_or(usual), message, details)
    }

    fn no_key(&self) -> Refusal {
        let message = "Method doesn't allow unregistered callers (callers without established \
                       identity). Please use API Key or other form of API consumer identity to \
                       call this API.";
        self.refusal(403, message, Vec::new())
    }

    fn event(&self, refusal: &Refusal) -> String {
        match self.framing {
            Framing::Events => format!("data: {}\r\n\r\n", refusal.body),
            // Errors come in a list of their own when there is nothing before them.
            Framing::Array => format!(",{}]", refusal.body.get(0).unwrap_or(&refusal.body)),
        }
    }
}

impl Gemini {
    fn refusal(&self, code: u16, message: &str, details: Vec<Value>) -> Refusal {
        let status = match code {
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 | 529 => "UNAVAILABLE",
            504 => "DEADLINE_EXCEEDED",
            500..=599 => "INTERNAL",
            _ => "INVALID_ARGUMENT",
        };
        let mut error = json!({ "code": code, "message": message, "status": status });
        if !details.is_empty() {
            set(&mut error, "details", json!(details));
        }
        let body = json!({ "error": error });
        let body = if self.framing == Framing::Array { json!([body]) } else { body };
        Refusal::new(code, body)
    }
}
