//! `shell_write`: writes to the input of a command that went on when its call had returned.
//!
//! What is written gets a key, which is recorded with the start of the call. So a later process
//! knows whether it was written, and never writes it twice.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use piton_core::event::{ArgumentRole, EffectClass, Handle, Outcome, ToolSpec};
use piton_core::id::CallId;
use serde::Deserialize;

use super::shell_wait::find;
use super::supervised::{WORDS_WITHIN, chance, finished_with, listening, name_of, wait_for_words};
use crate::contract::{
    Arguments, Finished, Job, Prepared, Refusal, Settled, Site, Tool, blocking, parse_arguments,
};
use crate::supervise::{
    Attached, Delivery, DeliveryState, INPUT_BYTES_MAX, InputFault, InputText, Order, Patience,
    Supervisor, boot,
};

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "call": {"type": "string", "description": "The call that started the command with input, as shell named it, such as 1.2.0."},
        "text": {"type": "string", "description": "What to write, as it is: a line needs its line end."},
        "end": {"type": "boolean", "description": "Close the input behind it, so that the command reads to the end. Default: false."},
        "wait_s": {"type": "integer", "minimum": 0, "maximum": 600, "description": "Seconds to wait at most until it has printed something and is silent. Default: 10."}
    },
    "required": ["call"],
    "additionalProperties": false
}"#;

/// The tool.
#[derive(Clone, Debug)]
pub struct ShellWrite(Arc<Supervisor>);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteArguments {
    call: String,
    text: Option<String>,
    end: Option<bool>,
    wait_s: Option<u64>,
}

impl ShellWrite {
    /// Writes to commands of this supervisor.
    pub fn new(supervisor: Arc<Supervisor>) -> Self {
        Self(supervisor)
    }
}

#[async_trait]
impl Tool for ShellWrite {
    fn spec(&self) -> ToolSpec {
        let description = "Writes text to the input of a command that shell left running with \
                           `input`, or closes that input, and shows what the command prints then.";
        ToolSpec::new("shell_write", description, SCHEMA, EffectClass::Supervised)
            .with_roles([("text", ArgumentRole::CommandInput)])
    }

    async fn prepare(
        &self,
        site: &Site,
        call: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        let wanted: WriteArguments = parse_arguments(SCHEMA, arguments)?;
        let text = wanted.text.unwrap_or_default();
        if text.is_empty() && !wanted.end.unwrap_or(false) {
            return Err(Refusal("there is nothing to write: give `text`, or `end`".into()));
        }
        if INPUT_BYTES_MAX < text.len() as u64 {
            return Err(Refusal(format!(
                "the text has {} bytes, more than {INPUT_BYTES_MAX}: write it to a file",
                text.len()
            )));
        }
        let kept = find(&self.0, site, &wanted.call)?;
        self.0.shelf().takes_input(&kept.name).map_err(|fault| refusal(&fault))?;
        // The text is kept below the record of the command.
        let directory = format!("{}/{call}-{}", kept.name, chance()?);
        let handle = Handle::Job { directory, boot: Some(boot().to_owned()) };
        Ok(Prepared { handle, path: None })
    }

    async fn run(&self, job: Job) -> Finished {
        let wanted: WriteArguments = match parse_arguments(SCHEMA, &job.arguments) {
            Ok(wanted) => wanted,
            Err(refusal) => return refusal.into(),
        };
        let Some((name, key)) = place(&job.handle) else {
            return Finished::failed("the start of the call was recorded without a place");
        };
        let (word, speaker) = match io::pipe() {
            Ok(pipe) => pipe,
            Err(error) => return Finished::failed(format!("nothing was written: {error}")),
        };
        let supervisor = self.0.clone();
        let minding = blocking::whole(move || {
            let input = InputText {
                key,
                text: wanted.text.unwrap_or_default(),
                end: wanted.end.unwrap_or(false),
            };
            let delivery = match supervisor.shelf().write_input(&name, &input, &word) {
                Ok(delivery) => delivery,
                Err(fault) => return Err(refusal(&fault)),
            };
            let wait = wanted.wait_s.map_or(WORDS_WITHIN, Duration::from_secs);
            // Something that waits to be read has no answer yet.
            let wait = if delivery.state == DeliveryState::Waiting { Duration::ZERO } else { wait };
            let until = Some(Instant::now() + wait);
            let patience = Patience { until, word: &word, order: Order::Leave };
            let shown = Attached::open(&supervisor.shelf().directory(&name)).and_then(|mut it| {
                let (end, story) = wait_for_words(&mut it, &patience, delivery.printed)?;
                finished_with(vec![told(&input, &delivery)], &it, &end, &story, delivery.printed)
            });
            Ok(outcome(&input, &delivery, shown))
        });
        listening(minding, &job, speaker).await
    }

    async fn settle(&self, _: &Site, _: &Arguments, handle: &Handle) -> Settled {
        let (Some((name, key)), Handle::Job { boot: began, .. }) = (place(handle), handle) else {
            return Settled::Unknown("the call was started without a record".into());
        };
        // What is not there was not written, or not kept.
        let is_old = began.as_deref().is_some_and(|began| began != boot());
        let supervisor = self.0.clone();
        let looking = blocking::whole(move || Ok(supervisor.shelf().was_written(&name, &key)));
        match looking.await {
            Ok(Ok(true)) => Settled::Running,
            Ok(Ok(false)) if is_old => Settled::Unknown(RESTARTED.into()),
            Ok(Ok(false)) => Settled::NotApplied,
            Ok(Err(error)) => {
                Settled::Unknown(format!("the record of the command cannot be read: {error}"))
            }
            Err(refusal) => Settled::Unknown(refusal.0),
        }
    }
}

/// What is said of a text that is not recorded after a restart.
const RESTARTED: &str =
    "the machine was restarted, and the command has gone with it: it may or may not have read this";

/// The record of the command, and the key of what is written.
fn place(handle: &Handle) -> Option<(String, String)> {
    let (name, key) = name_of(handle)?.rsplit_once('/')?;
    Some((name.to_owned(), key.to_owned()))
}

fn refusal(fault: &InputFault) -> Refusal {
    let advice = match fault {
        InputFault::NoInput => ": start it with `input`",
        InputFault::NotRunning => "; shell_wait shows its output",
        InputFault::Closed | InputFault::Orphan | InputFault::Full { .. } | InputFault::Io(_) => "",
    };
    Refusal(format!("nothing was written: {fault}{advice}"))
}

fn told(input: &InputText, delivery: &Delivery) -> String {
    let (length, taken) = (input.text.len(), delivery.taken);
    match delivery.state {
        DeliveryState::Taken if input.end => {
            format!("[{length} bytes written, and the end of its input]")
        }
        DeliveryState::Taken => format!("[{length} bytes written]"),
        DeliveryState::Waiting => format!(
            "[it does not read: {taken} of {length} bytes written so far, the rest follows as \
             soon as it does; do not write them again]"
        ),
        DeliveryState::Closed => format!(
            "[it had closed its input, or ended, before it had everything: {taken} of {length} \
             bytes written]"
        ),
        DeliveryState::InDoubt => format!(
            "[its supervisors were killed: nobody knows whether it got the {length} bytes, and \
             its input is closed now]"
        ),
    }
}

/// The words are those of the command; whether they were written is ours.
fn outcome(input: &InputText, delivery: &Delivery, shown: io::Result<Finished>) -> Finished {
    let outcome = match delivery.state {
        DeliveryState::Taken | DeliveryState::Waiting => Outcome::Ok,
        DeliveryState::Closed => Outcome::Failed,
        DeliveryState::InDoubt => Outcome::Unknown,
    };
    match shown {
        Ok(shown) => Finished { outcome, ..shown },
        Err(error) => {
            let text =
                format!("{}\n[what it prints cannot be read: {error}]", told(input, delivery));
            Finished { outcome, ..Finished::ok(text) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_and_struct_agree() {
        crate::contract::arguments::assert_agree::<WriteArguments>(SCHEMA);
    }
}
