mod absolute;
mod argument;
mod attacks;
mod denied;
mod directory;
mod edits;
mod free;
mod hooked;
mod laws;
mod looks;
mod offers;
mod openings;
mod plan;
mod reach;
mod roles;

use serde_json::Value;

use super::*;

/// Where all calls are made.
const WORKSPACE: &str = "/h/ws";

/// What rules and mode say by themselves, where there are walls. What only looks is tried in [`looks`].
fn permit(permissions: &Permissions, tool: &Tool<'_>, arguments: &str) -> RuleEffect {
    let tool = tool.clone().confining(true);
    let asked = Asked::new(permissions, WORKSPACE, &tool, arguments);
    decided(permissions, &tool, &asked, Looking::Asks)
}

/// The whole decision.
fn whole(permissions: &Permissions, tool: &Tool<'_>, arguments: &str) -> RuleEffect {
    super::permit(permissions, WORKSPACE, tool, arguments)
}

fn always(
    permissions: &Permissions,
    tool: &Tool<'_>,
    arguments: &str,
    standing: Standing,
) -> Option<Vec<PermissionRule>> {
    super::always(permissions, WORKSPACE, tool, arguments, standing)
}

/// Why a rule would be refused where it is read.
fn fault(rule: &PermissionRule) -> Option<String> {
    fault::of_tool(&rule.tool)
        .or_else(|| fault::of_command(rule.command.as_deref()?))
        .or_else(|| fault::of_path(rule.path.as_deref()?))
        .or_else(|| rule.arguments.values().find_map(|pattern| fault::of_pattern(pattern)))
}

/// A tool; those of this program by their names.
fn tool(name: &str, does: Does) -> Tool<'_> {
    let alike = Alike { shell: "shell", edits: &["edit_file", "write_file"] };
    let roles: &[_] = match name {
        "shell" => &[("command", ArgumentRole::CommandLine), ("dir", ArgumentRole::Directory)],
        "shell_write" => &[("text", ArgumentRole::CommandInput)],
        "ask_user" | "delegate" | "shell_stop" | "shell_wait" => &[("text", ArgumentRole::Value)],
        "edit_file" | "glob" | "grep" | "list_dir" | "read_file" | "write_file" => {
            &[("path", ArgumentRole::WorkspacePath)]
        }
        _ => &[],
    };
    Tool::new(name, does).with_roles(roles.iter().copied()).like(alike)
}

/// The shell, with walls.
fn shell() -> Tool<'static> {
    tool("shell", Does::Act).confining(true)
}

fn check(mode: PermissionMode, rules: &[RuleEffect], does: Does, expected: RuleEffect) {
    let rules = rules
        .iter()
        .map(|effect| PermissionRule::of_tool("t", *effect))
        .chain([PermissionRule::of_tool("other", RuleEffect::Deny)])
        .collect();
    assert_eq!(
        permit(&Permissions { mode, rules, ..Permissions::default() }, &tool("t", does), "{}"),
        expected
    );
}

#[test]
fn reading_needs_no_permission() {
    use PermissionMode::{AcceptEdits, Ask, Auto, ReadOnly};
    for mode in [Ask, AcceptEdits, Auto, ReadOnly] {
        check(mode, &[], Does::Read, RuleEffect::Allow);
    }
}

#[test]
fn the_mode_decides_on_effects_without_a_rule() {
    check(PermissionMode::Ask, &[], Does::Edit, RuleEffect::Ask);
    check(PermissionMode::AcceptEdits, &[], Does::Act, RuleEffect::Ask);
    check(PermissionMode::Auto, &[], Does::Act, RuleEffect::Allow);
    check(PermissionMode::ReadOnly, &[], Does::Act, RuleEffect::Deny);
}

// D43
#[test]
fn deny_beats_ask_beats_allow_beats_the_mode() {
    use RuleEffect::{Allow, Ask, Deny};
    check(PermissionMode::Auto, &[Allow, Deny], Does::Read, Deny);
    check(PermissionMode::Auto, &[Allow, Ask], Does::Read, Ask);
    check(PermissionMode::ReadOnly, &[Allow], Does::Act, Allow);
}

fn rules(written: &[(&str, RuleEffect)]) -> Vec<PermissionRule> {
    let rule = |(command, effect): &(&str, RuleEffect)| PermissionRule {
        command: Some((*command).into()),
        ..PermissionRule::of_tool("shell", *effect)
    };
    written.iter().map(rule).collect()
}

fn arguments(command: &str) -> String {
    serde_json::json!({ "command": command }).to_string()
}

fn of_command(mode: PermissionMode, written: &[(&str, RuleEffect)], command: &str) -> RuleEffect {
    let permissions = Permissions { mode, rules: rules(written), ..Permissions::default() };
    permit(&permissions, &tool("shell", Does::Act), &arguments(command))
}

/// Holds each of some command lines against the rules that are written.
fn each_is(
    expected: RuleEffect,
    mode: PermissionMode,
    written: &[(&str, RuleEffect)],
    commands: &[&str],
) {
    for command in commands {
        assert_eq!(of_command(mode, written, command), expected, "{mode:?} {command:?}");
    }
}

/// What a careless person might allow.
const ALLOWED: [(&str, RuleEffect); 12] = [
    ("a", RuleEffect::Allow),
    ("ls *", RuleEffect::Allow),
    ("cargo test", RuleEffect::Allow),
    ("git status *", RuleEffect::Allow),
    ("sudo systemctl restart web", RuleEffect::Allow),
    ("sh", RuleEffect::Allow),
    ("env *", RuleEffect::Allow),
    ("xargs *", RuleEffect::Allow),
    ("find *", RuleEffect::Allow),
    ("export FOO=1", RuleEffect::Allow),
    ("cd *", RuleEffect::Allow),
    ("./b", RuleEffect::Allow),
];

// Must show 3: no rule for a command allows another one.
#[test]
fn must_show_3_what_is_allowed_runs() {
    each_is(
        RuleEffect::Allow,
        PermissionMode::Ask,
        &ALLOWED,
        &[
            "a",
            "  a  ",
            "ls",
            "ls -l src",
            "ls 'a b' \"c d\" HEAD~1",
            "a && cargo test",
            "a || cargo test; ls",
            "a\ncargo test\n",
            "a |\n ls",
            "ls -l 2>&1 | a >/dev/null",
            "ls '$(rm -rf b)' '; rm' 'a`b`'",
            "ls </dev/null 2> /dev/null",
            "ls >                                       /dev/null",
            "sudo systemctl restart web",
            "export FOO=1",
        ],
    );
}

/// Each tries to run something that nobody allowed.
const BYPASSES: &[&str] = &[
    // More commands.
    "a && rm -rf b",
    "a || rm -rf b",
    "a; rm -rf b",
    "a;rm -rf b",
    "a | rm -rf b",
    "a & rm -rf b",
    "a |& rm -rf b",
    "a\nrm -rf b",
    "a\r\nrm -rf b",
    "a\rrm -rf b",
    "rm -rf b && a",
    "a &&",
    "&& a",
    "a ;; a",
    "a & ",
    "ls && (rm -rf b)",
    "a;\\\nrm b",
    "a \\\n&& rm b",
    "ls # x\nrm -rf b",
    // Substitutions.
    "ls $(rm -rf b)",
    "ls `rm -rf b`",
    "ls \"$(rm -rf b)\"",
    "ls \"`rm -rf b`\"",
    "ls <(rm -rf b)",
    "ls >(rm -rf b)",
    "ls ${x:-$(rm b)}",
    "ls $((`rm b`))",
    "ls \"${x:=$(rm b)}\"",
    "ls $'\\x3b' rm",
    "ls $IFS$9",
    "ls $HOME",
    "ls \"$HOME\"",
    "ls \"a\\\"; rm b; \\\"\"",
    // Redirections.
    "ls > ~/.bashrc",
    "ls >b",
    "ls >>b",
    "ls 2>b",
    "ls &>b",
    "ls >|b",
    "ls <>b",
    "ls <b",
    "ls <<E\nx\nE",
    "ls <<<x",
    "ls >/dev/nullx",
    "ls >                                /dev/nullx",
    "ls >\t                               /dev/null/../../b",
    "ls <                                b",
    "ls >                                b",
    "ls > &1",
    "ls >& 1x",
    "ls >/dev/null>b",
    "ls >/dev/null''b",
    "ls >\\\n/dev/null",
    "ls 2>&1>b",
    "ls >&2&rm b",
    "ls >&-",
    "ls >&2-x",
    "ls {b}>/dev/null",
    "ls >/dev/null/../../b",
    "ls >&3",
    "ls >&b",
    "ls 2>&1x",
    "> b",
    "ls > /dev/sda",
    "ls >/dev/'null'x",
    "cargo test>b",
    // What stands in front of a name.
    "LD_PRELOAD=./b.so ls",
    "PATH=. ls",
    "FOO=x a",
    "A=1 B=2 ls",
    "PATH=.; ls",
    "PATH+=:. a",
    "a=b",
    "GIT_SSH_COMMAND=rm git status",
    "! a",
    "time a",
    "{ a; }",
    "( a )",
    "if a; then rm; fi",
    "while a; do rm b; done",
    "for x in a; do rm; done",
    "case a in a) rm;; esac",
    "coproc a",
    "function a { rm b; }; a",
    "a() { rm b; }; a",
    "ls() { rm b; }\nls",
    "alias a=rm; a b",
    "alias a=rm\na",
    "unset x; a",
    "export PATH=.; a",
    "set -x; a",
    ". ./b; a",
    "exec a",
    "[[ a ]]",
    // Wrappers.
    "find . -exec rm {} +",
    "sh -c 'rm b'",
    "sh b",
    "echo x | sh",
    "eval a",
    "eval 'rm b'",
    "command a",
    "builtin a",
    "nohup a",
    "nice a",
    "timeout 5 a",
    "sudo a",
    "sudo ls",
    "sudo -u x systemctl restart web",
    "busybox ls",
    "exec ls",
    "sudo systemctl restart web extra",
    "stdbuf -o0 ls",
    // Names that are not what they look like.
    "r''m b",
    "r\"\"m b",
    "'ls'",
    "\"a\"",
    "l''s",
    "\\ls",
    "l\\s",
    "l$@s",
    "l${x}s",
    "$x",
    "${x} a",
    "$(echo ls)",
    "`echo ls`",
    "l?",
    "l*",
    "[l]s",
    "/bin/l?",
    "{ls,-l}",
    "{rm,b}",
    "~/ls",
    "./ls",
    "/tmp/ls",
    "../ls",
    "LS",
    "Ls",
    "ｌｓ",
    "lѕ",
    "а",
    "l\u{200b}s",
    "\u{202e}ls",
    "ls\u{a0}-l",
    "ls\u{200b}",
    "ls \u{202e}x",
    "a\u{3000}",
    "a\u{0}",
    "a\u{b}",
    "a\u{c}b",
    "ls\u{85}rm",
    "ls \u{2028}rm",
    "ls \u{1b}[2K",
    "''",
    "'' a",
    "a b",
    "a ''",
    "cargo  test  --all",
    "cargo testx",
    "cargo",
    "cargo test -- --x",
    "cargo\\ test",
    "'cargo test'",
    "cargo$IFS'test'",
    "git",
    "git -c x=y status",
    "git 'status;' rm",
    "git statusx",
    "lsx",
    "xls",
    // Words that a shell replaces.
    "ls *",
    "ls b?",
    "ls [ab]",
    "ls {a,b}",
    "ls ~",
    "ls ~root",
    "ls --x=~",
    "ls a:~",
    // The same name in another place.
    "pushd x && ./b",
    // Half of something.
    "ls 'a",
    "ls \"a",
    "ls $(",
    "ls `",
    "ls \\",
    "ls (",
    "ls )",
    "ls }",
    "",
    " ",
    "\n",
    ";",
];

// Must show 3
#[test]
fn must_show_3_no_rule_for_a_command_allows_another() {
    let long = format!("ls {}", "x ".repeat(20_000));
    let bypasses = [BYPASSES, &[&long]].concat();
    each_is(RuleEffect::Ask, PermissionMode::Ask, &ALLOWED, &bypasses);
    each_is(RuleEffect::Deny, PermissionMode::ReadOnly, &ALLOWED, &bypasses);
}

const DENIED: [(&str, RuleEffect); 2] = [("rm *", RuleEffect::Deny), ("ls *", RuleEffect::Allow)];

// Must show 3
#[test]
fn must_show_3_what_is_denied_is_found_wherever_it_can_be_seen() {
    let commands = [
        "rm b",
        "rm",
        "/bin/rm b",
        "./rm b",
        "RM b",
        "r''m b",
        "\\rm b",
        "'rm' b",
        "ls && rm b",
        "ls; rm b",
        "ls | rm b",
        "ls & rm b",
        "ls\nrm b",
        "ls $(rm b)",
        "ls `rm b`",
        "ls \"$(rm b)\"",
        "ls \"`rm b`\"",
        "ls <(rm b)",
        "x=$(rm b)",
        "X=1 rm b",
        ">f rm b",
        "2>f rm b",
        "ls >f; rm b",
        "(rm b)",
        "{ rm b; }",
        "! rm b",
        "if rm b; then ls; fi",
        "if ls; then rm b; fi",
        "while ls; do rm b; done",
        "f() { rm b; }; f",
        "case x in x) rm b;; esac",
        "env rm b",
        "env A=1 rm b",
        "sudo -u x rm b",
        "xargs -n1 rm",
        "ls | xargs rm",
        "find . -exec rm {} +",
        "sh -c 'rm b'",
        "sh -c 'ls; rm b'",
        "bash -lc \"rm b\"",
        "eval rm b",
        "eval 'r''m' b",
        "sudo sh -c 'env rm b'",
        "nohup rm b &",
        "timeout 5 /usr/bin/rm b",
        "echo $(echo $(rm b))",
        "command rm b",
        "exec rm b",
        "time rm b",
        "python3 -c 'x' rm b",
    ];
    for mode in [PermissionMode::Auto, PermissionMode::Ask] {
        each_is(RuleEffect::Deny, mode, &DENIED, &commands);
    }
}

// Must show 3
#[test]
fn must_show_3_where_a_denied_command_could_hide_a_person_is_asked() {
    let hidden = [
        "$x b",
        "${x}m b",
        "r$y b",
        "`echo rm`x",
        "{rm,b}",
        "r? b",
        "/bin/r* b",
        "eval \"$x\"",
        "sh b",
        "echo cm0gYg | base64 -d | sh",
        "python3 b",
        "env $x",
        "sh <<E\nx\nE",
        "xargs -a f",
        ". ./b",
        "alias x=y\nx b",
        "ls *",
        "X=1",
        "awk 'BEGIN{}'",
    ];
    each_is(RuleEffect::Ask, PermissionMode::Auto, &DENIED, &hidden);
    let others = ["ls rm", "cat src/rm.rs", "cargo test", "grep -rn 'rm -rf' .", "ls 'rm b'"];
    each_is(RuleEffect::Allow, PermissionMode::Auto, &DENIED, &others);
}

// D44: "always" is good for this command and no other.
#[test]
fn always_allows_each_command_of_the_line_word_for_word() {
    let shell = shell();
    let propose = |mode, standing: &[(&str, RuleEffect)], command: &str| {
        let permissions = Permissions { mode, rules: rules(standing), ..Permissions::default() };
        let standing = Standing { effect: RuleEffect::Allow, scope: RuleScope::Project };
        let rules = always(&permissions, &shell, &arguments(command), standing)?;
        let sound = |rule: &PermissionRule| rule.scope == standing.scope && fault(rule).is_none();
        assert!(rules.iter().all(sound));
        Some(rules.into_iter().filter_map(|rule| rule.command).collect::<Vec<_>>())
    };
    let ask = |command| propose(PermissionMode::Ask, &[], command);
    assert_eq!(ask("cargo test"), Some(vec!["cargo test".into()]));
    assert_eq!(ask("a && a; b 'x y'"), Some(vec!["a".into(), "b 'x y'".into()]));
    assert_eq!(ask("grep \"it's\" '*'"), Some(vec!["grep \"it's\" '*'".into()]));
    for command in ["rm *", "a > b", "a $x", "X=1 a", "a\u{202e}"] {
        assert_eq!(ask(command), None, "{command:?}");
    }
    assert_eq!(propose(PermissionMode::Ask, &[("a *", RuleEffect::Ask)], "a b"), None);
}

// D44: "never" forbids this command and no other, and gives up nothing that forbids more.
#[test]
fn never_forbids_one_command_and_only_where_it_is_clear_which() {
    let shell = shell();
    let never = |mode, command: &str| {
        let permissions = Permissions { mode, rules: Vec::new(), ..Permissions::default() };
        let standing = Standing { effect: RuleEffect::Deny, scope: RuleScope::User };
        let rules = always(&permissions, &shell, &arguments(command), standing)?;
        let after = with(&permissions, &rules);
        assert_eq!(permit(&after, &shell, &arguments(command)), RuleEffect::Deny);
        assert_eq!(permit(&after, &shell, &arguments("ls")), by_mode_of(mode));
        Some(rules.into_iter().filter_map(|rule| rule.command).collect::<Vec<_>>())
    };
    for mode in [PermissionMode::Ask, PermissionMode::Auto] {
        assert_eq!(never(mode, "rm -rf b"), Some(vec!["rm -rf b".into()]));
        for command in ["cd a && rm b", "rm $x", "a | b", ""] {
            assert_eq!(never(mode, command), None, "{command:?}");
        }
    }
    let pay = tool("pay", Does::Act);
    let standing = Standing { effect: RuleEffect::Deny, scope: RuleScope::User };
    let rules = always(&Permissions::default(), &pay, "{}", standing).unwrap();
    assert_eq!(
        rules,
        [PermissionRule {
            scope: RuleScope::User,
            ..PermissionRule::of_tool("pay", RuleEffect::Deny)
        }]
    );
}

fn by_mode_of(mode: PermissionMode) -> RuleEffect {
    if mode == PermissionMode::Auto { RuleEffect::Allow } else { RuleEffect::Ask }
}

fn of_path(mode: PermissionMode, effect: RuleEffect, pattern: &str, path: &str) -> RuleEffect {
    let rule = PermissionRule {
        path: Some(pattern.into()),
        ..PermissionRule::of_tool("edit_file", effect)
    };
    let arguments = serde_json::json!({ "path": path }).to_string();
    let permissions = Permissions { mode, rules: vec![rule], ..Permissions::default() };
    permit(&permissions, &tool("edit_file", Does::Edit), &arguments)
}

// Must show 3
#[test]
fn must_show_3_a_rule_for_paths_is_no_rule_for_others() {
    use RuleEffect::{Allow, Ask, Deny};
    let allow = |path| of_path(PermissionMode::Ask, Allow, "src/**", path);
    assert_eq!(allow("src/main.rs"), Allow);
    assert_eq!(allow("./src/a/../main.rs"), Allow);
    for path in ["src/../.git/config", "srcs/x", "../src/x", "/src/x", "SRC/x", "", "src/../../x"] {
        assert_eq!(allow(path), Ask, "{path:?}");
    }
    let deny = |path| of_path(PermissionMode::Auto, Deny, "**/.env", path);
    for path in [".env", "a/.env", "a/../.env", ".//.env"] {
        assert_eq!(deny(path), Deny, "{path:?}");
    }
    for path in ["/w/.env", "../w/.env"] {
        assert_eq!(deny(path), Ask, "{path:?}");
    }
    assert_eq!(deny("src/main.rs"), Allow);
}

#[test]
fn a_rule_that_makes_no_sense_is_named_and_never_allows() {
    let command = |text: &str| rules(&[(text, RuleEffect::Allow)]).remove(0);
    for text in ["a && b", "a > b", "$x", "", "a | *", "'a"] {
        assert!(fault(&command(text)).is_some(), "{text:?}");
        assert_eq!(
            of_command(PermissionMode::Ask, &[(text, RuleEffect::Allow)], "a"),
            RuleEffect::Ask
        );
        assert_eq!(
            of_command(PermissionMode::Auto, &[(text, RuleEffect::Deny)], "a"),
            RuleEffect::Ask
        );
    }
    assert!(fault(&command("a *")).is_none() && fault(&command("*")).is_none());
}
