//! Questions that a server answers a request with, instead of a result.
//!
//! The request is over then, and nothing waits at the server: it is sent again with the answers, and
//! with a text that tells the server how far it was. Both are recorded before anybody is asked, so
//! another process can go on from there.

use piton_core::event::Handle;
use rmcp::model::{CallToolRequestParams, InputRequest, InputRequests, InputResponses};

use crate::connection::Connection;
use crate::handler::OpenCall;
use crate::text::{digest, head};

/// Longest key of a question that is part of its name as it is, in bytes.
const KEY_BYTES_MAX: usize = 32;
/// Letters of the digest of a key that is not.
const DIGEST_LETTERS: usize = 16;

/// Why there are no answers.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// Nobody is there now; this is asked.
    Nobody(String),
    /// It asks for something that is not offered.
    Unfit,
}

/// What a server asked back.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// How often it did so in this call, from 1.
    pub(crate) number: u32,
    state: Option<String>,
    asked: InputRequests,
}

impl Round {
    pub(crate) fn new(number: u32, state: Option<String>, asked: Option<InputRequests>) -> Self {
        Self { number, state, asked: asked.unwrap_or_default() }
    }

    /// What was recorded; none if that was something else.
    pub(crate) fn read(handle: &Handle) -> Option<Self> {
        let Handle::Round { number, state, asked } = handle else { return None };
        let asked = serde_json::from_str(asked).ok()?;
        Some(Self { number: *number, state: state.clone(), asked })
    }

    pub(crate) fn handle(&self) -> Handle {
        let asked = serde_json::to_string(&self.asked).unwrap_or_default();
        Handle::Round { number: self.number, state: self.state.clone(), asked }
    }

    /// Whether a person has to be asked.
    pub(crate) fn asks(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Has the questions answered, and makes of that what is sent next.
    pub(crate) async fn answered(
        self,
        connection: &Connection,
        open: &OpenCall,
        mut params: CallToolRequestParams,
    ) -> Result<CallToolRequestParams, Unanswered> {
        let prefix = format!("round-{}", self.number);
        let answers = answers(connection, open, &prefix, self.asked).await?;
        params.request_state = self.state;
        params.input_responses = (!answers.is_empty()).then_some(answers);
        Ok(params)
    }
}

/// Asks a person what a server wants to know, one question after the other.
pub(crate) async fn answers(
    connection: &Connection,
    open: &OpenCall,
    prefix: &str,
    asked: InputRequests,
) -> Result<InputResponses, Unanswered> {
    let mut answers = InputResponses::new();
    for (key, request) in asked {
        let InputRequest::Elicitation(request) = request else { return Err(Unanswered::Unfit) };
        let name = question_name(prefix, &key);
        // It gives up by itself when the call is cancelled.
        let answer = connection.handler.elicit(open, &name, request.params).await;
        let answer = answer.map_err(Unanswered::Nobody)?;
        answers.insert(key, serde_json::to_value(answer).unwrap_or_default());
    }
    Ok(answers)
}

/// The name of a question: the same in every process, so that it is asked once.
fn question_name(prefix: &str, key: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    if key.len() <= KEY_BYTES_MAX && key.chars().all(plain) {
        format!("{prefix}-{key}")
    } else {
        format!("{prefix}-{}", head(&digest(key.as_bytes()), DIGEST_LETTERS))
    }
}

#[cfg(test)]
mod tests {
    use piton_core::question::NAME_BYTES_MAX;

    use super::*;

    #[test]
    fn questions_have_names_that_are_short_enough() {
        assert_eq!(question_name("task", "name"), "task-name");
        for key in ["ü", "a b", &"x".repeat(1_000)] {
            let name = question_name("round-10", key);
            assert!(name.len() <= NAME_BYTES_MAX && name.is_ascii(), "{name}");
        }
        assert_ne!(question_name("task", "a b"), question_name("task", "a c"));
    }

    #[test]
    fn what_is_recorded_is_read_again() {
        let asked = r#"{"k":{"method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{}}}}}"#;
        let asked: InputRequests = serde_json::from_str(asked).unwrap();
        let round = Round::new(2, Some("s".into()), Some(asked));
        let read = Round::read(&round.handle()).unwrap();
        assert_eq!((read.number, read.state.as_deref()), (2, Some("s")));
        assert_eq!(read.asked, round.asked);
        assert!(read.asks());
        assert!(Round::read(&Handle::None).is_none());
    }
}
