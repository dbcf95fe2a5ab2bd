//! What a request says, the same for every dialect.

use piton_core::coordinate::SYNTHESIS_HEAD;
use piton_core::transcript::without_context;

use crate::demo::Gave;
use crate::script::{self, Talk};

/// The messages of a request, as far as the choice of an answer needs them.
#[derive(Debug, Default)]
pub(super) struct Heard {
    messages: Vec<Message>,
}

#[derive(Debug)]
enum Message {
    User(String),
    /// Neighbouring words of the model are one answer, in however many pieces they come.
    Answer {
        cut: bool,
    },
    Results(Vec<Gave>),
}

impl Heard {
    /// The user says something.
    pub(super) fn user(&mut self, text: &str) {
        let said = without_context(text);
        if said.is_empty() && !text.is_empty() {
            return;
        }
        let text = said;
        match self.messages.last_mut() {
            Some(Message::User(said)) => {
                said.push('\n');
                said.push_str(text);
            }
            _ => self.messages.push(Message::User(text.to_owned())),
        }
    }

    /// The model says something; no text for anything that is none.
    pub(super) fn answer(&mut self, text: &str) {
        let is_cut = script::is_cut(text);
        match self.messages.last_mut() {
            Some(Message::Answer { cut }) => *cut |= is_cut,
            _ => self.messages.push(Message::Answer { cut: is_cut }),
        }
    }

    /// A tool gives something.
    pub(super) fn result(&mut self, gave: Gave) {
        match self.messages.last_mut() {
            Some(Message::Results(results)) => results.push(gave),
            _ => self.messages.push(Message::Results(vec![gave])),
        }
    }

    /// The same as a script needs it.
    pub(super) fn talk(&self) -> Vec<Talk> {
        let talk = |message: &Message| match message {
            Message::User(text) => Talk::of_user(text.clone()).collect(),
            Message::Answer { cut } => (!cut).then_some(Talk::Answer).into_iter().collect(),
            Message::Results(_) => Vec::new(),
        };
        self.messages.iter().flat_map(talk).collect()
    }

    /// How many answers there are; one that was cut off is none.
    pub(super) fn place(&self) -> usize {
        self.talk().iter().map(Talk::answers).sum()
    }

    /// The last thing the user typed, and the results since then.
    pub(super) fn open_work(self) -> (String, Vec<Gave>) {
        let mut asked = String::new();
        let mut results = Vec::new();
        for message in self.messages {
            match message {
                Message::User(text) => {
                    if !text.starts_with(SYNTHESIS_HEAD) {
                        results.clear();
                    }
                    asked = text;
                }
                Message::Results(batch) => results.extend(batch),
                Message::Answer { .. } => {}
            }
        }
        (asked, results)
    }
}
