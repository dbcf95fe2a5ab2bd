//! `ask_user`: the model asks the person in front of it.

use async_trait::async_trait;
use piton_core::event::{EffectClass, Shape, ToolSpec};
use piton_core::id::CallId;
use piton_core::question::Question;
use serde::Deserialize;

use crate::contract::{
    Arguments, Finished, Job, Prepared, Refusal, Response, Site, Tool, parse_arguments,
};

/// Most options of one question: a person reads them.
const OPTIONS_MAX: usize = 20;
/// Longest question, in bytes.
const QUESTION_BYTES_MAX: usize = 4 * 1024;
/// The name of its only question.
const QUESTION: &str = "question";

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "question": {"type": "string", "description": "What the user should answer, in full sentences."},
        "options": {"type": "array", "items": {"type": "string"}, "description": "Answers to choose from; the user may also answer in other words. Default: any text."},
        "default": {"type": "string", "description": "The answer if the user gives none; one of the options, if there are any."}
    },
    "required": ["question"],
    "additionalProperties": false
}"#;

/// The tool. Not for agents without a person, such as sub-agents: leave it out there.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskUser;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskUserArguments {
    question: String,
    options: Option<Vec<String>>,
    default: Option<String>,
}

#[async_trait]
impl Tool for AskUser {
    fn spec(&self) -> ToolSpec {
        let description = "Asks the user a question and gives back the answer. Use it when only the \
                           user can know or decide, not for what you can find out yourself.";
        ToolSpec::new("ask_user", description, SCHEMA, EffectClass::ReadOnly)
    }

    async fn prepare(
        &self,
        _: &Site,
        _: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        look(arguments)?;
        Ok(Prepared::default())
    }

    async fn run(&self, job: Job) -> Finished {
        match job.responses().get(QUESTION) {
            Some(Response::Given(text)) => Finished::ok(text.clone()),
            Some(Response::Declined) => Finished::ok("The user declined to answer."),
            Some(Response::Withdrawn(why)) => {
                Finished::ok(format!("There is no answer: {why}. Decide yourself, and say so."))
            }
            Some(Response::Secret(_) | Response::Deferred) | None => match look(&job.arguments) {
                Ok(question) => Finished::needs_input(vec![question]),
                Err(refusal) => refusal.into(),
            },
        }
    }
}

fn look(arguments: &Arguments) -> Result<Question, Refusal> {
    let wanted: AskUserArguments = parse_arguments(SCHEMA, arguments)?;
    if wanted.question.trim().is_empty() || QUESTION_BYTES_MAX < wanted.question.len() {
        return Err(Refusal(format!("a question has 1 to {QUESTION_BYTES_MAX} bytes")));
    }
    let mut question = Question::new(QUESTION, wanted.question).before_acting();
    if let Some(options) = wanted.options.filter(|options| !options.is_empty()) {
        let blank = options.iter().any(|option| option.trim().is_empty());
        if OPTIONS_MAX < options.len() || blank {
            return Err(Refusal(format!(
                "there are 1 to {OPTIONS_MAX} options, none of them empty"
            )));
        }
        if wanted.default.as_ref().is_some_and(|default| !options.contains(default)) {
            return Err(Refusal("the default is none of the options".into()));
        }
        question = question.shaped(Shape::Choice { options }).or_own_words();
    }
    question.wants.default = wanted.default;
    Ok(question)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_and_struct_agree() {
        crate::contract::arguments::assert_agree::<AskUserArguments>(SCHEMA);
    }

    #[test]
    fn a_question_that_cannot_be_asked_is_refused() {
        let look = |json: &str| look(&serde_json::from_str(json).unwrap());
        assert!(look(r#"{"question":" "}"#).is_err());
        assert!(look(r#"{"question":"?","options":["a",""]}"#).is_err());
        assert!(look(r#"{"question":"?","options":["a"],"default":"b"}"#).is_err());
        let asked = look(r#"{"question":"?","options":[],"default":"b"}"#).unwrap();
        assert_eq!((asked.wants.shape, asked.wants.default), (Shape::Text, Some("b".into())));
    }
}
