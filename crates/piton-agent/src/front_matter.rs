//! The head of a Markdown file between two lines of `---`: YAML with a few fields.

use saphyr::{LoadableYamlNode as _, Yaml};

/// What stands between the head and the text.
const FENCE: &str = "---";

/// A Markdown file with its head.
#[derive(Debug)]
pub(crate) struct FrontMatter<'a> {
    head: Option<Yaml<'a>>,
    /// The text behind the head.
    pub(crate) body: &'a str,
}

impl<'a> FrontMatter<'a> {
    /// Reads a file. A file without a head is all text; a head that is no YAML is an error that says
    /// where.
    pub(crate) fn read(text: &'a str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Some((head, body)) = split(text) else { return Ok(Self { head: None, body: text }) };
        let mut documents = Yaml::load_from_str(head)
            .map_err(|error| format!("line {}: {}", error.marker().line() + 1, error.info()))?;
        if documents.len() != 1 || documents.first().is_some_and(|head| !head.is_mapping()) {
            return Err("line 2: the head has no fields".into());
        }
        Ok(Self { head: documents.pop(), body })
    }

    /// A field that is a text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let value = self.head.as_ref()?.as_mapping_get(name)?.as_str()?.trim();
        Some(value).filter(|value| !value.is_empty())
    }
}

/// The head and what is behind it, if there is a head.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix(FENCE)?;
    let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            let body = rest.get(at + line.len()..)?;
            return Some((rest.get(..at)?, body.trim_start_matches(['\r', '\n'])));
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_text_are_told_apart() {
        let text =
            "---\nname: a\ndescription: >\n  Two\n  lines.\nother: [1]\n---\n\n# Body\n---\n";
        let read = FrontMatter::read(text).unwrap();
        assert_eq!((read.text("name"), read.text("description")), (Some("a"), Some("Two lines.")));
        assert_eq!((read.text("other"), read.text("none")), (None, None));
        assert_eq!(read.body, "# Body\n---\n");
    }

    #[test]
    fn a_file_without_a_head_is_all_text() {
        for text in ["# Body\n", "---\nname: a\n", "--- x\n---\n", ""] {
            let read = FrontMatter::read(text).unwrap();
            assert_eq!((read.body, read.text("name")), (text, None));
        }
        let windows = FrontMatter::read("---\r\nname: a\r\n---\r\nb").unwrap();
        assert_eq!((windows.text("name"), windows.body), (Some("a"), "b"));
    }

    #[test]
    fn a_head_that_makes_no_sense_is_named_by_its_line() {
        let error = FrontMatter::read("---\nname: a\ndescription: b: c\n---\n").unwrap_err();
        assert!(error.starts_with("line 3: "), "{error}");
        assert!(FrontMatter::read("---\n- a\n---\n").is_err());
    }
}
