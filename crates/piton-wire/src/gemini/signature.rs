//! Large signatures, taken out of a part before it is parsed: looking through one costs as much as
//! everything else that is done with it.

/// What stands in place of a signature that was taken out.
pub(super) const EMPTY: &str = "\"\"";

const KEY: &[u8] = b"\"thoughtSignature\"";
/// Parts below this size, in bytes, are parsed as they are.
const LARGE_BYTES: usize = 4 * 1024;

/// A part without its signature.
#[derive(Debug)]
pub(super) struct Cut<'a> {
    /// The part, with an empty signature.
    pub(super) rest: String,
    /// The signature as it stood there, quotes included.
    pub(super) value: &'a str,
}

/// Takes the first signature out of a large part; `None` where that is not plainly one. It may be
/// that of something inside the part: whoever parses the rest can tell.
pub(super) fn cut(raw: &str) -> Option<Cut<'_>> {
    if raw.len() < LARGE_BYTES {
        return None;
    }
    let after_key = memchr::memmem::find(raw.as_bytes(), KEY)? + KEY.len();
    let value = raw.get(after_key..)?.trim_start().strip_prefix(':')?.trim_start();
    let before = raw.get(..raw.len() - value.len())?;
    let inner = value.strip_prefix('"')?;
    // Nothing in a signature needs escaping.
    let end = memchr::memchr2(b'"', b'\\', inner.as_bytes()).filter(|end| 0 < *end)?;
    let (value, behind) = value.split_at_checked(end + 2)?;
    value.ends_with('"').then(|| Cut { rest: [before, EMPTY, behind].concat(), value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_signature_is_taken_out() {
        let signature = "Zm9v".repeat(LARGE_BYTES);
        for (colon, tail) in [(":", "}"), (" : ", ",\"text\":\"a\"}")] {
            let part = |value: &str| {
                format!("{{\"thought\":true,\"thoughtSignature\"{colon}\"{value}\"{tail}")
            };
            let raw = part(&signature);
            let cut = cut(&raw).unwrap();
            assert_eq!(cut.value, format!("\"{signature}\""));
            assert_eq!(cut.rest, part(""));
        }
    }

    #[test]
    fn what_is_not_plainly_one_stays() {
        let long = "Zm9v".repeat(LARGE_BYTES);
        let parts = [
            "{\"thoughtSignature\":\"Zm9v\"}".to_owned(),
            format!("{{\"text\":\"{long}\"}}"),
            format!("{{\"thoughtSignature\":\"a\\\"{long}\"}}"),
            format!("{{\"thoughtSignature\":\"\",\"text\":\"{long}\"}}"),
            format!("{{\"thoughtSignature\":7,\"text\":\"{long}\"}}"),
            format!("{{\"thoughtSignature\":\"{long}"),
        ];
        for raw in parts {
            assert!(cut(&raw).is_none(), "{raw:.60}");
        }
    }
}
