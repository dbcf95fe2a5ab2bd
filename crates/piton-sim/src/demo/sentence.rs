//! Plain sentences, rewritten as the short requests that the demo model knows.

/// What people say in front of a request.
const POLITE: [&str; 8] = [
    "please ",
    "can you ",
    "could you ",
    "would you ",
    "now ",
    "and ",
    "i want you to ",
    "let us ",
];
/// Words for the directory that the person is in.
const HERE: [&str; 6] = ["", "here", "this directory", "this folder", "the current directory", "."];

/// A sentence as a request; as it is, if it is none that is known.
pub(super) fn request_of(clause: &str) -> String {
    let clause = without_politeness(clause);
    let bare = clause.trim_end_matches(['?', '!', '.']).trim_end();
    listed(bare)
        .or_else(|| shown(bare))
        .or_else(|| written(bare))
        .or_else(|| replaced(bare))
        .or_else(|| searched(bare))
        .or_else(|| run(bare))
        .unwrap_or_else(|| clause.to_owned())
}

fn without_politeness(clause: &str) -> &str {
    let mut rest = clause.trim();
    while let Some(word) = POLITE.iter().find(|word| begins(rest, word)) {
        rest = rest.get(word.len()..).unwrap_or_default().trim_start();
    }
    rest
}

fn begins(text: &str, with: &str) -> bool {
    text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
}

/// What stands behind one of these beginnings.
fn behind<'a>(text: &'a str, beginnings: &[&str]) -> Option<&'a str> {
    let found = beginnings.iter().find(|beginning| begins(text, beginning))?;
    Some(text.get(found.len()..).unwrap_or_default().trim())
}

/// "list the files here", "which files are in src".
fn listed(text: &str) -> Option<String> {
    let rest = behind(
        text,
        &[
            "list the files",
            "list all files",
            "list files",
            "list the directory",
            "show me the files",
            "show the files",
            "which files are there",
            "which files are",
            "what files are there",
            "what files are",
            "what is here",
            "what's here",
        ],
    )?;
    let place = behind(rest, &["in ", "of "]).unwrap_or(rest);
    let place = if HERE.contains(&place.to_lowercase().as_str()) { "." } else { place };
    Some(format!("list {place}"))
}

/// "what is in README?", "show me the file a.txt".
fn shown(text: &str) -> Option<String> {
    let rest = behind(
        text,
        &[
            "what is in the file ",
            "what is in ",
            "what's in ",
            "what does ",
            "show me the file ",
            "show me ",
            "open ",
            "read the file ",
            "look at ",
            "explain ",
        ],
    )?;
    let name = rest.strip_suffix(" say").unwrap_or(rest).trim_start_matches('@');
    // People leave out how it ends.
    let name = if name.eq_ignore_ascii_case("readme") || name.eq_ignore_ascii_case("the readme") {
        "README.md"
    } else {
        name
    };
    Some(format!("read {name}"))
}

/// "write hello to a.txt", "create a.txt with hello".
fn written(text: &str) -> Option<String> {
    if let Some((name, content)) = behind(text, &["create the file ", "create a file ", "create "])
        .and_then(|rest| rest.split_once(" with "))
    {
        let name = name.strip_prefix("called ").unwrap_or(name);
        return Some(format!("write {name}: {content}"));
    }
    let rest = behind(text, &["write ", "put ", "save "])?;
    let (content, name) = [" to ", " into ", " in "].iter().find_map(|to| rest.rsplit_once(to))?;
    // The short form has a colon behind the name.
    let is_short = rest.split_whitespace().next().is_some_and(|word| word.ends_with(':'));
    let name = name.strip_prefix("the file ").unwrap_or(name);
    (!is_short && !name.contains(char::is_whitespace)).then(|| format!("write {name}: {content}"))
}

/// "replace a with b in c.txt".
fn replaced(text: &str) -> Option<String> {
    let rest = behind(text, &["replace ", "change "])?;
    let (change, name) = rest.rsplit_once(" in ")?;
    let (old, new) = change.split_once(" with ").or_else(|| change.split_once(" to "))?;
    Some(format!("edit {name}: {old} -> {new}"))
}

/// "where is main defined", "look for words in src".
fn searched(text: &str) -> Option<String> {
    let rest = behind(text, &["where is ", "look for ", "search the files for "])?;
    let what = rest.strip_suffix(" defined").or_else(|| rest.strip_suffix(" used")).unwrap_or(rest);
    Some(format!("search {what}"))
}

/// "run the command ls".
fn run(text: &str) -> Option<String> {
    let command = behind(text, &["run the command ", "execute "])?;
    Some(format!("run {command}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_sentences_become_requests() {
        for (sentence, request) in [
            ("list the files here", "list ."),
            ("Please list files in src.", "list src"),
            ("Which files are here?", "list ."),
            ("what is in README?", "read README.md"),
            ("Can you show me src/main.rs", "read src/main.rs"),
            ("what does a.txt say?", "read a.txt"),
            ("write hello to a.txt", "write a.txt: hello"),
            ("put two words into b.txt", "write b.txt: two words"),
            ("create c.txt with hello", "write c.txt: hello"),
            ("replace hello with bye in a.txt", "edit a.txt: hello -> bye"),
            ("where is main defined?", "search main"),
            ("execute ls -l", "run ls -l"),
        ] {
            assert_eq!(request_of(sentence), request, "{sentence}");
        }
    }

    #[test]
    fn short_requests_and_everything_else_stay_as_they_are() {
        for clause in [
            "list src",
            "read README.md",
            "write notes.txt: hello to all",
            "search \"fn main\" in src",
            "edit a.txt: b -> c",
            "run echo a.",
            "delegate: list src",
            "make me a sandwich.",
            "hello",
            "",
        ] {
            assert_eq!(request_of(clause), clause);
        }
    }
}
