//! Text that is kept as it came and handed on without ever being copied.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A shared text. Unlike `Arc<str>` it takes over the string that it is made from: native blocks can
/// be megabytes, and one more copy of them costs as much as reading them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct Verbatim(Arc<String>);

impl From<String> for Verbatim {
    fn from(mut text: String) -> Self {
        // It may live as long as the conversation.
        text.shrink_to_fit();
        Self(Arc::new(text))
    }
}

impl From<&str> for Verbatim {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Deref for Verbatim {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Verbatim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_stored_as_a_plain_string() {
        let text = Verbatim::from("[ 1,\"ä\" ]");
        let stored = serde_json::to_string(&text).unwrap();
        assert_eq!(stored, r#""[ 1,\"ä\" ]""#);
        assert_eq!(serde_json::from_str::<Verbatim>(&stored).unwrap(), text);
        assert_eq!((&*text, text.to_string()), ("[ 1,\"ä\" ]", "[ 1,\"ä\" ]".to_owned()));
    }

    #[test]
    fn the_bytes_stay_where_they_are() {
        let text = "long ".repeat(1000);
        let place = text.as_ptr();
        let kept = Verbatim::from(text);
        assert_eq!(kept.clone().as_ptr(), kept.as_ptr());
        assert_eq!(kept.as_ptr(), place);
    }
}
