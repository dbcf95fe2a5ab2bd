//! Programs that run others if one of their arguments says so.
//!
//! The list holds what is widely known; it cannot be complete.

/// A program, and the arguments that make it run another one. Words are subcommands; what ends with
/// `=` or `:` begins an argument; `-x` may be among other letters; `--long` may be cut short, as many
/// programs allow.
type Entry = (&'static str, &'static [&'static str]);

const ENTRIES: &[Entry] = &[
    // Sources and archives.
    (
        "git",
        &[
            "-c",
            "-x",
            "-O",
            "--config-env",
            "--exec",
            "--exec-path",
            "--extcmd",
            "--open-files-in-pager",
            "--receive-pack",
            "--tree-filter",
            "--upload-pack",
            "--upload-archive",
            "bisect",
            "config",
            "daemon",
            "difftool",
            "ext::",
            "filter-branch",
            "foreach",
            "hook",
            "instaweb",
            "mergetool",
            "send-email",
        ],
    ),
    ("hg", &["--config", "--ssh", "-e"]),
    ("svn", &["--config-option", "--diff-cmd", "--diff3-cmd", "--editor-cmd"]),
    (
        "tar",
        &[
            "-F",
            "-I",
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
            "--rmt-command",
            "--rsh-command",
            "--to-command",
            "--use-compress-program",
        ],
    ),
    ("cpio", &["--rsh-command", "--rmt-command"]),
    ("zip", &["-T", "--unzip-command"]),
    ("split", &["--filter"]),
    ("sort", &["--compress-program"]),
    ("rg", &["--hostname-bin", "--pre"]),
    ("bat", &["--pager"]),
    ("man", &["-H", "-P", "--html", "--pager"]),
    ("fzf", &["--bind", "--preview"]),
    // What shells have built in: these can set any variable, or work out what is in brackets.
    ("printf", &["-v"]),
    ("test", &["-R", "-v"]),
    ("wait", &["-p"]),
    // Across machines.
    ("nc", NETCAT),
    ("ncat", NETCAT),
    ("netcat", NETCAT),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("scp", &["-D", "-S", "-o"]),
    ("sftp", &["-D", "-S", "-o"]),
    ("wget", &["-e", "--execute", "--use-askpass"]),
    ("adb", &["shell"]),
    ("ip", &["-b", "e", "ex", "exe", "exec"]),
    ("kubectl", &["exec"]),
    ("lxc", &["exec"]),
    ("vagrant", &["ssh", "-c"]),
    // Builders and keepers of packages.
    ("make", MAKE),
    ("cargo", &["--config"]),
    ("go", &["-exec", "-toolexec", "--exec", "--toolexec"]),
    ("npm", &["exec", "explore", "x", "--script-shell", "--node-options"]),
    ("pnpm", &["dlx", "exec", "x", "--script-shell"]),
    ("yarn", &["dlx", "exec", "node"]),
    ("bundle", &["exec"]),
    ("composer", &["exec"]),
    ("conda", &["run"]),
    ("mamba", &["run"]),
    ("direnv", &["exec"]),
    ("hatch", &["run"]),
    ("mise", &["exec", "x"]),
    ("asdf", &["exec"]),
    ("nix", &["develop", "eval", "run", "shell"]),
    ("pdm", &["run"]),
    ("pipenv", &["run"]),
    ("poetry", &["run"]),
    ("pyenv", &["exec"]),
    ("rbenv", &["exec"]),
    ("rustup", &["run"]),
    ("rye", &["run"]),
    ("snap", &["run"]),
    ("uv", &["run", "tool"]),
    ("volta", &["run"]),
    ("apt", &["-o", "--option"]),
    ("apt-get", &["-o", "--option"]),
    ("dpkg", &["--pre-invoke", "--post-invoke"]),
    ("rpm", &["-E", "-D", "--eval", "--define", "--pipe"]),
    // Compilers that can be given other tools.
    ("gcc", &["-wrapper", "-B"]),
    ("g++", &["-wrapper", "-B"]),
    ("cc", &["-wrapper", "-B"]),
    ("rustc", &["-C", "--codegen"]),
    ("tcpdump", &["-z"]),
    ("openssl", &["-engine", "-provider", "-provider-path"]),
    ("xmllint", &["--shell"]),
];

const NETCAT: &[&str] = &["-c", "-e", "--exec", "--lua-exec", "--sh-exec"];

/// Its rules may come from an argument or from the input.
const MAKE: &[&str] = &[
    "-",
    "-E",
    "-f-",
    "--eval",
    "--file=-",
    "--makefile=-",
    "/dev/fd/0",
    "/dev/stdin",
    "/proc/self/fd/0",
    "SHELL=",
    ".SHELLFLAGS=",
];

/// Whether the arguments of the program of this name make it run another one.
pub(super) fn runs(name: &str, arguments: &[String]) -> bool {
    let is_meant = |program: &str| {
        program == name
            || name.strip_prefix(['g', 'b']) == Some(program)
            || name == "bsdtar" && program == "tar"
    };
    let mut entries = ENTRIES.iter().filter(|(program, _)| is_meant(program));
    entries.any(|(_, telling)| {
        // `tar cIf zstd`: letters without a dash.
        let old =
            arguments.first().filter(|_| name.ends_with("tar")).map(|first| format!("-{first}"));
        let mut arguments = arguments.iter().chain(&old);
        arguments.any(|argument| telling.iter().any(|telling| tells(telling, argument)))
    })
}

fn tells(telling: &str, argument: &str) -> bool {
    if let Some(option) = telling.strip_prefix("--") {
        let Some(given) = argument.strip_prefix("--") else { return false };
        let given = given.split('=').next().unwrap_or(given);
        return telling == argument || !given.is_empty() && option.starts_with(given);
    }
    match telling.strip_prefix('-') {
        Some(letter) if letter.len() == 1 && letter != "-" => {
            argument.starts_with('-') && !argument.starts_with("--") && argument.contains(letter)
        }
        Some(_) => {
            argument == telling
                || argument.strip_prefix(telling).is_some_and(|rest| rest.starts_with('='))
        }
        None if telling.ends_with(['=', ':']) => argument.starts_with(telling),
        None => argument == telling,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_however_they_are_written() {
        let check = |line: &str, expected| {
            let words: Vec<String> = line.split(' ').map(Into::into).collect();
            let (name, arguments) = words.split_first().unwrap();
            assert_eq!(runs(name, arguments), expected, "{line}");
        };
        for line in [
            "git -c x=y status",
            "git clone ext::x",
            "git submodule foreach x",
            "tar --to-command=x -xf a",
            "tar --to-c x",
            "tar cIf x a",
            "tar -xIx",
            "zip -rTT x",
            "npm exec x",
            "make SHELL=x",
            "make -f -",
            "go test -exec x",
            "rsync -ave x",
        ] {
            check(line, true);
        }
        for line in [
            "git status",
            "git commit --amend",
            "tar xf a.tar",
            "tar -czf a.tar b",
            "npm test",
            "npm run exec-all",
            "make -j2 all",
            "cargo test --all",
            "uv sync",
            "ls -c",
        ] {
            check(line, false);
        }
    }
}
