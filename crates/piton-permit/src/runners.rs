//! Programs that run other programs, or change what later commands mean.
//!
//! What is denied may hide in them, so a deny rule asks about them. Nothing is allowed by these names: what
//! nobody approved word for word runs behind a wall, whichever program it is. The list cannot be complete: many
//! programs can be made to run others. It holds programs whose purpose this is.

mod names;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use self::names::{FETCHERS, INTERPRETERS, SHELLS, WRAPPERS};

static RUNNERS: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    [SHELLS, WRAPPERS, INTERPRETERS, FETCHERS].iter().flat_map(|names| names.split(' ')).collect()
});
static PLAIN_NAMES: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| PLAIN.split(' ').collect());

/// Programs that run nothing, whatever their arguments say.
const PLAIN: &str = "\
    basename cat cd chmod cksum cmp comm cut df diff dirname du egrep false fgrep file fold grep \
    head ls md5sum mkdir nl od pwd readlink realpath rg rmdir seq sha256sum sleep stat tac tail \
    touch tr tree true type uniq wc which";

/// What distributions put behind names.
const VARIANTS: &[&str] =
    &[".basic", ".distrib", ".exe", ".gtk3", ".nox", ".openbsd", ".tiny", ".traditional"];

/// Programs that give another one a new name.
const COPIERS: &[&str] = &["cp", "dd", "install", "link", "ln", "mv", "rsync", "scp"];

/// Whether it runs nothing, whatever its arguments say.
pub(super) fn is_plain(program: &str) -> bool {
    PLAIN_NAMES.contains(base_name(program).as_str())
}

/// Whether it makes one of them known by another name.
pub(super) fn copies_runner(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let from = |word: &String| word.contains('/') && is_runner(word);
    COPIERS.contains(&base_name(program).as_str()) && arguments.iter().any(from)
}

/// Whether it is one of them, wherever it lies and whichever version it is.
pub(super) fn is_runner(program: &str) -> bool {
    let name = base_name(program);
    let stem = VARIANTS.iter().find_map(|variant| name.strip_suffix(variant)).unwrap_or(&name);
    let unversioned = stem.trim_end_matches(|end: char| end.is_ascii_digit() || ".-".contains(end));
    // Where they are not at home, tools of GNU have a letter in front.
    let known = |name: &str| RUNNERS.contains(name);
    known(&name)
        || [stem, unversioned].iter().any(|it| known(it) || it.strip_prefix('g').is_some_and(known))
        || ["ld-linux", "ld-musl", "qemu-"].iter().any(|begin| name.starts_with(begin))
}

/// The name of a program without its directory. Some file systems do not know capital letters.
pub(super) fn base_name(program: &str) -> String {
    program.rsplit('/').next().unwrap_or(program).to_ascii_lowercase()
}
