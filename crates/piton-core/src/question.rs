//! What a tool wants to know: how it is put, and which answers it takes.
//!
//! Knows words and shapes. Who is asked, and how an answer gets back to the tool, is not known here.

mod form;

use std::fmt;
use std::sync::Arc;

pub use self::form::{Field, FieldKind, Form};
use crate::event::{Inquiry, InquiryKind, Shape, Wants};
use crate::id::{CallId, InquiryId};

/// Longest name of a question, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// A question of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The words it asks with.
    pub text: String,
    /// What it wants to know.
    pub wants: Wants,
}

impl Question {
    /// A question that takes any text. The name is unique within its call.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let wants = Wants { name: name.into(), ..Wants::default() };
        Self { text: text.into(), wants }
    }

    /// Takes answers of another shape.
    #[must_use]
    pub fn shaped(mut self, shape: Shape) -> Self {
        self.wants.shape = shape;
        self
    }

    /// What an empty answer means.
    #[must_use]
    pub fn or(mut self, default: impl Into<String>) -> Self {
        self.wants.default = Some(default.into());
        self
    }

    /// No model and no policy may answer it.
    #[must_use]
    pub fn human_only(mut self) -> Self {
        self.wants.human_only = true;
        self
    }

    /// The tool has done nothing yet that may not be done again.
    #[must_use]
    pub fn before_acting(mut self) -> Self {
        self.wants.before_acting = true;
        self
    }

    /// Other words than the options are an answer, too.
    #[must_use]
    pub fn or_own_words(mut self) -> Self {
        self.wants.own_words = true;
        self
    }

    /// The question as it is recorded: `<call>.<name>.<attempt>`.
    pub fn inquiry(&self, call: CallId, attempt: usize) -> Inquiry {
        let name = match self.wants.name.as_str() {
            // Names of the engine's own questions.
            taken @ ("permission" | "in-doubt") => format!("question-{taken}"),
            name => name.to_owned(),
        };
        Inquiry {
            id: InquiryId::new(format!("{call}.{name}.{attempt}")),
            kind: InquiryKind::Question,
            call,
            question: self.text.clone(),
            choices: Vec::new(),
            wants: Some(self.wants.clone()),
            about: None,
        }
    }
}

impl Wants {
    /// The same, where only the options are an answer.
    #[must_use]
    pub fn without_own_words(&self) -> Self {
        Self { own_words: false, ..self.clone() }
    }

    /// What a typed answer means; an error says what would be understood.
    pub fn read(&self, typed: &str) -> Result<String, String> {
        if typed.trim().is_empty()
            && let Some(default) = &self.default
        {
            return Ok(default.clone());
        }
        match &self.shape {
            Shape::Text | Shape::Secret => Ok(typed.to_owned()),
            Shape::Confirm => match typed.trim().to_lowercase().as_str() {
                "y" | "yes" => Ok("yes".into()),
                "n" | "no" => Ok("no".into()),
                _ => Err("answer yes or no".into()),
            },
            Shape::Choice { options } => {
                let is_own = self.own_words && !typed.trim().is_empty();
                let own = |takes| if is_own { Ok(typed.trim().to_owned()) } else { Err(takes) };
                one_of(options, typed.trim()).or_else(own)
            }
            Shape::Form { schema } => Form::new(schema).read(typed),
        }
    }
}

/// Whether options may be chosen by their place. Where one of them is a number itself, nobody could
/// tell which is meant.
pub fn have_numbers(options: &[String]) -> bool {
    !options.iter().any(|option| option.trim().parse::<f64>().is_ok())
}

/// An option by its words, or by its number from 1 if options have one.
fn one_of(options: &[String], typed: &str) -> Result<String, String> {
    let by_words = || {
        let same = |option: &&String| option.to_lowercase() == typed.to_lowercase();
        let mut found = options.iter().filter(same);
        found.next().filter(|_| found.next().is_none())
    };
    let by_number = || {
        let number: usize = typed.parse().ok().filter(|_| have_numbers(options))?;
        number.checked_sub(1).and_then(|place| options.get(place))
    };
    let exactly = options.iter().find(|option| *option == typed);
    let found = exactly.or_else(by_words).or_else(by_number);
    found.cloned().ok_or_else(|| format!("answer with one of {}", options.join(", ")))
}

/// Words that are not shown by accident: printing one for debugging prints `[redacted]`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Takes over a secret.
    pub fn new(secret: impl Into<Arc<str>>) -> Self {
        Self(secret.into())
    }

    /// The words, for the tool that asked for them.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shape: Shape, typed: &str, expected: Result<&str, &str>) {
        let wants = Question::new("q", "?").shaped(shape).wants;
        let read = wants.read(typed);
        let read = read.as_ref().map(String::as_str).map_err(String::as_str);
        assert_eq!(read, expected, "{typed}");
    }

    #[test]
    fn an_answer_is_held_against_its_shape() {
        check(Shape::Text, " as typed ", Ok(" as typed "));
        check(Shape::Confirm, " Y ", Ok("yes"));
        check(Shape::Confirm, "", Err("answer yes or no"));
        let options = || Shape::Choice { options: vec!["Blue".into(), "red".into()] };
        check(options(), "blue", Ok("Blue"));
        check(options(), "2", Ok("red"));
        check(options(), "3", Err("answer with one of Blue, red"));
        let open = Question::new("q", "?").shaped(options()).or_own_words().wants;
        assert_eq!(open.read(" a dark one "), Ok("a dark one".into()));
        assert_eq!(open.read("BLUE"), Ok("Blue".into()));
        assert!(open.read(" ").is_err() && open.without_own_words().read("green").is_err());
    }

    #[test]
    fn a_number_means_one_option_or_none() {
        let options = || Shape::Choice { options: vec!["3".into(), "2".into(), "1".into()] };
        check(options(), "1", Ok("1"));
        check(options(), "03", Err("answer with one of 3, 2, 1"));
        let mixed = || Shape::Choice { options: vec!["none".into(), "2.5".into()] };
        check(mixed(), "1", Err("answer with one of none, 2.5"));
        check(mixed(), "None", Ok("none"));
    }

    #[test]
    fn a_form_is_held_against_its_schema() {
        let form = || Shape::Form {
            schema: r#"{"type":"object","required":["name"],
                "properties":{"name":{"type":"string","enum":["a","b"]},"age":{"type":"integer"}}}"#
                .into(),
        };
        check(form(), r#"{"name":"a", "age":3}"#, Ok(r#"{"age":3,"name":"a"}"#));
        check(form(), "{}", Err("the field `name` is missing"));
        check(form(), r#"{"name":"c"}"#, Err(r#"the field `name` is none of "a", "b""#));
        check(form(), r#"{"name":"a","age":"x"}"#, Err("the field `age` is not of type integer"));
        let wants = Question::new("q", "?").shaped(form()).wants;
        assert!(wants.read("hm").is_err());
    }

    #[test]
    fn an_empty_answer_is_the_default() {
        let wants = Question::new("q", "?").shaped(Shape::Confirm).or("no").wants;
        assert_eq!(wants.read(" "), Ok("no".into()));
        assert_eq!(wants.read("yes"), Ok("yes".into()));
    }

    // J63
    #[test]
    fn a_question_is_named_after_call_name_and_attempt() {
        let call: CallId = "1.2.0".parse().unwrap();
        assert_eq!(Question::new("colour", "?").inquiry(call, 2).id.as_str(), "1.2.0.colour.2");
        let taken = Question::new("permission", "?").inquiry(call, 1);
        assert_eq!(taken.id.as_str(), "1.2.0.question-permission.1");
    }

    // J65
    #[test]
    fn a_secret_is_not_printed_by_accident() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?}"), "[redacted]");
        assert_eq!(secret.reveal(), "hunter2");
    }
}
