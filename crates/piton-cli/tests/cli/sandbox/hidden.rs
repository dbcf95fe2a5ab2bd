//! Changes of what others obey that hide: where nobody looks, in what cannot be read, behind a link, or by making
//! something obeyed that was not. As root and as an ordinary user.

use std::process::{Command, Stdio};

use super::obeyed::{WALLS, play, shell};
use super::{again_as_nobody, can_hold};
use crate::world::World;

struct Attempt {
    name: &'static str,
    /// What a user has done before.
    before: &'static str,
    commands: &'static [&'static str],
    /// Succeeds afterwards if something evil would be obeyed.
    got_through: &'static str,
}

const REPOSITORY: &str = "git init -q . && git commit -q --allow-empty -m x";
const SUBMODULE: &str = "git init -q lib && git -C lib commit -q --allow-empty -m x && git init -q . && \
                         git submodule --quiet add ./lib lib && git submodule --quiet absorbgitdirs && \
                         git commit -q -m x";

const ATTEMPTS: [Attempt; 21] = [
    Attempt {
        name: "in a directory that is named like an example",
        before: "true",
        commands: &[
            "mkdir -p .claude/skills/x.sample && echo evil > .claude/skills/x.sample/SKILL.md",
        ],
        got_through: "grep -qr evil .claude",
    },
    Attempt {
        name: "behind thousands of examples",
        before: REPOSITORY,
        commands: &[
            "cd .git/hooks && seq -f a%.0f.sample 2500 | xargs touch && echo evil > pre-commit",
        ],
        got_through: "test -e .git/hooks/pre-commit",
    },
    Attempt {
        name: "behind thousands of files",
        before: "true",
        commands: &[
            "mkdir .claude && cd .claude && seq 2500 | xargs touch && echo evil > settings.json",
        ],
        got_through: "test -e .claude/settings.json",
    },
    Attempt {
        name: "where a name is taken",
        before: "true",
        commands: &[
            "mkdir .claude && cd .claude && seq 2500 | xargs touch && echo evil > settings.json && \
                     cd .. && seq -f not-obeyed-.claude-%.0f/x $(($$-200)) $(($$+200)) | xargs mkdir -p",
        ],
        got_through: "test -e .claude/settings.json",
    },
    Attempt {
        name: "in a directory that cannot be listed",
        before: "true",
        commands: &["mkdir .claude && echo evil > .claude/settings.json && chmod 311 .claude"],
        got_through: "grep -q evil .claude/settings.json",
    },
    Attempt {
        name: "hooks that cannot be listed",
        before: REPOSITORY,
        commands: &["echo evil > .git/hooks/pre-commit && chmod 311 .git/hooks"],
        got_through: "grep -q evil .git/hooks/pre-commit",
    },
    Attempt {
        name: "in a directory that is closed",
        before: "true",
        commands: &["echo evil > .mcp.json && chmod 555 ."],
        got_through: "grep -q evil .mcp.json",
    },
    Attempt {
        name: "hooks that are closed",
        before: REPOSITORY,
        commands: &["echo evil > .git/hooks/pre-commit && chmod 555 .git/hooks"],
        got_through: "grep -q evil .git/hooks/pre-commit",
    },
    Attempt {
        name: "deep down",
        before: "true",
        commands: &["mkdir -p .claude/a/b/c/d/e/f/g && echo evil > .claude/a/b/c/d/e/f/g/x.md"],
        got_through: "grep -qr evil .claude",
    },
    Attempt {
        name: "behind a link in a protected directory",
        before: "git init -q . && mkdir scripts && echo good > scripts/x && ln -s ../../scripts/x .git/hooks/x",
        commands: &["echo evil > scripts/x"],
        got_through: "grep -q evil .git/hooks/x",
    },
    Attempt {
        name: "a submodule's repository becomes a link",
        before: SUBMODULE,
        commands: &["mv .git/modules/lib other && ln -s ../../other .git/modules/lib && \
                     git config --file other/config core.worktree ../lib && \
                     git config --file other/config core.fsmonitor evil"],
        got_through: "test $(git -C lib config core.fsmonitor) = evil",
    },
    Attempt {
        name: "a submodule gets another repository, in two commands",
        before: SUBMODULE,
        commands: &[
            "mv .gitmodules other && git init -q evil",
            "rm -f lib/.git && echo 'gitdir: ../evil/.git' > lib/.git && mv other .gitmodules",
        ],
        got_through: "grep -q evil lib/.git",
    },
    Attempt {
        name: "another repository becomes a submodule",
        before: REPOSITORY,
        commands: &["git init -q new && cd new && git commit -q --allow-empty -m x && \
                     git config core.fsmonitor evil && cd .. && git add new"],
        got_through: "test $(git config --file new/.git/config core.fsmonitor) = evil",
    },
    Attempt {
        name: "the workspace becomes a repository itself",
        before: "true",
        commands: &[
            "git init -q --bare new && mv new/* . && git config --file config core.fsmonitor evil",
        ],
        got_through: "test $(git config core.fsmonitor) = evil",
    },
    Attempt {
        name: "a remote of the old kind",
        before: REPOSITORY,
        commands: &["mkdir .git/remotes && echo 'URL: ./evil' > .git/remotes/origin"],
        got_through: "test -e .git/remotes/origin",
    },
    Attempt {
        name: "what instructions name",
        before: "mkdir docs && echo good > docs/style.md && echo 'Read @docs/style.md.' > AGENTS.md",
        commands: &["echo evil > docs/style.md"],
        got_through: "grep -q evil docs/style.md",
    },
    Attempt {
        name: "hooks that the user's own settings name",
        before: "mkdir own && git config --global core.hooksPath own",
        commands: &["echo evil > own/pre-commit"],
        got_through: "test -e own/pre-commit",
    },
    Attempt {
        name: "behind files that are too large to be kept",
        before: "git init -q . && mkdir .agents && for n in 1 2 3 4 5; do \
                 head -c 4194304 /dev/zero > .agents/$n; done",
        commands: &["git config core.fsmonitor evil"],
        got_through: "test $(git config core.fsmonitor) = evil || ! test -s .git/config",
    },
    Attempt {
        name: "in files that it takes hours to read",
        before: "true",
        commands: &["mkdir .codex && echo evil > .envrc && truncate -s 16G .codex/x .mcp.json"],
        got_through: "test -e .envrc || test -e .mcp.json || test -e .codex/x",
    },
    Attempt {
        name: "a repository around the workspace",
        before: "true",
        commands: &["cd .. && git init -q . && git config core.fsmonitor evil"],
        got_through: "test $(git config core.fsmonitor) = evil",
    },
    Attempt {
        name: "instructions above the workspace",
        before: "git init -q .",
        commands: &["echo evil > ../AGENTS.md && echo evil > ../.envrc"],
        got_through: "test -e ../AGENTS.md || test -e ../.envrc",
    },
];

/// A line that a user runs in the workspace.
fn outside(world: &World, line: &str) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(world.work("")).env("HOME", world.path("user"));
    for who in ["GIT_AUTHOR", "GIT_COMMITTER"] {
        command.env(format!("{who}_NAME"), "n").env(format!("{who}_EMAIL"), "e");
    }
    command.env("GIT_ALLOW_PROTOCOL", "file").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap().success()
}

fn tried(attempt: &Attempt, flags: &[&str], failing: &str) -> (bool, World) {
    let world = World::new();
    std::fs::create_dir(world.path("user")).unwrap();
    assert!(outside(&world, attempt.before), "{}", attempt.name);
    let settings =
        "export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e;";
    let calls = attempt.commands.iter().map(|line| shell(&format!("{settings} {line}")));
    let ran = play(&world, "user", &calls.collect::<Vec<_>>(), flags, failing);
    assert_eq!(ran.code, 0, "{}: {}", attempt.name, ran.stderr);
    (outside(&world, attempt.got_through), world)
}

fn outputs(world: &World) -> String {
    let ends = world.events().into_iter().filter(|event| event["type"] == "ToolFinished");
    ends.map(|end| end["output"]["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_others_obey_is_put_back_wherever_a_change_hides() {
    if !can_hold() {
        return;
    }
    for attempt in &ATTEMPTS {
        let name = attempt.name;
        let (got_through, world) = tried(attempt, &["--sandbox", "off"], "");
        assert!(got_through, "{name} must work without a sandbox: {}", outputs(&world));
        for failing in WALLS {
            let (got_through, world) = tried(attempt, &[], failing);
            assert!(!got_through, "{name} got through, {failing}: {}", outputs(&world));
        }
    }
}

#[test]
fn all_of_that_holds_for_an_ordinary_user() {
    again_as_nobody("hidden", &["what_others_obey_is_put_back_wherever_a_change_hides"]);
}
