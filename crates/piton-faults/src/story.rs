//! What happened to files, read from a trace of all processes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How `strace` has to write it: of all processes, with paths behind handles, strings whole and
/// without a character that means anything.
pub(crate) const ARGUMENTS: [&str; 8] = [
    "-f",
    "-q",
    "-y",
    "-xx",
    "-s",
    "1000000",
    "-e",
    "trace=open,openat,creat,mkdir,mkdirat,link,linkat,unlink,unlinkat,rename,renameat,renameat2,\
     write,pwrite64,ftruncate,fsync,fdatasync",
];

/// One thing that happened to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// It is there now, and empty if it was cut.
    Opened {
        path: PathBuf,
        cut: bool,
    },
    /// Bytes were added at the end, or at a place.
    Written {
        path: PathBuf,
        at: Option<usize>,
        bytes: Vec<u8>,
    },
    Cut {
        path: PathBuf,
        length: usize,
    },
    Synced(PathBuf),
    Made(PathBuf),
    Linked {
        from: PathBuf,
        to: PathBuf,
    },
    Removed(PathBuf),
    Renamed {
        from: PathBuf,
        to: PathBuf,
    },
    Exchanged {
        from: PathBuf,
        to: PathBuf,
    },
}

/// Everything that happened below `root`, in order.
pub(crate) fn ops(trace: &str, root: &Path) -> Result<Vec<Op>, String> {
    let mut begun: BTreeMap<&str, String> = BTreeMap::new();
    let mut ops = Vec::new();
    for line in trace.lines() {
        let Some((who, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        if let Some(beginning) = rest.strip_suffix(" <unfinished ...>") {
            begun.insert(who, beginning.to_owned());
            continue;
        }
        let whole = match rest.split_once(" resumed>") {
            Some((_, end)) => begun.remove(who).unwrap_or_default() + end,
            None => rest.to_owned(),
        };
        ops.extend(op(&whole).map_err(|why| format!("{why}: {whole}"))?);
    }
    ops.retain(|op| op.path().starts_with(root));
    Ok(ops)
}

impl Op {
    fn path(&self) -> &Path {
        match self {
            Self::Opened { path, .. }
            | Self::Written { path, .. }
            | Self::Cut { path, .. }
            | Self::Synced(path)
            | Self::Made(path)
            | Self::Removed(path) => path,
            Self::Linked { to, .. } | Self::Renamed { to, .. } | Self::Exchanged { to, .. } => to,
        }
    }
}

/// What a line says; nothing if the call failed or changed nothing.
fn op(line: &str) -> Result<Option<Op>, &'static str> {
    let Some((call, rest)) = line.split_once('(') else { return Ok(None) };
    let Some((arguments, result)) = rest.rsplit_once(") = ").or_else(|| rest.rsplit_once(" = "))
    else {
        return Ok(None);
    };
    if result.starts_with(['-', '?']) {
        return Ok(None);
    }
    let arguments: Vec<&str> = arguments.trim_end().trim_end_matches(')').split(", ").collect();
    let word = |at: usize| arguments.get(at).copied().unwrap_or_default();
    let two = |one: usize, other: usize| {
        (named(word(one), word(one + 1)), named(word(other), word(other + 1)))
    };
    Ok(match call {
        "open" | "openat" | "creat" => behind(result).map(|path| {
            let cut = word(2).contains("O_TRUNC") || call == "creat";
            Op::Opened { path, cut }
        }),
        "write" | "pwrite64" => {
            let Some(path) = behind(word(0)) else { return Ok(None) };
            let bytes = text(word(1)).ok_or("a string was cut short")?;
            let count = result.parse().map_err(|_| "no count")?;
            let bytes: Vec<u8> = bytes.into_iter().take(count).collect();
            let at = if call == "pwrite64" {
                Some(word(3).parse().map_err(|_| "no place")?)
            } else {
                None
            };
            Some(Op::Written { path, at, bytes })
        }
        "ftruncate" => {
            behind(word(0)).map(|path| Op::Cut { path, length: word(1).parse().unwrap_or(0) })
        }
        "fsync" | "fdatasync" => behind(word(0)).map(Op::Synced),
        "mkdir" => text(word(0)).map(|name| Op::Made(path_of(name))),
        "mkdirat" => named(word(0), word(1)).map(Op::Made),
        "unlink" => text(word(0)).map(|name| Op::Removed(path_of(name))),
        "unlinkat" => named(word(0), word(1)).map(Op::Removed),
        "rename" | "link" => match (text(word(0)), text(word(1))) {
            (Some(from), Some(to)) if call == "link" => {
                Some(Op::Linked { from: path_of(from), to: path_of(to) })
            }
            (Some(from), Some(to)) => Some(Op::Renamed { from: path_of(from), to: path_of(to) }),
            _ => None,
        },
        "linkat" | "renameat" | "renameat2" => match two(0, 2) {
            (Some(from), Some(to)) if call == "linkat" => Some(Op::Linked { from, to }),
            (Some(from), Some(to)) if word(4).contains("EXCHANGE") => {
                Some(Op::Exchanged { from, to })
            }
            (Some(from), Some(to)) => Some(Op::Renamed { from, to }),
            _ => None,
        },
        _ => None,
    })
}

/// The path in `3</path>`.
fn behind(handle: &str) -> Option<PathBuf> {
    let (_, path) = handle.split_once('<')?;
    Some(path_of(unhex(path.split_once('>')?.0)?))
}

/// The path of a name in a directory.
fn named(directory: &str, name: &str) -> Option<PathBuf> {
    let name = path_of(text(name)?);
    Some(if name.is_absolute() { name } else { behind(directory)?.join(name) })
}

/// What is between quotes.
fn text(quoted: &str) -> Option<Vec<u8>> {
    unhex(quoted.strip_prefix('"')?.strip_suffix('"')?)
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let mut pairs = text.split("\\x");
    pairs.next().filter(|before| before.is_empty())?;
    pairs.map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> String {
        text.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<Vec<_>>().concat()
    }

    #[test]
    fn calls_are_read_also_when_others_come_in_between() {
        let (file, other) = (hex("/r/a"), hex("/r/b"));
        let trace = format!(
            "7 write(3<{file}>, \"{}\", 2 <unfinished ...>\n\
             8 fsync(4<{other}>) = 0\n\
             7 <... write resumed>) = 2\n\
             7 openat(AT_FDCWD<{}>, \"{}\", O_WRONLY|O_CREAT, 0666) = -1 EACCES (no)\n\
             7 renameat2(5<{}>, \"{}\", 5<{}>, \"{}\", RENAME_EXCHANGE) = 0\n\
             7 write(1</dev/null>, \"\\x41\", 1) = 1\n",
            hex("hi"),
            hex("/r"),
            hex("x"),
            hex("/r"),
            hex("a"),
            hex("/r"),
            hex("b"),
        );
        let path = |name: &str| PathBuf::from("/r").join(name);
        let expected = [
            Op::Synced(path("b")),
            Op::Written { path: path("a"), at: None, bytes: b"hi".to_vec() },
            Op::Exchanged { from: path("a"), to: path("b") },
        ];
        assert_eq!(ops(&trace, Path::new("/r")), Ok(expected.to_vec()));
    }

    #[test]
    fn a_string_that_was_cut_short_is_no_evidence() {
        let trace = format!("7 write(3<{}>, \"\\x41\"..., 9) = 9\n", hex("/r/a"));
        assert!(ops(&trace, Path::new("/r")).is_err());
    }
}
