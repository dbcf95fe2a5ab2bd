//! The same for a command that ends with the agent: nothing of it is recorded, and nobody comes for it later.

use std::io;
use std::path::PathBuf;

use super::scene::Scene;
use super::{Note, places_of};
use crate::sandbox::Policy;

/// What stood at the protected places before such a command.
#[derive(Debug)]
pub(crate) struct Watch(Note);

/// A place that was changed meanwhile.
#[derive(Debug)]
pub(crate) struct PutBack {
    pub(crate) place: PathBuf,
    /// Whether it is again what it was.
    pub(crate) done: io::Result<()>,
}

impl Watch {
    /// Notes what stands there.
    pub(crate) fn begin(policy: &Policy) -> Self {
        let [places, elsewhere] = places_of(policy);
        Self(Note::of(policy, &places, &elsewhere, Scene::read(&places)))
    }

    /// Puts back what is different.
    pub(crate) fn settle(self) -> Vec<PutBack> {
        let differences = self.0.differences();
        let put_back = differences.into_iter().map(|difference| {
            let done = self.0.put_back(&difference);
            PutBack { place: difference.place, done }
        });
        put_back.collect()
    }
}
