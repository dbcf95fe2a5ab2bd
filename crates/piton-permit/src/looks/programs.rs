//! Programs that only look, and what they are not to be told.
//!
//! Whatever they are told, the wall holds: there is no list of what is harmless. Kept from them is what could
//! not work behind a wall, because it writes (`sort -o`, `tree -o`), or would never end (`tail -f`). That is
//! worth a question.

use super::options::is_in;

/// Programs that read and print: they write no file and start no other program, with any options that a look may
/// have. They may run in the wall of commands that rules allow, too, which is wider than the wall for looking.
const PRINTING: &str = "\
    basename cat cksum cmp comm cut diff dirname du echo expand false fold grep head id join jq ls \
    md5sum nl od paste printf pwd readlink realpath rev sha1sum sha256sum sha512sum stat tac tail \
    test tr true type uname uniq wc which whoami";

/// Those that do more with some options, which only the wall for looking holds.
const READING: &str = "file rg sort tree";

/// Whether a program prints, whatever wall it is behind.
pub(super) fn is_printing(name: &str) -> bool {
    is_in(PRINTING, name)
}

/// Whether a program only reads, behind the wall for looking.
pub(super) fn is_reading(name: &str) -> bool {
    is_printing(name) || is_in(READING, name)
}

/// Options of some of them that ask: the program, letters, and long names.
pub(super) const ASKING: [(&str, &str, &str); 6] = [
    ("file", "C", "compile"),
    ("printf", "v", ""),
    ("sed", "i", "in-place"),
    ("sort", "o", "output"),
    ("tail", "fF", "follow"),
    ("tree", "oR", "output"),
];

/// Words of `find` that act.
pub(super) const ACTING: &str = "-delete -exec -execdir -ok -okdir -fls -fprint -fprint0 -fprintf";
