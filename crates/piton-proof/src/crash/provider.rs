//! Who is asked in a crash suite: the scripted model in process, or a server behind a wire.
//!
//! A provider outlives the lives of a run, as a real one does: what it has met, it has met.

use std::fmt;
use std::sync::{Arc, PoisonError};

use piton::model::{Models, OneModel};
use piton_core::event::{Limits, ModelRef};
use piton_sim::script::{Script, ScriptedModel};

use super::turns::TurnScript;
use piton_sim::script::binding::{BindingModel, Delivery, Refusals};

/// Plays the script of a turn, run after run.
pub trait Provider: fmt::Debug {
    /// Begins a run: nobody was asked yet.
    fn begin(&self, turn: &TurnScript) -> Box<dyn Run>;

    /// Who answers first.
    fn first_model(&self, turn: &TurnScript) -> ModelRef {
        ModelRef { provider: "script".into(), model: turn.name.into() }
    }

    /// Who answers behind the first question to a person; `None` changes nothing.
    fn next_model(&self) -> Option<ModelRef> {
        None
    }

    /// The allowances of a turn.
    fn limits(&self) -> Limits {
        Limits::default()
    }
}

/// One run, from the first life to the last.
pub trait Run: fmt::Debug {
    /// The models as one life finds them.
    fn models(&self) -> Arc<dyn Models>;

    /// What must not happen and did, seen from the provider.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }

    /// The bodies of all requests, where there are bodies.
    fn bodies(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The scripted model, in process. Every life meets the script's faults anew. It checks, as newer
/// providers do, that nothing changed before an answer of its own.
#[derive(Clone, Copy, Debug)]
pub struct InProcess;

/// The same, with a projection that drops the note that asked again: the control of that check.
#[derive(Clone, Copy, Debug)]
pub struct WithoutNotes;

#[derive(Debug)]
struct InProcessRun {
    script: Script,
    delivery: Delivery,
    refusals: Refusals,
}

fn begin(turn: &TurnScript, delivery: Delivery) -> Box<dyn Run> {
    Box::new(InProcessRun { script: turn.script(), delivery, refusals: Refusals::default() })
}

impl Provider for InProcess {
    fn begin(&self, turn: &TurnScript) -> Box<dyn Run> {
        begin(turn, Delivery::Whole)
    }
}

impl Provider for WithoutNotes {
    fn begin(&self, turn: &TurnScript) -> Box<dyn Run> {
        begin(turn, Delivery::WithoutNotes)
    }
}

impl Run for InProcessRun {
    fn models(&self) -> Arc<dyn Models> {
        let model = ScriptedModel::new(self.script.clone());
        let model = BindingModel::new(model, self.delivery, self.refusals.clone());
        Arc::new(OneModel(Arc::new(model)))
    }

    fn problems(&self) -> Vec<String> {
        let refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.iter().map(|refusal| format!("a request was refused: {refusal}")).collect()
    }
}
