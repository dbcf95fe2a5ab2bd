use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::thread;

use expect_test::{Expect, expect};

use super::*;

const WORKSPACE: &str = "/work/here";

fn rule(command: &str, scope: RuleScope) -> PermissionRule {
    let command = Some(command.to_owned());
    PermissionRule { command, scope, ..PermissionRule::of_tool("shell", RuleEffect::Allow) }
}

fn put(file: &Path, rules: &[PermissionRule], workspace: &Path) -> Result<(), RuleFileError> {
    add(file, &rules.iter().map(|rule| (rule, workspace)).collect::<Vec<_>>())
}

/// A settings file in a directory of its own.
fn settings(text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("piton.toml");
    fs::write(&file, text).unwrap();
    (directory, file)
}

fn check(before: &str, change: impl Fn(&Path), after: Expect) {
    let (directory, file) = settings(before);
    change(&file);
    let text = fs::read_to_string(&file).unwrap();
    SettingsFile::parse(&text).unwrap();
    after.assert_eq(&text);
    change(&file);
    assert_eq!(fs::read_to_string(&file).unwrap(), text, "a second time changes nothing");
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

fn adds(rules: &[PermissionRule]) -> impl Fn(&Path) {
    move |file| put(file, rules, Path::new(WORKSPACE)).unwrap()
}

// D44
#[test]
fn a_rule_is_added_once_and_everything_else_stays() {
    check(
        "# mine\nmodel = \"demo\" # for now\n\n[[permissions]]\n# never\ntool = \"shell\"\ncommand = \"rm *\"\neffect = \"deny\"\n\n[workers]\nsteps = 3\n",
        adds(&[rule("cargo test", RuleScope::Project), rule("ls", RuleScope::User)]),
        expect![[r##"
            # mine
            model = "demo" # for now

            [[permissions]]
            # never
            tool = "shell"
            command = "rm *"
            effect = "deny"

            [[permissions]]
            tool = "shell"
            command = "cargo test"
            effect = "allow"
            workspace = "/work/here"

            [[permissions]]
            tool = "shell"
            command = "ls"
            effect = "allow"

            [workers]
            steps = 3
        "##]],
    );
}

#[test]
fn a_rule_is_added_to_a_list_in_one_line_and_to_an_empty_file() {
    check(
        "permissions = [{ tool = \"pay\", effect = \"ask\" }]\n",
        adds(&[rule("echo \"it's\"", RuleScope::User)]),
        expect![[r#"
            permissions = [{ tool = "pay", effect = "ask" }, { tool = "shell", command = """echo "it's"""", effect = "allow" }]
        "#]],
    );
    check(
        "",
        adds(&[rule("ls", RuleScope::User)]),
        expect![[r#"
        [[permissions]]
        tool = "shell"
        command = "ls"
        effect = "allow"
    "#]],
    );
}

#[test]
fn a_rule_is_taken_out_and_what_is_not_about_it_stays() {
    check(
        "# My settings.\n\n# Tests are fine.\n[[permissions]]\ntool = \"shell\"\ncommand = \"ls\"\neffect = \"allow\"\n\n# Servers.\n[workers]\nsteps = 3\n",
        |file| {
            remove(file, &rule("ls", RuleScope::User), Path::new(WORKSPACE)).unwrap();
        },
        expect![[r#"
            # My settings.

            # Servers.
            [workers]
            steps = 3
        "#]],
    );
    check(
        "# My settings.\n\n[[permissions]]\ntool = \"shell\"\ncommand = \"ls\"\neffect = \"allow\"\n# The end.\n",
        |file| {
            remove(file, &rule("ls", RuleScope::User), Path::new(WORKSPACE)).unwrap();
        },
        expect![[r#"
            # My settings.
            # The end.
        "#]],
    );
}

#[test]
fn a_rule_of_another_project_is_another_rule() {
    let (_directory, file) = settings("");
    let here = rule("ls", RuleScope::Project);
    put(&file, std::slice::from_ref(&here), Path::new("/elsewhere")).unwrap();
    put(&file, std::slice::from_ref(&here), Path::new(WORKSPACE)).unwrap();
    assert_eq!(SettingsFile::read(&file).unwrap().permissions.len(), 2);
    assert!(remove(&file, &here, Path::new(WORKSPACE)).unwrap());
    assert!(!remove(&file, &here, Path::new(WORKSPACE)).unwrap());
    assert_eq!(SettingsFile::read(&file).unwrap().permissions.len(), 1);
}

#[test]
fn what_makes_no_sense_is_left_alone() {
    let (_directory, file) = settings("permissions = 3\n");
    let error = put(&file, &[rule("ls", RuleScope::User)], Path::new(WORKSPACE)).unwrap_err();
    assert!(error.to_string().contains("piton.toml"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "permissions = 3\n");
}

#[test]
fn a_file_keeps_its_rights_and_a_link_stays_a_link() {
    let (directory, file) = settings("");
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("piton.toml");
    symlink(&file, &link).unwrap();
    put(&link, &[rule("ls", RuleScope::User)], Path::new(WORKSPACE)).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(SettingsFile::read(&file).unwrap().permissions.len(), 1);
    let fresh = directory.path().join("made/piton.toml");
    put(&fresh, &[rule("ls", RuleScope::User)], Path::new(WORKSPACE)).unwrap();
    assert_eq!(fs::metadata(&fresh).unwrap().permissions().mode() & 0o777, 0o600);
}

// D44: nobody's rule is lost when several write at once.
#[test]
fn writers_at_the_same_time_lose_nothing() {
    let (_directory, file) = settings("");
    let writers: Vec<_> = (0..8)
        .map(|number| {
            let file = file.clone();
            thread::spawn(move || {
                let own = rule(&format!("make {number}"), RuleScope::User);
                put(&file, &[own, rule("ls", RuleScope::User)], Path::new(WORKSPACE)).unwrap();
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(SettingsFile::read(&file).unwrap().permissions.len(), 9);
}

#[test]
fn a_chosen_model_is_written_and_everything_else_stays() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("piton.toml");
    choose_model(&file, "openai/gpt-6-sol").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "model = \"openai/gpt-6-sol\"\n");
    fs::write(&file, "# mine\neffort = \"low\"\n\n[ask]\nbatch = true\n").unwrap();
    choose_model(&file, "demo").unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, "# mine\neffort = \"low\"\nmodel = \"demo\"\n\n[ask]\nbatch = true\n");
}
