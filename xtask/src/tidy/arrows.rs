//! Crates may only point towards the core.
//!
//! A boundary that nobody tests is not a boundary. Arrows are `[dependencies]`; what tests use is
//! free, because tests may well look at a crate from outside.

use super::manifest::{self, Kind};
use super::{Report, Source, Tree, rust_text};

/// What a crate may use.
struct Rule {
    name: &'static str,
    /// Which of our crates.
    ours: &'static [&'static str],
    /// Which foreign ones.
    foreign: Foreign,
    /// A face renders views and never looks at stored events.
    face: bool,
}

enum Foreign {
    Any,
    Only(&'static [&'static str]),
}

/// A crate of ours that may use any foreign crate.
const fn free(name: &'static str, ours: &'static [&'static str]) -> Rule {
    Rule { name, ours, foreign: Foreign::Any, face: false }
}

const fn face(name: &'static str, ours: &'static [&'static str]) -> Rule {
    Rule { name, ours, foreign: Foreign::Any, face: true }
}

/// Every crate there is or will be. One that is not listed may not exist.
const RULES: &[Rule] = &[
    Rule {
        name: "piton-permit",
        ours: &[],
        foreign: Foreign::Only(&["regex", "schemars", "serde", "serde_json", "thiserror"]),
        face: false,
    },
    Rule {
        name: "piton-core",
        ours: &["piton-permit"],
        foreign: Foreign::Only(&["regex", "schemars", "serde", "serde_json", "thiserror"]),
        face: false,
    },
    free("piton-wire", &["piton-core"]),
    free("piton-store", &["piton-core"]),
    free("piton-import", &["piton-core"]),
    free("piton-tools", &["piton-core"]),
    free("piton-mcp", &["piton-core", "piton-tools"]),
    free("piton", &["piton-core", "piton-store", "piton-tools", "piton-wire"]),
    free(
        "piton-bench",
        &[
            "piton",
            "piton-core",
            "piton-proof",
            "piton-sim",
            "piton-store",
            "piton-tools",
            "piton-wire",
        ],
    ),
    free("piton-faults", &["piton-core", "piton-tools"]),
    free("piton-sim", &["piton", "piton-core", "piton-tools", "piton-wire"]),
    free("piton-proof", &["piton", "piton-core", "piton-sim", "piton-store", "piton-tools"]),
    free(
        "piton-agent",
        &[
            "piton",
            "piton-core",
            "piton-mcp",
            "piton-sim",
            "piton-store",
            "piton-tools",
            "piton-wire",
        ],
    ),
    face("piton-page", &["piton-core"]),
    face("piton-server", &["piton", "piton-agent", "piton-core", "piton-page", "piton-store"]),
    face("piton-tui", &["piton", "piton-core"]),
    free(
        "piton-cli",
        &[
            "piton",
            "piton-agent",
            "piton-core",
            "piton-import",
            "piton-mcp",
            "piton-server",
            "piton-sim",
            "piton-store",
            "piton-tools",
            "piton-tui",
        ],
    ),
];

/// Foreign crates that only some of ours may name: (crate, owner, others that may).
const OWNED: [(&str, &str, &[&str]); 3] = [
    ("rusqlite", "piton-store", &["piton-bench", "piton-import"]),
    ("reqwest", "piton", &["piton-agent", "piton-cli", "piton-mcp"]),
    ("rmcp", "piton-mcp", &[]),
];

pub(super) fn check(tree: &Tree, report: &mut Report) {
    for (member, file) in tree.manifests() {
        match RULES.iter().find(|rule| rule.name == member) {
            Some(rule) => arrows(rule, file, report),
            None if file.path.starts_with("crates/") => {
                report.file(&file.path, "an unknown crate: say in tidy's arrows what it may use");
            }
            None => {}
        }
        owners(member, file, report);
    }
    for rule in RULES.iter().filter(|rule| rule.face) {
        let home = format!("crates/{}/src/", rule.name);
        for file in tree.files().iter().filter(|file| file.path.starts_with(&home)) {
            views_only(file, report);
        }
    }
}

fn arrows(rule: &Rule, file: &Source, report: &mut Report) {
    let Ok(table) = file.text.parse() else { return };
    for (name, _) in manifest::dependencies(&table, Kind::Normal) {
        let is_ours = name == "piton" || name.starts_with("piton-");
        let may = match &rule.foreign {
            _ if is_ours => rule.ours.contains(&name),
            Foreign::Any => true,
            Foreign::Only(names) => names.contains(&name),
        };
        if !may {
            report.file(&file.path, format!("{} may not use {name}", rule.name));
        }
    }
}

fn owners(member: &str, file: &Source, report: &mut Report) {
    let Ok(table) = file.text.parse() else { return };
    for (name, _) in manifest::dependencies(&table, Kind::Normal) {
        for (owned, owner, also) in OWNED {
            if owned == name && owner != member && !also.contains(&member) {
                report.file(&file.path, format!("only {owner} may name {name}"));
            }
        }
    }
}

/// A face that matched on events would break with every new one.
fn views_only(file: &Source, report: &mut Report) {
    if !file.is_rust() {
        return;
    }
    let lines = rust_text::lines(&file.text);
    // Imports span lines, so look at the code as one text without spaces, and remember where each
    // line begins in it.
    let mut code = String::new();
    let mut starts = Vec::new();
    for line in &lines {
        starts.push(code.len());
        code.extend(line.code.split_whitespace());
    }
    for (at, path) in code.match_indices("piton_core::") {
        let behind = code.get(at + path.len()..).unwrap_or("");
        if imports_event(behind) {
            let line = starts.partition_point(|&start| start <= at);
            report.line(&file.path, line, "a face sees views, never `piton_core::event`");
        }
    }
}

/// Whether what follows `piton_core::` names the module `event`: alone, or first in a group's item.
fn imports_event(behind: &str) -> bool {
    let is_event = |item: &str| {
        item.strip_prefix("event")
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let Some(group) = behind.strip_prefix('{') else { return is_event(behind) };
    let mut depth = 0_usize;
    let mut at_start = true;
    for (at, c) in group.char_indices() {
        if depth == 0 && at_start && group.get(at..).is_some_and(is_event) {
            return true;
        }
        at_start = c == ',';
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return false,
            '}' => depth -= 1,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::report::findings;

    fn check_crate(name: &str, dependencies: &str) -> Vec<String> {
        findings(check, &[(&format!("crates/{name}/Cargo.toml"), dependencies)])
    }

    #[test]
    fn the_core_uses_next_to_nothing() {
        let text = "[dependencies]\nserde.workspace = true\ntokio.workspace = true\n\
                    piton-store.workspace = true\n[dev-dependencies]\nproptest.workspace = true\n";
        assert_eq!(
            check_crate("piton-core", text),
            [
                "crates/piton-core/Cargo.toml: piton-core may not use piton-store",
                "crates/piton-core/Cargo.toml: piton-core may not use tokio",
            ]
        );
    }

    #[test]
    fn stores_and_tools_do_not_know_each_other() {
        let on =
            |name: &str| format!("[target.'cfg(unix)'.dependencies]\n{name}.workspace = true\n");
        assert_eq!(check_crate("piton-store", &on("piton-tools")).len(), 1);
        assert_eq!(check_crate("piton-tools", &on("piton-store")).len(), 1);
        assert_eq!(check_crate("piton-tools", &on("piton")).len(), 1);
        assert!(check_crate("piton-tools", &on("piton-core")).is_empty());
        assert!(check_crate("piton", &on("piton-tools")).is_empty());
        assert_eq!(check_crate("piton", &on("piton-sim")).len(), 1);
    }

    #[test]
    fn nothing_that_ships_uses_what_proves_it() {
        let proof = "[dependencies]\npiton-proof.workspace = true\n";
        for shipped in ["piton", "piton-cli", "piton-mcp", "piton-sim", "piton-store"] {
            assert_eq!(
                check_crate(shipped, proof),
                [format!("crates/{shipped}/Cargo.toml: {shipped} may not use piton-proof")]
            );
        }
        let tests = "[dev-dependencies]\npiton-proof.workspace = true\n";
        assert!(check_crate("piton-cli", tests).is_empty());
    }

    #[test]
    fn only_the_store_names_sqlite() {
        let text = "[dependencies]\nrusqlite.workspace = true\n";
        assert!(check_crate("piton-store", text).is_empty());
        assert_eq!(
            check_crate("piton", text),
            ["crates/piton/Cargo.toml: only piton-store may name rusqlite"]
        );
        let found = findings(check, &[("xtask/Cargo.toml", text)]);
        assert_eq!(found, ["xtask/Cargo.toml: only piton-store may name rusqlite"]);
    }

    #[test]
    fn an_unknown_crate_is_found() {
        assert_eq!(check_crate("piton-cloud", "").len(), 1);
    }

    #[test]
    fn a_face_does_not_look_at_events() {
        let text = "use piton_core::view::Turn;\nuse piton_core::{\n    view::{a, event},\n    \
                    event::Event,\n};\npiton_core::event::Event\npiton_core::eventual()\n\
                    // piton_core::event\n";
        assert_eq!(
            findings(
                check,
                &[
                    ("crates/piton-tui/src/a.rs", text),
                    ("crates/piton-tui/tests/a.rs", text),
                    ("crates/piton/src/a.rs", text),
                ]
            ),
            [2, 6].map(|line| format!(
                "crates/piton-tui/src/a.rs:{line}: a face sees views, never `piton_core::event`"
            ))
        );
    }
}
