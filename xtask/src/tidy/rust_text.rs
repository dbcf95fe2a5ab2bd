//! Tells code from comments in Rust text, line by line.
//!
//! Rules look for words. A word in a string is data and in a comment it is talk, so that both must
//! be told from code. This is a small lexer, not a parser: it knows where strings and comments
//! begin and end and nothing else.

/// One line of Rust, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The code, with the insides of strings and characters left out.
    pub(super) code: String,
    /// The comment, with its slashes.
    pub(super) comment: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Code,
    LineComment,
    /// How deep it is nested.
    BlockComment(usize),
    Text,
    /// How many hashes end it.
    RawText(usize),
}

/// Takes a file apart. There are as many lines as in `text.lines()`.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut inside = Inside::Code;
    text.lines()
        .map(|line| {
            let (taken, next) = take_apart(line, inside);
            inside = if next == Inside::LineComment { Inside::Code } else { next };
            taken
        })
        .collect()
}

fn take_apart(line: &str, mut inside: Inside) -> (Line, Inside) {
    let mut taken = Line::default();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let (length, next) = match inside {
            Inside::Code => step_in_code(rest, &taken.code),
            Inside::LineComment => (rest.len(), inside),
            Inside::BlockComment(depth) => step_in_block_comment(rest, depth),
            Inside::Text if rest.starts_with('\\') => (escaped_length(rest), inside),
            Inside::Text if first == '"' => (1, Inside::Code),
            Inside::RawText(hashes) if ends_raw_text(rest, hashes) => (1 + hashes, Inside::Code),
            Inside::Text | Inside::RawText(_) => (first.len_utf8(), inside),
        };
        let (piece, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        match (inside, next) {
            (Inside::LineComment | Inside::BlockComment(_), _)
            | (Inside::Code, Inside::LineComment | Inside::BlockComment(_)) => {
                taken.comment.push_str(piece);
            }
            // A character: only its quotes are code.
            (Inside::Code, Inside::Code) if 1 < length => taken.code.push_str("''"),
            (Inside::Code, Inside::Code | Inside::Text | Inside::RawText(_))
            | (Inside::Text | Inside::RawText(_), Inside::Code) => taken.code.push_str(piece),
            (Inside::Text | Inside::RawText(_), _) => {}
        }
        rest = behind;
        inside = next;
    }
    (taken, inside)
}

/// How much of the code to take, and what comes then.
fn step_in_code(rest: &str, before: &str) -> (usize, Inside) {
    let first = rest.chars().next().unwrap_or(' ');
    let in_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    if rest.starts_with("//") {
        (2, Inside::LineComment)
    } else if rest.starts_with("/*") {
        (2, Inside::BlockComment(1))
    } else if first == '"' {
        (1, Inside::Text)
    } else if !in_word && let Some((length, hashes)) = raw_text_start(rest) {
        (length, Inside::RawText(hashes))
    } else if first == '\'' {
        (character_length(rest), Inside::Code)
    } else {
        (first.len_utf8(), Inside::Code)
    }
}

fn step_in_block_comment(rest: &str, depth: usize) -> (usize, Inside) {
    if rest.starts_with("/*") {
        (2, Inside::BlockComment(depth + 1))
    } else if rest.starts_with("*/") && depth <= 1 {
        // The caller files the end mark under the comment it ends.
        (2, Inside::Code)
    } else if rest.starts_with("*/") {
        (2, Inside::BlockComment(depth - 1))
    } else {
        (rest.chars().next().map_or(1, char::len_utf8), Inside::BlockComment(depth))
    }
}

/// `r"`, `r#"`, `br##"` and so on: their length and number of hashes.
fn raw_text_start(rest: &str) -> Option<(usize, usize)> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        rest.strip_prefix(prefix).is_some_and(|after| after.starts_with(['"', '#']))
    })?;
    let behind = rest.strip_prefix(prefix)?;
    let hashes = behind.len() - behind.trim_start_matches('#').len();
    let opens = behind.trim_start_matches('#').starts_with('"');
    opens.then_some((prefix.len() + hashes + 1, hashes))
}

fn ends_raw_text(rest: &str, hashes: usize) -> bool {
    rest.strip_prefix('"')
        .is_some_and(|after| after.chars().take_while(|&c| c == '#').take(hashes).count() == hashes)
}

/// A backslash and the character it protects.
fn escaped_length(rest: &str) -> usize {
    rest.chars().take(2).map(char::len_utf8).sum()
}

/// The length of a character literal, or 1 for the tick of a lifetime.
fn character_length(rest: &str) -> usize {
    let mut behind = rest.chars().skip(1);
    match (behind.next(), behind.next()) {
        (Some('\\'), Some(escaped)) => {
            // `'\''`, `'\n'` or `'\u{1f600}'`: the closing tick is behind the escaped character.
            let start = 2 + escaped.len_utf8();
            let tail = rest.get(start..).unwrap_or("");
            tail.find('\'').map_or(1, |closing| start + closing + 1)
        }
        (Some(character), Some('\'')) => 2 + character.len_utf8(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::lines;

    fn check(text: &str, code: &str, comment: &str) {
        let lines = lines(text);
        let join = |parts: Vec<&str>| parts.join("|");
        assert_eq!(join(lines.iter().map(|line| line.code.as_str()).collect()), code);
        assert_eq!(join(lines.iter().map(|line| line.comment.as_str()).collect()), comment);
    }

    #[test]
    fn a_comment_is_no_code() {
        check("let a = 1; // one", "let a = 1; ", "// one");
        check("/// docs\nfn f() {}", "|fn f() {}", "/// docs|");
    }

    #[test]
    fn a_block_comment_nests_and_spans_lines() {
        check("a /* b /* c */\nd */ e", "a | e", "/* b /* c */|d */");
    }

    #[test]
    fn the_inside_of_text_is_nothing() {
        check(r#"f("// \" no", x) // yes"#, r#"f("", x) "#, "// yes");
        check("f(\"a\nb // c\") + 1", "f(\"|\") + 1", "|");
    }

    #[test]
    fn raw_text_ends_at_its_hashes() {
        check(r##"f(r#"a " // b"#) // c"##, "f(r#\"\"#) ", "// c");
        check("for\"x\" r\"\\\" // c", "for\"\" r\"\" ", "// c");
    }

    #[test]
    fn a_quote_as_a_character_opens_no_text() {
        check(r#"('"', '\'', '\\', 'a') // c"#, "('', '', '', '') ", "// c");
    }

    #[test]
    fn a_lifetime_is_no_character() {
        check("fn f<'a>(x: &'a str) // c", "fn f<'a>(x: &'a str) ", "// c");
    }
}
