//! Names that may be meant by a name that nobody knows: models, commands, topics, tools, settings.

/// How alike names must be.
const ALIKE_MIN: f64 = 0.82;
/// Shortest part of a name that is taken for a hint at it, in bytes.
const PART_LETTERS_MIN: usize = 3;
/// Most names that are suggested.
const NEAR_MAX: usize = 3;

/// The names that are nearest to what was typed, the nearest first.
pub fn near<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let typed = typed.to_lowercase();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        let behind = name.split_once('/').map_or(name.as_str(), |(_, model)| model);
        let is_part = PART_LETTERS_MIN <= typed.len() && name.contains(&typed);
        let alike = strsim::jaro_winkler(&typed, &name).max(strsim::jaro_winkler(&typed, behind));
        if is_part { alike.max(ALIKE_MIN) } else { alike }
    };
    let mut found: Vec<(f64, &str)> =
        names.into_iter().map(|name| (likeness(name), name)).collect();
    found.retain(|(alike, _)| ALIKE_MIN <= *alike);
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    found.into_iter().take(NEAR_MAX).map(|(_, name)| name.to_owned()).collect()
}

/// The names as the end of a sentence; nothing, if there are none.
pub(crate) fn suggestion(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) }
}

/// Why a value makes no sense, with what may be meant, if the reason ends with "is one of a, b, c".
pub fn with_near(value: &str, why: String) -> String {
    let meant = quote(near(value.trim(), one_of(&why).unwrap_or_default()));
    format!("{why}{}", suggestion(&meant))
}

/// The words of a message that ends with "one of a, b, c".
pub(crate) fn one_of(said: &str) -> Option<Vec<&str>> {
    let (_, words) = said.split_once(" is one of ")?;
    Some(words.split(", ").collect())
}

/// Words as they are written down.
pub(crate) fn quote(words: Vec<String>) -> Vec<String> {
    words.into_iter().map(|word| format!("`{word}`")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_parts_of_names_are_found() {
        let names =
            ["anthropic/claude-opus-5-5", "openai/gpt-6-sol", "anthropic", "openai", "demo"];
        let first = |typed: &str| near(typed, names).into_iter().next();
        assert_eq!(first("opus").as_deref(), Some("anthropic/claude-opus-5-5"));
        assert_eq!(first("antropic").as_deref(), Some("anthropic"));
        assert_eq!(first("claude-opus-5").as_deref(), Some("anthropic/claude-opus-5-5"));
        assert_eq!(first("open-ai/gpt-6-sol").as_deref(), Some("openai/gpt-6-sol"));
        assert_eq!(first("zzz"), None);
        assert_eq!(first(""), None);
    }
}
