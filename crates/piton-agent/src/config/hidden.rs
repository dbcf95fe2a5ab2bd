//! Values of settings as they may be seen: no key, token or password is shown whole.

use serde_json::Value;

/// What stands in the place of a secret.
const COVER: &str = "[hidden]";
/// Words in the name of an option that tell of a secret.
const TELLING: [&str; 6] = ["auth", "key", "token", "secret", "password", "cookie"];
/// Beginnings that keys of well-known services have.
const BEGINNINGS: [&str; 8] =
    ["sk-", "ghp_", "gho_", "github_pat_", "xoxb-", "xoxp-", "AIza", "glpat-"];
/// From this length on, a word of letters and digits alone is taken for a key, in bytes.
const KEY_BYTES_MIN: usize = 24;

/// A value as it may be seen. `secret` says that nothing of it may.
pub(super) fn shown(value: &Value, secret: bool) -> Value {
    match value {
        Value::String(text) if secret => Value::from(covered(text)),
        Value::String(text) => Value::from(word(text)),
        Value::Array(words) => Value::Array(list(words, secret)),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                (name.clone(), shown(value, secret || is_telling(name) && value.is_string()))
            });
            Value::Object(fields.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Words of a command: what follows `--token` is one.
fn list(words: &[Value], secret: bool) -> Vec<Value> {
    let mut follows = false;
    let mut seen = Vec::new();
    for value in words {
        let text = value.as_str().unwrap_or_default();
        let is_option = text.starts_with('-');
        seen.push(shown(value, secret || follows && !is_option));
        follows = is_option && is_telling(text) && !text.contains('=');
    }
    seen
}

/// A word, without what is secret in it.
fn word(text: &str) -> String {
    if let Some((scheme, rest)) = text.split_once("://") {
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        return format!("{scheme}://{host}{path}");
    }
    match text.split_once('=') {
        Some((name, value)) if is_telling(name) && !name.contains(' ') => {
            format!("{name}={}", covered(value))
        }
        Some(_) | None if is_key(text) => COVER.to_owned(),
        Some(_) | None => text.to_owned(),
    }
}

/// A secret: the names of variables in it are none.
fn covered(text: &str) -> String {
    let bare = text.strip_prefix("Bearer ").unwrap_or(text);
    let is_name = bare.starts_with("${") && bare.ends_with('}') && !bare.contains(":-");
    if is_name { text.to_owned() } else { COVER.to_owned() }
}

fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TELLING.iter().any(|word| name.contains(word))
}

fn is_key(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let has = |kind: fn(&u8) -> bool| text.bytes().any(|byte| kind(&byte));
    let is_long = KEY_BYTES_MIN <= text.len() && text.bytes().all(is_plain);
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    BEGINNINGS.iter().any(|begin| text.starts_with(begin)) || is_long && is_mixed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_secret_is_shown_whole() {
        for (value, secret, expected) in [
            (json!({ "Authorization": "Bearer abc" }), true, json!({ "Authorization": COVER })),
            (json!({ "A": "Bearer ${TOKEN}" }), true, json!({ "A": "Bearer ${TOKEN}" })),
            (json!({ "A": "${TOKEN:-s3cret}" }), true, json!({ "A": COVER })),
            (json!("https://me:pw@h/x?key=1"), false, json!("https://h/x")),
            (json!(["run", "--token", "abc", "-v"]), false, json!(["run", "--token", COVER, "-v"])),
            (json!(["--api-key=abc", "x"]), false, json!(["--api-key=[hidden]", "x"])),
            (json!(["echo", "sk-abc"]), false, json!(["echo", COVER])),
            (json!("anthropic/claude-opus-5-5"), false, json!("anthropic/claude-opus-5-5")),
            (json!("a1b2c3d4e5f6a7b8c9d0e1f2"), false, json!(COVER)),
            (json!(["pass", "show", "models"]), false, json!(["pass", "show", "models"])),
            (json!(7), false, json!(7)),
        ] {
            assert_eq!(shown(&value, secret), expected, "{value}");
        }
    }
}
