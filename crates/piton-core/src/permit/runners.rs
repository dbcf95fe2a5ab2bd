//! Programs that run other programs, or change what later commands mean.
//!
//! A rule for one of them says nothing about what it runs. The list cannot be complete: many
//! programs can be made to run others. It holds those whose trade it is.

/// Their names.
const RUNNERS: &[&str] = &[
    // Shells and what shells have built in.
    ".",
    "alias",
    "ash",
    "bash",
    "builtin",
    "busybox",
    "command",
    "csh",
    "dash",
    "declare",
    "elvish",
    "enable",
    "eval",
    "exec",
    "export",
    "fish",
    "hash",
    "ksh",
    "let",
    "local",
    "mapfile",
    "mksh",
    "nu",
    "pwsh",
    "rbash",
    "read",
    "readarray",
    "readonly",
    "set",
    "sh",
    "shopt",
    "source",
    "tcsh",
    "toybox",
    "trap",
    "typeset",
    "unalias",
    "unset",
    "yash",
    "zsh",
    // Run a command in some other way, place, time or name.
    "at",
    "batch",
    "bwrap",
    "chpst",
    "chroot",
    "chrt",
    "cpulimit",
    "crontab",
    "dbus-run-session",
    "doas",
    "entr",
    "env",
    "expect",
    "faketime",
    "fakeroot",
    "fd",
    "fdfind",
    "find",
    "firejail",
    "flock",
    "gdb",
    "ionice",
    "kexec",
    "ld.so",
    "lldb",
    "ltrace",
    "nice",
    "nohup",
    "nsenter",
    "numactl",
    "parallel",
    "perf",
    "pkexec",
    "prlimit",
    "proot",
    "rlwrap",
    "run-parts",
    "runuser",
    "screen",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "socat",
    "ssh",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "tmux",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "watchexec",
    "xargs",
    "xvfb-run",
    // Interpreters and editors that take a program as an argument or from their input.
    "awk",
    "bun",
    "deno",
    "ed",
    "emacs",
    "ex",
    "gawk",
    "lua",
    "m4",
    "mawk",
    "nawk",
    "node",
    "nvim",
    "osascript",
    "perl",
    "php",
    "python",
    "ruby",
    "tclsh",
    "vi",
    "vim",
    // Fetch a program and run it, or run one in a container.
    "bunx",
    "docker",
    "npx",
    "pipx",
    "podman",
    "uvx",
];

/// Whether it is one of them, wherever it lies and whichever version it is.
pub(super) fn is_runner(program: &str) -> bool {
    let name = base_name(program);
    let unversioned = name.trim_end_matches(|end: char| end.is_ascii_digit() || end == '.');
    RUNNERS.contains(&name.as_str())
        || RUNNERS.contains(&unversioned)
        || name.starts_with("ld-linux")
        || name.starts_with("ld-musl")
}

/// Whether later commands run in another directory, where a relative name is another program.
pub(super) fn is_mover(program: &str) -> bool {
    ["cd", "pushd", "popd"].contains(&program)
}

/// The name of a program without its directory. Some file systems do not know capital letters.
pub(super) fn base_name(program: &str) -> String {
    program.rsplit('/').next().unwrap_or(program).to_ascii_lowercase()
}
