//! What is disturbed, and who takes part in it.

use piton_core::id::ConversationId;

use super::provider::Provider;
use super::turns::TurnScript;
use crate::world::{Oversight, Workshop, World};

/// A conversation to disturb, and who is asked in it.
#[derive(Clone, Copy, Debug)]
pub struct Play<'a> {
    /// What happens.
    pub turn: &'a TurnScript,
    /// Who is asked.
    pub provider: &'a dyn Provider,
    /// Where real commands run, if there are any.
    pub shop: Option<&'a Workshop>,
    /// How a person answers.
    pub answers: Answers,
    /// What is forgotten on purpose.
    pub oversight: Option<Oversight>,
}

/// How a person answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// In the process that asks.
    Here,
    /// From another process, which leaves a letter and may die at any point of it, too.
    ByLetter,
}

impl<'a> Play<'a> {
    /// A play without real commands.
    pub fn new(turn: &'a TurnScript, provider: &'a dyn Provider) -> Self {
        Self { turn, provider, shop: None, answers: Answers::Here, oversight: None }
    }

    /// The same with real commands.
    #[must_use]
    pub fn with_commands(self, shop: &'a Workshop) -> Self {
        Self { shop: Some(shop), ..self }
    }

    /// The same with a person who answers from elsewhere.
    #[must_use]
    pub fn by_letter(self) -> Self {
        Self { answers: Answers::ByLetter, ..self }
    }

    /// The same with something forgotten.
    #[must_use]
    pub fn overlooking(self, oversight: Oversight) -> Self {
        Self { oversight: Some(oversight), ..self }
    }

    /// A world in which nothing has happened.
    pub(super) fn world(self) -> World {
        World::new(self.shop, self.oversight)
    }
}

pub(super) fn conversation() -> ConversationId {
    ConversationId::new("simulated")
}
