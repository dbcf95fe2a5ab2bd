//! What people wrote for people: comments and Markdown, without the code quoted in them.

use super::{Source, rust_text};

/// The prose of every line, from the first. Lines without any are empty.
pub(super) fn lines(file: &Source) -> Vec<String> {
    let talk: Vec<String> = if file.is_rust() {
        rust_text::lines(&file.text).into_iter().map(|line| line.comment).collect()
    } else {
        file.text.lines().map(str::to_owned).collect()
    };
    let mut in_fence = false;
    talk.iter()
        .map(|line| {
            let text = line.trim().trim_start_matches(['/', '!', '*']).trim_start();
            // A fence in a comment ends with the comment, even if somebody forgot to close it.
            in_fence &= !(file.is_rust() && line.is_empty());
            let fence = text.starts_with("```");
            in_fence ^= fence;
            if fence || in_fence { String::new() } else { without_quoted_code(text) }
        })
        .collect()
}

/// Leaves out what stands between backticks.
fn without_quoted_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

#[cfg(test)]
mod tests {
    use super::lines;
    use crate::tidy::Source;

    fn check(path: &str, text: &str, prose: &[&str]) {
        assert_eq!(lines(&Source { path: path.into(), text: text.into() }), prose);
    }

    #[test]
    fn comments_are_prose_and_code_is_not() {
        check(
            "a.rs",
            "//! One `two` three.\nlet x = \"four\"; // five",
            &["One `` three.", "five"],
        );
    }

    #[test]
    fn quoted_blocks_are_left_out() {
        check("a.md", "a\n```rust\nb\n```\nc", &["a", "", "", "", "c"]);
        check("a.rs", "/// ```\n/// b\nfn f() {}\n/// c", &["", "", "", "c"]);
    }
}
