//! A person with one conversation: says the next thing when a turn is over, and answers what is asked.
//!
//! Whoever was not told that a message was taken sends it again under its name, to the next server.

use std::collections::BTreeSet;

use piton_proof::client::Client;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::place::WORD;
use crate::reader::{Notes, Seen, Up};

pub(crate) struct Person {
    pub(crate) conversation: String,
    pub(crate) up: Up,
    pub(crate) seen: watch::Receiver<Seen>,
    /// Nothing new is to be said.
    pub(crate) enough: watch::Receiver<bool>,
    pub(crate) wrong: Notes,
}

/// What became of one person's messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// The names of messages that the server took.
    pub(crate) taken: Vec<String>,
    /// The last entry that the server named.
    pub(crate) entry: u64,
    /// The names of answers that the server took.
    pub(crate) answers: BTreeSet<String>,
}

/// Whether a question, or the answer that is named after it, is about a call that asks before it runs.
/// The others are about calls in doubt.
pub(crate) fn asks_first(question: &str) -> bool {
    question.contains(".permission.")
}

/// What the server said to a command.
enum Told {
    Taken(u64),
    Refused,
    /// The server died, and what became of the command is not known.
    Nothing,
}

impl Person {
    /// Goes on until everything that was said is answered and nothing new is to be said.
    pub(crate) async fn run(mut self, said: watch::Sender<Said>) {
        let (mut number, mut sent) = (0_u32, false);
        loop {
            let Ok(client) = self.up.wait_for(Option::is_some).await.map(|it| it.clone()) else {
                return;
            };
            let Some(client) = client else { continue };
            let seen = self.seen.borrow_and_update().clone();
            let enough = *self.enough.borrow_and_update();
            let told = if let Some(question) = seen.questions.first() {
                let name = format!("a-{question}");
                let told = self.answer(&client, question, &name).await;
                if matches!(told, Told::Taken(_)) {
                    said.send_modify(|said| said.answers.extend([name]));
                }
                told
            } else if !seen.idle || seen.entry <= said.borrow().entry {
                Told::Refused
            } else if enough && !sent && !said.borrow().taken.is_empty() {
                return;
            } else {
                sent = true;
                let name = format!("m{number}");
                let told = self.say(&client, &name).await;
                if let Told::Taken(entry) = told {
                    said.send_modify(|said| (said.taken.push(name), said.entry = entry).1);
                }
                if !matches!(told, Told::Nothing) {
                    // A refusal is for good: the next try has another name.
                    (number, sent) = (number + 1, false);
                }
                told
            };
            if matches!(told, Told::Nothing) {
                let gone = client.address.clone();
                let is_gone =
                    |now: &Option<Client>| now.as_ref().is_none_or(|now| now.address != gone);
                if self.up.wait_for(is_gone).await.is_err() {
                    return;
                }
                continue;
            }
            tokio::select! {
                changed = self.seen.changed() => if changed.is_err() { return },
                changed = self.up.changed() => if changed.is_err() { return },
                changed = self.enough.changed() => if changed.is_err() { return },
            }
        }
    }

    async fn say(&self, client: &Client, name: &str) -> Told {
        let path = format!("/api/v1/conversations/{}/messages", self.conversation);
        self.send(client, &path, &json!({ "text": WORD, "id": name })).await
    }

    /// Lets a call run that asks first, and says of a call in doubt that it must not run again.
    async fn answer(&self, client: &Client, question: &str, name: &str) -> Told {
        let path =
            format!("/api/v1/conversations/{}/questions/{question}/answer", self.conversation);
        let kind = if asks_first(question) { "allow" } else { "deny" };
        let reply = json!({ "reply": { "kind": kind }, "id": name });
        self.send(client, &path, &reply).await
    }

    async fn send(&self, client: &Client, path: &str, body: &Value) -> Told {
        let Ok((status, told)) = client.ask("POST", path, &body.to_string()).await else {
            return Told::Nothing;
        };
        let told: Value = serde_json::from_str(&told).unwrap_or_default();
        match (status, told["entry"].as_u64()) {
            (200, Some(entry)) => Told::Taken(entry),
            (409, _) => Told::Refused,
            _ => {
                self.wrong.add(format!("{}: {path}: {status} {told}", self.conversation));
                Told::Refused
            }
        }
    }
}
