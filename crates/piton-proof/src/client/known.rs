//! What a reader knows of a conversation, and whether what it is told can be right.

use piton_core::view::{Refused, View, ViewChange};
use serde::Deserialize;

use super::Event;

/// What a reader of one conversation knows.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The conversation, as far as it was told.
    pub view: View,
    /// The cursor of the stream, with which the reader comes back.
    pub cursor: Option<String>,
    /// The server said that a snapshot replaces all of it.
    reset: bool,
    /// How many snapshots and changes were taken in.
    pub taken: u64,
}

/// What no reader may be told.
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    /// A change came twice, or one before it is missing.
    #[error("a change that is not the next one: {0}")]
    NotNext(Refused),
    /// A snapshot came although the reader had a cursor, and no `reset` in front of it.
    #[error("a snapshot that nobody asked for")]
    Unasked,
    /// The journal ends before what the reader was told as durable.
    #[error("what was told as durable is not in the journal: {0}")]
    Lost(String),
    /// The content of an event is not what its name promises.
    #[error("an event {name} that cannot be read: {source}")]
    Unreadable {
        /// Its name.
        name: String,
        /// What is wrong.
        source: serde_json::Error,
    },
}

#[derive(Deserialize)]
struct Snapshot {
    view: View,
}

#[derive(Deserialize)]
struct Changed {
    change: ViewChange,
}

#[derive(Deserialize)]
struct Reset {
    #[serde(default)]
    why: String,
}

impl Known {
    /// Takes an event in.
    pub fn take(&mut self, event: &Event) -> Result<(), Wrong> {
        match event.name.as_str() {
            "snapshot" => {
                if self.cursor.is_some() && !std::mem::take(&mut self.reset) {
                    return Err(Wrong::Unasked);
                }
                self.view = read::<Snapshot>(event)?.view;
                self.taken += 1;
            }
            "change" => {
                let change = read::<Changed>(event)?.change;
                self.view.apply(&change).map_err(Wrong::NotNext)?;
                self.taken += 1;
            }
            "reset" => {
                let why = read::<Reset>(event)?.why;
                if why == "ahead" {
                    let (told, known) = (&event.data, self.view.cursor);
                    return Err(Wrong::Lost(format!("{told}, known up to entry {known}")));
                }
                self.reset = true;
            }
            _ => {}
        }
        if let Some(id) = &event.id {
            self.cursor = Some(id.clone());
        }
        Ok(())
    }
}

fn read<'a, T: Deserialize<'a>>(event: &'a Event) -> Result<T, Wrong> {
    let unreadable = |source| Wrong::Unreadable { name: event.name.clone(), source };
    serde_json::from_str(&event.data).map_err(unreadable)
}
