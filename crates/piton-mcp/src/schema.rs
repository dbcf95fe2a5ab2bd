//! Holds a structured result against the schema that the server gave for it.

use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use jsonschema::PatternOptions;
use serde_json::Value;

use crate::text::line;

/// Most places that are named.
const PLACES_MAX: usize = 3;
/// Longest word about one of them, in bytes.
const PLACE_BYTES_MAX: usize = 200;

/// Longest check. A few lines of a schema can make work for years.
const CHECK_WAIT: Duration = Duration::from_secs(1);

/// What does not fit, for the model. A schema that makes no sense, that lies elsewhere or that takes
/// too long is not asked: nothing is fetched, and no file is read.
pub(crate) fn misfit(schema: &str, structured: &Value) -> Option<String> {
    let (schema, structured) = (schema.to_owned(), structured.clone());
    let (tell, told) = sync_channel(1);
    // A thread of its own, because it cannot be stopped, and the end of the process waits for no thread.
    let check = move || tell.send(check(&schema, &structured)).unwrap_or_default();
    thread::Builder::new().name("schema".into()).spawn(check).ok()?;
    told.recv_timeout(CHECK_WAIT).ok().flatten()
}

fn check(schema: &str, structured: &Value) -> Option<String> {
    let schema: Value = serde_json::from_str(schema).ok()?;
    // Patterns of others: linear in time, whatever is written.
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    let schema = options.build(&schema).ok()?;
    let places: Vec<String> = schema
        .iter_errors(structured)
        .take(PLACES_MAX)
        .map(|error| match error.instance_path().as_str() {
            "" => line(&error.to_string(), PLACE_BYTES_MAX),
            place => line(&format!("at {place}, {error}"), PLACE_BYTES_MAX),
        })
        .collect();
    (!places.is_empty()).then(|| {
        format!(
            "[The structured content is not as the tool's outputSchema says: {}. It is shown as it came.]",
            places.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(schema: &Value, structured: &Value) -> Option<String> {
        misfit(&schema.to_string(), structured)
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        let schema = json!({"type": "object", "required": ["n"],
            "properties": {"n": {"type": "integer"}, "words": {"items": {"type": "string"}}}});
        assert_eq!(found(&schema, &json!({"n": 1, "words": ["a"]})), None);
        assert_eq!(
            found(&schema, &json!({"n": "many"})).unwrap(),
            "[The structured content is not as the tool's outputSchema says: at /n, \"many\" is not of \
             type \"integer\". It is shown as it came.]"
        );
        let told = found(&schema, &json!({"words": [1, 2, 3, 4, "x".repeat(900)]})).unwrap();
        assert_eq!(told.matches("; ").count(), PLACES_MAX - 1, "{told}");
        let long = found(&schema, &json!({"n": "y".repeat(10_000)})).unwrap();
        assert!(long.len() < PLACE_BYTES_MAX * 2, "{long}");
    }

    #[test]
    fn a_schema_that_makes_no_sense_or_lies_elsewhere_is_not_asked() {
        for schema in [
            json!({"type": 7}),
            json!({"$ref": "http://127.0.0.1:9/schema"}),
            json!({"$ref": "file:///etc/passwd"}),
            json!({"$ref": "#/nowhere"}),
            json!({"properties": {"n": {"pattern": "("}}}),
        ] {
            assert_eq!(found(&schema, &json!({"n": 1})), None, "{schema}");
        }
        assert_eq!(misfit("{", &json!(1)), None);
    }

    // A server that is not trusted wrote both.
    #[test]
    fn a_schema_that_goes_round_in_circles_ends() {
        let both = json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
            "$ref": "#/$defs/a"});
        for schema in [
            json!({"$ref": "#"}),
            json!({"allOf": [{"$ref": "#"}]}),
            both,
            json!({"anyOf": [{"not": {"$ref": "#"}}, {"$ref": "#"}]}),
        ] {
            let told = found(&schema, &json!({"n": {"n": {"n": 1}}}));
            assert!(told.is_none_or(|told| told.len() < PLACE_BYTES_MAX * 2), "{schema}");
        }
        let list = json!({"properties": {"next": {"$ref": "#"}}, "required": ["n"]});
        let told = found(&list, &json!({"n": 1, "next": {"next": {"n": 1}}})).unwrap();
        assert!(told.contains("at /next"), "{told}");
    }

    #[test]
    fn a_schema_that_would_take_years_is_left() {
        let level = |number: usize| {
            let next = json!({"$ref": format!("#/$defs/{}", number + 1)});
            (number.to_string(), json!({"anyOf": [{"allOf": [next]}, {"oneOf": [next]}]}))
        };
        let mut levels: serde_json::Map<String, Value> = (0..60).map(level).collect();
        levels.insert("60".into(), json!({"type": "string"}));
        let schema = json!({"$defs": levels, "$ref": "#/$defs/0"});
        let begun = std::time::Instant::now();
        found(&schema, &json!(1));
        assert!(begun.elapsed() < 2 * CHECK_WAIT, "{:?}", begun.elapsed());
    }
}
