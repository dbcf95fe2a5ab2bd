//! A command on its way: with its name, and where it comes from.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Command;
use crate::id::CommandId;

/// A command with its name and its sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// Its name.
    pub id: CommandId,
    /// Who sends it.
    pub from: Sender,
    /// What is wanted.
    pub command: Command,
}

/// Where a command comes from. Providers, keys and tools are those of the process that performs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sender {
    /// The directory that the person is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// What the person chose for this command, as JSON that the agent's settings understand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flags: Option<String>,
    /// Who the person is, where a face knows more than one. Recorded with an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
}

/// What a text holds that may be an envelope.
#[derive(Clone, Debug, PartialEq)]
pub enum Opened {
    /// A command.
    Command(Box<Envelope>),
    /// A command of a kind that this build does not know. It is refused by its name.
    Unknown {
        /// Its name.
        id: CommandId,
        /// What it calls itself.
        kind: String,
    },
}

/// The text is no envelope, or one of a version that this build does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text is no command")]
pub struct Unreadable;

/// The version of the written form. A higher one is left for a build that knows it.
const ENVELOPE_VERSION: u32 = 1;

#[derive(Serialize)]
struct Written<'a> {
    v: u32,
    id: &'a CommandId,
    from: &'a Sender,
    command: &'a Command,
}

#[derive(Deserialize)]
struct Read<'a> {
    v: u32,
    id: CommandId,
    #[serde(default)]
    from: Sender,
    #[serde(borrow)]
    command: &'a RawValue,
}

#[derive(Deserialize)]
struct Kind {
    kind: String,
}

impl JsonSchema for Envelope {
    fn schema_name() -> Cow<'static, str> {
        "Envelope".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A command with its name and its sender.",
            "type": "object",
            "required": ["v", "id", "command"],
            "properties": {
                "v": { "description": "The version of this form.", "const": ENVELOPE_VERSION },
                "id": generator.subschema_for::<CommandId>(),
                "from": generator.subschema_for::<Sender>(),
                "command": generator.subschema_for::<Command>(),
            },
        })
    }
}

impl Envelope {
    /// A command from nowhere in particular.
    pub fn new(id: CommandId, command: Command) -> Self {
        Self { id, from: Sender::default(), command }
    }

    /// The written form; none for a command with a secret, which is never written down.
    pub fn to_text(&self) -> Option<String> {
        if self.command.is_secret() {
            return None;
        }
        let Self { id, from, command } = self;
        serde_json::to_string(&Written { v: ENVELOPE_VERSION, id, from, command }).ok()
    }

    /// Reads a written form.
    pub fn from_text(text: &str) -> Result<Opened, Unreadable> {
        let Read { v, id, from, command } = serde_json::from_str(text).map_err(|_| Unreadable)?;
        if v != ENVELOPE_VERSION {
            return Err(Unreadable);
        }
        if let Ok(command) = serde_json::from_str(command.get()) {
            return Ok(Opened::Command(Box::new(Self { id, from, command })));
        }
        let Kind { kind } = serde_json::from_str(command.get()).map_err(|_| Unreadable)?;
        Ok(Opened::Unknown { id, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{AnswerThen, NewMessage, OnIncomplete, Reply};
    use crate::event::{
        ConfigChange, PermissionRule, QueueChange, QueuePlace, RuleEffect, RuleScope,
    };
    use crate::id::{InquiryId, MessageId};
    use crate::permit::Standing;
    use crate::question::Secret;

    fn every_command() -> Vec<Command> {
        let message = || NewMessage { id: Some(MessageId::new("m")), ..NewMessage::text("hi\n") };
        let standing = Standing { effect: RuleEffect::Deny, scope: RuleScope::Project };
        let replies = [
            Reply::Allow,
            Reply::Always(standing),
            Reply::Deny,
            Reply::DenyBecause("not \"now\"\n".into()),
            Reply::Change("ls -l".into()),
            Reply::Keep(vec![PermissionRule::of_tool("pay", RuleEffect::Allow)]),
            Reply::Applied,
            Reply::RunAgain,
            Reply::TreatAsDone,
            Reply::LookAgain,
            Reply::Cancel,
            Reply::Text("so \"it\" is\n".into()),
        ];
        let answers = replies.map(|reply| Command::Answer {
            inquiry: InquiryId::new("q"),
            reply,
            then: AnswerThen::Rest,
        });
        let requeue = |change| Command::Requeue { message: MessageId::new("m"), change };
        let agent = Some("coordinator".into());
        let mut commands = vec![
            Command::say(NewMessage::text("hi")),
            Command::Say { message: message(), on_incomplete: OnIncomplete::Inject, agent },
            Command::Queue { message: message() },
            Command::Steer { message: message() },
            Command::Unqueue { message: MessageId::new("m") },
            requeue(QueueChange::Parts { parts: message().parts }),
            requeue(QueueChange::Place { place: QueuePlace::Steer }),
            requeue(QueueChange::Before { before: MessageId::new("n") }),
            requeue(QueueChange::Last),
            Command::Resume,
            Command::Retry { message: MessageId::new("m") },
            Command::Interrupt,
            Command::Stop,
            Command::Discard,
            Command::Configure { change: Box::new(ConfigChange::default()) },
            Command::Rename { title: "t".into() },
            Command::SuggestTitle { title: "t".into() },
            Command::Shelve { shelf: crate::event::Shelf::Archived },
            Command::Rebind { workspace: "/w".into() },
            Command::undo("a change"),
            Command::Compact { focus: None },
            Command::Compact { focus: Some("the \"tests\"\n".into()) },
            Command::Uncompact,
            Command::StopCompacting,
        ];
        commands.extend(answers);
        commands
    }

    #[test]
    fn a_command_reads_as_it_was_written() {
        for command in every_command() {
            let from = Sender {
                directory: Some("/d".into()),
                flags: Some("{\"a\":1}".into()),
                who: Some("laptop".into()),
            };
            let envelope = Envelope { from, ..Envelope::new(CommandId::new("c1"), command) };
            let text = envelope.to_text().unwrap();
            assert_eq!(
                Envelope::from_text(&text),
                Ok(Opened::Command(Box::new(envelope))),
                "{text}"
            );
        }
    }

    #[test]
    fn a_command_of_a_newer_build_is_known_by_its_name() {
        let text = r#"{"v":1,"id":"c1","from":{},"command":{"kind":"levitate","height":3}}"#;
        let unknown = Opened::Unknown { id: CommandId::new("c1"), kind: "levitate".into() };
        assert_eq!(Envelope::from_text(text), Ok(unknown));
        for text in ["", "{}", "[]", r#"{"v":2,"id":"c","command":{"kind":"resume"}}"#] {
            assert_eq!(Envelope::from_text(text), Err(Unreadable), "{text}");
        }
    }

    // J65
    #[test]
    fn a_secret_is_never_written_down() {
        let answer = Command::answer(InquiryId::new("q"), Reply::Secret(Secret::new("hush")));
        assert_eq!(Envelope::new(CommandId::new("c1"), answer).to_text(), None);
    }
}
