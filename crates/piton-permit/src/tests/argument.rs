//! Rules for arguments (D47).

use super::*;

/// A rule for arguments of a tool.
fn of_arguments(tool_name: &str, effect: RuleEffect, given: &[(&str, &str)]) -> PermissionRule {
    let arguments = given.iter().map(|(key, pattern)| ((*key).into(), (*pattern).into()));
    PermissionRule { arguments: arguments.collect(), ..PermissionRule::of_tool(tool_name, effect) }
}

fn of_form(mode: PermissionMode, effect: RuleEffect, form: &str, command: &str) -> RuleEffect {
    let rules = vec![of_arguments("shell", effect, &[("command", form)])];
    let permissions = Permissions { mode, rules, ..Permissions::default() };
    permit(&permissions, &tool("shell", Does::Act), &arguments(command))
}

// D47, must show 3: a regular expression is for one command, never for the text of a line.
#[test]
fn must_show_3_a_pattern_for_commands_allows_no_other_command() {
    let allow = |form, command| of_form(PermissionMode::Ask, RuleEffect::Allow, form, command);
    for (form, command) in [
        ("a", "a"),
        ("(cargo|git) test( [a-z_-]+)*", "cargo test -q permit"),
        ("(cargo|git) (test|diff)( [a-z_-]+)*", "cargo test && git diff x"),
        ("ls .*", "ls -l 'a b'"),
        ("git (status|diff)", "git  status; git diff"),
    ] {
        assert_eq!(allow(form, command), RuleEffect::Allow, "{form} {command:?}");
    }
    // Whatever the pattern, what is no command of its form asks, also where the text matches.
    for form in ["a", "a.*", "ls.*", "(a|ls)( .*)?", "a( && .*)?", "(?s)a.*", "ls[^;]*"] {
        for command in BYPASSES.iter().filter(|command| command.contains("rm -rf b")) {
            assert_eq!(allow(form, command), RuleEffect::Ask, "{form} {command:?}");
        }
    }
    for (form, command) in [
        ("a.*", "a && rm -rf b"),
        (".*", "a $(rm b)"),
        ("cargo test", "cargo test x"),
        ("cargo test", "xcargo test"),
        ("ls [a-z ]+", "ls 'a b'"),
        ("cat a.*", "cat 'a\nb'"),
        ("a|b", "ab"),
    ] {
        assert_eq!(allow(form, command), RuleEffect::Ask, "{form} {command:?}");
    }
}

// D47, must show 3
#[test]
fn must_show_3_a_pattern_that_forbids_is_found_wherever_a_command_is() {
    let deny = |command| of_form(PermissionMode::Auto, RuleEffect::Deny, "rm .*", command);
    for command in ["rm b", "/bin/rm b", "a && rm b", "sudo rm b", "sh -c 'rm b'", "rm 'a\nb'"] {
        assert_eq!(deny(command), RuleEffect::Deny, "{command:?}");
    }
    for command in ["sh b", "ls $x", "X=1", "env $x"] {
        assert_eq!(deny(command), RuleEffect::Ask, "{command:?}");
    }
    for command in ["ls", "ls rm b", "rm"] {
        assert_eq!(deny(command), RuleEffect::Allow, "{command:?}");
    }
}

// D47: all keys have to be there and match, each as a whole.
#[test]
fn arguments_match_by_key_and_as_a_whole() {
    use RuleEffect::{Allow, Ask, Deny};
    let fetch = tool("fetch", Does::Act);
    let given = [("url", r"https://example\.org/[a-z/]*"), ("method", "GET|HEAD"), ("n", r"\d")];
    let check = |effect, mode, arguments: &str, expected| {
        let rules = vec![of_arguments("fetch", effect, &given)];
        assert_eq!(
            permit(&Permissions { mode, rules, ..Permissions::default() }, &fetch, arguments),
            expected,
            "{arguments}"
        );
    };
    let fits = r#"{"url":"https://example.org/a","method":"GET","n":3,"more":true}"#;
    check(Allow, PermissionMode::Ask, fits, Allow);
    check(Deny, PermissionMode::Auto, fits, Deny);
    for other in [
        r#"{"url":"https://example.org/a","method":"GET"}"#,
        r#"{"url":"https://example.org/a","method":"GET","n":null}"#,
        r#"{"url":"https://example.org/a","method":"GET","n":33}"#,
        r#"{"url":"https://example.org/a","method":"GETX","n":3}"#,
        r#"{"url":"https://example.org/a\nx","method":"GET","n":3}"#,
        r#"{"url":"http://x/?https://example.org/a","method":"GET","n":3}"#,
        r#"{"url":["https://example.org/a"],"method":"GET","n":3}"#,
        "{}",
        "",
    ] {
        check(Allow, PermissionMode::Ask, other, Ask);
        check(Deny, PermissionMode::Auto, other, Allow);
    }
}

// D47, must show 3: a path is matched without its detours, and behind its links.
#[test]
fn must_show_3_a_pattern_for_paths_sees_where_they_lead() {
    use RuleEffect::{Allow, Ask, Deny};
    let of = |mode, effect, pattern, path: &str| {
        let permissions = Permissions {
            mode,
            rules: vec![of_arguments("edit_file", effect, &[("path", pattern)])],
            ..Permissions::default()
        };
        assert!(needs_real_path(&permissions, tool("edit_file", Does::Edit)));
        let arguments = serde_json::json!({ "path": path }).to_string();
        permit(&permissions, &tool("edit_file", Does::Edit), &arguments)
    };
    assert_eq!(of(PermissionMode::Ask, Allow, "src/.*", "./src/a/../b"), Allow);
    for path in ["src/../.git/config", "/src/x", "../src/x", "a/src/x"] {
        assert_eq!(of(PermissionMode::Ask, Allow, "src/.*", path), Ask, "{path}");
    }
    assert_eq!(of(PermissionMode::Auto, Deny, r"(.*/)?\.env", "a/../.env"), Deny);
    assert_eq!(of(PermissionMode::Auto, Deny, r"(.*/)?\.env", "/w/.env"), Ask);
}

// D47: a pattern that makes no sense is named, and one that is there all the same allows nothing.
#[test]
fn a_bad_pattern_is_a_fault_and_allows_nothing() {
    let bad = of_arguments("shell", RuleEffect::Allow, &[("command", "a(")]);
    assert!(fault(&bad).unwrap().contains("this pattern cannot be used"));
    assert_eq!(of_form(PermissionMode::Ask, RuleEffect::Allow, "a(", "a("), RuleEffect::Ask);
    assert_eq!(of_form(PermissionMode::Auto, RuleEffect::Deny, "a(", "ls"), RuleEffect::Ask);
    // It would close the group that makes it count for the whole.
    let sly = of_arguments("fetch", RuleEffect::Allow, &[("url", "a)|(?:.*")]);
    assert!(fault(&sly).is_some());
    let huge = of_arguments("fetch", RuleEffect::Allow, &[("url", "(a{1000}){1000}")]);
    assert!(fault(&huge).is_some());
}
