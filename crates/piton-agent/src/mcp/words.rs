//! Whether the words that start a server tell which files it runs.
//!
//! A plain word names a file, an option or a value, and a file that it names can be approved by its bytes. A word
//! with a blank or a character of a shell in it may be code, which names files in ways that only an interpreter
//! knows. So what is plain is listed, and nothing of what is not.

use piton_mcp::{Expand, Launch, Project, ServerSettings};

/// Characters of a plain word beside letters and digits.
const PLAIN: &str = "-_./:=,@%+";

/// A server whose words do not tell which files it runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the MCP server {server} was not approved to run outside the sandbox: its words hold code, and nobody can tell \
     which files that runs: {word}"
)]
pub struct CodeInWords {
    /// The server.
    pub server: String,
    /// The first word that is not plain.
    pub word: String,
}

/// The first word of a server that is not plain. Blanks part the words of a variable's value.
pub(super) fn code_in(server: &ServerSettings) -> Option<CodeInWords> {
    let Ok(Launch::Program { command, args, env, cwd: _ }) = &server.launch else { return None };
    if !server.enabled {
        return None;
    }
    let words = [command].into_iter().chain(args).map(String::as_str);
    let values = env.values().flat_map(|value| value.split_whitespace());
    let word = words.chain(values).find(|word| !is_plain(word))?;
    Some(CodeInWords { server: server.name.clone(), word: word.to_owned() })
}

/// The servers of a project as they are written. The value of a variable of the user counts as a plain word: its
/// author did not write it.
pub(super) fn as_written(
    project: &Project,
    look: &dyn Fn(&str) -> Option<String>,
) -> Vec<ServerSettings> {
    let is_set = |name: &str| look(name).filter(|value| !value.is_empty()).map(|_| name.to_owned());
    project.servers(&Expand::new(&is_set, &[]))
}

fn is_plain(word: &str) -> bool {
    word.chars().all(|letter| letter.is_alphanumeric() || PLAIN.contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_plain_if_it_can_name_a_file_and_no_more() {
        for word in
            ["", "-y", "--require=./a.js", "@scope/server@1.2", "server.py", "-I", "a,b:c", "ünï"]
        {
            assert!(is_plain(word), "{word}");
        }
        for word in [
            "exec ./a",
            "a;b",
            "$PWD/a",
            "`a`",
            "a*",
            "~/a",
            "open('a')",
            "{a,b}",
            "a|b",
            "a>b",
            "a?",
            "[ab]",
            "a\\b",
            "\"a\"",
            "#a",
            "!a",
            "a\tb",
            "a\nb",
            "a&b",
        ] {
            assert!(!is_plain(word), "{word}");
        }
    }
}
