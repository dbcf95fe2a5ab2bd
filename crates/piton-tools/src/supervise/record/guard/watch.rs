//! The same for a program of which nothing is recorded: a command that ends with the agent, and a server while it
//! works for a call.
//!
//! Several of them run beside each other, and beside commands that are recorded. What one of them has changed must not
//! be what the next one finds, so all that this process watches are known to each other.

use std::io;
use std::path::{Path, PathBuf};

use super::note::{Note, places_of};
use super::open::open;
use super::scene::Scene;
use super::{List, restore};
use crate::sandbox::Policy;

/// What stood at the protected places before such a program.
#[derive(Debug)]
pub(crate) struct Watch {
    number: u64,
}

/// What becomes of what was written instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instead {
    /// It is not kept.
    Dropped,
    /// It gets a name that nobody obeys. A person may have written it.
    Aside,
}

/// A place that was changed meanwhile.
#[derive(Debug)]
pub(crate) struct PutBack {
    pub(crate) place: PathBuf,
    /// Whether it is again what it was.
    pub(crate) done: io::Result<()>,
}

/// What stood at the protected places when a watch was settled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settled(Scene);

impl Watch {
    /// The places that were changed between the end of another watch and the beginning of this one.
    pub(crate) fn changed_since(&self, last: &Settled) -> Vec<PathBuf> {
        let open = open();
        let Some(note) = open.get(&self.number) else { return Vec::new() };
        let differences = last.0.differences(&note.before);
        differences.into_iter().map(|difference| difference.place).collect()
    }

    /// Notes what stands there. In `calls` are the records of commands that may run beside it.
    pub(crate) fn begin(policy: &Policy, calls: Option<&Path>) -> Self {
        let [places, elsewhere] = places_of(policy);
        let list = calls.map(|calls| List { calls: calls.to_owned() });
        let list = list.filter(|list| !list.names().is_empty());
        let _held = list.as_ref().and_then(List::hold);
        let others: Vec<_> = list.iter().flat_map(List::one_of_each_kind).collect();
        let mut open = open();
        let mut before = Scene::read(&places);
        let noted = others.iter().map(|(_, note)| note).chain(open.values());
        noted.for_each(|theirs| theirs.take_over(&mut before, &places));
        let number = open.keys().next_back().map_or(0, |last| last.saturating_add(1));
        open.insert(number, Note::of(policy, &places, &elsewhere, before));
        Self { number }
    }

    /// Puts back what is different.
    pub(crate) fn settle(self, instead: Instead) -> (Vec<PutBack>, Settled) {
        // Held to the end: whoever begins meanwhile finds what is put back.
        let mut open = open();
        let Some(note) = open.remove(&self.number) else { return Default::default() };
        let put_back = note.differences().into_iter().map(|difference| {
            let aside = match (instead, &difference.after) {
                (Instead::Aside, Some(_)) => note
                    .root_of(&difference.place)
                    .and_then(|root| restore::set_aside_at(&difference.place, &root)),
                (Instead::Aside, None) | (Instead::Dropped, _) => Ok(()),
            };
            let done = aside.and_then(|()| note.put_back(&difference));
            PutBack { place: difference.place, done }
        });
        let put_back = put_back.collect();
        (put_back, Settled(Scene::read(&note.paths())))
    }
}
