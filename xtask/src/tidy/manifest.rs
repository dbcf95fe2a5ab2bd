//! Dependencies are chosen once, in the root manifest, with a word on why.

use toml::de::DeTable;
use toml::{Table, Value};

use super::{Report, Source, Tree};

const ROOT: &str = "Cargo.toml";

/// The tables of a manifest in which dependencies stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What the crate is made of, on any platform, and what builds it.
    Normal,
    /// The same, and what only its tests use.
    All,
}

pub(super) fn check(tree: &Tree, report: &mut Report) {
    if let Some(file) = tree.file(ROOT) {
        choices(file, report);
    }
    for (_, file) in tree.manifests() {
        let Some(manifest) = parse(file, report) else { continue };
        for (name, value) in dependencies(&manifest, Kind::All) {
            if value.get("workspace").and_then(Value::as_bool) != Some(true) {
                report.file(&file.path, format!("{name}: write `{name}.workspace = true`"));
            }
        }
        let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
        if lints.and_then(Value::as_bool) != Some(true) {
            report.file(&file.path, "says no `[lints] workspace = true`");
        }
    }
}

/// Each dependency of the workspace says why it was chosen, unless it is ours.
fn choices(file: &Source, report: &mut Report) {
    // This form keeps the place of every value, behind which the comment stands.
    let parsed = match DeTable::parse(&file.text) {
        Ok(parsed) => parsed,
        Err(error) => return report.file(&file.path, error.message()),
    };
    let chosen = parsed
        .get_ref()
        .get("workspace")
        .and_then(|workspace| workspace.get_ref().get("dependencies"))
        .and_then(|dependencies| dependencies.get_ref().as_table());
    for (name, value) in chosen.into_iter().flatten() {
        let (name, options) = (name.get_ref(), value.get_ref());
        if options.get("path").is_some() {
            continue;
        }
        if options.get("package").is_some() {
            report.file(&file.path, format!("{name} is renamed, which hides it from other rules"));
        }
        let behind = file.text.get(value.span().end..).and_then(|text| text.lines().next());
        let why = behind.and_then(|text| text.split_once('#')).map_or("", |(_, why)| why.trim());
        if why.is_empty() {
            report.file(&file.path, format!("{name}: say why, in a comment behind it"));
        }
    }
}

/// Reads a manifest or settings file. What cannot be read is a finding.
pub(super) fn parse(file: &Source, report: &mut Report) -> Option<Table> {
    match file.text.parse::<Table>() {
        Ok(table) => Some(table),
        Err(error) => {
            report.file(&file.path, error.message());
            None
        }
    }
}

/// Names and values of the dependencies in a manifest, those of single platforms included.
pub(super) fn dependencies(manifest: &Table, kind: Kind) -> Vec<(&str, &Value)> {
    let names: &[&str] = match kind {
        Kind::Normal => &["dependencies", "build-dependencies"],
        Kind::All => &["dependencies", "build-dependencies", "dev-dependencies"],
    };
    let platforms = manifest.get("target").and_then(Value::as_table);
    let platforms = platforms.into_iter().flat_map(|table| table.values());
    let holders = std::iter::once(manifest).chain(platforms.filter_map(Value::as_table));
    holders
        .flat_map(|holder| names.iter().filter_map(|name| holder.get(*name)?.as_table()))
        .flatten()
        .map(|(name, value)| (name.as_str(), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::report::findings;

    const LINTS: &str = "[lints]\nworkspace = true\n";

    #[test]
    fn a_choice_is_explained() {
        let text = "[workspace.dependencies]\nours = { path = \"crates/ours\" }\n\
            good = \"1\" # reads time\nbad = { version = \"1\", features = [\"#\"] }\nsilent = \"1\" #\n\
            long = { version = \"1\", features = [\n  \"a\", # not here\n] } # but here\n\
            alias = { package = \"rusqlite\", version = \"1\" } # sneaky\n";
        let mut found = findings(check, &[("Cargo.toml", text)]);
        found.sort();
        assert_eq!(
            found,
            [
                "Cargo.toml: alias is renamed, which hides it from other rules",
                "Cargo.toml: bad: say why, in a comment behind it",
                "Cargo.toml: silent: say why, in a comment behind it",
            ]
        );
    }

    #[test]
    fn a_crate_chooses_nothing_itself() {
        let text = "[dependencies]\na.workspace = true\nb = \"1\"\n\
                    [target.'cfg(unix)'.dev-dependencies]\nc = { path = \"../c\" }\n";
        assert_eq!(
            findings(check, &[("crates/a/Cargo.toml", &format!("{text}{LINTS}"))]),
            [
                "crates/a/Cargo.toml: b: write `b.workspace = true`",
                "crates/a/Cargo.toml: c: write `c.workspace = true`",
            ]
        );
    }

    #[test]
    fn a_crate_has_the_lints_of_the_workspace() {
        assert_eq!(
            findings(check, &[("xtask/Cargo.toml", "")]),
            ["xtask/Cargo.toml: says no `[lints] workspace = true`"]
        );
    }

    #[test]
    fn a_broken_manifest_is_found() {
        assert_eq!(findings(check, &[("xtask/Cargo.toml", "[")]).len(), 1);
    }
}
