//! What a standing decision can say of a call, and what a person may make of it.

use super::*;

fn shell_call(command: &str) -> (Tool<'static>, String) {
    (shell(), arguments(command))
}

fn asking(written: &[(&str, RuleEffect)]) -> Permissions {
    let rules = rules(written);
    Permissions { mode: PermissionMode::Ask, rules, ..Permissions::default() }
}

const ALLOW: Standing = Standing { effect: RuleEffect::Allow, scope: RuleScope::Project };

/// What is offered: the width, and the commands or paths of the rules.
fn offered(
    known: &[(&str, RuleEffect)],
    (tool, arguments): &(Tool<'static>, String),
) -> Vec<String> {
    let offers = offers(&asking(known), WORKSPACE, tool, arguments, ALLOW);
    let told = |(width, rules): &(Width, Vec<PermissionRule>)| {
        let said = |rule: &PermissionRule| {
            let said = rule.command.clone().or(rule.path.clone());
            said.unwrap_or_else(|| "*".into())
        };
        let rules: Vec<_> = rules.iter().map(said).collect();
        format!("{width:?}: {}", rules.join(", "))
    };
    offers.iter().map(told).collect()
}

#[test]
fn a_rule_is_offered_for_the_command_and_for_its_first_words() {
    let check = |command: &str, expected: &[&str]| {
        assert_eq!(offered(&[], &shell_call(command)), expected, "{command}");
    };
    check(
        "cargo test -q",
        &[
            "Exactly: cargo test -q",
            "FirstWords: cargo test *",
            "Program: cargo *",
            "Unconfined: cargo test *",
        ],
    );
    check("rm -rf x", &["Exactly: rm -rf x", "FirstWords: rm *", "Unconfined: rm *"]);
    check("make", &["Exactly: make", "FirstWords: make *", "Unconfined: make *"]);
    // What a program is told to do looks like that. A number, an option, a path or an address does not.
    let first = |command: &str| offered(&[], &shell_call(command)).remove(1);
    for (command, words) in [
        ("npm run build", "npm run *"),
        ("rake db:migrate", "rake db:migrate *"),
        ("kill 12", "kill *"),
        ("grep todo", "grep todo *"),
        ("sudo ls", "sudo ls *"),
        ("git -C x status", "git *"),
        ("a b && make", "a b *, make *"),
        (
            "sleep 20 && curl http://x/y && ./run.sh a.txt && git commit -m x",
            "sleep *, curl *, ./run.sh *, git commit *",
        ),
    ] {
        assert_eq!(first(command), format!("FirstWords: {words}"), "{command}");
    }
    check("a $x", &[]);
}

/// Why nothing is offered.
fn refused(known: &[(&str, RuleEffect)], command: &str) -> Option<String> {
    let (tool, arguments) = shell_call(command);
    assert_eq!(offered(known, &(tool.clone(), arguments.clone())), [""; 0], "{command}");
    why_no_rule(&asking(known), WORKSPACE, &tool, &arguments)
}

#[test]
fn what_no_rule_can_be_made_of_says_why() {
    for (command, why) in [
        ("a $X", "the command uses a variable"),
        ("a \"$X\"", "the command uses a variable"),
        ("a $(b)", "the command has a command in place of a word"),
        ("a `b`", "the command has a command in place of a word"),
        ("for x in a b; do c $x; done", "the command has a loop, a condition or the like"),
        ("A=b c", "the command sets a variable"),
        ("a > b", "the command reads or writes a file with `<` or `>`"),
        ("a &", "the command runs in the background"),
        ("a *.rs", "the command has a pattern for names of files"),
        ("(a)", "the command has parentheses"),
        ("a &&", "the command is not complete"),
    ] {
        assert_eq!(refused(&[], command).as_deref(), Some(why), "{command}");
    }
    let asks = refused(&[("make *", RuleEffect::Ask)], "make x");
    assert_eq!(asks.as_deref(), Some("a rule says that it always asks"));
}

// What is forbidden for good is one command or one path at first, and can be wider.
#[test]
fn a_rule_that_forbids_is_offered_in_every_width_from_the_closest_on() {
    let forbidden = |(tool, arguments): (Tool<'static>, String)| {
        let standing = Standing { effect: RuleEffect::Deny, ..ALLOW };
        let offers = offers(&asking(&[]), WORKSPACE, &tool, &arguments, standing);
        offers.into_iter().map(|(width, _)| width).collect::<Vec<_>>()
    };
    let arguments = serde_json::json!({ "path": "src/a.rs", "content": "" }).to_string();
    let write = tool("write_file", Does::Edit);
    let widths = [Width::Exactly, Width::Directory, Width::Tool];
    assert_eq!(forbidden((write, arguments)), widths);
    let widths = [Width::Exactly, Width::FirstWords];
    assert_eq!(forbidden(shell_call("cargo test -q")), widths);
    assert_eq!(forbidden(shell_call("a && b")), []);
}

#[test]
fn of_a_chain_only_what_is_not_allowed_needs_a_rule() {
    let known = [("cargo build *", RuleEffect::Allow)];
    let call = shell_call("cargo build && rm -rf x");
    let narrow = ["Exactly: rm -rf x", "FirstWords: rm *"];
    // Outside the wall is the whole line, or nothing of it.
    let wide = ["Unconfined: cargo build *, rm *"];
    assert_eq!(offered(&known, &call), [&narrow[..], &wide].concat());
    let parts = |known: &[(&str, RuleEffect)], (tool, arguments): &(Tool<'static>, String)| {
        let parts = parts(&asking(known), WORKSPACE, tool, arguments);
        parts.into_iter().map(|it| (it.command, it.is_allowed)).collect::<Vec<_>>()
    };
    let both = [("cargo build".to_owned(), true), ("rm -rf x".to_owned(), false)];
    assert_eq!(parts(&known, &call), both);
    assert_eq!(parts(&known, &shell_call("cargo build")), []);
    assert_eq!(parts(&known, &shell_call("cargo build && a $x")), []);
    // A rule for any words does not allow what would have to be allowed word for word.
    let mut closed = rules(&known);
    closed.push(PermissionRule {
        path: Some("secret".into()),
        ..PermissionRule::of_tool("*", RuleEffect::Deny)
    });
    let permissions = Permissions { rules: closed, ..asking(&[]) };
    let (tool, arguments) = call;
    let all = super::super::always(&permissions, WORKSPACE, &tool, &arguments, ALLOW).unwrap();
    let all: Vec<_> = all.into_iter().filter_map(|rule| rule.command).collect();
    assert_eq!(all, ["cargo build", "rm -rf x"]);
}

#[test]
fn a_rule_for_a_file_is_offered_for_the_tool_the_directory_and_the_file() {
    let write = |path: &str| {
        let arguments = serde_json::json!({ "path": path, "content": "" }).to_string();
        (tool("write_file", Does::Edit), arguments)
    };
    let all = ["Exactly: src/ask/a.rs", "Directory: src/ask/**", "Tool: *"];
    assert_eq!(offered(&[], &write("src/ask/a.rs")), all);
    assert_eq!(offered(&[], &write("a.rs")), ["Exactly: a.rs", "Tool: *"]);
    let odd = ["Exactly: app/[[]id[]]/a", "Directory: app/[[]id[]]/**", "Tool: *"];
    assert_eq!(offered(&[], &write("app/[id]/a")), odd);
    assert_eq!(offered(&[], &write("../x/a")), ["Tool: *"]);
    let pay = (tool("pay", Does::Act), "{}".to_owned());
    assert_eq!(offered(&[], &pay), ["Tool: *"]);
}

#[test]
fn a_rule_that_a_person_wrote_has_to_decide_on_the_call() {
    let (tool, arguments) = shell_call("cargo test -q");
    let rule = |command: &str| PermissionRule {
        command: Some(command.into()),
        ..PermissionRule::of_tool("shell", RuleEffect::Allow)
    };
    let decided = |permissions: &Permissions, rules: &[PermissionRule]| {
        decides(permissions, WORKSPACE, &tool, &arguments, rules)
    };
    let ask = asking(&[]);
    assert!(decided(&ask, &[rule("cargo *")]) && decided(&ask, &[rule("cargo test -q")]));
    assert!(!decided(&ask, &[]) && !decided(&ask, &[rule("cargo build *")]));
    assert!(!decided(&ask, &[rule("cargo test > x")]));
    assert!(!decided(&asking(&[("cargo test *", RuleEffect::Deny)]), &[rule("cargo *")]));
    let other = PermissionRule { tool: "*".into(), ..rule("cargo *") };
    assert!(!decided(&ask, &[other]));
    let mixed = PermissionRule { effect: RuleEffect::Deny, ..rule("rm *") };
    assert!(!decided(&ask, &[rule("cargo *"), mixed]));
}

#[test]
fn a_rule_that_a_person_changed_still_allows_what_it_was_made_of() {
    let rule = |command: &str| PermissionRule {
        command: Some(command.into()),
        ..PermissionRule::of_tool("shell", RuleEffect::Allow)
    };
    let of_wider = |wide: &str, exact: &str| fault::of_wider(&rule(wide), &rule(exact));
    for wide in ["cargo test -q", "cargo test *", "cargo *", "*"] {
        assert_eq!(of_wider(wide, "cargo test -q"), None, "{wide}");
    }
    for wide in ["cargo build *", "cargo", "cargo test $x", "", "cargo test -q --release"] {
        assert!(of_wider(wide, "cargo test -q").is_some(), "{wide}");
    }
    let on = |path: &str| PermissionRule {
        path: Some(path.into()),
        ..PermissionRule::of_tool("write_file", RuleEffect::Allow)
    };
    assert_eq!(fault::of_wider(&on("src/**"), &on("src/a")), None);
    assert!(fault::of_wider(&on("lib/**"), &on("src/a")).is_some());
    assert!(fault::of_wider(&on("/src/**"), &on("src/a")).is_some());
}
