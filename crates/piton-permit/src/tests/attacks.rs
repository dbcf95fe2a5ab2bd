//! What somebody would write who knows the shell, and knows what is allowed.

use super::*;

/// Each is more than `a`, `ls` and what else is allowed, or looks like something else.
pub(super) const ATTACKS: &[&str] = &[
    // Numbers in front of a redirection: for some shells a word, for some none.
    "a 10>/dev/null",
    "a 22</dev/null",
    "cargo test 10>/dev/null",
    "cargo test 999>&1",
    "a 1''>/dev/null",
    "a \"1\">/dev/null",
    "a ''>/dev/null",
    "a 2 >/dev/null",
    "a >/dev/null b",
    "a >&1 b",
    "a 2>&1 b",
    "a >&0",
    "a <&0",
    "a <&-",
    ">/dev/null rm b",
    "2>&1 rm b",
    "</dev/null rm b",
    "a>/dev/null;rm b",
    "a>/dev/null&&rm b",
    "a>/dev/null|rm b",
    "a 2>&1\nrm b",
    "exec >b; ls",
    // Here-documents, here-strings, substitutions of processes.
    "ls <<'E'\n$(rm b)\nE",
    "ls <<-E\n\t$(rm b)\nE",
    "ls <<E; rm b\nE",
    "ls <<<$(rm b)",
    "ls < <(rm b)",
    "ls > >(rm b)",
    "ls 3< <(rm b)",
    "ls =(rm b)",
    // Arithmetic.
    "ls $((x[$(rm b)]))",
    "ls $[x[$(rm b)]]",
    "((x[$(rm b)]))",
    "let 'x[$(rm b)]'",
    "[ -v 'x[$(rm b)]' ]",
    "test -v 'x[$(rm b)]'",
    // Names, functions, settings.
    "alias ls=rm; ls b",
    "unalias ls; ls",
    "ls () { rm b; }; ls",
    "function ls { rm b; }; ls",
    "hash -p /bin/rm ls; ls b",
    "enable -n test; ls",
    "set -o allexport; ls",
    "set -- rm b; ls",
    "set -k; ls A=1",
    "shopt -s expand_aliases; ls",
    "IFS=x; ls",
    "IFS=x ls",
    "IFS=/ ls",
    "ls ${IFS}b",
    "a[0]=1 a",
    "a+=1 a",
    "trap 'rm b' EXIT",
    "trap 'rm b' EXIT; ls",
    "read x; ls",
    "printf -v PATH .; ls",
    "umask 0; rm b",
    "exit; rm b",
    "wait; rm b",
    "chdir x && ./b",
    "chdir x; a",
    "dirs; rm b",
    // Expansions of words.
    "ls {1..3}",
    "ls a{,b}",
    "ls ~+",
    "ls ~-",
    "ls x=~",
    "ls $'a\\nb'",
    "$'ls'",
    "$\"ls\"",
    "ls $",
    "ls \"$\"",
    "ls $$",
    "ls $!",
    "ls $?",
    "ls $#",
    "ls $-",
    "ls $@",
    "ls \"${x@P}\"",
    "ls ${!x}",
    "ls @(a|b)",
    "ls !(a)",
    "ls +(a)",
    "ls a?(b)",
    "ls [!a]",
    "ls \\`rm\\`",
    "ls 'a'\\''b'",
    // What joins and surrounds commands.
    "case $x in *) rm b;; esac",
    "case x in x) ls;; esac",
    "select x in a; do rm b; done",
    "until a; do ls; done",
    "for ls in a; do ls; done",
    "if ls; then a; fi",
    "coproc rm b",
    "coproc X { rm b; }",
    "time ls",
    "time -p ls",
    "! ls",
    "! a",
    "ls &",
    "ls & a",
    "(ls)",
    "{ ls; }",
    "ls; }",
    "a;&a",
    "a||",
    "a&&&a",
    "a|||a",
    "|a",
    "a;\n;a",
    "eval ls",
    "command ls",
    "command -p ls",
    "command -v ls",
    "builtin ls",
    "exec ls",
    ". b",
    "source b",
    "ls\\\n; rm b",
    "ls \"\\\n\"; rm b",
    // Letters.
    "ls \u{3164}",
    "ls \u{115f}x",
    "ls \u{1160}x",
    "ls \u{17b4}x",
    "ls \u{ffa0}",
    "ls 'a\u{3164}b'",
    "ls \u{ad}x",
    "ls \u{2066}x",
    "ls \u{e0041}",
    "ls \u{2800}",
    "ls \u{fe0f}",
    "ls a\u{301}",
    "ls 'a\rb'",
    "ls \"a\u{1b}[2Ab\"",
    "\u{feff}a",
    "a\u{feff}",
    "a\u{8}",
    "ls \u{7f}",
    "ls\u{1680}rm",
    "ls\u{2003}-l",
];

// Must show 3
#[test]
fn must_show_3_no_trick_of_the_shell_makes_a_rule_allow_more() {
    each_is(RuleEffect::Ask, PermissionMode::Ask, &ALLOWED, ATTACKS);
    for command in ATTACKS.iter().filter(|command| command.contains("rm b")) {
        let effect = of_command(PermissionMode::Auto, &DENIED, command);
        assert_ne!(effect, RuleEffect::Allow, "{command:?}");
    }
    each_is(
        RuleEffect::Allow,
        PermissionMode::Ask,
        &ALLOWED,
        &["a 2>/dev/null", "a 1>&2", "cargo test 0</dev/null", "ls ä 한글 日本"],
    );
}

// Must show 3: quotes in a word do not make it look like several to a pattern.
#[test]
fn must_show_3_a_word_never_looks_like_two() {
    let form = |form: &str, command: &str| {
        let rule = PermissionRule {
            arguments: [("command".to_owned(), form.to_owned())].into(),
            ..PermissionRule::of_tool("shell", RuleEffect::Allow)
        };
        let permissions =
            Permissions { mode: PermissionMode::Ask, rules: vec![rule], ..Permissions::default() };
        permit(&permissions, &tool("shell", Does::Act), &arguments(command))
    };
    let two = r#"ls "a'" "b""#;
    assert_eq!(form(r#"ls "a'" b"#, r#"ls "a'" b"#), RuleEffect::Allow);
    assert_eq!(form(two, r#"ls 'a'"'"'" "b'"#), RuleEffect::Ask);
}
