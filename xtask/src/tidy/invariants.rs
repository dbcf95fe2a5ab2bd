//! An invariant that nothing checks is a wish.

use super::{Report, Tree};

const DOCUMENT: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Invariants";
/// What every invariant says.
const MARK: &str = "Check:";

pub(super) fn check(tree: &Tree, report: &mut Report) {
    let Some(file) = tree.file(DOCUMENT) else {
        report.notes.push(format!("{DOCUMENT} is not there yet; its invariants were not read"));
        return;
    };
    let mut in_section = false;
    // The line of each bullet, and whether it names its check.
    let mut bullets: Vec<(usize, bool)> = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if line.starts_with("## ") {
            in_section = line.trim_end() == HEADING;
        } else if in_section && line.starts_with(['-', '*']) && !line.starts_with("**") {
            bullets.push((index + 1, line.contains(MARK)));
        } else if in_section && let Some((_, checked)) = bullets.last_mut() {
            *checked |= line.contains(MARK);
        }
    }
    if bullets.is_empty() {
        report.file(DOCUMENT, format!("no list below \"{HEADING}\""));
    }
    for (line, _) in bullets.iter().filter(|(_, checked)| !checked) {
        report.line(DOCUMENT, *line, format!("a wish: say what holds it, after \"{MARK}\""));
    }
}

#[cfg(test)]
mod tests {
    use super::{DOCUMENT, check};
    use crate::tidy::report::{Report, findings};
    use crate::tidy::tree::Tree;

    #[test]
    fn an_invariant_names_its_check() {
        let text =
            "# A\n- no\n## Invariants\n- one,\n  two. Check: a test.\n- a wish.\n\n## B\n- no\n";
        assert_eq!(
            findings(check, &[(DOCUMENT, text)]),
            ["ARCHITECTURE.md:6: a wish: say what holds it, after \"Check:\""]
        );
    }

    #[test]
    fn a_document_without_invariants_is_found() {
        assert_eq!(
            findings(check, &[(DOCUMENT, "# A\n## B\n- no\n")]),
            ["ARCHITECTURE.md: no list below \"## Invariants\""]
        );
    }

    #[test]
    fn a_missing_document_is_told_and_forgiven() {
        let mut report = Report::default();
        check(&Tree::invented(&[]), &mut report);
        assert!(report.findings.is_empty());
        assert_eq!(report.notes.len(), 1);
    }
}
