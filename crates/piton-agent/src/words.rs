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
    use piton_core::event::{Effort, NotAnEffort, RuleEffect};

    use super::*;

    #[test]
    fn the_words_are_those_that_are_read() {
        let words: Vec<_> = EFFORTS.iter().map(|(word, _)| *word).collect();
        assert!(words.iter().all(|word| word.parse::<Effort>().is_ok()));
        assert!(NotAnEffort.to_string().ends_with(&words.join(", ")));
        for (word, _) in EFFECTS {
            serde_json::from_value::<RuleEffect>(word.into()).unwrap();
        }
    }
}
