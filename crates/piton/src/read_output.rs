//! `read_output`: more of an output that was too long to be shown whole.
//!
//! The journal keeps the whole of it; the model saw its beginning and its end, and the name of the call.

use std::sync::Arc;

use async_trait::async_trait;
use piton_core::event::{ArgumentRole, BlobRef, EffectClass, ToolSpec};
use piton_core::id::{CallId, ConversationId};
use piton_core::state::{Progress, State};
use piton_store::Journal;
use piton_tools::{Finished, Job, OUTPUT_BYTES_MAX, Refusal, Tool};
use serde::Deserialize;

use crate::{look_back, reader};

/// The name of the tool.
pub(crate) const READ_OUTPUT: &str = "read_output";

/// What the line begins with that tells the model how to read the rest of an output.
pub const WHOLE_OUTPUT: &str = "[the whole output has ";

/// Room kept for the note behind a part, in bytes.
const NOTE_BYTES_MAX: usize = 256;
/// Most bytes of an output in one result.
const PART_BYTES_MAX: usize = OUTPUT_BYTES_MAX - NOTE_BYTES_MAX;
/// What is shown in front of a text that was looked for, in bytes.
const BEFORE_BYTES: usize = 1024;

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "call": {"type": "string", "description": "Which call, as its result says, such as 3.1.0."},
        "from": {"type": "integer", "minimum": 0, "description": "First byte to read, from 0. Default: 0."},
        "find": {"type": "string", "description": "Read around the first place that has this text, at or behind `from`."}
    },
    "required": ["call"],
    "additionalProperties": false
}"#;

/// The tool.
#[derive(Clone, Debug)]
pub(crate) struct ReadOutput {
    journal: Arc<dyn Journal>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    call: String,
    from: Option<usize>,
    find: Option<String>,
}

impl ReadOutput {
    /// Reads from this journal.
    pub(crate) fn new(journal: Arc<dyn Journal>) -> Self {
        Self { journal }
    }

    async fn read(
        &self,
        conversation: &ConversationId,
        wanted: &Wanted,
    ) -> Result<String, Refusal> {
        let call: CallId = wanted.call.parse().map_err(|_| {
            Refusal(format!("`{}` names no call: it is three numbers, such as 3.1.0", wanted.call))
        })?;
        let broken = |error| Refusal(format!("the output of call {call} cannot be read: {error}"));
        let state = reader::state(&*self.journal, conversation).await.map_err(broken)?;
        let blob = blob_of(&state, call)?;
        let bytes = self.journal.blob(&blob.digest).await.map_err(broken)?;
        part(&String::from_utf8_lossy(&bytes), wanted)
    }
}

#[async_trait]
impl Tool for ReadOutput {
    fn spec(&self) -> ToolSpec {
        let description = "Reads more of an output of a tool that was too long to be shown whole. \
                           The result of that call says so, and how to go on.";
        let roles = ["call", "from", "find"].map(|name| (name, ArgumentRole::Value));
        ToolSpec::new(READ_OUTPUT, description, SCHEMA, EffectClass::ReadOnly).with_roles(roles)
    }

    async fn run(&self, job: Job) -> Finished {
        let look = async |wanted: Wanted| self.read(&job.site.conversation, &wanted).await;
        look_back::run(SCHEMA, &job, look).await
    }
}

/// What tells the model how to read the rest of an output.
pub(crate) fn read_on(call: CallId, bytes: u64, shown: usize) -> String {
    format!(
        "{WHOLE_OUTPUT}{bytes} bytes: read on with {READ_OUTPUT}, call {call}, from {shown}, \
         or look for a text in it with find]"
    )
}

fn blob_of(state: &State, call: CallId) -> Result<BlobRef, Refusal> {
    let turn = state.turns.iter().find(|turn| turn.id == call.turn);
    let known = turn.and_then(|turn| turn.call(call));
    let known = known.ok_or_else(|| Refusal(format!("there is no call {call}")))?;
    let Progress::Done(ended) = &known.progress else {
        return Err(Refusal(format!("call {call} has not ended")));
    };
    let whole = || Refusal(format!("the output of call {call} was shown whole"));
    ended.output.blob.clone().ok_or_else(whole)
}

/// A part of the output, and how to go on.
fn part(text: &str, wanted: &Wanted) -> Result<String, Refusal> {
    let mut from = text.ceil_char_boundary(wanted.from.unwrap_or(0));
    if let Some(sought) = wanted.find.as_deref().filter(|sought| !sought.is_empty()) {
        let rest = text.get(from..).unwrap_or_default();
        let Some(at) = rest.find(sought) else {
            return Err(Refusal(format!(
                "`{sought}` is not in the output at or behind byte {from}"
            )));
        };
        from = text.floor_char_boundary((from + at).saturating_sub(BEFORE_BYTES).max(from));
    }
    if text.len() <= from {
        return Err(Refusal(format!("the output ends at byte {}", text.len())));
    }
    let end = text.floor_char_boundary(from.saturating_add(PART_BYTES_MAX));
    let shown = text.get(from..end).unwrap_or_default();
    let all = text.len();
    let next = if end < all { format!("; read on from {end}") } else { "; that is its end".into() };
    let gap = if shown.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{shown}{gap}[bytes {from} to {end} of {all}{next}]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, from: Option<usize>, find: Option<&str>) -> String {
        let find = find.map(str::to_owned);
        let wanted = Wanted { call: String::new(), from, find };
        part(text, &wanted).unwrap_or_else(|Refusal(text)| text)
    }

    #[test]
    fn an_output_is_read_part_by_part_to_its_end() {
        let lines: Vec<String> = (0..9_000).map(|line| format!("line {line} é\n")).collect();
        let text = lines.concat();
        let (mut from, mut whole) = (0, String::new());
        loop {
            let part = read(&text, Some(from), None);
            assert!(part.len() <= OUTPUT_BYTES_MAX, "{}", part.len());
            let (shown, note) = part.rsplit_once("[bytes ").unwrap();
            let numbers: Vec<&str> = note.split([' ', ';']).collect();
            let end: usize = numbers[2].parse().unwrap();
            whole.push_str(shown.get(..end - from).unwrap());
            from = end;
            if note.ends_with("that is its end]") {
                break;
            }
        }
        assert_eq!(whole, text);
        assert!(read(&text, Some(from), None).contains("the output ends at byte"));
    }

    #[test]
    fn a_text_is_looked_for() {
        let text = format!("{}needle\n{}", "x\n".repeat(40_000), "y\n".repeat(10));
        let found = read(&text, None, Some("needle"));
        assert!(found.contains("\nneedle\ny\n") && found.ends_with("that is its end]"), "{found}");
        assert!(found.len() < 2_000, "what is far in front is not shown");
        assert!(read(&text, Some(80_010), Some("needle")).contains("is not in the output"));
    }
}
