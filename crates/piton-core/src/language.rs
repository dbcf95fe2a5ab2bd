//! Names of programming languages, as people write them behind a fence, for the faces that colour code.

/// Longest line that is coloured, in bytes: the time that a grammar takes is not bounded by anything else.
pub const COLOURED_BYTES_MAX: usize = 2_000;

/// Names that people write, and those that grammars have.
const OTHER_NAMES: [(&str, &str); 8] = [
    ("shell", "sh"),
    ("console", "sh"),
    ("shellsession", "sh"),
    ("golang", "go"),
    ("c++", "cpp"),
    ("c#", "cs"),
    ("jsonc", "json"),
    ("py3", "py"),
];

/// The name of a language as it is written behind a fence: `rust,no_run` is `rust`.
pub fn written(info: &str) -> &str {
    info.split([' ', ',', '{', '\t']).next().unwrap_or_default()
}

/// The name that grammars have for it; empty if none is written.
pub fn token(info: &str) -> String {
    let written = written(info).to_lowercase();
    let other = OTHER_NAMES.iter().find(|(name, _)| *name == written);
    other.map_or(written.as_str(), |(_, token)| token).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_has_the_name_of_its_grammar() {
        for (info, expected) in
            [("Rust,no_run", "rust"), ("C++", "cpp"), ("console", "sh"), ("{.py}", ""), ("", "")]
        {
            assert_eq!(token(info), expected, "{info}");
        }
    }
}
