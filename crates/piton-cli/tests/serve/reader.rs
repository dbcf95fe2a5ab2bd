//! A reader of one conversation, who comes back by the cursor whenever the server is there again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use piton::view::Status;
use piton_proof::client::{Client, Event, Known};
use tokio::sync::watch;

/// Where the server is, if it is anywhere.
pub(crate) type Up = watch::Receiver<Option<Client>>;

/// What many tasks write down together.
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub(crate) fn add(&self, line: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the conversation looks like to its reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The last entry.
    pub(crate) entry: u64,
    /// No turn is open.
    pub(crate) idle: bool,
    /// The questions that wait for an answer.
    pub(crate) questions: Vec<String>,
}

/// What is wrong with a reader, so that a check that finds nothing can be seen to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// It takes in all that it is told.
    Careful,
    /// It passes over the first change.
    SkipsOne,
}

/// A reader, as others see it.
#[derive(Clone)]
pub(crate) struct Reader {
    pub(crate) conversation: String,
    known: Arc<Mutex<Known>>,
    seen: watch::Sender<Seen>,
    /// How many readers have a stream.
    present: watch::Sender<usize>,
    wrong: Notes,
    pub(crate) care: Care,
}

impl Reader {
    pub(crate) fn new(
        conversation: &str,
        present: &watch::Sender<usize>,
        wrong: &Notes,
        care: Care,
    ) -> Self {
        Self {
            conversation: conversation.to_owned(),
            known: Arc::default(),
            seen: watch::Sender::default(),
            present: present.clone(),
            wrong: wrong.clone(),
            care,
        }
    }

    /// What it knows now.
    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn seen(&self) -> watch::Receiver<Seen> {
        self.seen.subscribe()
    }

    /// Reads whenever the server is there. `comes` says whether it comes to the next server.
    pub(crate) async fn run(self, mut up: Up, comes: impl Fn() -> bool) {
        loop {
            let Ok(client) = up.wait_for(Option::is_some).await.map(|it| it.clone()) else {
                return;
            };
            let Some(client) = client else { continue };
            if comes() {
                self.present.send_modify(|count| *count += 1);
                self.read(&client).await;
                self.present.send_modify(|count| *count -= 1);
            }
            let is_gone =
                |now: &Option<Client>| now.as_ref().is_none_or(|now| now.address != client.address);
            if up.wait_for(is_gone).await.is_err() {
                return;
            }
        }
    }

    /// Reads one stream to its end.
    async fn read(&self, client: &Client) {
        let cursor = self.known().cursor.clone();
        let query = format!("c={}", self.conversation);
        let mut events = match client.events(&query, cursor.as_deref()).await {
            Ok(events) => events,
            Err(error) => return self.fail(&error),
        };
        loop {
            match events.next().await {
                Ok(Some(event)) => self.take(&event),
                Ok(None) => {
                    return self.wrong.add(format!("{}: the stream ended", self.conversation));
                }
                Err(error) => return self.fail(&error),
            }
        }
    }

    /// A connection that breaks is what deaths are about; an answer that refuses is not.
    fn fail(&self, error: &std::io::Error) {
        if error.kind() == std::io::ErrorKind::Other {
            self.wrong.add(format!("{}: {error}", self.conversation));
        }
    }

    fn take(&self, event: &Event) {
        let mut known = self.known();
        if self.care == Care::SkipsOne && event.name == "change" && known.taken == 1 {
            known.taken += 1;
            known.cursor.clone_from(&event.id);
            return;
        }
        if let Err(wrong) = known.take(event) {
            self.wrong.add(format!("{}: {wrong}", self.conversation));
        }
        let view = &known.view;
        let seen = Seen {
            entry: view.cursor.0,
            idle: known.cursor.is_some() && view.head.status == Status::Idle,
            questions: view.open_questions().map(|it| it.id.as_str().to_owned()).collect(),
        };
        drop(known);
        self.seen.send_if_modified(|before| {
            let is_news = *before != seen;
            *before = seen;
            is_news
        });
    }
}
