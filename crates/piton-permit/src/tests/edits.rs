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
    assert_eq!(of(vec![all], "sub/.git/config"), Ask, "it names no place");
    assert_eq!(of(vec![rule("sub/.git/*", Allow)], "sub/.git/config"), Allow);
}

// Every edit is not every file that others obey.
#[test]
fn a_rule_for_every_edit_does_not_reach_what_others_obey() {
    use RuleEffect::{Allow, Ask};
    let every = PermissionRule::of_tool("edit_file", Allow);
    let permissions = Permissions { rules: vec![every], ..Permissions::default() };
    let arguments = |path: &str| serde_json::json!({ "path": path }).to_string();
    let edit = tool("edit_file", Does::Edit);
    assert_eq!(permit(&permissions, &edit, &arguments("src/a.rs")), Allow);
    for path in [".git/hooks/pre-commit", ".envrc", "AGENTS.md"] {
        assert_eq!(permit(&permissions, &edit, &arguments(path)), Ask, "{path}");
        let standing = Standing { effect: Allow, scope: RuleScope::Conversation };
        let offers = offers(&permissions, "/w", &edit, &arguments(path), standing);
        assert_eq!(offers.first().map(|(width, _)| *width), Some(Width::Exactly), "{path}");
        let told = grants::told(&permissions, "/w", &edit, &arguments(path));
        assert!(told.iter().any(|line| line.contains("obey")), "{told:?}");
    }
}

// No wall stands around a tool for files or pages.
#[test]
fn in_auto_no_call_writes_what_others_obey_or_leaves_for_a_host_that_nobody_opened() {
    use RuleEffect::{Allow, Ask};
    let opened = |grants| Permissions {
        mode: PermissionMode::Auto,
        opened: Box::new(grants),
        ..Permissions::default()
    };
    let edit = |permissions: &Permissions, path: &str| {
        let arguments = serde_json::json!({ "path": path }).to_string();
        permit(permissions, &tool("edit_file", Does::Edit), &arguments)
    };
    let fetch = |permissions: &Permissions, url: &str| {
        let web = tool("web_fetch", Does::Read).with_roles([("url", ArgumentRole::Address)]);
        permit(permissions, &web, &serde_json::json!({ "url": url }).to_string())
    };
    let closed = opened(Grants::default());
    for obeyed in [
        ".git/hooks/pre-commit",
        "a/../.git/config",
        ".envrc",
        "sub/.envrc",
        ".mcp.json",
        "AGENTS.md",
        ".piton/piton.toml",
        ".vscode/tasks.json",
        ".VSCODE/Settings.json",
    ] {
        assert_eq!(edit(&closed, obeyed), Ask, "{obeyed}");
    }
    for plain in ["src/main.rs", ".vscode/extensions.json", "tasks.json", "a.envrc", "config.toml"]
    {
        assert_eq!(edit(&closed, plain), Allow, "{plain}");
    }
    for url in ["https://crates.io/", "http://127.0.0.1:80/", "localhost", "file:///etc/passwd"] {
        assert_eq!(fetch(&closed, url), Ask, "{url}");
    }
    let hosts = ["crates.io:443", "127.0.0.1:8080", "[::1]:80"].map(str::to_owned);
    let some = opened(Grants { network: hosts.to_vec(), ..Grants::default() });
    for url in
        ["https://crates.io/a", "HTTPS://CRATES.io.:443", "http://127.0.0.1:8080/", "http://[::1]/"]
    {
        assert_eq!(fetch(&some, url), Allow, "{url}");
    }
    for url in
        ["http://crates.io/", "https://crates.io:8443/", "https://a.crates.io/", "http://[::1]:8/"]
    {
        assert_eq!(fetch(&some, url), Ask, "{url}");
    }
    // No sandbox at all, or a place that was opened by its name.
    let all =
        opened(Grants { network: vec!["*".into()], write: vec!["/".into()], ..Grants::default() });
    assert_eq!(edit(&all, ".git/config"), Allow);
    assert_eq!(fetch(&all, "http://a.example/"), Allow);
}

// `[sandbox] protect` holds for tools that no wall stands around, too.
#[test]
fn what_the_settings_protect_asks_like_what_everybody_protects() {
    use RuleEffect::{Allow, Ask};
    let protect = ["own", "deploy/*/run", "/h/work/.bashrc", "/h/lib/x"].map(str::to_owned);
    for mode in [PermissionMode::Auto, PermissionMode::AcceptEdits] {
        let permissions = Permissions {
            mode,
            directories: vec!["/h/lib".into()],
            protect: protect.to_vec(),
            ..Permissions::default()
        };
        let edit = |path: &str| {
            let arguments = serde_json::json!({ "path": path }).to_string();
            super::super::permit(&permissions, "/h/work", tool("edit_file", Does::Edit), &arguments)
        };
        for path in
            ["own", "own/a", "a/../own", "deploy/a/run", ".bashrc", "/h/lib/x", "/h/lib/own/b"]
        {
            assert_eq!(edit(path), Ask, "{path}");
        }
        for path in ["owner", "a/own", "deploy/run", "deploy/a/b/run", "a/.bashrc", "/h/lib/y"] {
            assert_eq!(edit(path), Allow, "{path}");
        }
    }
}
