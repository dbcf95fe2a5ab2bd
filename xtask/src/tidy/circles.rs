//! The files of a crate use each other in one direction.
//!
//! A file in a circle cannot be read, moved or tested without the others. Declaring a child and
//! handing its names on is not using it.

mod graph;
mod names;

use self::graph::Graph;
use super::{Report, Tree};

pub(super) fn check(tree: &Tree, report: &mut Report) {
    for (_, manifest) in tree.manifests() {
        let Some(directory) = manifest.path.strip_suffix("Cargo.toml") else { continue };
        let home = format!("{directory}src/");
        let files = tree.files().iter().filter(|file| file.path.starts_with(&home));
        for circle in Graph::new(&home, files).circles() {
            let files: Vec<&str> = circle.into_iter().collect();
            let files = files.join(", ");
            let message =
                format!("files use each other in a circle; move what they share: {files}");
            report.file(&manifest.path, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::report::findings;

    /// A crate with these files.
    fn check_files(files: &[(&str, &str)]) -> Vec<String> {
        let named: Vec<_> =
            files.iter().map(|(name, text)| (format!("crates/a/src/{name}"), *text)).collect();
        let mut tree = vec![("crates/a/Cargo.toml", "")];
        tree.extend(named.iter().map(|(name, text)| (name.as_str(), *text)));
        findings(check, &tree)
    }

    fn circle(files: &str) -> [String; 1] {
        let files: Vec<_> = files.split(' ').map(|it| format!("crates/a/src/{it}.rs")).collect();
        [format!(
            "crates/a/Cargo.toml: files use each other in a circle; move what they share: {}",
            files.join(", ")
        )]
    }

    #[test]
    fn files_that_use_each_other_are_found() {
        let root = ("lib.rs", "mod b;\nmod c;\nmod d;\n");
        let (c, d) = (("c.rs", "use super::d::D;"), ("d.rs", "fn f() { crate::b::g(); }"));
        assert_eq!(check_files(&[root, ("b.rs", "use crate::c::C;"), c, d]), circle("b c d"));
        assert!(check_files(&[root, ("b.rs", "// crate::c\n"), c, d]).is_empty());
    }

    #[test]
    fn a_child_may_use_its_parent_or_be_used_by_it() {
        let child = ("b/c.rs", "use super::Shared;");
        assert!(
            check_files(&[("lib.rs", ""), ("b.rs", "mod c; struct Shared;"), child]).is_empty()
        );
        let handing_on = ("b.rs", "mod c; pub use self::c::C; struct Shared;");
        assert!(check_files(&[("lib.rs", ""), handing_on, child]).is_empty());
        let using = ("b.rs", "mod c; use self::c::C; struct Shared;");
        assert_eq!(check_files(&[("lib.rs", ""), using, child]), circle("b b/c"));
        let calling = ("b.rs", "mod c; struct Shared; fn f() { c::g() }");
        assert_eq!(check_files(&[("lib.rs", ""), calling, child]), circle("b b/c"));
    }

    #[test]
    fn a_name_belongs_to_the_file_that_has_it_and_not_to_one_that_hands_it_on() {
        let root = ("lib.rs", "mod b; mod c; pub use self::c::C; fn f() { b::f() }");
        assert!(check_files(&[root, ("b.rs", "use crate::C;"), ("c.rs", "")]).is_empty());
        assert_eq!(
            check_files(&[root, ("b.rs", "use crate::C;"), ("c.rs", "use crate::b::B;")]),
            circle("b c")
        );
    }
}
