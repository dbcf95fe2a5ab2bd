//! Schemas that say more at their root than providers take: what is sent fits all of them.

use piton_core::event::{ConfigChange, EffectClass, Event, ToolSpec};
use piton_wire::cache::Cache;
use serde_json::Value;

use crate::journals::voices::{VOICES, Voice};
use crate::transcripts::Journal;

fn body(voice: Voice, parameters: &str) -> (String, Value) {
    let tool = ToolSpec::new("pick", "Picks.", parameters, EffectClass::Once);
    let mut journal = Journal::new();
    let change = ConfigChange { tools: Some(vec![tool]), ..ConfigChange::default() };
    journal.push(Event::ConfigChanged { change }).user("go");
    let body = voice.dialect().encode(&journal.transcript(), &voice.ask(), &mut Cache::default());
    let text = String::from_utf8(body).unwrap();
    let value = serde_json::from_str(&text).unwrap();
    (text, value)
}

#[test]
fn a_schema_that_fits_is_sent_byte_for_byte() {
    let schema = r#"{"type":"object", "z":1,"properties":{"b":{"oneOf":[{"not":{}},{"enum":[2,1]}]},
        "a":{}},"required":["b","a"],"if":{"required":["a"]}}"#;
    for voice in VOICES {
        let (text, _) = body(voice, schema);
        assert!(text.contains(schema) && text.contains("\"Picks.\""), "{voice:?} {text}");
    }
}

#[test]
fn no_provider_gets_schemas_that_are_combined_at_the_root() {
    for schema in [
        r#"{"type":"object","oneOf":[{"properties":{"path":{}},"required":["path"]},
            {"properties":{"url":{}},"required":["url"]}]}"#,
        r#"{"anyOf":[{"properties":{"path":{}},"required":["path"]},
            {"properties":{"url":{}},"required":["url"]}]}"#,
        r#"{"type":"object","properties":{"path":{}},"allOf":[{"properties":{"url":{}}}]}"#,
        r#"{"type":"object","properties":{"path":{},"url":{}},"not":{"required":["path"]}}"#,
        r#"{"type":"object","properties":{"path":{},"url":{}},"enum":[{"url":1},{"path":1}]}"#,
    ] {
        for voice in VOICES {
            let (text, value) = body(voice, schema);
            assert_eq!(voice.violations(&value), [""; 0], "{voice:?} {text}");
            let sent = value.pointer(voice.first_schema()).unwrap();
            for word in ["oneOf", "anyOf", "allOf", "not", "enum"] {
                assert_eq!(sent.get(word), None, "{voice:?} {text}");
            }
            let properties: Vec<_> = sent["properties"].as_object().unwrap().keys().collect();
            assert_eq!(properties, ["path", "url"], "{voice:?} {text}");
            // The model is told what its arguments may be, because the schema does not say it.
            assert!(text.contains("Picks.\\nIt"), "{voice:?} {text}");
        }
    }
}
