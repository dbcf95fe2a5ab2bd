//! From what a server sent to what the model sees.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use piton_core::event::{EffectClass, Outcome};
use piton_tools::{Finished, Image, OUTPUT_BYTES_MAX};
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};
use serde_json::Value;

use crate::ended::Ended;
use crate::schema::misfit;
use crate::text::{head, tail};

/// Room for the note about what was left out, in bytes.
const NOTE_BYTES: usize = 512;
/// What is kept of the end of a long result, in bytes.
const TAIL_BYTES: usize = 4 * 1024;
/// Most images of one result that the model sees; the others are told in words, and kept.
const IMAGES_MAX: usize = 8;
const _: () = assert!(NOTE_BYTES + TAIL_BYTES < OUTPUT_BYTES_MAX / 2);

/// The end of a call, as it is recorded. `found` is what became of the server. A structured result is
/// held against its schema, if there is one.
pub(crate) fn finished(
    server: &str,
    effect: EffectClass,
    output_schema: Option<&str>,
    ended: Ended,
    found: &str,
) -> Finished {
    match ended {
        Ended::Answered(result) => {
            let checked = output_schema.filter(|_| result.is_error != Some(true));
            let checked = checked.zip(result.structured_content.as_ref());
            let misfit = checked.and_then(|(schema, structured)| misfit(schema, structured));
            answered(&result, misfit)
        }
        Ended::Outdated(reason) => bounded(
            Outcome::Failed,
            format!("The call was not sent to the MCP server {server}: {reason}"),
            None,
        ),
        Ended::Refused(reason) => bounded(
            Outcome::Failed,
            format!("The MCP server {server} refused the call: {reason}"),
            None,
        ),
        Ended::Failed(reason) => bounded(
            Outcome::Failed,
            format!("The MCP server {server} says that the call failed: {reason}"),
            None,
        ),
        Ended::Waiting(question) => bounded(
            Outcome::Unknown,
            format!("The call waits for an answer, and nobody is there. {question}"),
            None,
        ),
        Ended::NeverSent(reason) => bounded(
            Outcome::Failed,
            format!(
                "The MCP server {server} was not reached, and the call was not sent: {reason}.{found}"
            ),
            None,
        ),
        Ended::Lost(reason) => {
            let text = format!(
                "The call was sent to the MCP server {server}, and no answer came: {reason}."
            );
            let (outcome, then) = doubt(effect, Outcome::Failed);
            bounded(outcome, format!("{text} {then}{found}"), None)
        }
        Ended::Cancelled => {
            let text = format!("Interrupted; the MCP server {server} was told to stop.");
            let (outcome, then) = doubt(effect, Outcome::Cancelled);
            bounded(outcome, format!("{text} {then}"), None)
        }
    }
}

/// What follows from a call that was sent and not answered.
fn doubt(effect: EffectClass, harmless: Outcome) -> (Outcome, &'static str) {
    match effect {
        EffectClass::ReadOnly => (harmless, "It changes nothing, so it can be called again."),
        EffectClass::Idempotent => {
            (harmless, "It may have taken effect; calling it again changes nothing more.")
        }
        EffectClass::Digested
        | EffectClass::Supervised
        | EffectClass::Child
        | EffectClass::Once => (
            Outcome::Unknown,
            "Whether it took effect is unknown, and it was not repeated. \
             Check before you call it again.",
        ),
    }
}

fn answered(result: &CallToolResult, misfit: Option<String>) -> Finished {
    let mut parts = Vec::new();
    let (mut left_out, mut images) = (false, Vec::new());
    for block in &result.content {
        if let Some(image) = image(block, images.len()) {
            parts.push(image.label());
            images.push(image);
            continue;
        }
        let (text, whole) = told(block);
        left_out |= !whole;
        parts.push(text);
    }
    if let Some(structured) = &result.structured_content
        && !is_told(&result.content, structured)
    {
        let text = serde_json::to_string_pretty(structured).unwrap_or_default();
        parts.push(format!("[structured content]\n{text}"));
    }
    parts.extend(misfit);
    let failed = result.is_error == Some(true);
    let outcome = if failed { Outcome::Failed } else { Outcome::Ok };
    if parts.is_empty() {
        parts.push(
            if failed { "[it failed and says no more]" } else { "[done; no content]" }.into(),
        );
    }
    // What cannot be shown is kept as the server sent it.
    let full = left_out.then(|| serde_json::to_vec(result).unwrap_or_default());
    Finished { images, ..bounded(outcome, parts.join("\n"), full) }
}

/// An image that models see. What is none of those is told in words, and kept.
fn image(block: &ContentBlock, known: usize) -> Option<Image> {
    let ContentBlock::Image(image) = block else { return None };
    if IMAGES_MAX <= known {
        return None;
    }
    let content = BASE64_STANDARD.decode(&image.data).ok()?;
    Image::new(format!("image {}", known + 1), content).ok()
}

/// Servers repeat structured content as text, for clients that do not know it: as JSON, or each of its
/// texts as it is.
fn is_told(content: &[ContentBlock], structured: &Value) -> bool {
    let texts = content.iter().filter_map(ContentBlock::as_text);
    let texts: Vec<&str> = texts.map(|text| text.text.as_str()).collect();
    let is_same =
        |text: &&str| serde_json::from_str::<Value>(text).is_ok_and(|it| it == *structured);
    texts.iter().any(is_same) || adds_nothing(structured, &texts)
}

fn adds_nothing(structured: &Value, texts: &[&str]) -> bool {
    match structured {
        Value::String(word) => texts.iter().any(|text| has(text, word)),
        Value::Array(values) => values.iter().all(|value| adds_nothing(value, texts)),
        Value::Object(fields) => {
            !fields.is_empty() && fields.values().all(|value| adds_nothing(value, texts))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether the words are in a text, and not only a part of others there.
fn has(text: &str, words: &str) -> bool {
    let joined = |one: Option<char>, other: Option<char>| {
        one.zip(other).is_some_and(|(one, other)| one.is_alphanumeric() && other.is_alphanumeric())
    };
    let mut places = text.match_indices(words);
    places.any(|(start, found)| {
        let (before, after) = (text.get(..start), text.get(start + found.len()..));
        let before = before.and_then(|before| before.chars().next_back());
        let after = after.and_then(|after| after.chars().next());
        let within = joined(before, found.chars().next());
        !within && !joined(found.chars().next_back(), after)
    })
}

/// A block as text, and whether that is all of it.
fn told(block: &ContentBlock) -> (String, bool) {
    match block {
        ContentBlock::Text(text) => (text.text.clone(), true),
        ContentBlock::Image(image) => (binary("image", &image.mime_type, &image.data), false),
        ContentBlock::Audio(audio) => (binary("audio", &audio.mime_type, &audio.data), false),
        ContentBlock::ResourceLink(link) => (linked(link), true),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                (format!("[resource {uri}]\n{text}"), true)
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.as_deref().unwrap_or("data");
                (binary(&format!("resource {uri},"), kind, blob), false)
            }
            _ => ("[a resource of an unknown kind]".into(), false),
        },
        _ => ("[content of an unknown kind]".into(), false),
    }
}

fn binary(what: &str, kind: &str, data: &str) -> String {
    let bytes = BASE64_STANDARD.decode(data).map_or(data.len(), |bytes| bytes.len());
    format!("[{what} {kind}, {bytes} bytes; kept with the whole output]")
}

fn linked(link: &Resource) -> String {
    let kind = link.mime_type.as_ref().map(|kind| format!(", {kind}")).unwrap_or_default();
    let about = link.description.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
    format!("[link to the resource {} <{}>{kind}{about}]", link.name, link.uri)
}

/// In bounds; the whole goes to a blob.
fn bounded(outcome: Outcome, text: String, full: Option<Vec<u8>>) -> Finished {
    if text.len() <= OUTPUT_BYTES_MAX {
        return Finished { outcome, full, ..Finished::ok(text) };
    }
    let front = head(&text, OUTPUT_BYTES_MAX - TAIL_BYTES - NOTE_BYTES);
    let end = tail(&text, TAIL_BYTES);
    let missing = text.len() - front.len() - end.len();
    let shown = format!("{front}\n[... {missing} bytes left out ...]\n{end}");
    let full = Some(full.unwrap_or_else(|| text.into_bytes()));
    Finished { outcome, full, ..Finished::ok(shown) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(value: Value) -> Finished {
        let result: CallToolResult = serde_json::from_value(value).unwrap();
        finished("s", EffectClass::Once, None, Ended::Answered(result), "")
    }

    #[test]
    fn every_kind_of_content_is_told() {
        let found = result(json!({"content": [
            {"type": "text", "text": "hi"},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain"},
            {"type": "resource", "resource": {"uri": "file:///b", "text": "bee"}},
        ]}));
        assert_eq!(
            found.text,
            "hi\n[image image/png, 3 bytes; kept with the whole output]\n\
             [link to the resource a <file:///a>, text/plain]\n[resource file:///b]\nbee"
        );
        assert_eq!(found.outcome, Outcome::Ok);
        let full: Value = serde_json::from_slice(&found.full.unwrap()).unwrap();
        assert_eq!(full["content"][1]["data"], "AAAA");
    }

    #[test]
    fn an_image_that_models_see_is_given_to_them() {
        let gif = BASE64_STANDARD.encode(b"GIF89a\x05\0\x06\0\0\0\0\x3B");
        let image = json!({"type": "image", "mimeType": "image/png", "data": gif});
        let found = result(json!({"content": [image]}));
        assert_eq!(found.text, "[image `image 1`, image/gif, 5 x 6, 14 bytes]");
        assert_eq!((found.images.len(), found.images[0].media_type), (1, "image/gif"));
        assert_eq!(found.full, None);
    }

    #[test]
    fn structured_content_is_told_once() {
        let structured = json!({"n": 1});
        let twice = json!({"content": [{"type": "text", "text": "{\"n\": 1}"}], "structuredContent": structured});
        assert_eq!(result(twice).text, "{\"n\": 1}");
        let as_it_is = json!({"content": [{"type": "text", "text": "so: hi"}], "structuredContent": {"content": "hi"}});
        assert_eq!(result(as_it_is).text, "so: hi");
        let part = json!({"content": [{"type": "text", "text": "It is this: a 12"}], "structuredContent": {"id": "1"}});
        assert_eq!(
            result(part).text,
            "It is this: a 12\n[structured content]\n{\n  \"id\": \"1\"\n}"
        );
        let whole = json!({"content": [{"type": "text", "text": "1, (12)"}], "structuredContent": {"id": "12", "more": [""]}});
        assert_eq!(result(whole).text, "1, (12)");
        let only = result(json!({"content": [], "structuredContent": structured}));
        assert_eq!(only.text, "[structured content]\n{\n  \"n\": 1\n}");
        assert_eq!(result(json!({"content": []})).text, "[done; no content]");
    }

    #[test]
    fn a_result_that_says_it_is_an_error_has_failed() {
        let found = result(json!({"content": [{"type": "text", "text": "no"}], "isError": true}));
        assert_eq!((found.outcome, found.text.as_str()), (Outcome::Failed, "no"));
    }

    #[test]
    fn a_result_that_does_not_fit_its_schema_is_told_as_such_and_kept() {
        let schema = r#"{"properties": {"n": {"type": "integer"}}}"#;
        let checked = |value: Value| {
            let result: CallToolResult = serde_json::from_value(value).unwrap();
            finished("s", EffectClass::Once, Some(schema), Ended::Answered(result), "")
        };
        let odd = checked(json!({"content": [], "structuredContent": {"n": "many"}}));
        let told = "[structured content]\n{\n  \"n\": \"many\"\n}\n\
                    [The structured content is not as the tool's outputSchema says: at /n, ";
        assert!(odd.text.starts_with(told), "{}", odd.text);
        assert_eq!(odd.outcome, Outcome::Ok);
        let fits = checked(json!({"content": [], "structuredContent": {"n": 1}}));
        assert_eq!(fits.text, "[structured content]\n{\n  \"n\": 1\n}");
        // What failed has another form, and need not say that.
        let failed =
            checked(json!({"content": [], "structuredContent": {"n": "x"}, "isError": true}));
        assert!(!failed.text.contains("outputSchema"), "{}", failed.text);
        assert_eq!(checked(json!({"content": []})).text, "[done; no content]");
    }

    #[test]
    fn a_huge_result_is_cut_in_the_middle_and_kept_whole() {
        let text = format!("begin{}end", "é".repeat(OUTPUT_BYTES_MAX));
        let found = result(json!({"content": [{"type": "text", "text": text}]}));
        assert!(found.text.len() <= OUTPUT_BYTES_MAX);
        assert!(found.text.starts_with("begin") && found.text.ends_with("end"));
        assert!(found.text.contains("bytes left out"));
        assert_eq!(found.full, Some(text.into_bytes()));
    }

    #[test]
    fn only_what_may_have_taken_effect_is_unknown() {
        let check = |effect, ended, expected| {
            let found = finished("s", effect, None, ended, "");
            assert_eq!(found.outcome, expected, "{effect:?} {}", found.text);
        };
        let lost = || Ended::Lost("x".into());
        check(EffectClass::Once, lost(), Outcome::Unknown);
        check(EffectClass::ReadOnly, lost(), Outcome::Failed);
        check(EffectClass::Idempotent, lost(), Outcome::Failed);
        check(EffectClass::Once, Ended::NeverSent("x".into()), Outcome::Failed);
        check(EffectClass::Once, Ended::Refused("x".into()), Outcome::Failed);
        check(EffectClass::Once, Ended::Cancelled, Outcome::Unknown);
        check(EffectClass::ReadOnly, Ended::Cancelled, Outcome::Cancelled);
    }
}
