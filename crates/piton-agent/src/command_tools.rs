//! Tools of the settings file: `[tools.NAME]`.
//!
//! Only the user's own file can have them. A repository must not bring programs that run as soon as
//! a user opens it.

use std::collections::BTreeMap;

use piton_core::event::EffectClass;
use piton_tools::sandbox::Confinement;
use piton_tools::{COMMAND_TIMEOUT_S_DEFAULT, CommandDefinition, Program, Toolbox};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Names that piton's own tools have, beside those of every registry.
const TAKEN: [&str; 6] =
    ["ask_user", "read_output", "recall", "shell_wait", "shell_write", "shell_stop"];

/// A tool as written.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenTool {
    /// What it does, for the model.
    description: String,
    /// A list is a program with its arguments; a text is a line for `sh`.
    #[schemars(schema_with = "line_or_words")]
    command: WrittenCommand,
    /// Its parameters, as the properties of a JSON Schema.
    #[serde(default)]
    parameters: Map<String, Value>,
    /// What a crash in the middle of it may leave behind.
    #[serde(default)]
    effect: WrittenEffect,
    /// Longest time that it may take, in seconds.
    #[serde(default = "timeout_s")]
    timeout_s: u64,
    /// Whether it is confined as other commands are; a table also says what is open to it: `write`, `read`, `network`, `unix_sockets`, `env`.
    #[serde(default = "sandbox")]
    #[schemars(extend("default" = true))]
    sandbox: Confinement,
}

/// A list is a program with its arguments; a text is a line for `sh`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct WrittenCommand(pub(crate) Program);

impl TryFrom<Value> for WrittenCommand {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        let wrong = "command is a list of words, or a line for sh";
        match value {
            Value::String(line) => Ok(Self(Program::Line(line))),
            Value::Array(words) => {
                let words = words.into_iter().map(|word| word.as_str().map(str::to_owned));
                let words: Option<Vec<String>> = words.collect();
                Ok(Self(Program::Words(words.ok_or(wrong)?)))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Err(wrong),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WrittenEffect {
    /// It changes nothing.
    ReadOnly,
    /// Done twice, it leaves the same as done once.
    Idempotent,
    /// It goes on when piton dies, and can be watched again.
    #[default]
    Supervised,
    /// None of these: after a crash a person is asked.
    Once,
}

pub(crate) fn line_or_words(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "array"], "items": { "type": "string" } })
}

fn timeout_s() -> u64 {
    COMMAND_TIMEOUT_S_DEFAULT
}

fn sandbox() -> Confinement {
    Confinement::Yes
}

/// The tools that are meant, each with what its sandbox is; the first one that makes no sense is told.
pub(crate) fn definitions(
    written: BTreeMap<String, WrittenTool>,
) -> Result<Vec<(CommandDefinition, Confinement)>, String> {
    let toolbox = Toolbox::standard();
    let read = |(name, tool): (String, WrittenTool)| {
        if toolbox.get(&name).is_some() || TAKEN.contains(&name.as_str()) {
            return Err(format!("tools.{name}: piton has a tool of that name; choose another"));
        }
        let WrittenTool { description, command, parameters, effect, timeout_s, sandbox } = tool;
        let effect = match effect {
            WrittenEffect::ReadOnly => EffectClass::ReadOnly,
            WrittenEffect::Idempotent => EffectClass::Idempotent,
            WrittenEffect::Supervised => EffectClass::Supervised,
            WrittenEffect::Once => EffectClass::Once,
        };
        let (program, parameters) = (command.0, Value::Object(parameters));
        let tool = CommandDefinition {
            name,
            description,
            parameters,
            program,
            effect,
            timeout_s,
            sandboxed: sandbox != Confinement::No,
            rules: None,
        };
        match tool.fault() {
            Some(fault) => Err(format!("tools.{}: {fault}", tool.name)),
            None => Ok((tool, sandbox)),
        }
    };
    written.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<CommandDefinition>, String> {
        let tables: Result<BTreeMap<String, _>, _> = toml::from_str(text);
        let mut tables = tables.map_err(|error| error.to_string())?;
        let tools = definitions(tables.remove("tools").unwrap_or_default())?;
        Ok(tools.into_iter().map(|(tool, _)| tool).collect())
    }

    #[test]
    fn a_tool_is_a_few_lines() {
        let tools = read(
            r#"
            [tools.deploy]
            description = "Deploys the site."
            command = ["./deploy", "--json"]
            effect = "once"
            timeout_s = 60
            sandbox = false

            [tools.deploy.parameters]
            properties.to = { type = "string", description = "Where." }
            required = ["to"]

            [tools.lines]
            description = "Counts lines."
            command = "wc -l *"
            effect = "read_only"
            "#,
        )
        .unwrap();
        let [deploy, lines] = tools.as_slice() else { panic!("{tools:?}") };
        assert_eq!(deploy.program, Program::Words(vec!["./deploy".into(), "--json".into()]));
        assert_eq!((deploy.effect, deploy.timeout_s), (EffectClass::Once, 60));
        assert_eq!(deploy.parameters["properties"]["to"]["type"], "string");
        assert_eq!(lines.program, Program::Line("wc -l *".into()));
        assert_eq!((deploy.sandboxed, lines.sandboxed), (false, true));
        assert_eq!(lines.timeout_s, COMMAND_TIMEOUT_S_DEFAULT);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let check = |text: &str, expected: &str| {
            let fault = read(text).unwrap_err();
            assert!(fault.contains(expected), "{fault}");
        };
        check("[tools.a]\ndescription = \"x\"\n", "command");
        check("[tools.a]\ndescription = \"x\"\ncommand = 3\n", "a list of words, or a line");
        check("[tools.a]\ndescription = \"x\"\ncommand = \"x\"\neffect = \"maybe\"\n", "maybe");
        check("[tools.a]\ndescription = \"x\"\ncommand = \"x\"\nkind = 1\n", "kind");
        check("[tools.shell]\ndescription = \"x\"\ncommand = \"x\"\n", "choose another");
        check("[tools.ask_user]\ndescription = \"x\"\ncommand = \"x\"\n", "choose another");
        check(
            "[tools.a]\ndescription = \"x\"\ncommand = \"x\"\nparameters.required = [\"to\"]\n",
            "tools.a: parameters.required names \"to\"",
        );
    }
}
