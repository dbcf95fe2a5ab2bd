//! What runs outside the wall, and what runs at all where there is none.

use super::*;

/// Each is made of what a careless person allowed, and does more than that.
const WRAPPED: &[&str] = &[
    "export FOO=1; a",
    "env rm -rf b",
    "env FOO=1 ls",
    "env -i sh -c 'rm b'",
    "xargs rm",
    "a | xargs rm",
    "ls | xargs a",
    "find . -delete",
    "a | sh",
    "ls | sh",
    "sh | a",
    "sh; a",
    "sudo systemctl restart web && a",
    "cd x && ./b",
    "cd x; a",
];

pub(super) fn is_free(written: &[(&str, RuleEffect)], command: &str) -> bool {
    let permissions = Permissions { rules: rules(written), ..Permissions::default() };
    runs_free(&permissions, WORKSPACE, shell(), &arguments(command))
}

// Only what a rule names word for word, alone, runs outside the wall.
#[test]
fn what_was_not_approved_word_for_word_is_not_free() {
    each_is(RuleEffect::Allow, PermissionMode::Ask, &ALLOWED, WRAPPED);
    let wide = ["ls", "ls -l src", "a && cargo test", "a |\n ls", "ls -l 2>&1 | a >/dev/null"];
    for command in WRAPPED.iter().chain(BYPASSES).chain(attacks::ATTACKS).chain(&wide) {
        assert!(!is_free(&ALLOWED, command), "{command:?}");
    }
    for command in ["a", "  a  ", "cargo test", "sudo systemctl restart web", "export FOO=1"] {
        assert!(is_free(&ALLOWED, command), "{command:?}");
    }
    // What is typed later was read by nobody.
    let typed = serde_json::json!({ "command": "sh", "input": true }).to_string();
    let permissions = Permissions { rules: rules(&ALLOWED), ..Permissions::default() };
    assert!(!runs_free(&permissions, WORKSPACE, shell(), &typed));
}

#[test]
fn a_rule_may_take_its_commands_out_of_the_wall() {
    let mut rule = rules(&[("git *", RuleEffect::Allow)]).remove(0);
    let of = |rule: &PermissionRule, command: &str| {
        let permissions = Permissions { rules: vec![rule.clone()], ..Permissions::default() };
        runs_free(&permissions, WORKSPACE, shell(), &arguments(command))
    };
    assert!(!of(&rule, "git push"));
    rule.confined = Some(false);
    assert!(of(&rule, "git push") && of(&rule, "git add -A && git commit"));
    assert!(!of(&rule, "git push && make"));
    // And it may keep behind the wall what it names word for word.
    let mut rule = rules(&[("git push", RuleEffect::Allow)]).remove(0);
    assert!(of(&rule, "git push"));
    rule.confined = Some(true);
    assert!(!of(&rule, "git push"));
}

#[test]
fn without_a_wall_rules_with_a_wildcard_ask() {
    let open = tool("shell", Does::Act);
    let effect = |command: &str, confined: Option<bool>| {
        let mut rules = rules(&[("cargo *", RuleEffect::Allow), ("make", RuleEffect::Allow)]);
        rules[0].confined = confined;
        let permissions = Permissions { rules, ..Permissions::default() };
        whole(&permissions, &open, &arguments(command))
    };
    assert_eq!(effect("cargo test", None), RuleEffect::Ask);
    assert_eq!(effect("cargo test", Some(false)), RuleEffect::Allow);
    assert_eq!(effect("make", None), RuleEffect::Allow);
    assert_eq!(effect("make | make", None), RuleEffect::Ask);
}

#[test]
fn what_only_prints_comes_along_with_what_a_rule_allows_behind_the_wall() {
    let ruled =
        |command: &str| of_command(PermissionMode::Ask, &[("make *", RuleEffect::Allow)], command);
    let here = format!("cd {WORKSPACE} && make");
    let alike = [
        &here,
        "make test 2>&1 | tail -20",
        "make lint | grep -v note | head; echo done",
        "cd . && make test | wc -l && make lint",
        "ls src && make",
    ];
    for command in alike {
        assert_eq!(ruled(command), RuleEffect::Allow, "{command:?}");
        assert!(!is_free(&[("make *", RuleEffect::Allow)], command), "{command:?}");
    }
    for command in [
        // It would be told what to do.
        "echo all | make -f -",
        "cat list | make",
        // Another directory is another project.
        "cd sub && make",
        "cd ..; make",
        // These can write, or start programs.
        "make | rg --pre ./x y",
        "make | sort -o x",
        "make | sed 'w x'",
        "make; git status",
        "make | tee log",
        "make | tail -f x",
        // What is not certain, and what lies elsewhere.
        "make > log | tail",
        "make *.c | tail",
        "make | cat ~/.ssh/id",
        "make | cat /etc/shadow",
    ] {
        assert_eq!(ruled(command), RuleEffect::Ask, "{command:?}");
    }
    // A rule that takes its commands out of the wall takes out nothing else.
    let mut rule = rules(&[("make *", RuleEffect::Allow)]).remove(0);
    rule.confined = Some(false);
    let permissions = Permissions { rules: vec![rule], ..Permissions::default() };
    let verdict = permit(&permissions, &shell(), &arguments("make | tail"));
    assert_eq!(verdict, RuleEffect::Ask);
}
