//! Which edits are accepted without asking.

use super::*;

fn edit(path: &str) -> RuleEffect {
    of_path(PermissionMode::AcceptEdits, RuleEffect::Deny, "none", path)
}

#[test]
fn edits_are_accepted_except_where_others_run_them() {
    for path in [".git/hooks/pre-commit", "a/.git/config", ".GIT/x", "/abs", "../x"] {
        assert_eq!(edit(path), RuleEffect::Ask, "{path:?}");
    }
    for path in [
        "src/main.rs",
        "src/hooks/useCart.ts",
        "hooks/index.js",
        "config/app.yml",
        "config.toml",
        "head/index.html",
        "src/HEAD.md",
        "objects/x",
        "refs/heads/main",
        "packed-refs",
        ".gitignore",
        ".github/workflows/ci.yml",
        ".gitattributes",
        "update.sh",
        "pre-commit.sample",
        ".pre-commit-config.yaml",
        "git",
        ".gits/x",
    ] {
        assert_eq!(edit(path), RuleEffect::Allow, "{path:?}");
    }
}

// Must show 3: git takes any directory for a repository that looks like one, and runs what its
// configuration says. `HEAD` makes it one, whichever file was first.
#[test]
fn must_show_3_no_edit_makes_a_repository_or_tells_git_what_to_run() {
    for name in [
        "HEAD",
        "config",
        "config.worktree",
        "commondir",
        ".git",
        "hooks/pre-commit",
        "hooks/fsmonitor-watchman",
        ".husky/pre-push",
        "rebase-merge/git-rebase-todo",
        "modules/sub/config",
        "worktrees/w/config.worktree",
        ".gitconfig",
        ".hg/hgrc",
        ".jj/repo/config.toml",
    ] {
        for path in [name.into(), format!("x.git/{name}"), format!("/h/ws/a/b/{name}")] {
            assert_eq!(edit(&path), RuleEffect::Ask, "{path:?}");
        }
    }
}

// Must show 3: file systems differ in what they take for one name.
#[test]
fn must_show_3_no_edit_reaches_such_a_file_by_a_name_that_is_the_same_elsewhere() {
    for path in [
        "a/Head",
        "a/head",
        "a/CONFIG",
        "a/config.",
        "a/config. .",
        "a/config ",
        "a/config::$DATA",
        "a/con\u{fb01}g",
        "a/con\u{200c}fig",
        "a/HEAD\u{feff}",
        "hoo\u{212a}\u{17f}/pre-commit",
        "a/po\u{17f}t-merge",
        ".git./config.x",
        ".git /x",
        ".g\u{200d}it/x",
        ".git::$INDEX_ALLOCATION/x",
        "GIT~1/x",
        "Git~1",
        ".Git",
    ] {
        assert_eq!(edit(path), RuleEffect::Ask, "{path:?}");
    }
}

#[test]
fn edits_are_accepted_in_a_directory_that_was_added() {
    use RuleEffect::{Allow, Ask, Deny};
    let of = |rules: Vec<PermissionRule>, path: &str| {
        let directories = vec!["/h/lib".into()];
        let mode = PermissionMode::AcceptEdits;
        let permissions = Permissions { mode, rules, directories, ..Permissions::default() };
        let arguments = serde_json::json!({ "path": path }).to_string();
        permit(&permissions, &tool("edit_file", Does::Edit), &arguments)
    };
    let rule = |path: &str, effect| PermissionRule {
        path: Some(path.into()),
        ..PermissionRule::of_tool("edit_file", effect)
    };
    for (path, expected) in [
        ("/h/lib/a.rs", Allow),
        ("../lib/a.rs", Allow),
        ("/h/lib/.git/config", Ask),
        ("/h/lib/../x", Ask),
        ("/h/library/a.rs", Ask),
    ] {
        assert_eq!(of(Vec::new(), path), expected, "{path}");
    }
    // What is forbidden by its name is forbidden there too; what is allowed in the workspace is not.
    assert_eq!(of(vec![rule("**/*.key", Deny)], "/h/lib/a.key"), Deny);
    let all = rule("**", Allow);
    assert_eq!(of(vec![all.clone()], "/h/lib/.git/config"), Ask);
    assert_eq!(of(vec![all], "sub/.git/config"), Allow);
}
