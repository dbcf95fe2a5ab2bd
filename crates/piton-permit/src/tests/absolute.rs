//! A path in the workspace, written from the root or from above.

use super::*;

fn denying() -> Vec<PermissionRule> {
    let deny = |path: &str| PermissionRule {
        path: Some(path.into()),
        ..PermissionRule::of_tool("*", RuleEffect::Deny)
    };
    vec![deny(".env"), deny("secret/**")]
}

fn run(rules: Vec<PermissionRule>, name: &str, arguments: &Value) -> RuleEffect {
    let permissions = Permissions { mode: PermissionMode::Auto, rules, ..Permissions::default() };
    permit(&permissions, &tool(name, Does::Act), &arguments.to_string())
}

fn file(path: &str) -> RuleEffect {
    run(denying(), "read_file", &serde_json::json!({ "path": path }))
}

fn shell(command: &str, directory: &str) -> RuleEffect {
    run(denying(), "shell", &serde_json::json!({ "command": command, "dir": directory }))
}

/// Other names of files that are denied.
const DENIED: &[&str] = &[
    "/h/ws/.env",
    "/h/ws/./.env",
    "/h/ws/sub/../.env",
    "//h/ws/.env",
    "///h//ws//.env",
    "/h/ws/../ws/.env",
    "/h/../h/ws/.env",
    "/./h/ws/.env",
    "../ws/.env",
    "../../h/ws/.env",
    "sub/../../ws/.env",
    "/h/ws/secret",
    "/h/ws/secret/k",
    "/h/ws/secret/deep/../k",
    "../ws/secret/k",
];

// Must show 3
#[test]
fn must_show_3_a_denied_path_is_denied_at_once_under_its_name_from_the_root() {
    for path in DENIED {
        assert_eq!(file(path), RuleEffect::Deny, "{path}");
        for command in ["cat {}", "cat '{}'", "cat \"{}\"", "cat ''{}", "cat -- x {}"] {
            let command = command.replace("{}", path);
            assert_eq!(shell(&command, "."), RuleEffect::Deny, "{command}");
        }
        for command in ["cat <{}", "ls >{}", "ls $(cat {})", "dd if={} of=x", "curl -d @{} u"] {
            let command = command.replace("{}", path);
            assert_eq!(shell(&command, "."), RuleEffect::Deny, "{command}");
        }
        let uri = serde_json::json!({ "deep": [{ "uri": format!("file://{path}") }] });
        assert_eq!(run(denying(), "fs__read", &uri), RuleEffect::Deny, "{uri}");
        let typed = serde_json::json!({ "text": format!("cat {path}\n") });
        assert_eq!(run(denying(), "shell_write", &typed), RuleEffect::Deny, "{typed}");
    }
    for (command, directory) in [
        ("cat /h/ws/.env", "src/deep"),
        ("cat /h/ws/.env", "/h/ws/src"),
        ("cat ../.env", "/h/ws/src"),
        ("cat ../../ws/.env", "src"),
        ("grep -f/h/ws/.env x", "src"),
        ("ls", "/h/ws/secret"),
        ("ls", "../ws/secret/"),
        ("cat k", "/h/ws/x/../secret"),
    ] {
        assert_eq!(shell(command, directory), RuleEffect::Deny, "{command:?} in {directory}");
    }
}

// Must show 3: where such a name leads is not known before it is looked up.
#[test]
fn must_show_3_a_name_that_may_lead_to_a_denied_path_asks() {
    for path in ["/etc/../h/ws/.env", "/h/other/../ws/.env", "../lnk/../ws/.env", "/mnt/ws/.env"] {
        assert_eq!(file(path), RuleEffect::Ask, "{path}");
        assert_eq!(shell(&format!("cat {path}"), "."), RuleEffect::Ask, "{path}");
    }
    for command in ["cat $PWD/.env", "cat \"$PWD\"/secret/k", "cat ~/ws/.env", "cat /h/ws/.e*"] {
        assert_eq!(shell(command, "."), RuleEffect::Ask, "{command}");
    }
    // Files of others are none of ours, yet any command can reach what is denied.
    for command in ["cat /h/wsx/.env", "cat /etc/passwd", "cat /h/ws/src/a.rs"] {
        assert_eq!(shell(command, "."), RuleEffect::Ask, "{command}");
    }
}

#[test]
fn a_path_from_the_root_is_what_it_is_from_the_workspace() {
    for path in ["/h/ws/src/a.rs", "//h/ws/./src/x/../a.rs", "../ws/src/a.rs", "/h/ws/src/.env"] {
        assert_eq!(file(path), RuleEffect::Allow, "{path}");
        let strange = serde_json::json!({ "path": path });
        assert_eq!(run(denying(), "fs__read", &strange), RuleEffect::Allow, "{path}");
    }
    let rules = |effect| {
        vec![PermissionRule {
            path: Some("src/**".into()),
            ..PermissionRule::of_tool("edit_file", effect)
        }]
    };
    let edit = |mode, rules, path: &str| {
        let arguments = serde_json::json!({ "path": path }).to_string();
        permit(
            &Permissions { mode, rules, ..Permissions::default() },
            &tool("edit_file", Does::Edit),
            &arguments,
        )
    };
    let allow = |path| edit(PermissionMode::Ask, rules(RuleEffect::Allow), path);
    assert_eq!(allow("/h/ws/src/a.rs"), RuleEffect::Allow);
    for path in ["/h/ws/src/../b", "/h/ws/x", "/src/a", "/h/wsrc/a", "/h/ws/../src/a", "/h/src/a"] {
        assert_eq!(allow(path), RuleEffect::Ask, "{path}");
    }
    let accept = |path| edit(PermissionMode::AcceptEdits, Vec::new(), path);
    assert_eq!(accept("/h/ws/src/a.rs"), RuleEffect::Allow);
    for path in ["/h/ws/.git/hooks/x", "/h/ws/a/.GIT/x", "/h/x", "/h/ws/../x", "/etc/../h/ws/a"] {
        assert_eq!(accept(path), RuleEffect::Ask, "{path}");
    }
}

#[test]
fn a_directory_from_the_root_is_what_it_is_from_the_workspace() {
    let make = |rules: Vec<PermissionRule>, directory: &str| {
        let permissions =
            Permissions { mode: PermissionMode::Ask, rules, ..Permissions::default() };
        let arguments = serde_json::json!({ "command": "make", "dir": directory }).to_string();
        permit(&permissions, &tool("shell", Does::Act), &arguments)
    };
    let allowed = rules(&[("make", RuleEffect::Allow)]);
    for directory in ["/h/ws", "/h/ws/", "../ws", "/h/ws/x/.."] {
        assert_eq!(make(allowed.clone(), directory), RuleEffect::Allow, "{directory}");
    }
    for directory in ["/h", "/h/ws/sub", "/h/wsx", "/h/ws/..", "/etc/../h/ws"] {
        assert_eq!(make(allowed.clone(), directory), RuleEffect::Ask, "{directory}");
    }
    let shell = tool("shell", Does::Act);
    let permissions =
        Permissions { mode: PermissionMode::Ask, rules: Vec::new(), ..Permissions::default() };
    let standing = Standing { effect: RuleEffect::Allow, scope: RuleScope::Conversation };
    let arguments = serde_json::json!({ "command": "make", "dir": "/h/ws/sub" }).to_string();
    let always = always(&permissions, &shell, &arguments, standing).unwrap();
    assert_eq!(always[0].path.as_deref(), Some("sub"));
    assert_eq!(make(always.clone(), "sub"), RuleEffect::Allow);
    assert_eq!(make(always, "/h/ws/sub/deep"), RuleEffect::Ask);
}
