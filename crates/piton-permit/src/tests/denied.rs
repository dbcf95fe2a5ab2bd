//! Programs that run others if they are told to.

use super::free::is_free;
use super::*;

/// Each runs `rm`, or may.
const ATTEMPTS: &[&str] = &[
    "git -c alias.x='!rm b' x",
    "git -c alias.x='!r\"\"m b' x",
    "git -c core.pager=x log",
    "git -ccore.fsmonitor=x status",
    "git config alias.x '!x=r; ${x}m b'",
    "git clone 'ext::sh -c x' y",
    "git grep -O'rm b' one",
    "git grep -Ox one",
    "git rebase --exec 'x' HEAD",
    "git rebase -x x HEAD",
    "git submodule foreach 'rm b'",
    "git bisect run ./x",
    "git fetch --upload-pack=x .",
    "git fetch --upload-p=x .",
    "git difftool -y -x x",
    "sed -n '1e rm b' a.txt",
    "sed 's/a/x/e' a.txt",
    "sed -f x a.txt",
    "gsed 1e a.txt",
    "sed --expression='1e x' a.txt",
    "tar cf /dev/null a.txt --checkpoint=1 --checkpoint-action=exec='rm b'",
    "tar cf /dev/null a.txt --checkpoint=1 --checkpoint-act=exec=./x",
    "tar -cf - a.txt | tar -xf - --to-command='rm b'",
    "tar xf a --to-com=x",
    "tar cIf ./x a",
    "tar -I ./x -cf a b",
    "split --filter='rm b' a.txt",
    "split --filter=x a.txt",
    "zip -q x.zip a.txt -T -TT 'rm b #'",
    "sort --compress-program=rm a.txt",
    "sort --compress-prog=./x a.txt",
    "sqlite3 :memory: '.shell rm b'",
    "sqlite3 db",
    "psql -c '\\! x'",
    "sg root -c 'rm b'",
    "sg root x",
    "newgrp x",
    "capsh -- -c 'rm b'",
    "npm exec rm b",
    "npm exec x",
    "npm x x",
    "pnpm dlx x",
    "yarn exec x",
    "uv run x",
    "uv tool run x",
    "poetry run x",
    "bundle exec x",
    "rustup run stable x",
    "cp /bin/rm zz; ./zz b",
    "ln -s /bin/rm zz",
    "ln -s /bin/rm zz\n./zz b",
    "cp /bin/sh zz",
    "dd if=/bin/busybox of=zz",
    "install /usr/bin/env zz",
    "mv ./x /usr/bin/python3",
    "echo rm b",
    "printf 'all:\\n\\trm b' ",
    "echo x | make -f -",
    "make --eval=x",
    "make SHELL=./x",
    "make -f /dev/stdin",
    "gdb -batch -ex 'shell rm b'",
    "less '+!rm b' a.txt",
    "man -P 'rm b' ls",
    "man -P./x ls",
    "rsync -e 'rm b' a c:",
    "rsync -e./x a c:",
    "scp -S ./x a c:",
    "go test -exec ./x",
    "cargo --config 'build.rustc-wrapper=\"./x\"' build",
    "rg --pre ./x a",
    "wget --use-askpass=./x u",
    "kubectl exec p -- rm b",
    "ip netns exec x rm b",
    "qemu-x86_64 /bin/rm b",
    "unzip -p a.zip rm b",
    "parallel rm ::: b",
    "ex -sc '!rm b' -cq",
    "vim -es -c '!x' -cq",
    "gnuplot -e x",
    "Rscript -e x",
    "lua5.4 -e x",
    "apt-get -o DPkg::Pre-Invoke::=x update",
    "rpm --eval '%(x)'",
    "expect -c x",
    "busybox x",
    "chronic x",
    "hyperfine x",
    "tool --run=/bin/rm",
    "tool --run=/bin/RM",
    "tool -erm",
    "tool 'a;rm b'",
    "tool 'a|rm'",
    "tool '`rm`'",
    "tool '{rm,b}'",
    "tool \"'rm' b\"",
    "tool 'r\\m b'",
    "nodejs -e x",
    "vim.basic -es -c x",
    "python3.12 -c x",
    "zsh-5.9 -c x",
    "gfind . -delete",
    "gtar --to-command=x -xf a",
    "bsdtar --use-compress-program=x -xf a",
    "nc -e ./x h 1",
    "ncat --sh-exec x h 1",
    "x86_64 ./x",
    "ssh-agent ./x",
    "systemd-inhibit ./x",
    "jobs -x ./x",
    "compgen -C ./x",
    "test -v 'a[$(x)]'",
    "printf -v PATH .",
    "getopts a PATH",
    "wait -p PATH",
    "fzf --preview=x",
    "cmake -P x.cmake",
    "cmake -E env ./x",
    "cmake -C x .",
    "ctest -S x",
    "gcc @x a.c",
    "gcc -fplugin=./x.so a.c",
    "gcc-12 -fplugin=./x.so a.c",
    "x86_64-linux-gnu-gcc -B. a.c",
    "gcc -B . a.c",
    "gcc -wrapper ./x a.c",
    "gcc -specs=x a.c",
    "clang -fuse-ld=./x a.c",
    "clang++-17 -Xclang -load -Xclang ./x.so a.c",
    "gcc -Wl,-plugin,./x.so a.o",
    "ld -plugin ./x.so a.o",
    "rustc @x",
    "rustc -Clinker=./x a.rs",
    "javac -J-agentpath:./x a.java",
    "rsync --daemon --config=x",
    "rsync -M--x a b",
    "sftp -b x h",
    "ssh-keygen -D ./x.so",
    "ssh-add -s ./x.so",
    "curl -K x",
    "curl -sK x",
    "curl --config x",
    "wget --config=x u",
    "git --exec-path=. x",
    "git log --output=.git/config",
    "git init --template=x",
    "git for-each-repo --config=x y",
    "cargo -Zscript x.rs",
    "cargo --conf x build",
    "go vet -vettool=./x",
    "go build -ldflags=-extld=./x",
    "go run ./x",
    "go env -w CC=./x",
    "cargo watch -s ./x",
    "cargo nextest run --tool-config-file x:y",
    "rubocop -r ./x",
    "vite build --config x.js",
    "npm --script-shell=./x test",
    "npm init x",
    "npm config set script-shell ./x",
    "npm --userconfig x test",
    "yarn --use-yarnrc x",
    "pnpm create x",
    "pytest -p x",
    "pytest -qpx",
    "pytest --rootdir=x",
    "pytest --override-ini=addopts=x",
    "pylint --init-hook=x a.py",
    "eslint --plugin x",
    "mocha -r ./x",
    "docker run x",
    "docker-compose run x",
    "kubectl --kubeconfig=x get pod",
    "man -C x ls",
    "pdflatex -shell-escape x",
    "pandoc --filter ./x a.md",
    "groff -U x",
    "patch -e x",
    "sdiff --diff-program=./x a b",
    "install --strip-program=./x -s a b",
    "gpg --photo-viewer x",
    "jj util exec x",
    "jj --config ui.pager=x log",
    "gh alias set x '!x'",
    "env -S x",
    "nice x",
    "nohup x",
    "timeout 1 x",
    "stdbuf -o0 x",
    "setsid x",
    "script -c x",
    "watch x",
    "flock a x",
    "unshare x",
    "chroot . x",
    "systemd-run x",
    "run0 x",
    "ccache ./x",
    "bear -- x",
    "dotenv x",
    "sandbox-exec x",
    "ldd ./x",
    "libtool --mode=execute x",
    "java -jar x",
    "duckdb -c '.shell x'",
    "lftp -c '!x'",
    "emacsclient -e x",
    "gvim -c x",
    "xdg-open x",
    "torify x",
    "apptainer exec x y",
];

// Must show 3: what a deny names is found in the arguments of any other program.
#[test]
fn must_show_3_a_deny_is_not_passed_by_an_option_that_runs_programs() {
    let names = |command: &&&str| command.contains("rm b") || command.contains("=rm");
    let found: Vec<_> = ATTEMPTS.iter().filter(names).collect();
    assert!(20 < found.len(), "{}", found.len());
    for command in found {
        let effect = of_command(PermissionMode::Auto, &DENIED, command);
        assert_ne!(effect, RuleEffect::Allow, "{command:?}");
    }
}

// Must show 3: no list knows all of these. The wall holds them, whatever they run.
#[test]
fn must_show_3_what_an_option_makes_a_program_run_stays_behind_the_wall() {
    let wide = all(&[ATTEMPTS, ELSEWHERE].concat());
    let wide: Vec<_> = wide.iter().map(|(text, effect)| (text.as_str(), *effect)).collect();
    for command in ATTEMPTS.iter().chain(ELSEWHERE) {
        assert!(!is_free(&wide, command), "{command:?}");
    }
    each_is(RuleEffect::Allow, PermissionMode::Ask, &wide, ELSEWHERE);
}

/// Each makes an allowed program work on a project, or with settings, of which nobody thought.
const ELSEWHERE: &[&str] = &[
    "git -C x status",
    "git --git-dir=x status",
    "git --git-dir x status",
    "git --work-tree x status",
    "git --bare status",
    "git --namespace x -C y status",
    "git --no-pager -C x log",
    "git clone -u ./x y",
    "hg -R x status",
    "make -C x",
    "make -sC x",
    "make -f x",
    "make --file=x",
    "make --direct=x",
    "make -I x",
    "make CC=./x",
    "make CC:=x all",
    "gmake MAKEFLAGS=x",
    "ninja -C x",
    "cargo test --manifest-path x/Cargo.toml",
    "cargo -C x build",
    "go -C x test",
    "npm --prefix dir test",
    "npm --pref=dir test",
    "yarn --cwd dir test",
    "just -f x",
    "gradle -p x build",
    "mvn -f x test",
    "cmake -DCMAKE_C_COMPILER=./x .",
    "cmake -D CMAKE_C_COMPILER_LAUNCHER:STRING=./x .",
    "cmake -DPython_EXECUTABLE=./x .",
    "uv --directory x sync",
    "gulp --gulpfile x.js",
];

/// What the same people do all day.
const EVERYDAY: &[&str] = &[
    "git status",
    "git log --oneline -5",
    "git --no-pager diff HEAD",
    "git push -u origin main",
    "git diff -C",
    "make",
    "make -j2 all V=1 DEBUG=",
    "make -k WERROR=off test",
    "ninja -j4 all",
    "cargo test --all -q",
    "go test ./...",
    "go env GOPATH",
    "go build -ldflags=-s ./...",
    "npm test",
    "npm run build",
    "yarn install",
    "just build",
    "gradle build",
    "mvn -q test",
    "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DWITH_X=ON",
    "cmake --build build -j2",
    "uv sync",
    "gcc -DNDEBUG -O2 -o a a.c",
    "pytest -q tests",
    "curl -fsSL u",
    "tar xf a.tar",
];

fn all(programs: &[&str]) -> Vec<(String, RuleEffect)> {
    let program = |command: &&str| command.split(' ').next().map(|it| format!("{it} *"));
    programs.iter().filter_map(program).map(|rule| (rule, RuleEffect::Allow)).collect()
}

#[test]
fn a_star_allows_what_people_do_all_day_and_a_deny_does_not_ask_about_it() {
    let wide = all(EVERYDAY);
    let wide: Vec<_> = wide.iter().map(|(text, effect)| (text.as_str(), *effect)).collect();
    each_is(RuleEffect::Allow, PermissionMode::Ask, &wide, EVERYDAY);
    each_is(RuleEffect::Allow, PermissionMode::Auto, &DENIED, EVERYDAY);
}

#[test]
fn a_deny_of_some_words_does_not_ask_about_others() {
    let denied = [("git push *", RuleEffect::Deny), ("rm *", RuleEffect::Deny)];
    each_is(
        RuleEffect::Allow,
        PermissionMode::Auto,
        &denied,
        &[
            "ls .git",
            "cat .git/config",
            "git status",
            "git log --oneline -5",
            "git commit -m 'x y'",
            "cargo test --workspace",
            "npm test",
            "npm run build",
            "make",
            "sed -n '1,20p' src/main.rs",
            "docker-compose ps",
            "cp a b",
            "tar czf a.tar.gz src",
            "gh pr view --rm",
            "tool format.rm-all normal form",
        ],
    );
    each_is(
        RuleEffect::Ask,
        PermissionMode::Auto,
        &denied,
        &["tool 'git push'", "tool --run 'git  push'", "tool --git=git push"],
    );
}

// Must show 3: the same command with more options, or with the same ones in another form.
#[test]
fn must_show_3_a_deny_of_some_words_is_not_passed_by_options() {
    let denied = [
        ("git push *", RuleEffect::Deny),
        ("npm publish", RuleEffect::Deny),
        ("rm -rf *", RuleEffect::Deny),
        ("kubectl delete pod *", RuleEffect::Deny),
    ];
    each_is(
        RuleEffect::Ask,
        PermissionMode::Auto,
        &denied,
        &[
            "git -C . push",
            "git -C . push origin main",
            "git --no-pager push",
            "git --git-dir=.git push",
            "git -c alias.p=push p",
            "git --config-env=alias.p=X p",
            "git --exec-path=/tmp/x status",
            "npm --silent publish",
            "npm --prefix . publish",
            "rm -fr b",
            "rm -r -f b",
            "rm -vrf b",
            "rm -r b -f",
            "rm --recursive --force b",
            "rm -r --force b",
            "kubectl -n x delete pod a",
            "kubectl delete -n x pod a",
        ],
    );
    each_is(
        RuleEffect::Allow,
        PermissionMode::Auto,
        &denied,
        &[
            "git status",
            "git log --oneline",
            "git pull --rebase",
            "npm test",
            "npm publishing",
            "rm b",
            "rm -r b",
            "rm -f b",
            "kubectl get pod a",
        ],
    );
}

// Must show 3: however a tool of others calls its command line.
#[test]
fn must_show_3_a_deny_of_a_command_asks_about_tools_of_others_that_may_run_it() {
    let deny = PermissionRule {
        command: Some("rm *".into()),
        ..PermissionRule::of_tool("*", RuleEffect::Deny)
    };
    let check = |arguments: Value, expected| {
        let effect = of_call("x__run", vec![deny.clone()], &arguments);
        assert_eq!(effect, expected, "{arguments}");
    };
    check(serde_json::json!({ "command": "rm b" }), RuleEffect::Deny);
    check(serde_json::json!({ "command": ["rm", "b"] }), RuleEffect::Ask);
    check(serde_json::json!({ "cmd": "ls; rm b" }), RuleEffect::Ask);
    check(serde_json::json!({ "run": { "script": ["ls", "/bin/rm b"] } }), RuleEffect::Ask);
    check(serde_json::json!({ "query": "how to remove" }), RuleEffect::Allow);
}

fn of_call(name: &str, rules: Vec<PermissionRule>, arguments: &Value) -> RuleEffect {
    let permissions = Permissions { mode: PermissionMode::Auto, rules, ..Permissions::default() };
    permit(&permissions, &tool(name, Does::Act), &arguments.to_string())
}

// Must show 3: what may not be run may not be typed into a shell either.
#[test]
fn must_show_3_a_deny_counts_for_what_is_typed() {
    let check = |text: &str, expected| {
        let effect = of_call(
            "shell_write",
            rules(&DENIED),
            &serde_json::json!({ "call": "1.1.0", "text": text }),
        );
        assert_eq!(effect, expected, "{text:?}");
    };
    check("rm b\n", RuleEffect::Deny);
    check("ls\nrm b\n", RuleEffect::Deny);
    check("sh -c 'rm b'\n", RuleEffect::Deny);
    check("r", RuleEffect::Ask);
    check("rm b", RuleEffect::Deny);
    check("$x b\n", RuleEffect::Ask);
    check("y\n", RuleEffect::Allow);
}

// Must show 3: a shell that goes on reading is another one.
#[test]
fn must_show_3_a_shell_that_is_fed_is_not_free() {
    let permissions =
        Permissions { mode: PermissionMode::Ask, rules: rules(&ALLOWED), ..Permissions::default() };
    let check = |command: &str, input: bool, expected| {
        for key in ["input", "terminal"] {
            let arguments = serde_json::json!({ "command": command, key: input }).to_string();
            let free = runs_free(&permissions, WORKSPACE, shell(), &arguments);
            assert_eq!(free, expected, "{command} {key}");
        }
    };
    check("sh", false, true);
    check("sh", true, false);
}

// Must show 3: an argument is a command line for nobody but our own shell.
#[test]
fn must_show_3_a_rule_for_commands_allows_no_other_tool() {
    for name in ["*", "x__run"] {
        let allow = PermissionRule {
            command: Some("ls *".into()),
            ..PermissionRule::of_tool(name, RuleEffect::Allow)
        };
        let permissions = Permissions {
            mode: PermissionMode::Ask,
            rules: vec![allow.clone()],
            ..Permissions::default()
        };
        let arguments = r#"{"command":"ls","really":"deploy --prod"}"#;
        let run = tool("x__run", Does::Act);
        assert_eq!(permit(&permissions, &run, arguments), RuleEffect::Ask, "{name}");
        let deny = PermissionRule { effect: RuleEffect::Deny, ..allow };
        let permissions =
            Permissions { mode: PermissionMode::Auto, rules: vec![deny], ..Permissions::default() };
        assert_eq!(permit(&permissions, &run, arguments), RuleEffect::Deny, "{name}");
    }
}
