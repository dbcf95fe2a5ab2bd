//! Programs that run other programs, or change what later commands mean.
//!
//! A rule for one of them says nothing about what it runs. The list cannot be complete: many
//! programs can be made to run others. It holds programs whose purpose this is. [`options`] knows
//! programs that have an option for it, and [`elsewhere`] programs that do it when they are sent to
//! another directory.

mod elsewhere;
mod entries;
mod names;
mod options;
mod sed;

use self::names::RUNNERS;

/// Programs that run nothing, whatever their arguments say.
const PLAIN: &[&str] = &[
    "[",
    "basename",
    "cat",
    "cd",
    "chmod",
    "cksum",
    "cmp",
    "comm",
    "cut",
    "df",
    "diff",
    "dirname",
    "du",
    "egrep",
    "false",
    "fgrep",
    "file",
    "fold",
    "grep",
    "head",
    "ls",
    "md5sum",
    "mkdir",
    "nl",
    "od",
    "pwd",
    "readlink",
    "realpath",
    "rg",
    "rmdir",
    "sed",
    "seq",
    "sha256sum",
    "sleep",
    "stat",
    "tac",
    "tail",
    "test",
    "touch",
    "tr",
    "tree",
    "true",
    "type",
    "uniq",
    "wc",
    "which",
];

/// What distributions put behind names.
const VARIANTS: &[&str] =
    &[".basic", ".distrib", ".exe", ".gtk3", ".nox", ".openbsd", ".tiny", ".traditional"];

/// Programs that give another one a new name.
const COPIERS: &[&str] = &["cp", "dd", "install", "link", "ln", "mv", "rsync", "scp"];

/// Whether a command may run others: because that is its trade, or because its arguments say so.
pub(super) fn may_run(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let name = base_name(program);
    is_runner(program)
        || options::runs(&name, arguments)
        || name.ends_with("sed") && sed::runs(arguments)
}

/// Whether `sed` with these arguments may run commands or touch other files.
pub(super) fn sed_may_run(arguments: &[String]) -> bool {
    sed::runs(arguments)
}

/// Whether its arguments send it to another project, or give it other settings than a rule for any
/// arguments can have meant.
pub(super) fn works_elsewhere(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    elsewhere::is_meant(&base_name(program), arguments)
}

/// Whether it runs nothing, if its arguments do not make it a runner.
pub(super) fn is_plain(program: &str) -> bool {
    PLAIN.contains(&base_name(program).as_str())
}

/// Whether it makes one of them known by another name.
pub(super) fn copies_runner(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let from = |word: &String| word.contains('/') && is_runner(word);
    COPIERS.contains(&base_name(program).as_str()) && arguments.iter().any(from)
}

/// Whether it is one of them, wherever it lies and whichever version it is.
fn is_runner(program: &str) -> bool {
    let name = base_name(program);
    let stem = VARIANTS.iter().find_map(|variant| name.strip_suffix(variant)).unwrap_or(&name);
    let unversioned = stem.trim_end_matches(|end: char| end.is_ascii_digit() || ".-".contains(end));
    // Where they are not at home, tools of GNU have a letter in front.
    let known = |name: &str| RUNNERS.contains(&name);
    known(&name)
        || [stem, unversioned].iter().any(|it| known(it) || it.strip_prefix('g').is_some_and(known))
        || ["ld-linux", "ld-musl", "qemu-"].iter().any(|begin| name.starts_with(begin))
}

/// Whether later commands run in another directory, where a relative name is another program.
pub(super) fn is_mover(program: &str) -> bool {
    ["cd", "chdir", "pushd", "popd"].contains(&program)
}

/// The name of a program without its directory. Some file systems do not know capital letters.
pub(super) fn base_name(program: &str) -> String {
    program.rsplit('/').next().unwrap_or(program).to_ascii_lowercase()
}
