//! Whether a script of `sed` may run commands or touch other files.
//!
//! Knows the few forms that everybody uses, and takes all else for one that may.

/// Options without a value. `i` has one only if it is glued, and then it is a suffix.
const OPTIONS: &str = "nErsuz";
/// Long options without a value.
const LONG: [&str; 10] = [
    "--debug",
    "--in-place",
    "--null-data",
    "--posix",
    "--quiet",
    "--regexp-extended",
    "--sandbox",
    "--separate",
    "--silent",
    "--unbuffered",
];

/// Whether it may, with these arguments.
pub(super) fn runs(arguments: &[String]) -> bool {
    let mut plain = Vec::new();
    let mut scripts = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let Some(letters) = argument.strip_prefix('-') else {
            plain.push(argument);
            continue;
        };
        let before = letters.trim_start_matches(|letter| OPTIONS.contains(letter));
        match before {
            "" => {}
            "e" => scripts.extend(arguments.next()),
            _ if before.starts_with('i') && !before.contains('e') => {}
            _ if LONG.contains(&argument.as_str()) => {}
            // A glued script, a script in a file, an end of options, or something unknown.
            _ => return true,
        }
    }
    if scripts.is_empty() {
        scripts.extend(plain.first());
    }
    !scripts.into_iter().all(|script| is_plain(script))
}

/// `10,20p`, `/a/d`, `$!d`, `s/a/b/g`, and several of them.
fn is_plain(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', ';', '\n']);
        if rest.is_empty() {
            return true;
        }
        match command(rest) {
            Some(behind) if behind.is_empty() || behind.starts_with([' ', ';', '\n']) => {
                rest = behind;
            }
            Some(_) | None => return false,
        }
    }
}

/// What is behind the first command, if that is a plain one.
fn command(script: &str) -> Option<&str> {
    let mut rest = address(script)?;
    if let Some(second) = rest.strip_prefix(',') {
        rest = address(second)?;
    }
    let rest = rest.trim_start_matches([' ', '!']);
    if let Some(behind) =
        rest.strip_prefix(['p', 'd', 'q', '=', 'n', 'g', 'h', 'x', 'D', 'G', 'H', 'N', 'P'])
    {
        return Some(behind);
    }
    let rest = rest.strip_prefix('s')?;
    let edge = rest.chars().next().filter(|edge| edge.is_ascii_punctuation() && *edge != '\\')?;
    let rest = until(rest.strip_prefix(edge)?, edge)?;
    let rest = until(rest, edge)?;
    Some(rest.trim_start_matches(|flag: char| flag.is_ascii_digit() || "gpIi".contains(flag)))
}

/// What is behind an address; all of it if there is none.
fn address(script: &str) -> Option<&str> {
    match script.strip_prefix('/') {
        Some(rest) => Some(until(rest, '/')?.trim_start_matches('I')),
        None => {
            Some(script.trim_start_matches(|letter: char| {
                letter.is_ascii_digit() || "$~+".contains(letter)
            }))
        }
    }
}

/// What is behind the next `edge`. In brackets an edge may be none, so brackets with one are not plain,
/// nor are those whose end is not where it seems to be.
fn until(text: &str, edge: char) -> Option<&str> {
    let mut letters = text.char_indices();
    let mut bracket = false;
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\n' => return None,
            '\\' => drop(letters.next()),
            '[' if bracket => return None,
            '[' => {
                let inner = text.get(at + 1..).unwrap_or_default();
                if inner.trim_start_matches('^').starts_with(']') {
                    return None;
                }
                bracket = true;
            }
            ']' => bracket = false,
            _ if letter == edge && bracket => return None,
            _ if letter == edge => return text.get(at + letter.len_utf8()..),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str], expected: bool) {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        assert_eq!(runs(&words), expected, "{words:?}");
    }

    #[test]
    fn scripts_of_every_day_run_nothing() {
        for script in [
            "10,20p",
            "$p",
            "/a.b/d",
            "/a/,/b/p",
            "s/a/b/",
            "s|a/b|c|g",
            "s/a\\/b/c/2p",
            "1d;$d",
            "/x/I!d",
            "1~2p",
            "s/[ab]/c/g; s/d/e/",
            "10q",
            "=",
        ] {
            check(&["-n", script, "file"], false);
            check(&["-i.bak", "-e", script, "-e", "p", "e"], false);
        }
        check(&["-nE", "-e", "p", "--in-place", "exec"], false);
        check(&[], false);
    }

    #[test]
    fn scripts_that_may_run_commands_are_found() {
        for script in [
            "e",
            "erm x",
            "1e rm x",
            "$e",
            "/a/e rm",
            "s/a/rm x/e",
            "s/a/b/ge",
            "s/a/b/w f",
            "w f",
            "p;e rm",
            "p\ne rm",
            "1{e rm\n}",
            "r f",
            "s/[/]/;e rm/",
            "s/[]/]/p;s/e",
            "s/[^]/]/x/e",
            "s/[[:a:]/]/x/e",
            "s/a/b",
            "y/a/b/",
            "/a\\/e/e",
            "1,2e rm",
            "1!e rm",
            "s,a,b,e",
            "s/a/\\n/;1e rm",
            "\\,a,e rm",
        ] {
            check(&["-n", script, "file"], true);
            check(&["-e", "p", "-e", script], true);
        }
        check(&["-f", "x", "file"], true);
        check(&["-es/a/b/e", "file"], true);
        check(&["-ne1e rm", "file"], true);
        check(&["--expression=1e rm", "file"], true);
        check(&["--file=x"], true);
        check(&["-ie", "1e rm", "f"], true);
        check(&["--", "1e rm"], true);
    }
}
