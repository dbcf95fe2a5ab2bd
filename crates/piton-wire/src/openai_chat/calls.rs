//! Which call a fragment belongs to.
//!
//! By the book a call is known by its index. In the wild the index is missing or always 0, ids are
//! missing, repeat for two calls or change with every fragment, and names are repeated with every
//! fragment. The rules below read all of these the way they were meant: by id, then by index, then
//! by being next to the last one; and a named fragment that fits no call begins one.

use piton_core::answer::Delta;

use super::spelling;

/// A fragment of a call.
#[derive(Debug)]
pub(super) struct Fragment<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
}

/// Which calls are whole when an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// All: the provider said that it was done.
    All,
    /// Calls whose arguments are a JSON object, or missing: the body ended in good order, but
    /// without a finish reason.
    Sound,
    /// Calls whose arguments are a JSON object: the output limit cut the answer, and a call
    /// without arguments may have been about to get some.
    Written,
    /// None.
    Nothing,
}

#[derive(Debug)]
struct Call {
    block: u32,
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

/// The calls of an answer.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

impl Calls {
    /// Whether nothing was called. An entry with nothing in it is a slip, not a call.
    pub(super) fn is_empty(&self) -> bool {
        let blank =
            |call: &Call| [&call.name, &call.id, &call.arguments].iter().all(|it| it.is_empty());
        self.calls.iter().all(blank)
    }

    /// Takes in a fragment; `block` is used up, and `true` returned, if it begins a call.
    pub(super) fn push(
        &mut self,
        fragment: &Fragment<'_>,
        block: u32,
        deltas: &mut Vec<Delta>,
    ) -> bool {
        let known = self.place(fragment);
        if known.is_none() {
            self.calls.push(Call {
                block,
                index: fragment.index,
                id: fragment.id.to_owned(),
                name: String::new(),
                arguments: String::new(),
            });
        }
        let place = known.unwrap_or(self.calls.len() - 1);
        if let Some(call) = self.calls.get_mut(place) {
            call.push(fragment, deltas);
        }
        known.is_none()
    }

    fn place(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let named = !fragment.name.is_empty();
        let same_index = |call: &Call| fragment.index.is_none() || call.index == fragment.index;
        if !fragment.id.is_empty() {
            // Two calls may share an id; then the index tells them apart.
            let by_id = self
                .calls
                .iter()
                .rposition(|call| call.id == fragment.id && (same_index(call) || !named));
            // A new id with a name is a new call, even where the index says otherwise. Without a
            // name it is only a server that makes up an id per fragment.
            if by_id.is_some() || named {
                return by_id.or_else(|| self.awaiting_name(fragment));
            }
        }
        let last = match fragment.index {
            Some(_) => self.calls.iter().rposition(same_index),
            None => self.calls.len().checked_sub(1),
        };
        // A name said again belongs to the same call while that is unfinished.
        last.filter(|place| {
            self.calls.get(*place).is_some_and(|call| {
                !named
                    || call.name.is_empty()
                    || !spelling::is_object(&call.arguments) && call.name == fragment.name
            })
        })
    }

    /// A call that was begun without a name and an id at the fragment's index.
    fn awaiting_name(&self, fragment: &Fragment<'_>) -> Option<usize> {
        self.calls.iter().rposition(|call| {
            call.id.is_empty() && call.name.is_empty() && call.index == fragment.index
        })
    }

    /// Ends the calls of an answer.
    pub(super) fn close(&self, closing: Closing, deltas: &mut Vec<Delta>) {
        for call in &self.calls {
            let index = call.block;
            if call.name.is_empty() {
                // Never named, so never opened; the core says so to the model.
                let (provider_id, name) = (Some(call.id.clone()), String::new());
                deltas.push(Delta::CallOpened { index, provider_id, name });
                deltas.push(Delta::CallArguments { index, json: call.arguments.clone() });
                continue;
            }
            let whole = match closing {
                Closing::All => true,
                Closing::Sound => {
                    call.arguments.trim().is_empty() || spelling::is_object(&call.arguments)
                }
                Closing::Written => spelling::is_object(&call.arguments),
                Closing::Nothing => false,
            };
            if whole {
                deltas.push(Delta::Closed { index });
            }
        }
    }
}

impl Call {
    /// Opens the call as soon as it has a name; what came before the name follows it.
    fn push(&mut self, fragment: &Fragment<'_>, deltas: &mut Vec<Delta>) {
        let index = self.block;
        if self.id.is_empty() {
            fragment.id.clone_into(&mut self.id);
        }
        if self.name.is_empty() && !fragment.name.is_empty() {
            fragment.name.clone_into(&mut self.name);
            let provider_id = Some(self.id.clone()).filter(|id| !id.is_empty());
            deltas.push(Delta::CallOpened { index, provider_id, name: self.name.clone() });
            if !self.arguments.is_empty() {
                deltas.push(Delta::CallArguments { index, json: self.arguments.clone() });
            }
        }
        if fragment.arguments.is_empty() {
            return;
        }
        self.arguments.push_str(fragment.arguments);
        if !self.name.is_empty() {
            deltas.push(Delta::CallArguments { index, json: fragment.arguments.to_owned() });
        }
    }
}
