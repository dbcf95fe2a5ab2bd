//! Answers that must match a JSON Schema.

use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;

use super::attach::Attached;
use crate::report::InputFault;

/// How often an answer that does not match is asked for again.
pub(super) const AGAIN_MAX: u32 = 2;
/// Most faults of an answer that are told.
const FAULTS_MAX: usize = 5;
/// What the schema is called where it goes along with the message.
const NAME: &str = "answer-schema.json";

/// What an answer must match.
#[derive(Debug)]
pub(super) struct OutputSchema {
    text: String,
    validator: Validator,
}

impl OutputSchema {
    /// Reads a schema from a file.
    pub(super) fn read(path: &Path) -> Result<Self, InputFault> {
        let unusable = |why: String| InputFault::Schema { path: path.to_owned(), why };
        let text = fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
        let schema = serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))?;
        let validator =
            jsonschema::validator_for(&schema).map_err(|error| unusable(error.to_string()))?;
        Ok(Self { text, validator })
    }

    /// What goes along with the message.
    pub(super) fn attached(&self) -> Attached {
        let text = format!(
            "Your final answer must be nothing but JSON that matches this JSON Schema, without a \
             fence and without other words:\n\n{}\n",
            self.text.trim()
        );
        Attached::text(NAME.into(), text)
    }

    /// The JSON of an answer; an error says what is wrong with it.
    pub(super) fn check(&self, answer: &str) -> Result<String, String> {
        let json = without_fence(answer.trim());
        let value: Value =
            serde_json::from_str(json).map_err(|error| format!("it is no JSON: {error}"))?;
        let faults = self.validator.iter_errors(&value).take(FAULTS_MAX).map(|fault| {
            let place = fault.instance_path().to_string();
            if place.is_empty() { fault.to_string() } else { format!("{place}: {fault}") }
        });
        let faults: Vec<String> = faults.collect();
        if faults.is_empty() { Ok(json.to_owned()) } else { Err(faults.join("; ")) }
    }
}

/// What the model is told of an answer that does not match.
pub(super) fn again(why: &str) -> String {
    format!(
        "Your answer does not match the schema: {why}. Answer again, with nothing but JSON that matches it."
    )
}

/// Models like to put JSON into a fence.
fn without_fence(answer: &str) -> &str {
    let Some(inner) = answer.strip_prefix("```").and_then(|it| it.strip_suffix("```")) else {
        return answer;
    };
    inner.split_once('\n').map_or(inner, |(_, json)| json).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_checked_with_or_without_a_fence() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("schema.json");
        let text = r#"{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}}"#;
        fs::write(&path, text).unwrap();
        let schema = OutputSchema::read(&path).unwrap();
        assert_eq!(schema.check(" {\"ok\":true}\n").unwrap(), "{\"ok\":true}");
        assert_eq!(schema.check("```json\n{\"ok\":true}\n```").unwrap(), "{\"ok\":true}");
        assert!(schema.check("yes").unwrap_err().starts_with("it is no JSON"));
        let wrong = schema.check("{\"ok\":1}").unwrap_err();
        assert!(wrong.starts_with("/ok: "), "{wrong}");
        fs::write(&path, "{\"type\": 7}").unwrap();
        assert!(OutputSchema::read(&path).is_err());
        fs::write(&path, "no").unwrap();
        assert!(OutputSchema::read(&path).is_err());
    }
}
