//! A repository whose settings run programs.

use super::*;

/// Says that it ran and for what, tries to change and to read what it can, and goes on.
const EVIL: &str = r#"#!/bin/sh
echo "EVIL $1" >&2
cd "$WORK" 2>/dev/null || cd "$(dirname "$0")"
echo x > proof-$1
echo x > .git/proof-$1
echo x > ../outside/proof-$1
touch -d 2001-01-01 a.txt
cat ../outside/secret >&2
cat 2>/dev/null
"#;

/// What git looks at by commands that run unasked.
const LINES: [&str; 14] = [
    "git status",
    "git status --porcelain",
    "git diff",
    "git diff HEAD~1",
    "git log -1",
    "git log -p",
    "git show HEAD",
    "git show HEAD:a.txt",
    "git blame a.txt",
    "git grep line",
    "git ls-files -m -o",
    "git describe --always --dirty",
    "git branch -vv",
    "git stash list",
];

/// Programs with names that every repository shares: they do not even begin.
const NEVER: [&str; 7] = ["fsmonitor", "pager", "hook", "gpg", "ssh", "alias", "inner-fsmonitor"];
/// Programs that do harm without a wall. Those for differences and attributes may begin behind it too,
/// and get nowhere.
const HARMFUL: [&str; 5] = ["fsmonitor", "external", "textconv", "driver", "clean"];

fn hostile() -> Room {
    let room = Room::new();
    room.fill();
    room.write("evil.sh", EVIL);
    let evil = room.work("evil.sh").display().to_string();
    let run = |what: &str| format!("sh {evil} {what}");
    // A repository in the repository, as a submodule is, with settings of its own.
    room.git(&["init", "-q", "inner"]);
    room.write("inner/file", "x\n");
    room.git(&["-C", "inner", "add", "."]);
    room.git(&["-C", "inner", "commit", "-q", "-m", "Inner"]);
    room.git(&["-c", "advice.addEmbeddedRepo=false", "add", "inner"]);
    room.git(&["commit", "-q", "-m", "Third"]);
    room.write("inner/file", "y\n");
    room.git(&["-C", "inner", "config", "core.fsmonitor", &run("inner-fsmonitor")]);
    let settings = [
        ("core.fsmonitor", run("fsmonitor")),
        ("core.pager", run("pager")),
        ("core.sshCommand", run("ssh")),
        ("diff.external", run("external")),
        ("alias.status", format!("!{}", run("alias"))),
        ("gpg.program", run("gpg")),
        ("log.showSignature", "true".into()),
        ("diff.evil.textconv", run("textconv")),
        ("diff.worse.command", run("driver")),
        ("filter.evil.clean", run("clean")),
        ("pager.status", run("pager")),
    ];
    room.write(".gitattributes", "a.txt diff=evil filter=evil\nb.txt diff=worse\n");
    room.write("b.txt", "line one\nline 4\n");
    for (key, value) in settings {
        room.git(&["config", key, &value]);
    }
    for hook in ["post-index-change", "post-checkout", "pre-commit"] {
        let path = room.work(".git/hooks").join(hook);
        fs::write(&path, format!("#!/bin/sh\n{}\n", run("hook"))).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    room
}

#[tokio::test]
async fn a_hostile_repository_changes_nothing_and_reads_nothing_outside() {
    if !can_hold() || !is_installed("git") {
        return;
    }
    let room = hostile();
    let before = room.picture();
    for line in LINES {
        let text = room.run(line, Consent::OnlyLooks).await.text;
        for name in NEVER {
            assert!(!text.contains(&format!("EVIL {name}\n")), "{line} ran {name}: {text}");
        }
        assert!(!text.contains("SECRET"), "{line}: {text}");
        assert!(room.picture() == before, "{line} changed something");
    }
    let diff = room.run("git diff --no-ext-diff --no-textconv", Consent::OnlyLooks).await;
    assert!(diff.text.contains("+line four"), "{}", diff.text);
}

#[tokio::test]
async fn the_same_repository_does_harm_without_a_wall() {
    if !can_hold() || !is_installed("git") {
        return;
    }
    let room = hostile();
    let mut said = String::new();
    for line in LINES {
        said.push_str(&room.run(line, Consent::WordForWord).await.text);
    }
    for name in HARMFUL {
        assert!(room.outside.join(format!("proof-{name}")).exists(), "{name}: {said}");
    }
    assert!(said.contains("SECRET"), "{said}");
}
