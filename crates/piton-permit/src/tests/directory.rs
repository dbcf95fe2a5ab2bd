//! The same words in another directory are another command.

use super::*;

fn in_directory(rules: Vec<PermissionRule>, command: &str, directory: &str) -> RuleEffect {
    let permissions = Permissions { mode: PermissionMode::Ask, rules, ..Permissions::default() };
    let arguments = serde_json::json!({ "command": command, "dir": directory }).to_string();
    permit(&permissions, &tool("shell", Does::Act), &arguments)
}

// Must show 3
#[test]
fn must_show_3_a_command_is_allowed_in_the_workspace_only() {
    let check = |command, directory, expected| {
        let effect = in_directory(rules(&ALLOWED), command, directory);
        assert_eq!(effect, expected, "{command} in {directory}");
    };
    for directory in [".", "./", "x/..", "./x/../."] {
        check("./b", directory, RuleEffect::Allow);
        check("cargo test", directory, RuleEffect::Allow);
    }
    for directory in ["x", "./x", "node_modules/evil", "/w/x", "/", "..", "", "x/../y", "~"] {
        for command in ["./b", "a && ./b", "cargo test", "ls -l", "a"] {
            check(command, directory, RuleEffect::Ask);
        }
    }
}

fn placed(command: &str, path: &str) -> Vec<PermissionRule> {
    let mut rules = rules(&[(command, RuleEffect::Allow)]);
    rules[0].path = Some(path.into());
    rules
}

// Must show 3
#[test]
fn must_show_3_a_rule_with_a_directory_is_for_that_one_and_word_for_word() {
    let check = |rule: (&str, &str), command, directory, expected| {
        let effect = in_directory(placed(rule.0, rule.1), command, directory);
        assert_eq!(effect, expected, "{command} in {directory} by {rule:?}");
    };
    check(("make", "sub"), "make", "sub", RuleEffect::Allow);
    check(("make", "packages/*"), "make", "packages/a", RuleEffect::Allow);
    for directory in [".", "sub/deep", "other", "../sub", "/sub", "packages/a/b"] {
        check(("make", "sub"), "make", directory, RuleEffect::Ask);
        check(("make", "packages/*"), "make", directory, RuleEffect::Ask);
    }
    check(("make", "sub"), "make all", "sub", RuleEffect::Ask);
    check(("make", "sub"), "make; rm b", "sub", RuleEffect::Ask);
    // It may have been meant for the files that are shown.
    check(("cat *", "src/**"), "cat /etc/passwd", "src", RuleEffect::Ask);
}

// Must show 3
#[test]
fn must_show_3_always_is_good_in_the_same_directory() {
    let shell = tool("shell", Does::Act);
    let permissions =
        Permissions { mode: PermissionMode::Ask, rules: Vec::new(), ..Permissions::default() };
    let offered = |directory: &str| {
        let arguments = serde_json::json!({ "command": "make", "dir": directory }).to_string();
        let standing = Standing { effect: RuleEffect::Allow, scope: RuleScope::Conversation };
        let rules = always(&permissions, &shell, &arguments, standing)?;
        assert!(rules.iter().all(|rule| fault(rule).is_none()));
        assert_eq!(in_directory(rules.clone(), "make", directory), RuleEffect::Allow);
        for other in ["other", "app/i", "app/id", "ab", "a", "x"] {
            assert_eq!(in_directory(rules.clone(), "make", other), RuleEffect::Ask);
        }
        Some(rules[0].path.clone())
    };
    assert_eq!(offered("."), Some(None));
    assert_eq!(offered("./sub/"), Some(Some("sub".into())));
    let exactly = |path: &str| Some(Some(path.to_owned()));
    assert_eq!(offered("app/[id]"), exactly("app/[[]id[]]"));
    assert_eq!(offered("app/[...all]/{x}"), exactly("app/[[]...all[]]/[{]x[}]"));
    assert_eq!(offered("a*"), exactly("a[*]"));
    assert_eq!(offered("!a!/~"), exactly("[!]a!/~"));
    for directory in ["/w/sub", "../x", ""] {
        assert_eq!(offered(directory), None, "{directory}");
    }
}
