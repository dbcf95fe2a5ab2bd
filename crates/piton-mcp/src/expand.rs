//! `${NAME}` and `${NAME:-otherwise}` in what is written of a server.

use std::ffi::OsString;

/// Looks variables up.
pub struct Expand<'a> {
    look: &'a dyn Fn(&str) -> Option<String>,
    hidden: &'a [OsString],
}

impl std::fmt::Debug for Expand<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Expand").field("hidden", &self.hidden).finish_non_exhaustive()
    }
}

/// Why a text cannot be completed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// The variable is not set.
    #[error("it needs the variable {0}, which is not set")]
    Unset(String),
    /// The variable holds a key of ours.
    #[error(
        "it asks for {0}, a key that is kept from it: name it in your own settings if you mean that"
    )]
    Kept(String),
    /// There is no `}`.
    #[error("it has ${{ without }}")]
    Unclosed,
}

impl<'a> Expand<'a> {
    /// Variables come from `look`; those in `hidden` are kept from the author of the text.
    pub fn new(look: &'a dyn Fn(&str) -> Option<String>, hidden: &'a [OsString]) -> Self {
        Self { look, hidden }
    }

    /// The text with every variable in its place. What a variable holds is not looked at again.
    pub(crate) fn text(&self, text: &str) -> Result<String, Missing> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("${") {
            out.push_str(before);
            let (inside, after) = behind.split_once('}').ok_or(Missing::Unclosed)?;
            out.push_str(&self.variable(inside)?);
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }

    /// The names of the variables in a text.
    pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
        let inside = text.split("${").skip(1).filter_map(|rest| rest.split('}').next());
        inside.filter_map(|inside| inside.split(":-").next())
    }

    fn variable(&self, inside: &str) -> Result<String, Missing> {
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inside, None),
        };
        if self.hidden.iter().any(|hidden| hidden.as_os_str() == name) {
            return Err(Missing::Kept(name.to_owned()));
        }
        let set = (self.look)(name).filter(|value| !value.is_empty());
        let value = set.or_else(|| otherwise.map(ToOwned::to_owned));
        value.ok_or_else(|| Missing::Unset(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, Missing>) {
        let look = |name: &str| match name {
            "A" => Some("${B}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let hidden = [OsString::from("API_KEY")];
        let expand = Expand::new(&look, &hidden);
        assert_eq!(expand.text(text), expected.map(ToOwned::to_owned), "{text}");
    }

    #[test]
    fn variables_are_put_in_their_places() {
        check("", Ok(""));
        check("$A {A} $", Ok("$A {A} $"));
        check("x${A}y", Ok("x${B}y"));
        check("${C:-c}${C:-}", Ok("c"));
        check("${EMPTY:-c}", Ok("c"));
        check("${C}", Err(Missing::Unset("C".into())));
        check("${A", Err(Missing::Unclosed));
        check("${API_KEY:-x}", Err(Missing::Kept("API_KEY".into())));
    }
}
