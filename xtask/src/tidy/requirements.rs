//! Every requirement that a comment cites is listed, and every listed one is cited.
//!
//! Tests say in a comment which requirement they hold: `// K22, M1-M7`. The document says what each
//! of those ids means, so that a reader needs nothing but the tree.

use std::collections::{BTreeMap, BTreeSet};

use super::{Report, Tree, rust_text};

const DOCUMENT: &str = "docs/requirements.md";
/// Groups of requirements, in the order of the document.
const GROUPS: [char; 7] = ['K', 'D', 'J', 'C', 'O', 'X', 'M'];
/// Longer numbers are no ids of ours.
const DIGITS_MAX: usize = 3;
/// How a line of the document begins, before the id.
const BULLET: &str = "- **";

/// A requirement, as `(group, number)`. Groups are ordered as the document is.
type Id = (usize, u32);

pub(super) fn check(tree: &Tree, report: &mut Report) {
    let cited = cited(tree);
    let Some(file) = tree.file(DOCUMENT) else {
        if !cited.is_empty() {
            report.file(DOCUMENT, "not there; it lists the requirements that comments cite");
        }
        return;
    };
    let mut listed = BTreeSet::new();
    let mut last = None;
    for (index, line) in file.text.lines().enumerate() {
        let Some((id, "")) =
            line.strip_prefix(BULLET).and_then(|rest| rest.split_once("**")).and_then(first_id)
        else {
            continue;
        };
        if last.is_some_and(|last| id <= last) {
            let message = format!("{} is out of order, or listed twice", name(id));
            report.line(DOCUMENT, index + 1, message);
        }
        if !cited.contains_key(&id) {
            let message = format!("{} is cited by no comment: cite it or take it away", name(id));
            report.line(DOCUMENT, index + 1, message);
        }
        listed.insert(id);
        last = Some(id);
    }
    for (id, (path, line)) in cited.iter().filter(|(id, _)| !listed.contains(*id)) {
        report.line(path, *line, format!("{} is not in {DOCUMENT}", name(*id)));
    }
}

/// The id that the bold part of a bullet consists of, and what else is in that part.
fn first_id<'a>((bold, _): (&'a str, &'a str)) -> Option<(Id, &'a str)> {
    id_at(bold)
}

/// Every cited id, with the first place that cites it.
fn cited(tree: &Tree) -> BTreeMap<Id, (&str, usize)> {
    let mut cited = BTreeMap::new();
    for file in tree.files().iter().filter(|file| file.is_rust()) {
        for (index, line) in rust_text::lines(&file.text).iter().enumerate() {
            for id in ids(&line.comment) {
                cited.entry(id).or_insert((file.path.as_str(), index + 1));
            }
        }
    }
    cited
}

/// The ids in a comment. `M1-M7` and `M1 to M7` stand for all between.
fn ids(comment: &str) -> Vec<Id> {
    let mut found = Vec::new();
    let mut rest = comment;
    // A letter or digit before an id makes it a part of a word; a dash makes it a flag (`-O2`).
    let mut before = ' ';
    while let Some(next) = rest.chars().next() {
        let in_word = before.is_alphanumeric() || before == '_' || before == '-';
        let Some((first, behind)) = id_at(rest).filter(|_| !in_word) else {
            rest = rest.get(next.len_utf8()..).unwrap_or("");
            before = next;
            continue;
        };
        let end = range_end(behind).filter(|(last, _)| last.0 == first.0);
        let (last, behind) = end.unwrap_or((first, behind));
        found.extend((first.1..=last.1).map(|number| (first.0, number)));
        rest = behind;
        before = '0';
    }
    found
}

/// The id behind a dash or "to", and what follows it.
fn range_end(text: &str) -> Option<(Id, &str)> {
    ["-", "–", " to "].iter().find_map(|between| id_at(text.strip_prefix(between)?))
}

/// The id at the beginning of a text, and what follows it.
fn id_at(text: &str) -> Option<(Id, &str)> {
    let letter = text.chars().next()?;
    let group = GROUPS.iter().position(|group| *group == letter)?;
    let behind = text.get(1..)?;
    let digits = behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = behind.split_at_checked(digits)?;
    let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let sound = 0 < digits && digits <= DIGITS_MAX && !number.starts_with('0') && ends;
    sound.then_some(((group, number.parse().ok()?), rest))
}

fn name((group, number): Id) -> String {
    let letter = GROUPS.get(group).copied().unwrap_or('?');
    format!("{letter}{number}")
}

#[cfg(test)]
mod tests {
    use super::{DOCUMENT, check, ids, name};
    use crate::tidy::report::findings;

    fn read(comment: &str) -> Vec<String> {
        ids(comment).into_iter().map(name).collect()
    }

    #[test]
    fn ids_are_read_one_by_one_and_in_ranges() {
        assert_eq!(
            read("// K22, M1-M3, O9 to O11: why"),
            ["K22", "M1", "M2", "M3", "O9", "O10", "O11"]
        );
        assert_eq!(read("//! (J65; X16)."), ["J65", "X16"]);
    }

    #[test]
    fn what_only_looks_like_an_id_is_none() {
        let comment = "// -O2, M0, K1234, XK1, K1a, A7, K, D_1";
        assert!(read(comment).is_empty(), "{:?}", read(comment));
    }

    #[test]
    fn a_cited_requirement_is_listed_and_a_listed_one_is_cited() {
        let test = ("crates/a/tests/a/one.rs", "// K1, D2\nlet text = \"K9\"; // J3");
        let list = "# R\n- **K1** one.\n- **K4** four.\n- **D2** two.\n";
        assert_eq!(
            findings(check, &[test, (DOCUMENT, list)]),
            [
                "docs/requirements.md:3: K4 is cited by no comment: cite it or take it away",
                "crates/a/tests/a/one.rs:2: J3 is not in docs/requirements.md",
            ]
        );
    }

    #[test]
    fn a_requirement_is_listed_once_and_in_order() {
        let test = ("crates/a/tests/a/one.rs", "// K1-K3");
        let list = "- **K1** a\n- **K3** c\n- **K2** b\n- **K2** b\n";
        assert_eq!(
            findings(check, &[test, (DOCUMENT, list)]),
            [
                "docs/requirements.md:3: K2 is out of order, or listed twice",
                "docs/requirements.md:4: K2 is out of order, or listed twice",
            ]
        );
    }

    #[test]
    fn citations_without_the_document_are_found() {
        assert_eq!(findings(check, &[("crates/a/src/a.rs", "// K1")]).len(), 1);
        assert!(findings(check, &[("crates/a/src/a.rs", "// none")]).is_empty());
    }
}
