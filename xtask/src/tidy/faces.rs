//! Faces show views and send commands; stored events and the fold stay private to the engine.
//!
//! A face that reads events has to be changed with them, and copies what the view says already. The
//! words that both need are exported again by `piton_core::view` and `piton_core::command`.

use super::{Report, Tree};

/// Faces, and how many of their files still import what is private: exact, so that the number may only
/// go down.
const FACES: [(&str, usize); 1] = [("piton-cli", 10)];

/// Modules that are private to the engine.
const PRIVATE: [&str; 2] = ["piton_core::event", "piton_core::state"];

pub(super) fn check(tree: &Tree, report: &mut Report) {
    for (face, most) in FACES {
        let home = format!("crates/{face}/src/");
        let files = tree.files().iter().filter(|file| file.path.starts_with(&home));
        let private = |text: &str| PRIVATE.iter().any(|module| text.contains(module));
        let found: Vec<_> = files.filter(|file| private(&file.text)).collect();
        if most < found.len() {
            for file in &found {
                let message = format!(
                    "imports events or the fold; a face imports piton_core::view and \
                     piton_core::command ({most} files of {face} still may, {} do)",
                    found.len()
                );
                report.file(&file.path, message);
            }
        } else if found.len() < most {
            let message = format!("{face} is better now: write {} in FACES", found.len());
            report.file("xtask/src/tidy/faces.rs", message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FACES, check};
    use crate::tidy::report::findings;

    const IMPORT: &str = "use piton_core::event::Event;\n";

    /// A face with so many files that import events.
    fn check_count(count: usize) -> Vec<String> {
        let files: Vec<_> =
            (0..count).map(|place| format!("crates/piton-cli/src/{place}.rs")).collect();
        let tree: Vec<_> = files.iter().map(|file| (file.as_str(), IMPORT)).collect();
        findings(check, &tree)
    }

    #[test]
    fn the_number_of_files_that_import_events_is_exact() {
        let (_, most) = FACES[0];
        assert!(check_count(most).is_empty());
        assert_eq!(check_count(most + 1).len(), most + 1);
        let better = check_count(most - 1);
        assert!(better[0].contains("is better now"), "{better:?}");
    }

    #[test]
    fn a_file_of_the_engine_may() {
        let (_, most) = FACES[0];
        let mut tree: Vec<_> =
            (0..most).map(|place| format!("crates/piton-cli/src/{place}.rs")).collect();
        tree.push("crates/piton/src/log.rs".to_owned());
        let tree: Vec<_> = tree.iter().map(|file| (file.as_str(), IMPORT)).collect();
        assert!(findings(check, &tree).is_empty());
    }
}
