//! One spelling: British, as the documents began with.
//!
//! Only prose is checked. Names in code follow the libraries that they come from.

use super::{Report, Tree, prose};

/// Stems that we do not write, and what we write.
const STEMS: [(&str, &str); 15] = [
    ("analyz", "analys"),
    ("behavior", "behaviour"),
    ("canceled", "cancelled"),
    ("canceling", "cancelling"),
    ("color", "colour"),
    ("favor", "favour"),
    ("honor", "honour"),
    ("initializ", "initialis"),
    ("neighbor", "neighbour"),
    ("normaliz", "normalis"),
    ("optimiz", "optimis"),
    ("recogniz", "recognis"),
    ("serializ", "serialis"),
    ("summariz", "summaris"),
    ("synchroniz", "synchronis"),
];
/// Whole words. "Licensed" and a capital "License" are right: a verb, and the name of a text.
const WORDS: [(&str, &str); 2] = [("license", "licence"), ("licenses", "licences")];

pub(super) fn check(tree: &Tree, report: &mut Report) {
    for file in tree.files().iter().filter(|file| file.is_rust() || file.is_markdown()) {
        for (index, line) in prose::lines(file).iter().enumerate() {
            for (word, right) in words(line).filter_map(|word| Some((word, respelt(word)?))) {
                report.line(&file.path, index + 1, format!("\"{word}\": we write \"{right}\""));
            }
        }
    }
}

/// How we spell a word, if differently.
fn respelt(word: &str) -> Option<String> {
    if let Some((_, right)) = WORDS.iter().find(|(wrong, _)| *wrong == word) {
        return Some((*right).into());
    }
    let lower = word.to_lowercase();
    let (wrong, right) = STEMS.iter().find(|(wrong, _)| lower.contains(wrong))?;
    Some(lower.replace(wrong, right))
}

/// The words of a line that are not part of a name, a path or an address.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace().filter_map(|piece| {
        let word = piece.trim_matches(|c: char| !c.is_alphanumeric());
        let is_word = word.chars().all(char::is_alphabetic);
        let is_name = word.chars().skip(1).any(char::is_uppercase);
        (is_word && !is_name && !piece.contains(['_', '(', '/', '@', '#', '[', '<']))
            .then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::report::findings;

    #[test]
    fn prose_is_british() {
        assert_eq!(
            findings(check, &[("a.rs", "// The Behavior, serialized.\n"), ("b.md", "a license\n")]),
            [
                "a.rs:1: \"Behavior\": we write \"behaviour\"",
                "a.rs:1: \"serialized\": we write \"serialised\"",
                "b.md:1: \"license\": we write \"licence\"",
            ]
        );
    }

    #[test]
    fn names_texts_and_verbs_are_left_alone() {
        let rust =
            "let color = \"color\"; // `color` serde::Serialize NO_COLOR https://a/color.html";
        let markdown = "Licensed under the MIT License, see [license](LICENSE-MIT).\n";
        assert!(findings(check, &[("a.rs", rust), ("b.md", markdown)]).is_empty());
    }
}
