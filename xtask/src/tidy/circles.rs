//! The files of a crate use each other in one direction.
//!
//! A file in a circle cannot be read, moved or tested without the others. Declaring a child and
//! handing its names on is not using it. A crate that is not clean yet is listed in
//! `circles.ratchet` with the number of its files that are in circles: exact, so that the number may
//! only go down.

mod graph;
mod names;

use std::collections::{BTreeMap, BTreeSet};

use self::graph::Graph;
use super::{Report, Tree};

/// Where the crates are that are not clean yet.
const RATCHET: &str = "circles.ratchet";

pub(super) fn check(tree: &Tree, report: &mut Report) {
    let mut listed = listed(tree, report);
    for (member, manifest) in tree.manifests() {
        let Some(directory) = manifest.path.strip_suffix("Cargo.toml") else { continue };
        let home = format!("{directory}src/");
        let files = tree.files().iter().filter(|file| file.path.starts_with(&home));
        let circles = Graph::new(&home, files).circles();
        let found: usize = circles.iter().map(BTreeSet::len).sum();
        let (at, most) = listed.remove(member).unwrap_or_default();
        if most < found {
            let had = if most == 0 { String::new() } else { format!(" (there were {most})") };
            for circle in &circles {
                let files: Vec<&str> = circle.iter().copied().collect();
                let message = format!(
                    "files use each other in a circle{had}; move what they share: {}",
                    files.join(", ")
                );
                report.file(&manifest.path, message);
            }
        } else if found < most {
            report.line(RATCHET, at, format!("{member} is better now: {}", better(found)));
        }
    }
    for (member, (at, _)) in listed {
        report.line(RATCHET, at, format!("{member} is not there"));
    }
}

fn better(found: usize) -> String {
    if found == 0 { "take the entry away".to_owned() } else { format!("write {found}") }
}

/// Lines of the form `crate files`; `#` begins a comment. Gives the line of the entry and its number.
fn listed<'a>(tree: &'a Tree, report: &mut Report) -> BTreeMap<&'a str, (usize, usize)> {
    let mut listed = BTreeMap::new();
    let text = tree.file(RATCHET).map_or("", |file| &file.text);
    for (index, line) in text.lines().enumerate() {
        let entry = line.split('#').next().unwrap_or("").trim();
        let parsed = entry.split_once(' ').and_then(|(it, files)| Some((it, files.parse().ok()?)));
        match parsed {
            Some((member, files)) => drop(listed.insert(member, (index + 1, files))),
            None if entry.is_empty() => {}
            None => report.line(RATCHET, index + 1, "not an entry: write `crate files`"),
        }
    }
    listed
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

    #[test]
    fn a_crate_that_is_listed_may_only_get_better() {
        let files = [
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/b.rs", "use crate::c::C;"),
            ("crates/a/src/c.rs", "use crate::b::B;"),
        ];
        let check_with =
            |ratchet| findings(check, &[&files[..], &[("circles.ratchet", ratchet)]].concat());
        assert!(check_with("# not yet\na 2\n").is_empty());
        assert_eq!(check_with("a 3\n"), ["circles.ratchet:1: a is better now: write 2"]);
        assert_eq!(check_with("a 1\n").len(), 1);
        assert_eq!(check_with("a 2\nb 2\n"), ["circles.ratchet:2: b is not there"]);
        assert_eq!(
            check_with("a 2\nb\n"),
            ["circles.ratchet:2: not an entry: write `crate files`"]
        );
    }
}
