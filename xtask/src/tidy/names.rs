//! A file is named after the one thing it is about.

use super::{Report, Tree, rust_text};

/// Names that say nothing, and so collect everything.
const BANNED: [&str; 8] =
    ["util", "utils", "helper", "helpers", "common", "manager", "managers", "misc"];

pub(super) fn check(tree: &Tree, report: &mut Report) {
    for file in tree.files().iter().filter(|file| file.is_rust()) {
        let parts = file.path.trim_end_matches(".rs").split('/');
        for name in parts.filter(|part| BANNED.contains(part)) {
            report.file(&file.path, says_nothing(name));
        }
        for (index, line) in rust_text::lines(&file.text).iter().enumerate() {
            if let Some(name) = module_with_body(&line.code).filter(|name| BANNED.contains(name)) {
                report.line(&file.path, index + 1, says_nothing(name));
            }
        }
    }
}

fn says_nothing(name: &str) -> String {
    format!("\"{name}\" names nothing; call it after the thing it is about")
}

/// The name in `mod name {`. A module in a file is found by its path.
fn module_with_body(code: &str) -> Option<&str> {
    let (before, behind) = code.split_once("mod ")?;
    let is_keyword = before.is_empty() || before.ends_with([' ', ')']);
    let name = behind.trim_end().strip_suffix('{')?.trim();
    is_keyword.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::report::findings;

    #[test]
    fn a_name_that_says_nothing_is_found() {
        let message =
            |name| format!("\"{name}\" names nothing; call it after the thing it is about");
        assert_eq!(
            findings(
                check,
                &[
                    ("crates/a/src/utils.rs", "mod x;"),
                    ("crates/a/tests/common/mod.rs", ""),
                    ("crates/b/src/lib.rs", "mod edit;\npub(crate) mod helpers {\n}\n"),
                ]
            ),
            [
                format!("crates/a/src/utils.rs: {}", message("utils")),
                format!("crates/a/tests/common/mod.rs: {}", message("common")),
                format!("crates/b/src/lib.rs:2: {}", message("helpers")),
            ]
        );
    }

    #[test]
    fn a_part_of_a_name_is_no_name() {
        assert!(findings(check, &[("crates/a/src/uncommon.rs", "// mod utils {")]).is_empty());
    }
}
