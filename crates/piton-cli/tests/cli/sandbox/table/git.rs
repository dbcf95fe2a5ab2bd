//! The rule `git *`: what git starts, and where it writes. In `{W}` is a repository with two commits of the file `a`.

use super::row::{Row, outside};

const REPOSITORY: &str = "cp -a {BASE}/. {W}";
const CHANGED: &str =
    "cp -a {BASE}/. {W}; echo b > {W}/a; echo 'a diff=z filter=z' > {W}/.gitattributes";

pub(super) const GIT: &[Row] = &[
    outside("git, alias", "", "git -c alias.y=!{W}/x y"),
    outside("git, file system monitor", REPOSITORY, "git -C {W} -c core.fsmonitor={W}/x status"),
    outside("git, external diff", CHANGED, "git -C {W} -c diff.external={W}/x diff"),
    outside("git, text of files", CHANGED, "git -C {W} -c diff.z.textconv={W}/x diff"),
    outside("git, filter", CHANGED, "git -C {W} -c filter.z.clean={W}/x add a"),
    outside("git, editor", REPOSITORY, "git -C {W} -c core.editor={W}/x commit --allow-empty"),
    outside(
        "git, other hooks",
        "cp -a {BASE}/. {W}; mkdir {W}/h; cp {W}/x {W}/h/pre-commit",
        "git -C {W} -c core.hooksPath={W}/h commit --allow-empty -m x",
    ),
    outside("git, rebase and execute", REPOSITORY, "git -C {W} rebase -x {W}/x HEAD~1"),
    outside(
        "git, list of a rebase",
        REPOSITORY,
        "git -C {W} -c sequence.editor={W}/x rebase -i HEAD~1",
    ),
    outside("git, look at what was found", REPOSITORY, "git -C {W} grep -O{W}/x a"),
    outside("git, tool for differences", CHANGED, "git -C {W} difftool -y -x {W}/x"),
    outside("git, upload-pack", REPOSITORY, "git -C {W} ls-remote --upload-pack={W}/x ."),
    outside(
        "git, receive-pack",
        REPOSITORY,
        "git -C {W} push --receive-pack={W}/x . HEAD:refs/heads/z",
    ),
    outside(
        "git, pack of another machine",
        REPOSITORY,
        "git -C {W} archive --remote=. --exec={W}/x HEAD",
    ),
    outside(
        "git, transport",
        REPOSITORY,
        "git -C {W} -c protocol.ext.allow=always ls-remote ext::{W}/x",
    ),
    outside("git, parts of its own", "cp {W}/x {W}/git-y", "git --exec-path={W} y"),
    outside(
        "git, ssh",
        REPOSITORY,
        "git -C {W} -c core.sshCommand={W}/x ls-remote ssh://nobody.invalid/r",
    ),
    outside(
        "git, proxy",
        REPOSITORY,
        "git -C {W} -c core.gitProxy={W}/x ls-remote git://nobody.invalid/r",
    ),
    outside(
        "git, signature",
        REPOSITORY,
        "git -C {W} -c gpg.program={W}/x commit -S --allow-empty -m x",
    ),
    outside(
        "git, trailer from a command",
        REPOSITORY,
        "git -C {W} -c trailer.z.cmd={W}/x interpret-trailers --trailer z=1 a",
    ),
    outside("git, a name with a slash", "mkdir -p git-slash; cp {W}/x git-slash/y", "git slash/y"),
    outside(
        "git, trailers in place",
        "",
        "git interpret-trailers --in-place --trailer x=y {O}/file",
    ),
    outside("git, another prefix", REPOSITORY, "git -C {W} checkout-index --prefix={O}/ -a"),
    outside(
        "git, unsafe paths",
        "printf -- '--- /dev/null\\n+++ b/new\\n@@ -0,0 +1 @@\\n+x\\n' > {W}/p",
        "git -C {OUT} apply --unsafe-paths --directory={O} {W}/p",
    ),
    outside(
        "git, another work tree",
        REPOSITORY,
        "git --git-dir={W}/.git --work-tree={O} checkout -f HEAD -- a",
    ),
    outside(
        "git, push to a path",
        "cp -a {BASE}/. {W}; git init -q --bare {O}/bare",
        "git -C {W} push {O}/bare HEAD:refs/heads/z",
    ),
    outside(
        "git, fetch into another repository",
        "cp -a {BASE}/. {W}; git init -q --bare {O}/bare",
        "git --git-dir={O}/bare fetch {W} HEAD:refs/heads/z",
    ),
    outside("git, clone there", REPOSITORY, "git clone -q {W} {O}/new"),
    outside("git, repository there", "", "git init -q {O}/new"),
    outside("git, work tree there", REPOSITORY, "git -C {W} worktree add {O}/new"),
    outside("git, letters", REPOSITORY, "git -C {W} format-patch -1 -o {O}"),
    outside("git, archive", REPOSITORY, "git -C {W} archive -o {O}/new.tar HEAD"),
    outside("git, bundle", REPOSITORY, "git -C {W} bundle create {O}/new HEAD"),
    outside("git, difference into a file", CHANGED, "git -C {W} diff --output={O}/new"),
    outside("git, settings in a file", "", "git config --file {O}/new a.b c"),
    outside("git, marks", REPOSITORY, "git -C {W} fast-import --export-marks={O}/new"),
    outside("git, your own settings", "", "git config --global piton.own git-your-own-settings")
        .named("me/.gitconfig"),
    outside(
        "git, commit elsewhere",
        "cp -a {BASE}/. {O}",
        "git -C {O} commit -q --allow-empty -m x",
    ),
    outside(
        "git, settings elsewhere",
        "cp -a {BASE}/. {O}",
        "git -C {O} config core.fsmonitor {W}/x",
    ),
];

/// What programs outside the wall will run or obey later. All of it belongs to the workspace's own repository, so each
/// attempt leaves its name.
pub(super) const OBEYED: &[Row] = &[
    outside("obeyed-config", "", "git config core.fsmonitor obeyed-config").named(CONFIG),
    outside("obeyed-append", "", "sh -c 'echo \"# obeyed-append\" >> .git/config'").named(CONFIG),
    outside("obeyed-replaced", "", "sh -c 'cp .git/config c && echo \"# obeyed-replaced\" >> c && mv c .git/config'").named(CONFIG),
    outside("obeyed-root", "", "sh -c 'echo \"# obeyed-root\" >> /proc/self/root$PWD/.git/config'").named(CONFIG),
    outside("obeyed-alias", "", "git config alias.st '!obeyed-alias'").named(CONFIG),
    outside("obeyed-remote", "", "git remote add obeyed-remote .").named(CONFIG),
    outside("obeyed-link", "", "sh -c 'ln .git/config c2 && echo \"# obeyed-link\" >> c2'").named(CONFIG),
    outside("obeyed-hook", "", "sh -c 'mkdir -p .git/hooks; echo obeyed-hook > .git/hooks/pre-commit'").named("work/.git/hooks/pre-commit"),
    outside("obeyed-hooks-swapped", "", "sh -c 'cp -a .git/hooks h2; echo obeyed-hooks-swapped > h2/post-merge; mv .git/hooks h3; mv h2 .git/hooks'").named("work/.git/hooks/post-merge"),
    outside("obeyed-attributes", "", "sh -c 'mkdir -p .git/info; echo obeyed-attributes > .git/info/attributes'").named("work/.git/info/attributes"),
    outside("obeyed-envrc", "", "sh -c 'echo obeyed-envrc >> .envrc'").named("work/.envrc"),
    outside("obeyed-tasks", "", "sh -c 'mkdir -p .vscode; echo obeyed-tasks > .vscode/tasks.json'").named("work/.vscode/tasks.json"),
    outside("obeyed-mcp", "", "sh -c 'echo obeyed-mcp > .mcp.json'").named("work/.mcp.json"),
    outside("obeyed-instructions", "", "sh -c 'echo obeyed-instructions >> AGENTS.md'").named("work/AGENTS.md"),
    outside("obeyed-settings", "", "sh -c 'mkdir -p .piton/commands; echo obeyed-settings > .piton/commands/x.md'").named("work/.piton/commands/x.md"),
    outside("obeyed-moved", "", "sh -c 'mv .git g && cp -a g .git && echo \"# obeyed-moved\" >> .git/config'").named(CONFIG),
    outside("obeyed-claude", "", "sh -c 'echo obeyed-claude >> CLAUDE.md'").named("work/CLAUDE.md"),
    outside("obeyed-submodule", "", "sh -c 'mkdir -p .git/modules/x/y/z; echo obeyed-submodule > .git/modules/x/y/z/config'").named("work/.git/modules/x/y/z/config"),
    outside("obeyed-skills", "", "sh -c 'mkdir -p .agents/skills/x; echo obeyed-skills > .agents/skills/x/SKILL.md'").named("work/.agents/skills/x/SKILL.md"),
    // Behind the others: git cannot read it any more.
    outside("obeyed-trailers", "", "git interpret-trailers --in-place --trailer obeyed-trailers=1 .git/config").named(CONFIG),
    // Nor can it find this one.
    outside("obeyed-common", "", "sh -c 'echo obeyed-common > .git/commondir'").named("work/.git/commondir"),
    outside("obeyed-flood", "", "sh -c 'for i in $(seq 1100); do mkdir -p .git/modules/a$i; echo > .git/modules/a$i/config; done; echo obeyed-flood > QWEN.md'").named("work/QWEN.md"),
];

const CONFIG: &str = "work/.git/config";
