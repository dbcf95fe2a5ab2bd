//! Documents name files that exist.
//!
//! Three rules. A Rust or Markdown file that a document for developers names in backticks must be
//! there. The table "Where does it go" has a row for every kind of thing, with full paths. The
//! index of the documents names every document.

use super::{Report, Source, Tree};

/// Documents whose paths are looked up.
const DOCUMENTS: [&str; 7] = [
    "AGENTS.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "crates/piton/src/AGENTS.md",
    "docs/decisions.md",
    "docs/store.md",
    "docs/supervisors.md",
];
const TABLE_DOCUMENT: &str = "ARCHITECTURE.md";
const TABLE_HEADING: &str = "## Where does it go";
/// The first cell of every row that the table must have.
const KINDS: [&str; 10] = [
    "a provider",
    "a tool",
    "a face",
    "a rule",
    "a status",
    "an event",
    "a setting",
    "a command",
    "a message text",
    "a benchmark row",
];
const INDEX: &str = "docs/README.md";

pub(super) fn check(tree: &Tree, report: &mut Report) {
    for document in DOCUMENTS {
        if let Some(file) = tree.file(document) {
            named_files_exist(tree, file, report);
        }
    }
    match tree.file(TABLE_DOCUMENT) {
        Some(file) => table_is_whole(tree, file, report),
        None => report.notes.push(format!("{TABLE_DOCUMENT} is not there yet; no table was read")),
    }
    if let Some(index) = tree.file(INDEX) {
        index_is_whole(tree, index, report);
    }
}

/// A name may be a path from the root, or the end of one: `state/past.rs`.
fn named_files_exist(tree: &Tree, file: &Source, report: &mut Report) {
    for (line, name) in in_backticks(&file.text) {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        let is_file = matches!(extension, Some("rs" | "md"));
        let is_plain = name.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
        let ending = format!("/{name}");
        let found = |file: &Source| file.path == name || file.path.ends_with(&ending);
        if is_file && is_plain && !tree.files().iter().any(found) {
            report.line(&file.path, line, format!("`{name}` is not in the tree"));
        }
    }
}

fn table_is_whole(tree: &Tree, file: &Source, report: &mut Report) {
    let mut in_section = false;
    let mut kinds = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if line.starts_with("## ") {
            in_section = line.trim_end() == TABLE_HEADING;
        }
        let Some(row) = line.strip_prefix('|').filter(|_| in_section) else { continue };
        let kind = row.split('|').next().unwrap_or("").trim();
        let paths: Vec<&str> = in_backticks(row)
            .into_iter()
            .map(|(_, name)| name)
            .filter(|name| name.contains('/'))
            .collect();
        if !paths.is_empty() {
            kinds.push(kind);
        }
        for path in paths.into_iter().filter(|path| !exists(tree, path)) {
            report.line(TABLE_DOCUMENT, index + 1, format!("{kind}: no `{path}` from the root"));
        }
    }
    for kind in KINDS.iter().filter(|kind| !kinds.contains(*kind)) {
        let message = format!("\"{TABLE_HEADING}\" does not say where {kind} goes");
        report.file(TABLE_DOCUMENT, message);
    }
}

/// Whether a path from the root is a file or a directory.
fn exists(tree: &Tree, path: &str) -> bool {
    let directory = format!("{}/", path.trim_end_matches('/'));
    tree.files().iter().any(|file| file.path == path || file.path.starts_with(&directory))
}

fn index_is_whole(tree: &Tree, index: &Source, report: &mut Report) {
    for file in tree.files().iter().filter(|file| file.is_markdown()) {
        let Some(name) = file.path.strip_prefix("docs/") else { continue };
        if file.path != INDEX && !index.text.contains(&format!("]({name})")) {
            report.file(INDEX, format!("does not name {name}"));
        }
    }
}

/// What stands between backticks, with its line. Fenced blocks are left out.
fn in_backticks(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_fence = false;
    for (index, line) in text.lines().enumerate() {
        let fence = line.trim_start().starts_with("```");
        in_fence ^= fence;
        if !fence && !in_fence {
            found.extend(line.split('`').skip(1).step_by(2).map(|name| (index + 1, name)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{INDEX, KINDS, TABLE_DOCUMENT, TABLE_HEADING, check};
    use crate::tidy::report::findings;

    const ROOM: (&str, &str) = ("crates/a/src/one/two.rs", "");

    /// A table in which every kind of thing goes to `path`.
    fn table(path: &str) -> String {
        let rows: Vec<String> = KINDS.iter().map(|kind| format!("| {kind} | `{path}` |")).collect();
        format!("{TABLE_HEADING}\n\n| what | files |\n|---|---|\n{}\n", rows.join("\n"))
    }

    #[test]
    fn a_file_that_a_document_names_exists() {
        let text = format!(
            "`crates/a/src/one/two.rs`, `one/two.rs`, `two.rs`\n`one/three.rs` `a*.rs`\n\
             ```\n`no.rs`\n```\n{}",
            table("crates/a/src/one/")
        );
        assert_eq!(
            findings(check, &[ROOM, (TABLE_DOCUMENT, &text)]),
            ["ARCHITECTURE.md:2: `one/three.rs` is not in the tree"]
        );
    }

    #[test]
    fn the_table_names_full_paths() {
        assert!(findings(check, &[ROOM, (TABLE_DOCUMENT, &table("crates/a/src/one"))]).is_empty());
        let found = findings(check, &[ROOM, (TABLE_DOCUMENT, &table("one/two.rs"))]);
        assert_eq!(found.len(), KINDS.len());
        assert_eq!(
            found.first().map(String::as_str),
            Some("ARCHITECTURE.md:5: a provider: no `one/two.rs` from the root")
        );
    }

    #[test]
    fn the_table_has_a_row_for_every_kind_of_thing() {
        let short = table("crates/a/src/one").replace("| a face |", "| a hat |");
        assert_eq!(
            findings(check, &[ROOM, (TABLE_DOCUMENT, &short)]),
            ["ARCHITECTURE.md: \"## Where does it go\" does not say where a face goes"]
        );
    }

    #[test]
    fn the_index_names_every_document() {
        let index = (INDEX, "- [Tools](tools.md): hands.\n");
        assert_eq!(
            findings(check, &[index, ("docs/tools.md", ""), ("docs/view.md", "")]),
            ["docs/README.md: does not name view.md"]
        );
    }
}
