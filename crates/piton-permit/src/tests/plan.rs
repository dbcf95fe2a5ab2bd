//! The mode that plans: whatever rules allow, nothing that could change something runs.

use serde_json::json;

use super::*;

fn planning(rules: Vec<PermissionRule>) -> Permissions {
    Permissions { mode: PermissionMode::Plan, rules, ..Permissions::default() }
}

#[test]
fn nothing_that_could_change_something_runs_whatever_rules_allow() {
    for does in [Does::Edit, Does::Act] {
        check(PermissionMode::Plan, &[], does, RuleEffect::Deny);
        check(PermissionMode::Plan, &[RuleEffect::Allow], does, RuleEffect::Deny);
        check(PermissionMode::Plan, &[RuleEffect::Ask], does, RuleEffect::Deny);
    }
    let every = planning(vec![PermissionRule::of_tool("*", RuleEffect::Allow)]);
    let shell = tool("shell", Does::Act);
    assert_eq!(whole(&every, &shell, &arguments("cargo build")), RuleEffect::Deny);
}

#[test]
fn what_only_reads_runs_and_so_does_a_worker_that_plans_too() {
    check(PermissionMode::Plan, &[], Does::Read, RuleEffect::Allow);
    check(PermissionMode::Plan, &[], Does::HandOver, RuleEffect::Allow);
    check(PermissionMode::Plan, &[RuleEffect::Deny], Does::Read, RuleEffect::Deny);
}

#[test]
fn commands_that_only_look_run_behind_their_wall_and_no_others() {
    let walled = tool("shell", Does::Act).confining(true);
    let open = tool("shell", Does::Act);
    let rule = PermissionRule {
        command: Some("git *".into()),
        ..PermissionRule::of_tool("shell", RuleEffect::Allow)
    };
    for permissions in [planning(Vec::new()), planning(vec![rule])] {
        let looks = arguments("git log");
        assert_eq!(whole(&permissions, &walled, &looks), RuleEffect::Allow);
        assert!(is_look(&permissions, WORKSPACE, &walled, &looks));
        assert_eq!(whole(&permissions, &open, &looks), RuleEffect::Deny);
        assert_eq!(whole(&permissions, &walled, &arguments("git commit")), RuleEffect::Deny);
    }
}

#[test]
fn an_address_is_asked_about_as_ever() {
    let fetch = tool("web_fetch", Does::Read).with_roles([("url", ArgumentRole::Address)]);
    let arguments = json!({ "url": "https://docs.rs/a" }).to_string();
    assert_eq!(whole(&planning(Vec::new()), &fetch, &arguments), RuleEffect::Ask);
    let rules = vec![PermissionRule::of_tool("web_fetch", RuleEffect::Allow)];
    assert_eq!(whole(&planning(rules), &fetch, &arguments), RuleEffect::Allow);
}

#[test]
fn a_build_that_does_not_know_the_mode_reads_one_that_changes_nothing() {
    let written = serde_json::to_string(&planning(Vec::new())).unwrap();
    assert_eq!(written, r#"{"mode":"read-only","plans":true}"#);
    assert_eq!(serde_json::from_str::<Permissions>(&written).unwrap(), planning(Vec::new()));
    let before = r#"{"mode":"read-only"}"#;
    let read: Permissions = serde_json::from_str(before).unwrap();
    assert_eq!(read.mode, PermissionMode::ReadOnly);
    assert_eq!(serde_json::to_string(&read).unwrap(), before);
}
