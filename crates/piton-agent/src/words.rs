//! Words of which a setting takes one, as JSON Schema says it. For types whose home knows no schema.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// How much a model should think.
pub(crate) const EFFORTS: [(&str, &str); 7] = [
    ("auto", "As the provider sees fit."),
    ("none", "Not at all, where the model allows that."),
    ("minimal", "Hardly."),
    ("low", "A little."),
    ("medium", "As usual."),
    ("high", "Much."),
    ("max", "As much as it can."),
];

/// What a rule does.
const EFFECTS: [(&str, &str); 3] = [
    ("allow", "Run without asking."),
    ("ask", "Ask, also where the mode would not."),
    ("deny", "Never run."),
];

/// What may run without asking.
const MODES: [(&str, &str); 5] = [
    ("ask", "What only reads runs; anything else asks."),
    ("accept-edits", "What only reads or edits files runs; anything else asks."),
    ("auto", "Everything runs."),
    ("read-only", "What only reads runs; anything else is denied."),
    ("plan", "The same, and a turn ends with a plan to approve."),
];

/// The words for a permission mode.
pub(crate) fn modes(_: &mut SchemaGenerator) -> Schema {
    one_of(&MODES)
}

/// The words for an effort.
pub(crate) fn efforts(_: &mut SchemaGenerator) -> Schema {
    one_of(&EFFORTS)
}

/// The words for the effect of a rule.
pub(crate) fn effects(_: &mut SchemaGenerator) -> Schema {
    one_of(&EFFECTS)
}

fn one_of(words: &[(&str, &str)]) -> Schema {
    let words = words.iter();
    let words: Vec<Value> = words
        .map(|(word, meaning)| json!({ "type": "string", "const": word, "description": meaning }))
        .collect();
    json_schema!({ "oneOf": words })
}

#[cfg(test)]
mod tests {
    use piton_core::event::{Effort, NotAnEffort, PermissionMode, RuleEffect};

    use super::*;

    #[test]
    fn the_words_are_those_that_are_read() {
        for (word, _) in MODES {
            assert!(word.parse::<PermissionMode>().is_ok(), "{word}");
        }
        let words: Vec<_> = EFFORTS.iter().map(|(word, _)| *word).collect();
        assert!(words.iter().all(|word| word.parse::<Effort>().is_ok()));
        assert!(NotAnEffort.to_string().ends_with(&words.join(", ")));
        for (word, _) in EFFECTS {
            serde_json::from_value::<RuleEffect>(word.into()).unwrap();
        }
    }
}
