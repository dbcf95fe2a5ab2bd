//! Texts, names, arguments, ids and schemas as models, people and other programs leave them behind.

use std::sync::Arc;

use piton_core::event::{BlobRef, EffectClass, Native, OutputFile, ToolSpec, UserPart};
use piton_core::id::Digest;
use piton_core::transcript::Files;

use super::luck::Luck;

/// The tools of every story. The last name fits no provider.
pub(crate) const TOOLS: [(&str, EffectClass); 5] = [
    ("look", EffectClass::ReadOnly),
    ("set", EffectClass::Idempotent),
    ("edit", EffectClass::Digested),
    ("pay", EffectClass::Once),
    ("mcp.server/tool", EffectClass::Supervised),
];

const TEXTS: [&str; 14] = [
    "",
    " \n\t",
    "\u{1c}",
    "\u{0}",
    "trailing \n",
    "\"}]",
    "\\",
    "\u{2028}",
    "Hi \"there\"\\ 🧗\u{0}\u{7f}",
    "\u{feff}marked",
    "{\"role\":\"user\"}",
    "[DONE]",
    "data: {}\n\n",
    "line\r\nline",
];
const NAMES: [&str; 9] =
    ["", "9", "a.b", "a/b", "日本", "nothing_like_it", "two words", "look\n", "-"];
const ARGUMENTS: [&str; 13] = [
    "{}",
    r#"{"path":"a\u0000"}"#,
    r#"{"path": "a", "n": [1, {"b": null}]}"#,
    "",
    "null",
    "[1]",
    "\"x\"",
    "{\"cut",
    "{\"cut\":\"",
    "{\"a\":1e999}",
    "{\"a\":\"\\ud800\"}",
    "{\"a\":1,\"a\":2}",
    "no JSON",
];
const IDS: [&str; 8] =
    ["", "call_0", "call_0", "call_1_1_0", "functions.look:0", "toolu_1", "ä/ö", "chatcmpl-tool-1"];
const SCHEMAS: [&str; 8] = [
    r#"{"type":"object"}"#,
    r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#,
    r#"{"properties":{}}"#,
    "{}",
    r#"{"type": null}"#,
    r#"{"type":"string"}"#,
    "[]",
    "no JSON",
];

/// What stands in a root beside what is combined there.
const MEMBERS: [&str; 5] = [
    r#""type":"object""#,
    r#""title":"T","properties":{"path":{"type":"integer"},"to":{}}"#,
    r##""$ref":"#/$defs/a","$defs":{"a":{"properties":{"path":{}},"oneOf":[{"$ref":"#"}]}}"##,
    r##""properties":{"in":{"$ref":"#/anyOf/0"}},"required":["in"]"##,
    r##""$ref":"#/nowhere""##,
];

/// Files: digest, media type, content. Two of them are not what they say.
const FILES: [(&str, &str, &[u8]); 8] = [
    ("png", "image/png", b"\x89PNG\r\n\x1a\n...."),
    ("webp", "image/webp", b"RIFF\x10\0\0\0WEBPVP8 "),
    ("pdf", "application/pdf", b"%PDF-1.7\n\xff"),
    ("text", "text/plain", b"a line\n"),
    ("blank", "text/plain", b""),
    ("lost", "image/png", b"\x89PNG\r\n\x1a\n...."),
    ("video", "video/mp4", b"\0\0\0\x18ftyp"),
    ("odd", "", b"latin \xe9"),
];

/// Sidecars that no decoder of ours wrote: of older builds, of other programs, damaged on disk.
const SIDECARS: [&str; 16] = [
    "",
    "no JSON",
    "[]",
    r#"[{"before":1,"block":{"type":"redacted_thinking","data":"eA=="}}]"#,
    r#"[{"before":9,"block":{"type":"redacted_thinking","data":"eA=="}}]"#,
    r#"[{"before":0,"block":{"type":"thinking","thinking":"Hm.","signature":""}}]"#,
    r#"{"type":"thinking","signature":"x"}"#,
    r#"{"reasoning_content":"Hm"}"#,
    r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"x","id":"call_0"}]}"#,
    r#"{"content":[]}"#,
    r#"[{"call":0,"reasoning":[{"summary":{},"encrypted_content":"x"},5]}]"#,
    r#"[{"call":1,"reasoning":[{"type":"reasoning","summary":[],"encrypted_content":"x"}]}]"#,
    r#"[{"text":""}]"#,
    r#"[{"functionCall":{"name":"look","args":{}}}]"#,
    r#"[{"text":"a","inlineData":{}}]"#,
    r#"[{"functionResponse":{"name":"look","response":{}}}]"#,
];

/// Mostly something said; sometimes what nobody would say.
pub(crate) fn text(luck: &mut Luck) -> String {
    match luck.below(8) {
        0 => luck.pick(&TEXTS).to_owned(),
        1 => letters(luck, 24),
        _ => format!("Words {}.", luck.below(100)),
    }
}

/// Any characters at all.
fn letters(luck: &mut Luck, most: usize) -> String {
    let count = luck.below(most);
    let letter = |luck: &mut Luck| {
        let end = luck.pick(&[0x80, 0x80, 0x800, 0x1_0000, 0x11_0000]);
        char::from_u32(u32::try_from(luck.below(end)).unwrap()).unwrap_or('x')
    };
    (0..count).map(|_| letter(luck)).collect()
}

pub(crate) fn name(luck: &mut Luck) -> String {
    match luck.below(8) {
        0 => luck.pick(&NAMES).to_owned(),
        1 if luck.once_in(4) => luck.pick(&["ü", "a", "very_long_"]).repeat(13 + luck.below(60)),
        1 => letters(luck, 12),
        _ => luck.pick(&TOOLS).0.to_owned(),
    }
}

pub(crate) fn arguments(luck: &mut Luck) -> String {
    match luck.below(6) {
        0 => luck.pick(&ARGUMENTS).to_owned(),
        1 if luck.once_in(6) => {
            let deep = luck.below(200);
            "{\"a\":".repeat(deep) + "1" + &"}".repeat(deep)
        }
        1 => letters(luck, 9),
        _ => format!(r#"{{"path":"a{}"}}"#, luck.below(10)),
    }
}

pub(crate) fn id(luck: &mut Luck) -> String {
    match luck.below(6) {
        0 => letters(luck, 9),
        1 => luck.pick(&["x", "0a"]).repeat(luck.below(120)),
        2 | 3 => luck.pick(&IDS).to_owned(),
        _ => format!("call_{}", luck.below(1000)),
    }
}

/// What a person sends; never all blank, which the engine refuses to take.
pub(crate) fn user_parts(luck: &mut Luck) -> Vec<UserPart> {
    let count = 1 + luck.below(2);
    let mut parts: Vec<_> = (0..count).map(|_| user_part(luck)).collect();
    if !parts.iter().any(UserPart::has_content) {
        parts.push(UserPart::text("Go on."));
    }
    parts
}

fn user_part(luck: &mut Luck) -> UserPart {
    let name = name(luck);
    match luck.below(8) {
        0 => {
            let media_type = luck.pick(&["text/plain", "application/json", ""]).to_owned();
            UserPart::InlinedFile { name, media_type, text: text(luck).into() }
        }
        1 => {
            let (digest, media_type, content) = luck.pick(&FILES);
            let blob = BlobRef { digest: Digest::new(digest), bytes: content.len() as u64 };
            UserPart::File { name, media_type: media_type.into(), blob }
        }
        _ => UserPart::text(text(luck)),
    }
}

/// What a call gives back beside its text.
pub(crate) fn output_files(luck: &mut Luck) -> Vec<OutputFile> {
    let file = |luck: &mut Luck| {
        let name = name(luck);
        let (digest, media_type, content) = luck.pick(&FILES);
        let blob = BlobRef { digest: Digest::new(digest), bytes: content.len() as u64 };
        OutputFile { name, media_type: media_type.into(), blob }
    };
    (0..=luck.below(2)).map(|_| file(luck)).collect()
}

/// What the files hold. Contents of one are lost.
pub(crate) fn files() -> Files {
    let mut files = Files::default();
    for (digest, _, content) in FILES.into_iter().filter(|(digest, ..)| *digest != "lost") {
        files.insert(Digest::new(digest), content.into());
    }
    files
}

/// The usual tools, and sometimes one that a server of tools would offer.
pub(crate) fn tools(luck: &mut Luck) -> Vec<ToolSpec> {
    let usual =
        |(name, effect): (&str, EffectClass)| ToolSpec::new(name, "Does.", SCHEMAS[1], effect);
    let mut tools: Vec<_> = TOOLS.into_iter().map(usual).collect();
    for _ in 0..luck.below(3) {
        let parameters: Arc<str> = schema(luck, 3).into();
        let (name, description) = (name(luck), text(luck));
        tools.push(ToolSpec::new(name, description, parameters, EffectClass::Once));
    }
    tools
}

/// A schema: a usual one, or several of them combined at the root.
fn schema(luck: &mut Luck, deep: usize) -> String {
    if deep == 0 || luck.once_in(2) {
        return luck.pick(&SCHEMAS).to_owned();
    }
    let mut members = vec![luck.pick(&MEMBERS).to_owned()];
    for _ in 0..luck.below(3) {
        let word = luck.pick(&["oneOf", "anyOf", "allOf", "not", "enum"]);
        let branches: Vec<_> = (0..luck.below(4)).map(|_| schema(luck, deep - 1)).collect();
        members.push(format!(r#""{word}":[{}]"#, branches.join(",")));
    }
    format!("{{{}}}", members.join(","))
}

/// A sidecar under the right name that is not what its dialect would have kept: another's, or cut.
/// Keys are left alone: one that we do not know is a new one, and goes back as it came.
pub(crate) fn damaged(native: Native, luck: &mut Luck) -> Native {
    let raw = if luck.once_in(2) {
        luck.pick(&SIDECARS).to_owned()
    } else {
        native.raw.chars().take(luck.below(native.raw.len())).collect()
    };
    Native { raw: raw.into(), ..native }
}
