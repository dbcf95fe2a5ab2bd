//! A tool that somebody wrote as a command: arguments in, output out, questions in between.
//!
//! Knows how arguments and answers are put on standard input and how questions are read off the
//! output. How a command is run and survives is the shell's.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::Arc;

use async_trait::async_trait;
use piton_core::event::{EffectClass, Handle, Outcome, Shape, ToolSpec};
use piton_core::id::CallId;
use piton_core::question::{NAME_BYTES_MAX, Question};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::line::{Line, Reads, Walls};
use super::plain::Plain;
use super::supervised::Supervised;
use crate::contract::arguments::refuse_unfit;
use crate::contract::{Arguments, Finished, Job, Prepared, Refusal, Response, Settled, Site, Tool};
use crate::sandbox::Rules;
use crate::supervise::{InputFile, Supervisor};

/// The exit code of a command that needs answers: "try again later" of `sysexits.h`.
pub const NEEDS_INPUT_CODE: i32 = 75;
/// How long a command may run if nobody says, in seconds.
pub const TIMEOUT_S_DEFAULT: u64 = 600;
/// The longest time that can be said, in seconds: a day.
const TIMEOUT_S_MAX: u64 = 24 * 3_600;
/// How much longer than the command itself its call waits, in seconds.
const WAIT_S_MORE: u64 = 60;
/// Longest name of a tool, in bytes: what every provider takes.
const TOOL_NAME_BYTES_MAX: usize = 64;
/// Most questions at once: a person reads them.
const QUESTIONS_MAX: usize = 20;

/// A tool as somebody wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandDefinition {
    /// Its name.
    pub name: String,
    /// What the model reads about it.
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: Value,
    /// What is run.
    pub program: Program,
    /// How its outcome can be settled after a crash.
    pub effect: EffectClass,
    /// How long it may run, in seconds.
    pub timeout_s: u64,
    /// Whether the rules of the sandbox count for it.
    pub sandboxed: bool,
    /// Rules of its own, which count then in place of those for all commands.
    pub rules: Option<Rules>,
}

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A program and its arguments, word for word.
    Words(Vec<String>),
    /// A line for `sh`.
    Line(String),
}

/// The tool.
#[derive(Clone, Debug)]
pub struct CommandTool {
    spec: ToolSpec,
    line: String,
    timeout_s: u64,
    walls: Walls,
    runner: Runner,
}

#[derive(Clone, Debug)]
enum Runner {
    Supervised(Supervised),
    Plain(Plain),
}

impl CommandDefinition {
    /// What is wrong with it, in a sentence.
    pub fn fault(&self) -> Option<String> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        if !(1..=TOOL_NAME_BYTES_MAX).contains(&self.name.len()) || !self.name.chars().all(plain) {
            return Some(format!(
                "the name of a tool has 1 to {TOOL_NAME_BYTES_MAX} letters, digits, _ and -"
            ));
        }
        if self.description.trim().is_empty() {
            return Some("the description is empty: the model reads it".into());
        }
        let is_empty = match &self.program {
            Program::Words(words) => words.first().is_none_or(String::is_empty),
            Program::Line(line) => line.trim().is_empty(),
        };
        if is_empty || self.line().contains('\0') {
            return Some("the command is empty, or has a NUL in it".into());
        }
        if !(1..=TIMEOUT_S_MAX).contains(&self.timeout_s) {
            return Some(format!("timeout_s is 1 to {TIMEOUT_S_MAX}"));
        }
        match self.effect {
            EffectClass::ReadOnly
            | EffectClass::Idempotent
            | EffectClass::Supervised
            | EffectClass::Once => schema_fault(&self.parameters),
            EffectClass::Digested | EffectClass::Child => {
                Some("the effect is read_only, idempotent, supervised or once".into())
            }
        }
    }

    /// The tool, whose commands outlive the agent.
    pub fn supervised(&self, supervisor: Arc<Supervisor>) -> CommandTool {
        self.with(Runner::Supervised(Supervised(supervisor)), self.effect)
    }

    /// The tool, whose commands end with the agent, do not see these variables, and are confined by
    /// these rules.
    pub fn plain(&self, hidden: Vec<OsString>, rules: Rules) -> CommandTool {
        // Nobody can know what became of a command whose agent died.
        let is_lost = self.effect == EffectClass::Supervised;
        let effect = if is_lost { EffectClass::Once } else { self.effect };
        self.with(Runner::Plain(Plain::new(hidden, rules)), effect)
    }

    fn with(&self, runner: Runner, effect: EffectClass) -> CommandTool {
        let mut parameters = self.parameters.clone();
        if let Some(schema) = parameters.as_object_mut() {
            // Providers want both.
            schema.entry("type").or_insert_with(|| "object".into());
            schema.entry("properties").or_insert_with(|| json!({}));
        }
        let spec = ToolSpec::new(
            self.name.clone(),
            self.description.as_str(),
            parameters.to_string(),
            effect,
        );
        let walls = match (self.sandboxed, &self.rules) {
            (false, _) => Walls::Down,
            (true, None) => Walls::Up,
            (true, Some(rules)) => Walls::By(Arc::new(rules.clone())),
        };
        CommandTool { spec, line: self.line(), timeout_s: self.timeout_s, walls, runner }
    }

    fn line(&self) -> String {
        match &self.program {
            Program::Line(line) => line.clone(),
            Program::Words(words) => {
                let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
                format!("exec {}", quoted.collect::<Vec<_>>().join(" "))
            }
        }
    }
}

/// What is wrong with a schema: not all of what can be, but what providers refuse.
fn schema_fault(schema: &Value) -> Option<String> {
    let Some(schema) = schema.as_object() else {
        return Some("parameters are a JSON schema: a table".into());
    };
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return Some("the type of parameters is object".into());
    }
    let none = Map::new();
    let properties = match schema.get("properties") {
        None => &none,
        Some(Value::Object(properties)) => properties,
        Some(_) => return Some("parameters.properties is a table of fields".into()),
    };
    if let Some((name, _)) = properties.iter().find(|(_, field)| !field.is_object()) {
        return Some(format!(
            "parameters.properties.{name} is a table, such as {{type = \"string\"}}"
        ));
    }
    let required = match schema.get("required") {
        None => return None,
        Some(Value::Array(required)) => required,
        Some(_) => return Some("parameters.required is a list of names".into()),
    };
    let unknown = required
        .iter()
        .find(|name| name.as_str().is_none_or(|name| !properties.contains_key(name)));
    unknown.map(|name| format!("parameters.required names {name}, which is no field"))
}

#[async_trait]
impl Tool for CommandTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn prepare(
        &self,
        site: &Site,
        call: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        refuse_unfit(&self.spec.parameters, arguments)?;
        match &self.runner {
            Runner::Supervised(_) => Supervised::prepare(site, call),
            Runner::Plain(_) => Ok(Prepared::default()),
        }
    }

    async fn run(&self, job: Job) -> Finished {
        let line = Line {
            command: self.line.clone(),
            directory: job.site.workspace.clone(),
            timeout_s: Some(self.timeout_s),
            wait_s: Some(self.timeout_s + WAIT_S_MORE),
            keep: false,
            input: Reads::Bytes(input(&job)),
            walls: self.walls.clone(),
        };
        heard(match &self.runner {
            Runner::Supervised(supervised) => supervised.run(job, line).await,
            Runner::Plain(plain) => plain.run(job, line).await,
        })
    }

    async fn settle(&self, _: &Site, _: &Arguments, handle: &Handle) -> Settled {
        let Runner::Supervised(supervised) = &self.runner else {
            return Settled::Unknown("the command was started, then the agent died".into());
        };
        match supervised.settle(handle).await {
            Settled::Applied(finished) => Settled::Applied(heard(finished)),
            settled @ (Settled::NotApplied | Settled::Running | Settled::Unknown(_)) => settled,
        }
    }

    // Records are swept, and what a turn leaves running is stopped, by `shell`: for all of them.
    fn forget(&self, _: &Site, handle: &Handle) {
        if let Runner::Supervised(supervised) = &self.runner {
            supervised.forget(handle);
        }
    }
}

/// What the command reads: its arguments, and what was answered so far. A question that nobody
/// answers has null.
fn input(job: &Job) -> InputFile {
    let answers: Map<String, Value> = job
        .responses()
        .iter()
        .filter(|(_, response)| **response != Response::Deferred)
        .map(|(name, response)| (name.clone(), response.words().map_or(Value::Null, Value::from)))
        .collect();
    let text = json!({ "arguments": &*job.arguments, "answers": answers }).to_string();
    let bytes = format!("{text}\n").into_bytes();
    let is_secret = |response: &Response| matches!(response, Response::Secret(_));
    if job.responses().values().any(is_secret) {
        InputFile::with_secrets(bytes)
    } else {
        InputFile::new(bytes)
    }
}

/// What a command asks, on the last line that it prints.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    questions: Vec<AskedOne>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedOne {
    id: String,
    text: String,
    #[serde(default)]
    kind: Option<Kind>,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    default: Option<String>,
    #[serde(default)]
    secret: bool,
    #[serde(default)]
    human_only: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Text,
    Confirm,
    Choice,
    Secret,
}

/// A command that asks has not ended.
fn heard(mut finished: Finished) -> Finished {
    if finished.exit_code != Some(NEEDS_INPUT_CODE) {
        return finished;
    }
    match questions(&finished) {
        Ok(questions) => Finished::needs_input(questions),
        Err(why) => {
            finished.text = format!(
                "[exit code {NEEDS_INPUT_CODE} says that the last line has questions, and it has \
                 none: {why}]\n{}",
                finished.text
            );
            finished.outcome = Outcome::Failed;
            finished
        }
    }
}

fn questions(finished: &Finished) -> Result<Vec<Question>, String> {
    let note = format!("[exit code {NEEDS_INPUT_CODE}]");
    let full = finished.full.as_ref().map(|full| String::from_utf8_lossy(full));
    let output = full.as_deref().unwrap_or(&finished.text);
    let mut lines = output.lines().rev().map(str::trim);
    let last = lines.find(|line| !line.is_empty() && *line != note).unwrap_or_default();
    let asked: Asked =
        serde_json::from_str(last).map_err(|error| format!("it is no such JSON ({error})"))?;
    if !(1..=QUESTIONS_MAX).contains(&asked.questions.len()) {
        return Err(format!("there are 1 to {QUESTIONS_MAX} questions"));
    }
    let ids: BTreeSet<&str> = asked.questions.iter().map(|one| one.id.as_str()).collect();
    if ids.len() < asked.questions.len() {
        return Err("two of its questions have the same id".into());
    }
    asked.questions.into_iter().map(AskedOne::question).collect()
}

impl AskedOne {
    fn question(self) -> Result<Question, String> {
        let Self { id, text, kind, options, default, secret, human_only } = self;
        if !(1..=NAME_BYTES_MAX).contains(&id.len()) || text.trim().is_empty() {
            return Err(format!("a question has a text, and an id of 1 to {NAME_BYTES_MAX} bytes"));
        }
        let kind = match kind {
            _ if secret => Kind::Secret,
            Some(kind) => kind,
            None if options.is_empty() => Kind::Text,
            None => Kind::Choice,
        };
        let shape = match kind {
            Kind::Text => Shape::Text,
            Kind::Confirm => Shape::Confirm,
            Kind::Secret => Shape::Secret,
            Kind::Choice if options.is_empty() => return Err(format!("{id} has no options")),
            Kind::Choice => Shape::Choice { options },
        };
        let mut question = Question::new(id, text).shaped(shape).before_acting();
        question.wants.default = default.filter(|_| kind != Kind::Secret);
        question.wants.human_only = human_only;
        Ok(question)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> CommandDefinition {
        CommandDefinition {
            name: "deploy".into(),
            description: "Deploys.".into(),
            parameters: json!({"properties": {"to": {"type": "string"}}, "required": ["to"]}),
            program: Program::Words(vec!["./deploy".into(), "it's".into()]),
            effect: EffectClass::Supervised,
            timeout_s: TIMEOUT_S_DEFAULT,
            sandboxed: true,
            rules: None,
        }
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(definition().line(), r"exec './deploy' 'it'\''s'");
        assert_eq!(definition().fault(), None);
    }

    #[test]
    fn what_makes_no_sense_is_said_before_anything_runs() {
        let check = |change: fn(&mut CommandDefinition), expected: &str| {
            let mut definition = definition();
            change(&mut definition);
            let fault = definition.fault().unwrap_or_default();
            assert!(fault.contains(expected), "{fault:?} does not say {expected:?}");
        };
        check(|it| it.name = "a b".into(), "letters, digits");
        check(|it| it.description = " ".into(), "description");
        check(|it| it.program = Program::Words(Vec::new()), "command is empty");
        check(|it| it.program = Program::Line(" ".into()), "command is empty");
        check(|it| it.timeout_s = 0, "timeout_s");
        check(|it| it.effect = EffectClass::Child, "read_only, idempotent");
        check(|it| it.parameters = json!([]), "a table");
        check(|it| it.parameters = json!({"type": "string"}), "object");
        check(|it| it.parameters = json!({"properties": {"to": "string"}}), "properties.to");
        check(|it| it.parameters = json!({"required": ["to"]}), "required names \"to\"");
    }

    fn check(output: &str, expected: Result<&[Question], &str>) {
        let text = format!("{output}\n[exit code 75]");
        let finished = Finished { exit_code: Some(NEEDS_INPUT_CODE), ..Finished::ok(text) };
        match (questions(&finished), expected) {
            (Ok(asked), Ok(expected)) => assert_eq!(asked, expected),
            (Err(why), Err(expected)) => assert!(why.contains(expected), "{why}"),
            (found, _) => panic!("{found:?}"),
        }
    }

    #[test]
    fn questions_are_read_off_the_last_line() {
        let colour = Question::new("colour", "Which?")
            .shaped(Shape::Choice { options: vec!["red".into()] })
            .before_acting();
        let key = Question::new("key", "Key?").shaped(Shape::Secret).before_acting();
        check(
            "noise\n{\"questions\":[{\"id\":\"colour\",\"text\":\"Which?\",\"options\":[\"red\"]},\
             {\"id\":\"key\",\"text\":\"Key?\",\"secret\":true}]}\n",
            Ok(&[colour, key]),
        );
        check("noise", Err("expected"));
        check(r#"{"questions":[]}"#, Err("1 to 20"));
        check(
            r#"{"questions":[{"id":"a","text":"?"},{"id":"a","text":"??"}]}"#,
            Err("the same id"),
        );
        check(r#"{"questions":[{"id":"","text":"?"}]}"#, Err("id of 1 to"));
        check(r#"{"questions":[{"id":"a","text":"?","kind":"choice"}]}"#, Err("no options"));
        check(r#"{"questions":[{"id":"a","text":"?","sort":"x"}]}"#, Err("sort"));
    }
}
