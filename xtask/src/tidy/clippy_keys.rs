//! A crate's own `clippy.toml` replaces the root one, so it must repeat its keys and values.

use toml::{Table, Value};

use super::{Report, Tree, manifest};

const ROOT: &str = "clippy.toml";

pub(super) fn check(tree: &Tree, report: &mut Report) {
    let Some(shared) = tree.file(ROOT).and_then(|file| manifest::parse(file, report)) else {
        return;
    };
    for file in tree.files().iter().filter(|file| file.path.ends_with("/clippy.toml")) {
        let Some(own) = manifest::parse(file, report) else { continue };
        for (key, _) in shared.iter().filter(|(key, value)| !repeats(&own, key, value)) {
            report.file(&file.path, format!("repeat `{key}` of the root {ROOT}"));
        }
    }
}

/// Lists may be longer than the shared ones; everything else is the same.
fn repeats(own: &Table, key: &str, shared: &Value) -> bool {
    match (own.get(key), shared) {
        (Some(Value::Array(own)), Value::Array(shared)) => shared.iter().all(|v| own.contains(v)),
        (Some(own), shared) => own == shared,
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::report::findings;

    #[test]
    fn shared_keys_are_repeated() {
        let own = "lines = 80\nnames = ['a', 'b']\nmore = 1\n";
        assert_eq!(
            findings(
                check,
                &[
                    ("clippy.toml", "lines = 70\nallow = true\nnames = ['a']\n"),
                    ("crates/a/clippy.toml", own),
                ]
            ),
            [
                "crates/a/clippy.toml: repeat `allow` of the root clippy.toml",
                "crates/a/clippy.toml: repeat `lines` of the root clippy.toml",
            ]
        );
    }
}
