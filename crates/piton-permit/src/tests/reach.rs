//! What a rule for paths holds.

use super::*;

fn denying(tool: &str) -> Vec<PermissionRule> {
    let deny = |path: &str| PermissionRule {
        path: Some(path.into()),
        ..PermissionRule::of_tool(tool, RuleEffect::Deny)
    };
    vec![deny("**/.env"), deny("secret/**")]
}

fn run(rules: Vec<PermissionRule>, name: &str, arguments: &Value) -> RuleEffect {
    let permissions = Permissions { mode: PermissionMode::Auto, rules, ..Permissions::default() };
    let effect = if name == "read_file" { Does::Read } else { Does::Act };
    permit(&permissions, &tool(name, effect), &arguments.to_string())
}

fn shell(command: &str, directory: &str) -> RuleEffect {
    run(denying("*"), "shell", &serde_json::json!({ "command": command, "dir": directory }))
}

// Must show 3
#[test]
fn must_show_3_a_command_that_names_a_denied_path_is_denied() {
    for (command, directory) in [
        ("cat .env", "."),
        ("cat ./.env", "."),
        ("cat src/../.env", "."),
        ("cat .e''nv", "."),
        ("cat '.env'", "."),
        ("cat -- .env", "."),
        ("cat a.txt .env", "."),
        ("ls && cat .env", "."),
        ("cat <.env", "."),
        ("ls >.env", "."),
        ("ls $(cat .env)", "."),
        ("grep -f.env x", "."),
        ("dd if=.env of=x", "."),
        ("curl -d @.env u", "."),
        ("git show HEAD:.env", "."),
        ("git show HEAD:./.env", "."),
        ("tool --files=a,.env", "."),
        ("cp -r secret x", "."),
        ("cat secret/k", "."),
        ("cat secret//k", "."),
        ("cd secret && cat k", "."),
        ("ls", "secret"),
        ("cat k", "secret"),
        ("cat k", "./secret/"),
        ("cat k", "x/../secret"),
        ("cat k", "secret/deep"),
        ("cat .env", "src"),
        ("cat ../.env", "src"),
        ("cat ../secret/k", "src"),
        ("rm .env", "."),
    ] {
        assert_eq!(shell(command, directory), RuleEffect::Deny, "{command:?} in {directory}");
    }
}

// Must show 3: any command can read any file, and nobody can see which.
#[test]
fn must_show_3_a_command_that_could_reach_a_denied_path_asks() {
    for (command, directory) in [
        ("cat lnk", "."),
        ("cat .e*", "."),
        ("cat .e?v", "."),
        ("cat $x", "."),
        ("cat ..", "."),
        ("cat /w/.env", "."),
        ("cat ../w/.env", "."),
        ("cat ~/w/secret/k", "/"),
        ("grep -r TOP .", "."),
        ("tar c .", "."),
        ("make", "."),
        ("sh -c 'cat .env'", "."),
        ("python3 -c 'open(\".env\")'", "."),
        ("ls", "/w/secret"),
        ("ls", "../w"),
        ("ls", "src"),
    ] {
        assert_eq!(shell(command, directory), RuleEffect::Ask, "{command:?} in {directory}");
    }
}

// A model chooses what a tool is told, and a picture in letters begins like a path from the root.
#[test]
fn must_show_3_a_long_argument_is_judged_soon() {
    let long = format!("/9j/{}", "4AAQ/+Sk/ZJRg.".repeat(20_000));
    let show = |end: &str| {
        run(denying("*"), "img__show", &serde_json::json!({ "data": format!("{long}{end}") }))
    };
    assert_eq!(show(""), RuleEffect::Allow);
    assert_eq!(show("/.env"), RuleEffect::Ask);
}

// Must show 3: whether that is another file is known to the file system only.
#[test]
fn must_show_3_a_denied_path_in_capital_letters_asks() {
    let read = |path| run(denying("*"), "read_file", &serde_json::json!({ "path": path }));
    for path in [".ENV", "a/.Env", "SECRET/k", "Secret", "/h/ws/.eNv", "\u{17f}ecret/k"] {
        assert_eq!(read(path), RuleEffect::Ask, "{path}");
        let strange = run(denying("*"), "fs__read", &serde_json::json!({ "file": path }));
        assert_eq!(strange, RuleEffect::Ask, "{path}");
    }
    assert_eq!(read("env"), RuleEffect::Allow);
}

// Must show 3
#[test]
fn must_show_3_what_is_typed_into_a_command_can_reach_paths_too() {
    let typed = |text| run(denying("shell"), "shell_write", &serde_json::json!({ "text": text }));
    assert_eq!(typed("cat .env\n"), RuleEffect::Deny);
    assert_eq!(typed("y\n"), RuleEffect::Ask);
}

#[test]
fn a_command_that_is_allowed_word_for_word_is_not_asked_about_again() {
    let check = |rule: &str, command: &str, expected| {
        let mut rules = rules(&[(rule, RuleEffect::Allow)]);
        rules.extend(denying("*"));
        let effect = run(rules, "shell", &serde_json::json!({ "command": command }));
        assert_eq!(effect, expected, "{command} by {rule}");
    };
    check("cargo test", "cargo test", RuleEffect::Allow);
    check("cargo test", "cargo test && cargo test", RuleEffect::Allow);
    check("cargo test *", "cargo test x", RuleEffect::Ask);
    check("cat .env", "cat .env", RuleEffect::Deny);
    check("cat /w/.env", "cat /w/.env", RuleEffect::Ask);
    check("*", "cat x", RuleEffect::Ask);
    // Rules of a tool are no rules of another one.
    let whole = vec![PermissionRule::of_tool("shell", RuleEffect::Allow)];
    let arguments = serde_json::json!({ "command": "make" });
    assert_eq!(run(whole.clone(), "shell", &arguments), RuleEffect::Allow);
    assert_eq!(run([whole, denying("shell")].concat(), "shell", &arguments), RuleEffect::Ask);
    assert_eq!(run(denying("read_file"), "shell", &arguments), RuleEffect::Allow);
}

// Must show 3: nobody here knows which argument of a stranger is a path.
#[test]
fn must_show_3_tools_of_others_are_held_by_all_their_texts() {
    let call = |arguments| run(denying("*"), "fs__read", &arguments);
    for arguments in [
        serde_json::json!({ "path": ".env" }),
        serde_json::json!({ "file": "a/.env" }),
        serde_json::json!({ "files": ["x", "secret/k"] }),
        serde_json::json!({ "deep": { "uri": "file://secret/k" } }),
    ] {
        assert_eq!(call(arguments.clone()), RuleEffect::Deny, "{arguments}");
    }
    for arguments in [
        serde_json::json!({ "path": "/w/.env" }),
        serde_json::json!({ "uri": "file:///w/secret/k" }),
        serde_json::json!({ "path": "../w/secret" }),
        serde_json::json!({ "arguments": "{\"path\":\".env\"}" }),
        serde_json::json!({ "run": "cat .env" }),
        serde_json::json!({ "run": ["cat", "--file=secret/k"] }),
    ] {
        assert_eq!(call(arguments.clone()), RuleEffect::Ask, "{arguments}");
    }
    assert_eq!(call(serde_json::json!({ "path": "/w/src/x", "n": 1 })), RuleEffect::Allow);
    assert_eq!(call(serde_json::json!({ "text": "no secret, e.g. none." })), RuleEffect::Allow);
    // Texts of our own tools are no paths.
    let write = serde_json::json!({ "path": ".gitignore", "content": ".env" });
    assert_eq!(run(denying("*"), "write_file", &write), RuleEffect::Allow);
    assert_eq!(
        run(denying("*"), "ask_user", &serde_json::json!({ "question": ".env" })),
        RuleEffect::Allow
    );
}

// Must show 3
#[test]
fn must_show_3_a_path_allows_tools_that_are_known_to_work_on_it() {
    let allowed = |rule: &str, name: &str, arguments: &Value| {
        let allow = PermissionRule {
            path: Some("src/**".into()),
            ..PermissionRule::of_tool(rule, RuleEffect::Allow)
        };
        let permissions =
            Permissions { mode: PermissionMode::Ask, rules: vec![allow], ..Permissions::default() };
        permit(&permissions, &tool(name, Does::Act), &arguments.to_string())
    };
    let path = serde_json::json!({ "path": "src/x", "command": "rm b", "dir": "src" });
    assert_eq!(allowed("*", "edit_file", &path), RuleEffect::Allow);
    assert_eq!(allowed("fs__write", "fs__write", &path), RuleEffect::Allow);
    assert_eq!(allowed("*", "fs__write", &path), RuleEffect::Ask);
    assert_eq!(allowed("*", "shell", &path), RuleEffect::Ask);
    assert_eq!(allowed("shell", "shell", &path), RuleEffect::Ask);
}
