//! `recall`: the model looks into its own conversation, also into what a summary stands for.
//!
//! The journal keeps everything, and a fork begins with what it was cut from. Secrets were never written, so
//! none is found.

use std::sync::Arc;

use async_trait::async_trait;
use piton_core::event::{ArgumentRole, EffectClass, ToolSpec};
use piton_core::id::{CallId, ConversationId};
use piton_core::recall::{self, Kind, PLACES_MAX, Query, RECALL};
use piton_core::state::State;
use piton_store::Journal;
use piton_tools::{Finished, Job, Refusal, Tool};
use serde::Deserialize;

use crate::{look_back, reader};

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "All of these words, or /a pattern/."},
        "entry": {"type": "string", "description": "A place to read: call 3.17.0, answer 3.17, or what the user said in turn 3."},
        "offset": {"type": "integer", "minimum": 0, "description": "With entry: first letter to read. Default: 0."},
        "kind": {"type": "string", "enum": ["user", "assistant", "tool"], "description": "With query: whose words."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 20, "description": "With query: most places. Default: 10."},
        "worker": {"type": "string", "description": "The call of a worker, to look there instead."}
    },
    "additionalProperties": false
}"#;

/// Places that a search gives where nothing else is said.
const PLACES: usize = PLACES_MAX / 2;

/// The tool.
#[derive(Clone, Debug)]
pub(crate) struct Recall {
    journal: Arc<dyn Journal>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    query: Option<String>,
    entry: Option<String>,
    offset: Option<usize>,
    kind: Option<Whose>,
    limit: Option<usize>,
    worker: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Whose {
    User,
    Assistant,
    Tool,
}

impl From<Whose> for Kind {
    fn from(whose: Whose) -> Self {
        match whose {
            Whose::User => Self::User,
            Whose::Assistant => Self::Assistant,
            Whose::Tool => Self::Tool,
        }
    }
}

impl Recall {
    /// Looks into conversations of this journal.
    pub(crate) fn new(journal: Arc<dyn Journal>) -> Self {
        Self { journal }
    }

    async fn look(
        &self,
        conversation: &ConversationId,
        wanted: &Wanted,
    ) -> Result<String, Refusal> {
        let mut state = self.state(conversation).await?;
        if let Some(call) = &wanted.worker {
            state = self.state(worker_of(&state, call)?).await?;
        }
        found(&state, wanted)
    }

    async fn state(&self, conversation: &ConversationId) -> Result<State, Refusal> {
        let state = reader::state(&*self.journal, conversation).await;
        state.map_err(|error| Refusal(format!("the conversation cannot be read: {error}")))
    }
}

/// The conversation that a call was handed to.
fn worker_of<'a>(state: &'a State, call: &str) -> Result<&'a ConversationId, Refusal> {
    let known = call.trim().parse().ok().and_then(|id: CallId| {
        let turn = state.turns.iter().find(|turn| turn.id == id.turn)?;
        turn.call(id)?.worker.as_ref()
    });
    known.ok_or_else(|| Refusal(format!("`{call}` is no call that was handed to a worker")))
}

fn found(state: &State, wanted: &Wanted) -> Result<String, Refusal> {
    match (&wanted.entry, &wanted.query) {
        (Some(entry), None) => {
            let entry = entry.trim();
            let nothing = || Refusal(format!("there is no {entry}; look for it with query"));
            recall::read(state, entry, wanted.offset.unwrap_or(0)).ok_or_else(nothing)
        }
        (None, Some(query)) => {
            let query = Query::parse(query).map_err(Refusal)?;
            let (kind, limit) = (wanted.kind.map(Kind::from), wanted.limit.unwrap_or(PLACES));
            Ok(recall::search(state, &query, kind, limit))
        }
        (Some(_), Some(_)) | (None, None) => {
            Err(Refusal("say what to look for: either query or entry".into()))
        }
    }
}

#[async_trait]
impl Tool for Recall {
    fn spec(&self) -> ToolSpec {
        let description = "Looks into this conversation itself, also into what a summary stands for \
                           and what was shortened: by words (query), or at one place (entry). Use it \
                           before you guess what was said, or do again what was done.";
        let roles = ["query", "entry", "offset", "kind", "limit", "worker"];
        let roles = roles.map(|name| (name, ArgumentRole::Value));
        ToolSpec::new(RECALL, description, SCHEMA, EffectClass::ReadOnly).with_roles(roles)
    }

    async fn run(&self, job: Job) -> Finished {
        let look = async |wanted: Wanted| self.look(&job.site.conversation, &wanted).await;
        look_back::run(SCHEMA, &job, look).await
    }
}
