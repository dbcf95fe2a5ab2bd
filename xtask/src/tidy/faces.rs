//! Faces show views and send commands; stored events and the fold stay private to the engine.
//!
//! A face that reads events has to be changed with them, and copies what the view says already. The
//! words that both need are exported again by `piton_core::view` and `piton_core::command`.

use super::{Report, Tree};

/// The crates that are faces.
const FACES: [&str; 2] = ["piton-cli", "piton-page"];

/// Modules that are private to the engine.
const PRIVATE: [&str; 2] = ["piton_core::event", "piton_core::state"];

pub(super) fn check(tree: &Tree, report: &mut Report) {
    for face in FACES {
        let home = format!("crates/{face}/src/");
        let files = tree.files().iter().filter(|file| file.path.starts_with(&home));
        let private = |text: &str| PRIVATE.iter().any(|module| text.contains(module));
        for file in files.filter(|file| private(&file.text)) {
            let message = "imports events or the fold; a face imports piton_core::view and \
                           piton_core::command";
            report.file(&file.path, message.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::report::findings;

    const IMPORT: &str = "use piton_core::event::Event;\n";

    #[test]
    fn a_file_of_a_face_must_not_and_a_file_of_the_engine_may() {
        assert_eq!(findings(check, &[("crates/piton-cli/src/a.rs", IMPORT)]).len(), 1);
        assert!(findings(check, &[("crates/piton/src/log.rs", IMPORT)]).is_empty());
    }
}
