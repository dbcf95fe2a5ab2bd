//! The text of a command in pieces: what it says, and commands for the shell whose output it wants.
//!
//! Words that were typed never become a part of a command for the shell. It has them as parameters and as
//! the variable `ARGUMENTS`, so that `$1` means the same in it, whatever the word is.

/// A piece of what a command says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A text, with the words in it.
    Text(String),
    /// A command for the shell, exactly as the file has it. Its output stands here.
    Shell(String),
}

/// The pieces of a text. Words of a text without placeholders stand behind it.
pub(super) fn pieces(text: &str, words: &str) -> Vec<Piece> {
    let (mut pieces, mut rest, mut used) = (Vec::new(), text, false);
    while let Some((before, command, behind)) = next_command(rest) {
        let (said, is_used) = filled(before, words);
        pieces.push(Piece::Text(said));
        // What it refers to is used, although nothing is filled in here.
        used |= is_used || filled(command, words).1;
        pieces.push(Piece::Shell(command.to_owned()));
        rest = behind;
    }
    let (said, is_used) = filled(rest, words);
    used |= is_used;
    let is_left = !used && !words.is_empty();
    pieces.push(Piece::Text(if is_left {
        format!("{}\n\n{words}", said.trim_end())
    } else {
        said
    }));
    pieces
}

/// The first command between `` !` `` and `` ` ``, on one line, with what stands before and behind it. The
/// sign begins a word: an exclamation in front of some code is none.
fn next_command(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find("!`")?;
        let (before, rest) = text.split_at(at);
        let inner = rest.strip_prefix("!`")?;
        let end = inner
            .find(['`', '\n'])
            .filter(|_| before.chars().next_back().is_none_or(char::is_whitespace));
        let command = end.map(|end| inner.split_at(end));
        if let Some((command, behind)) = command
            && let Some(behind) = behind.strip_prefix('`')
            && !command.trim().is_empty()
        {
            return Some((before, command.trim(), behind));
        }
        from = at + 2;
    }
}

/// A text with its placeholders filled, and whether it has any: `$ARGUMENTS` and `$@` are all words, `$1` to
/// `$9` single ones.
fn filled(text: &str, words: &str) -> (String, bool) {
    let single: Vec<&str> = words.split_whitespace().collect();
    let (mut said, mut rest, mut used) = (String::with_capacity(text.len()), text, false);
    while let Some(at) = rest.find('$') {
        let (before, behind) = rest.split_at(at);
        said.push_str(before);
        let behind = behind.strip_prefix('$').unwrap_or_default();
        let number = behind.chars().next().and_then(|digit| digit.to_digit(10));
        if let Some(left) = behind.strip_prefix("ARGUMENTS").or_else(|| behind.strip_prefix('@')) {
            said.push_str(words);
            (rest, used) = (left, true);
        } else if let Some(number @ 1..=9) = number {
            said.push_str(single.get(number as usize - 1).unwrap_or(&""));
            (rest, used) = (behind.get(1..).unwrap_or_default(), true);
        } else {
            said.push('$');
            rest = behind;
        }
    }
    said.push_str(rest);
    (said, used)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands in angle brackets.
    fn shown(text: &str, words: &str) -> String {
        let shown = pieces(text, words).into_iter().map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Shell(command) => format!("<{command}>"),
        });
        shown.collect()
    }

    #[test]
    fn placeholders_are_filled_and_other_strokes_stay() {
        for (text, words, expected) in [
            ("Look at $ARGUMENTS.", "a b", "Look at a b."),
            ("$2 then $1, $3!", "a b", "b then a, !"),
            ("All: $@", "$1 x", "All: $1 x"),
            ("It costs $0 and $HOME", "", "It costs $0 and $HOME"),
            ("Plain.\n", "more", "Plain.\n\nmore"),
            ("$", "", "$"),
        ] {
            assert_eq!(shown(text, words), expected, "{text}");
        }
    }

    #[test]
    fn commands_stay_as_the_file_has_them_and_words_make_none() {
        for (text, words, expected) in [
            ("State: !`git status` end", "", "State: <git status> end"),
            ("!`a`\n!`b`", "", "<a>\n<b>"),
            ("!`log $1` $1", "x;rm", "<log $1> x;rm"),
            ("!`log \"$ARGUMENTS\"`", "x", "<log \"$ARGUMENTS\">"),
            ("!`date`", "x", "<date>\n\nx"),
            ("$1", "!`rm`", "!`rm`"),
            ("Wow!`code` and !`` and !`a\nb` and !`", "", "Wow!`code` and !`` and !`a\nb` and !`"),
            ("! `a` é!`b`", "", "! `a` é!`b`"),
        ] {
            assert_eq!(shown(text, words), expected, "{text}");
        }
    }
}
