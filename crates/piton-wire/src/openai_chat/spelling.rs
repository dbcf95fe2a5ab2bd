//! How ids and texts are spelled: everything that a server checks with a pattern.

use std::collections::BTreeSet;

use piton_core::id::CallId;
use serde::de::IgnoredAny;

use super::Flavour;
use crate::fingerprint::fingerprint;
use crate::wire_id;

/// Length of an id for Mistral, in characters.
pub(super) const MISTRAL_ID_CHARS: usize = 9;
/// Longest id that `OpenRouter` is sent back, in characters.
pub(super) const ROUTER_ID_CHARS_MAX: usize = 64;

const BASE_62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Writes the inside of a JSON string, without the quotes, so that texts can be joined later.
pub(super) fn escape(out: &mut Vec<u8>, text: &str) {
    let special = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
    for run in text.as_bytes().split_inclusive(special) {
        let Some((last, plain)) = run.split_last().filter(|(last, _)| special(last)) else {
            out.extend_from_slice(run);
            continue;
        };
        out.extend_from_slice(plain);
        match last {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => out.extend_from_slice(format!("\\u{control:04x}").as_bytes()),
        }
    }
}

/// Writes a JSON string.
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    escape(out, text);
    out.push(b'"');
}

/// Ids of the calls of one message, the same when made from the calls and from their results.
///
/// Ours are unique and survive a restart. `OpenRouter` alone gets its own back where they can
/// stand: its encrypted reasoning names the call that it belongs to by that id.
pub(super) fn ids<'a>(
    flavour: Flavour,
    calls: impl Iterator<Item = (CallId, Option<&'a str>)> + Clone,
) -> Vec<String> {
    match flavour {
        Flavour::Mistral => calls.map(|(call, _)| mistral_id(call)).collect(),
        Flavour::OpenRouter => router_ids(calls.clone())
            .unwrap_or_else(|| calls.map(|(call, _)| wire_id(call)).collect()),
        Flavour::OpenAi | Flavour::DeepSeek | Flavour::Local => {
            calls.map(|(call, _)| wire_id(call)).collect()
        }
    }
}

fn router_ids<'a>(calls: impl Iterator<Item = (CallId, Option<&'a str>)>) -> Option<Vec<String>> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let mut seen = BTreeSet::new();
    let mut ids = Vec::new();
    for (_, id) in calls {
        let id = id.filter(|id| !id.is_empty() && id.len() <= ROUTER_ID_CHARS_MAX)?;
        if !id.bytes().all(fits) || !seen.insert(id) {
            return None;
        }
        ids.push(id.to_owned());
    }
    Some(ids)
}

/// Nine letters for a call. Packed, not hashed, as far as the numbers allow, so that two calls of
/// one conversation never share an id.
fn mistral_id(call: CallId) -> String {
    const STEP_BITS: u32 = 16;
    const INDEX_BITS: u32 = 15;
    const TURN_BITS: u32 = 22;
    let (turn, step, index) = (u64::from(call.turn.0), u64::from(call.step), u64::from(call.index));
    let packed = turn >> TURN_BITS == 0 && step >> STEP_BITS == 0 && index >> INDEX_BITS == 0;
    let mut rest = if packed {
        turn | step << TURN_BITS | index << (TURN_BITS + STEP_BITS)
    } else {
        fingerprint(&wire_id(call))
    };
    let mut id = String::with_capacity(MISTRAL_ID_CHARS);
    for _ in 0..MISTRAL_ID_CHARS {
        let digit = usize::try_from(rest % 62).unwrap_or_default();
        id.push(BASE_62.get(digit).map_or('0', |letter| char::from(*letter)));
        rest /= 62;
    }
    id
}

/// Whether a text is a whole JSON object.
pub(super) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Arguments as a JSON object. What is no object is shown inside of one, never thrown away: a model
/// that sees its call with empty arguments repeats it with empty arguments.
pub(super) fn arguments(out: &mut Vec<u8>, raw: &str) {
    if is_object(raw) {
        string(out, raw);
    } else if raw.trim().is_empty() {
        out.extend_from_slice(b"\"{}\"");
    } else {
        let mut shown = b"{\"invalid_json\":".to_vec();
        string(&mut shown, raw);
        shown.push(b'}');
        string(out, &String::from_utf8_lossy(&shown));
    }
}

#[cfg(test)]
mod tests {
    use piton_core::id::TurnId;
    use serde_json::Value;

    use super::*;

    #[test]
    fn texts_survive_their_escapes() {
        for text in ["", "plain", "a\"b\\c\nd\te\r\u{0}\u{1f}\u{7f} 🧗", "\n", "\\"] {
            let mut out = Vec::new();
            string(&mut out, text);
            assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), Value::from(text));
        }
    }

    #[test]
    fn mistral_gets_nine_letters_and_no_id_twice() {
        let mut seen = BTreeSet::new();
        for turn in [1, 2, 61, 62, 4_000_000, u32::MAX] {
            for step in [1, 2, 65_535, u32::MAX] {
                for index in [0, 1, 32_767, u32::MAX] {
                    let id = mistral_id(CallId { turn: TurnId(turn), step, index });
                    assert_eq!(id.len(), MISTRAL_ID_CHARS);
                    assert!(id.bytes().all(|letter| letter.is_ascii_alphanumeric()));
                    assert!(seen.insert(id));
                }
            }
        }
    }

    // K51, K54
    #[test]
    fn arguments_are_objects_and_never_lost() {
        let sent = |raw: &str| {
            let mut out = Vec::new();
            arguments(&mut out, raw);
            let text: String = serde_json::from_slice(&out).unwrap();
            (text.clone(), serde_json::from_str::<Value>(&text).unwrap())
        };
        assert_eq!(sent(r#"{ "a": 1.0 }"#).0, r#"{ "a": 1.0 }"#);
        assert_eq!(sent(" ").0, "{}");
        for raw in ["{\"a\":", "[1]", "null", "\"x\"", "nonsense \u{0}"] {
            assert_eq!(sent(raw).1["invalid_json"], raw);
        }
    }
}
