//! Command lines that only look, and others that look like them.

use serde_json::json;

use super::*;

/// One command line in each line. The first ones are really run behind the wall by tests of the
/// command line.
const HARMLESS: &str = include_str!("looks/harmless.txt");
const ASKING: &str = include_str!("looks/asking.txt");
/// Lines whose options would write or run something, were it not for the wall. They are run behind it by tests
/// of the tools.
const WALLED: &str = include_str!("looks/walled.txt");
/// How many of them there are at least.
const LINES_MIN: usize = 300;

fn of(mode: PermissionMode) -> Permissions {
    Permissions { mode, ..Permissions::default() }
}

fn command(line: &str) -> String {
    json!({ "command": line }).to_string()
}

fn effect(permissions: &Permissions, line: &str) -> RuleEffect {
    whole(permissions, &shell(), &command(line))
}

#[test]
fn commands_that_only_look_ask_nobody() {
    for mode in [PermissionMode::Ask, PermissionMode::AcceptEdits] {
        for line in HARMLESS.lines().chain(WALLED.lines()) {
            assert_eq!(effect(&of(mode), line), RuleEffect::Allow, "{line}");
            assert!(is_look(&of(mode), WORKSPACE, shell(), &command(line)), "{line}");
        }
    }
}

#[test]
fn what_writes_or_runs_others_asks_however_it_is_written() {
    let asks = |line: &&str| {
        effect(&of(PermissionMode::Ask), line) == RuleEffect::Ask
            && !is_look(&of(PermissionMode::Ask), WORKSPACE, shell(), &command(line))
    };
    let unasked: Vec<_> = ASKING.lines().filter(|line| !asks(line)).collect();
    assert_eq!(unasked, [""; 0]);
    assert!(LINES_MIN <= ASKING.lines().count());
    assert!(LINES_MIN <= HARMLESS.lines().count() + ASKING.lines().count());
}

#[test]
fn a_harmless_line_with_something_behind_it_asks() {
    let behind = [
        "; rm x",
        " && ./x",
        " | tee x",
        " > x",
        " >> x",
        " & rm x",
        " $(rm x)",
        " `rm x`",
        " $X",
        "\nrm x",
        " || sh",
        " | xargs rm",
        " <(rm x)",
        "; x() { rm x; }",
    ];
    // What only prints takes any words.
    let prints = |line: &&str| line.contains("echo") || line.starts_with("printf");
    for line in HARMLESS.lines().filter(|line| !prints(line)) {
        for end in behind {
            let line = format!("{line}{end}");
            assert_ne!(effect(&of(PermissionMode::Ask), &line), RuleEffect::Allow, "{line}");
        }
    }
}

#[test]
fn without_a_wall_they_ask_as_before() {
    let bare = tool("shell", Does::Act);
    for line in HARMLESS.lines() {
        let asks = whole(&of(PermissionMode::Ask), &bare, &command(line));
        assert_eq!(asks, RuleEffect::Ask, "{line}");
        // What ran behind a wall before is not run without one later.
        assert!(is_look(&of(PermissionMode::Ask), WORKSPACE, &bare, &command(line)), "{line}");
    }
}

#[test]
fn what_a_mode_or_a_rule_decides_is_no_look() {
    let allow = PermissionRule::of_tool("shell", RuleEffect::Allow);
    let allowed = Permissions { rules: vec![allow], ..Permissions::default() };
    for permissions in [of(PermissionMode::Auto), allowed] {
        assert_eq!(effect(&permissions, "ls"), RuleEffect::Allow);
        assert!(!is_look(&permissions, WORKSPACE, shell(), &command("ls")));
    }
    assert_eq!(effect(&of(PermissionMode::ReadOnly), "ls"), RuleEffect::Deny);
}

#[test]
fn rules_that_deny_or_ask_win_over_a_look() {
    let of_shell = |effect| PermissionRule::of_tool("shell", effect);
    let with = |rule| Permissions { rules: vec![rule], ..Permissions::default() };
    let rows = [
        (of_shell(RuleEffect::Deny), RuleEffect::Deny),
        (of_shell(RuleEffect::Ask), RuleEffect::Ask),
        (
            PermissionRule { command: Some("git log *".into()), ..of_shell(RuleEffect::Deny) },
            RuleEffect::Deny,
        ),
        (
            PermissionRule { command: Some("git log *".into()), ..of_shell(RuleEffect::Ask) },
            RuleEffect::Ask,
        ),
        (
            PermissionRule { path: Some("**/.env".into()), ..of_shell(RuleEffect::Deny) },
            RuleEffect::Ask,
        ),
    ];
    for (rule, expected) in rows {
        assert_eq!(effect(&with(rule.clone()), "ls && git log -1"), expected, "{rule:?}");
    }
    let env = PermissionRule { path: Some("**/.env".into()), ..of_shell(RuleEffect::Deny) };
    assert_eq!(effect(&with(env), "cat .env"), RuleEffect::Deny);
}

#[test]
fn a_directory_that_was_added_is_looked_at_too() {
    let added = Permissions { directories: vec!["/h/lib".into()], ..Permissions::default() };
    for line in ["ls /h/lib", "cat ../lib/x", "cd /h/lib && cat x ../lib/y", "cd ../lib && git log"]
    {
        assert_eq!(effect(&added, line), RuleEffect::Allow, "{line}");
        assert_eq!(effect(&Permissions::default(), line), RuleEffect::Ask, "{line}");
    }
    for line in ["ls /h/library", "cat ../lib/../x", "cd /h/lib && cat ../x"] {
        assert_eq!(effect(&added, line), RuleEffect::Ask, "{line}");
    }
}

#[test]
fn anything_unusual_about_the_call_asks() {
    let effect =
        |arguments: Value| whole(&of(PermissionMode::Ask), &shell(), &arguments.to_string());
    for usual in [
        json!({ "command": "ls", "timeout_s": 5, "wait_s": 1 }),
        json!({ "command": "ls", "dir": "src", "input": false, "keep": false }),
        json!({ "command": "cat ../a.txt", "dir": "src" }),
    ] {
        assert_eq!(effect(usual.clone()), RuleEffect::Allow, "{usual}");
    }
    for unusual in [
        json!({ "command": "ls", "input": true }),
        json!({ "command": "ls", "terminal": true }),
        json!({ "command": "ls", "keep": true }),
        json!({ "command": "ls", "unknown": "x" }),
        json!({ "command": "ls", "dir": ".." }),
        json!({ "command": "cat ../../x", "dir": "src" }),
        json!({ "command": 1 }),
        json!({ "command": "" }),
    ] {
        assert_ne!(effect(unusual.clone()), RuleEffect::Allow, "{unusual}");
    }
}
