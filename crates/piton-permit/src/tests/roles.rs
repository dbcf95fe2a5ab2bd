//! Tools of others, which declare what their arguments are.

use serde_json::{Value, json};

use super::*;

fn declared<'a>(name: &'a str, does: Does, roles: &[(&'a str, ArgumentRole)]) -> Tool<'a> {
    tool(name, does).with_roles(roles.iter().copied())
}

fn reader() -> Tool<'static> {
    declared("inspect", Does::Read, &[("file", ArgumentRole::Path)])
}

fn runner() -> Tool<'static> {
    let roles = [("cmd", ArgumentRole::CommandLine), ("cwd", ArgumentRole::Directory)];
    declared("bash", Does::Act, &roles)
}

fn rule(tool: &str, effect: RuleEffect) -> PermissionRule {
    PermissionRule::of_tool(tool, effect)
}

#[track_caller]
fn decides(
    mode: PermissionMode,
    rules: &[PermissionRule],
    tool: &Tool<'_>,
    arguments: Value,
    expected: RuleEffect,
) {
    let permissions = Permissions { mode, rules: rules.to_vec(), ..Permissions::default() };
    assert_eq!(permit(&permissions, tool, &arguments.to_string()), expected, "{arguments}");
}

#[test]
fn a_declared_path_outside_the_workspace_asks_even_to_be_read() {
    use PermissionMode::{AcceptEdits, Ask, Auto, ReadOnly};
    for mode in [Ask, AcceptEdits, ReadOnly] {
        decides(mode, &[], &reader(), json!({ "file": "src/a.rs" }), RuleEffect::Allow);
        decides(mode, &[], &reader(), json!({ "file": "/h/ws/src/a.rs" }), RuleEffect::Allow);
        for path in ["/etc/passwd", "../other/a.rs", "~/../..//x/../../a"] {
            decides(mode, &[], &reader(), json!({ "file": path }), RuleEffect::Ask);
        }
        let both = json!({ "file": ["src/a.rs", "/etc/passwd"] });
        decides(mode, &[], &reader(), both, RuleEffect::Ask);
        decides(mode, &[], &reader(), json!({ "file": 5 }), RuleEffect::Ask);
        decides(mode, &[], &reader(), json!({ "file": null }), RuleEffect::Allow);
    }
    decides(Auto, &[], &reader(), json!({ "file": "/etc/passwd" }), RuleEffect::Allow);
    let allowed = [rule("inspect", RuleEffect::Allow)];
    decides(Ask, &allowed, &reader(), json!({ "file": "/etc/passwd" }), RuleEffect::Allow);
}

#[test]
fn a_declared_path_that_its_tool_confines_does_not_ask() {
    let roles = [("file", ArgumentRole::WorkspacePath)];
    let confined = declared("inspect", Does::Read, &roles);
    let outside = json!({ "file": "/etc/passwd" });
    decides(PermissionMode::Ask, &[], &confined, outside, RuleEffect::Allow);
}

#[test]
fn a_rule_for_paths_holds_for_a_declared_path_whatever_its_name() {
    let denied = PermissionRule { path: Some("**/.env".into()), ..rule("*", RuleEffect::Deny) };
    let rules = [denied];
    let mode = PermissionMode::Auto;
    decides(mode, &rules, &reader(), json!({ "file": "a/.env" }), RuleEffect::Deny);
    decides(mode, &rules, &reader(), json!({ "file": ["b", "./a/../.env"] }), RuleEffect::Deny);
    decides(mode, &rules, &reader(), json!({ "file": "a/env" }), RuleEffect::Allow);
    // A plain value is no path.
    let note = json!({ "file": "a", "note": "see .env" });
    decides(mode, &rules, &reader(), note, RuleEffect::Allow);
    let allowed = PermissionRule { path: Some("src/**".into()), ..rule("*", RuleEffect::Allow) };
    let roles = [("from", ArgumentRole::Path), ("to", ArgumentRole::Path)];
    let mover = declared("move", Does::Act, &roles);
    let rules = [allowed];
    let mode = PermissionMode::Ask;
    decides(mode, &rules, &mover, json!({ "from": "src/a", "to": "src/b" }), RuleEffect::Allow);
    decides(mode, &rules, &mover, json!({ "from": "src/a", "to": "b" }), RuleEffect::Ask);
}

#[test]
fn a_declared_command_line_is_matched_command_by_command() {
    let of = |effect, command: &str| PermissionRule {
        command: Some(command.into()),
        ..rule("bash", effect)
    };
    let rules = [of(RuleEffect::Allow, "git status *"), of(RuleEffect::Deny, "git push *")];
    let mode = PermissionMode::Ask;
    decides(mode, &rules, &runner(), json!({ "cmd": "git status -s" }), RuleEffect::Allow);
    decides(mode, &rules, &runner(), json!({ "cmd": "git push -f" }), RuleEffect::Deny);
    let two = json!({ "cmd": "git status && git push -f" });
    decides(mode, &rules, &runner(), two, RuleEffect::Deny);
    decides(mode, &rules, &runner(), json!({ "cmd": "git status; rm x" }), RuleEffect::Ask);
    // Elsewhere it is another command.
    let elsewhere = json!({ "cmd": "git status -s", "cwd": "sub" });
    decides(mode, &rules, &runner(), elsewhere, RuleEffect::Ask);
    let form = [("cmd".to_owned(), "git log.*".to_owned())].into();
    let rules = [PermissionRule { arguments: form, ..rule("bash", RuleEffect::Deny) }];
    let two = json!({ "cmd": "true; git log -p" });
    decides(PermissionMode::Auto, &rules, &runner(), two, RuleEffect::Deny);
}

#[test]
fn what_the_shell_may_not_run_no_declared_command_line_may() {
    let command = Some("rm *".to_owned());
    let mode = PermissionMode::Auto;
    let denied = [PermissionRule { command: command.clone(), ..rule("shell", RuleEffect::Deny) }];
    decides(mode, &denied, &runner(), json!({ "cmd": "rm -r x" }), RuleEffect::Deny);
    decides(mode, &denied, &runner(), json!({ "cmd": "ls" }), RuleEffect::Allow);
    // What the shell may run, another tool may do elsewhere.
    let allowed = [PermissionRule { command, ..rule("shell", RuleEffect::Allow) }];
    decides(PermissionMode::Ask, &allowed, &runner(), json!({ "cmd": "rm x" }), RuleEffect::Ask);
}

#[test]
fn always_on_a_declared_command_line_writes_a_rule_for_that_command() {
    let standing = Standing { effect: RuleEffect::Allow, scope: RuleScope::Conversation };
    let arguments = json!({ "cmd": "cargo test" }).to_string();
    let rules = always(&Permissions::default(), &runner(), &arguments, standing).unwrap();
    let [PermissionRule { tool, command, .. }] = rules.as_slice() else { panic!("{rules:?}") };
    assert_eq!((tool.as_str(), command.as_deref()), ("bash", Some("cargo test")));
}

#[test]
fn a_declared_address_asks_unless_a_rule_allows_it() {
    let fetch = declared("fetch", Does::Read, &[("url", ArgumentRole::Address)]);
    let pattern = [("url".to_owned(), r"https://docs\.rs/.*".to_owned())].into();
    let rules = [PermissionRule { arguments: pattern, ..rule("fetch", RuleEffect::Allow) }];
    let mode = PermissionMode::Ask;
    decides(mode, &rules, &fetch, json!({ "url": "https://docs.rs/serde" }), RuleEffect::Allow);
    decides(mode, &rules, &fetch, json!({ "url": "https://a.b/?q=x" }), RuleEffect::Ask);
    decides(mode, &[], &fetch, json!({}), RuleEffect::Allow);
}

#[test]
fn a_standing_answer_on_an_address_is_for_its_host() {
    let roles = [("url", ArgumentRole::Address), ("offset", ArgumentRole::Value)];
    let fetch = declared("fetch", Does::Read, &roles);
    for effect in [RuleEffect::Allow, RuleEffect::Deny] {
        let standing = Standing { effect, scope: RuleScope::User };
        let asked = json!({ "url": "https://docs.rs/serde", "offset": 5 }).to_string();
        let rules = always(&Permissions::default(), &fetch, &asked, standing).unwrap();
        assert_eq!(rules[0].arguments["url"], r"https://docs\.rs/.*");
        let mode = PermissionMode::Ask;
        decides(mode, &rules, &fetch, json!({ "url": "HTTPS://DOCS.rs:443/x" }), effect);
        decides(mode, &rules, &fetch, json!({ "url": "https://docs.rs" }), effect);
        for other in [
            "https://docs.rs.evil.example/",
            "https://docs.rs@evil.example/",
            "https://evil.example/docs.rs/",
            "http://docs.rs/",
            "https://docs.rs/a/../b",
            "https://docs.rs\\.evil.example/",
        ] {
            decides(mode, &rules, &fetch, json!({ "url": other }), RuleEffect::Ask);
        }
        for unclear in ["docs.rs", "https://user@docs.rs/", "http://2130706433/"] {
            let asked = json!({ "url": unclear }).to_string();
            assert_eq!(
                always(&Permissions::default(), &fetch, &asked, standing),
                None,
                "{unclear}"
            );
        }
    }
}

#[test]
fn an_address_that_is_not_clear_is_asked_about_where_a_rule_might_forbid_it() {
    let fetch = declared("fetch", Does::Read, &[("url", ArgumentRole::Address)]);
    let pattern = [("url".to_owned(), r"https?://evil\.example/.*".to_owned())].into();
    let rules = [PermissionRule { arguments: pattern, ..rule("fetch", RuleEffect::Deny) }];
    let mode = PermissionMode::Auto;
    decides(mode, &rules, &fetch, json!({ "url": "http://EVIL.example:80" }), RuleEffect::Deny);
    decides(mode, &rules, &fetch, json!({ "url": "http://a@evil.example/" }), RuleEffect::Ask);
    // By itself it asks about any host, and a rule opens this one.
    let good = json!({ "url": "http://good.example/" });
    decides(mode, &rules, &fetch, good.clone(), RuleEffect::Ask);
    let pattern = [("url".to_owned(), r"http://good\.example/.*".to_owned())].into();
    let allow = PermissionRule { arguments: pattern, ..rule("fetch", RuleEffect::Allow) };
    let both = [&rules[..], &[allow]].concat();
    decides(mode, &both, &fetch, good, RuleEffect::Allow);
}

fn patcher() -> Tool<'static> {
    declared("apply_patch", Does::Edit, &[("patch", ArgumentRole::Patch)])
}

fn patch(inner: &str) -> Value {
    json!({ "patch": format!("*** Begin Patch\n{inner}\n*** End Patch") })
}

// Must show 3: no path hides in a patch.
#[test]
fn must_show_3_every_path_of_a_patch_is_judged() {
    let denied = PermissionRule { path: Some("**/.env".into()), ..rule("*", RuleEffect::Deny) };
    let auto = PermissionMode::Auto;
    for inner in [
        "*** Delete File: .env",
        "*** Delete File: a\n*** Add File: x/.env\n+k",
        "*** Update File: a\n*** Move to: ./b/../.env",
        "*** Update File: /h/ws/.env\n@@\n-k\n+l",
    ] {
        decides(auto, std::slice::from_ref(&denied), &patcher(), patch(inner), RuleEffect::Deny);
        decides(auto, &[], &patcher(), patch(inner), RuleEffect::Allow);
    }
    let rules = std::slice::from_ref(&denied);
    decides(auto, rules, &patcher(), patch("*** Delete File: a"), RuleEffect::Allow);
    // What cannot be read may hide it.
    decides(auto, rules, &patcher(), json!({ "patch": "*** Delete File: .env" }), RuleEffect::Ask);
    decides(auto, rules, &patcher(), json!({ "patch": 5 }), RuleEffect::Ask);
}

#[test]
fn a_patch_is_accepted_or_allowed_only_if_all_its_paths_are() {
    let edits = PermissionMode::AcceptEdits;
    let both = "*** Delete File: src/a.rs\n*** Update File: src/b.rs\n*** Move to: src/c.rs";
    decides(edits, &[], &patcher(), patch(both), RuleEffect::Allow);
    for inner in [
        "*** Delete File: src/a.rs\n*** Add File: .git/hooks/pre-commit\n+x",
        "*** Update File: src/b.rs\n*** Move to: .git/config",
        "*** Delete File: ../x",
    ] {
        decides(edits, &[], &patcher(), patch(inner), RuleEffect::Ask);
    }
    let allowed = PermissionRule { path: Some("src/**".into()), ..rule("*", RuleEffect::Allow) };
    let (ask, rules) = (PermissionMode::Ask, [allowed]);
    decides(ask, &rules, &patcher(), patch(both), RuleEffect::Allow);
    let more = format!("{both}\n*** Delete File: doc");
    decides(ask, &rules, &patcher(), patch(&more), RuleEffect::Ask);
}

#[test]
fn what_may_not_be_edited_may_not_be_patched() {
    let auto = PermissionMode::Auto;
    let inner = "*** Delete File: a\n*** Delete File: keys/k";
    for name in ["edit_file", "write_file"] {
        let denied = PermissionRule { path: Some("keys/*".into()), ..rule(name, RuleEffect::Deny) };
        decides(auto, &[denied], &patcher(), patch(inner), RuleEffect::Deny);
        let asked = rule(name, RuleEffect::Ask);
        decides(auto, &[asked], &patcher(), patch(inner), RuleEffect::Ask);
        let allowed = rule(name, RuleEffect::Allow);
        decides(PermissionMode::Ask, &[allowed], &patcher(), patch(inner), RuleEffect::Ask);
    }
}
