//! Settings of an earlier build are read as they were then. `tests/cli/frozen/README.md` says more.

use expect_test::expect_file;
use piton_mcp::{Expand, Project};

use super::all;
use crate::environment::Environment;
use crate::settings_file::SettingsFile;

const SETTINGS: &str = include_str!("../../../piton-cli/tests/cli/frozen/settings_v1/piton.toml");
const SERVERS: &str = include_str!("../../../piton-cli/tests/cli/frozen/settings_v1/mcp.json");

#[test]
fn every_key_means_what_it_meant() {
    let file = SettingsFile::parse(SETTINGS).unwrap();
    let providers = all(&file.providers, &Environment::new("/".into(), [])).unwrap();
    let tools = crate::command_tools::definitions(file.tools.clone()).unwrap();
    let tools: Vec<_> = tools.into_iter().map(|(tool, _)| tool).collect();
    let workspace = tempfile::tempdir().unwrap();
    std::fs::write(workspace.path().join(".mcp.json"), SERVERS).unwrap();
    let project = Project::read(workspace.path()).unwrap().unwrap();
    let servers = project.servers(&Expand::new(&|_| None, &[]));
    let meaning = format!("{file:#?}\n{tools:#?}\n{providers:#?}\n{servers:#?}\n");
    expect_file!["../../../piton-cli/tests/cli/frozen/settings_v1/meaning.txt"].assert_eq(&meaning);
}
