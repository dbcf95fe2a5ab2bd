//! The format of git's settings, read as git reads it: sections and keys on one line, comments, quotes, escapes, and
//! lines that go on.
//!
//! The crate `gix-config` knows the same format, and brings forty others; the grammar is small, and a test holds this
//! against git. Knows nothing of files. Git refuses settings that break the rules of the format; here the rest of such a line is
//! left out, so that a program with other rules is covered as well.

use std::ffi::OsString;
use std::iter::Peekable;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// In small letters, as git compares it.
    pub(super) section: String,
    /// As it is written.
    pub(super) subsection: Option<Vec<u8>>,
    /// In small letters.
    pub(super) key: String,
    /// `None` if there is only a key.
    pub(super) value: Option<Vec<u8>>,
}

impl Setting {
    /// Whether it is this key, in a section with or without a subsection.
    pub(super) fn is(&self, section: &str, key: &str) -> bool {
        self.section == section && self.key == key
    }

    /// The value as a path. It may begin with `~/`.
    pub(super) fn path(&self) -> Option<PathBuf> {
        let value = self.value.clone().filter(|value| !value.is_empty())?;
        // Newer builds of git know paths that may lead to nothing.
        let value = value.strip_prefix(b":(optional)").map(<[u8]>::to_vec).unwrap_or(value);
        Some(PathBuf::from(OsString::from_vec(value)))
    }
}

/// All settings of a file, in its order.
pub(super) fn parse(text: &[u8]) -> Vec<Setting> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut reader = Reader { bytes: Bytes { rest: text }.peekable() };
    let (mut settings, mut section) = (Vec::new(), None);
    while let Some(first) = reader.bytes.next() {
        match first {
            b'#' | b';' => reader.skip_line(),
            b'[' => section = reader.section().or_else(|| reader.lost()),
            first if is_blank(first) => {}
            first if first.is_ascii_alphabetic() => {
                let (key, value) = reader.setting(first);
                if let (Some((section, subsection)), Ok(value)) = (&section, value) {
                    let (section, subsection) = (section.clone(), subsection.clone());
                    settings.push(Setting { section, subsection, key, value });
                }
            }
            _ => reader.skip_line(),
        }
    }
    settings
}

/// A section, and the subsection if there is one.
type Section = (String, Option<Vec<u8>>);

/// A value that breaks the rules.
struct Unfit;

/// The bytes of a text, where lines end as they do everywhere.
struct Bytes<'a> {
    rest: &'a [u8],
}

impl Iterator for Bytes<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        self.rest = match self.rest {
            [b'\r', rest @ ..] if rest.first() == Some(&b'\n') => rest,
            rest => rest,
        };
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }
}

struct Reader<'a> {
    bytes: Peekable<Bytes<'a>>,
}

impl Reader<'_> {
    fn skip_line(&mut self) {
        self.bytes.by_ref().find(|byte| *byte == b'\n');
    }

    /// The next byte, unless the line ends.
    fn in_line(&mut self) -> Option<u8> {
        self.bytes.next_if(|byte| *byte != b'\n')
    }

    /// No section: what follows belongs to none.
    fn lost(&mut self) -> Option<Section> {
        self.skip_line();
        None
    }

    /// What stands behind an opening bracket.
    fn section(&mut self) -> Option<Section> {
        let mut name = Vec::new();
        loop {
            match self.in_line()? {
                b']' => return Some(section(&name, None)),
                byte if byte.is_ascii_alphanumeric() || b".-".contains(&byte) => name.push(byte),
                byte if is_blank(byte) => {
                    return Some(section(&name, Some(self.subsection()?)));
                }
                _ => return None,
            }
        }
    }

    /// A subsection in quotes, to the closing bracket.
    fn subsection(&mut self) -> Option<Vec<u8>> {
        while self.bytes.next_if(|byte| is_blank(*byte) && *byte != b'\n').is_some() {}
        let mut name = Vec::new();
        self.bytes.next_if_eq(&b'"')?;
        loop {
            match self.in_line()? {
                b'"' => break,
                b'\\' => name.push(self.in_line()?),
                byte => name.push(byte),
            }
        }
        self.bytes.next_if_eq(&b']').map(|_| name)
    }

    /// A key and its value, to the end of the line.
    fn setting(&mut self, first: u8) -> (String, Result<Option<Vec<u8>>, Unfit>) {
        let mut key = vec![first];
        let is_of_key = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        while let Some(byte) = self.bytes.next_if(is_of_key) {
            key.push(byte);
        }
        while self.bytes.next_if(|byte| b" \t".contains(byte)).is_some() {}
        let value = match self.bytes.next() {
            None | Some(b'\n') => Ok(None),
            Some(b'=') => self.value().map(Some),
            Some(_) => {
                self.skip_line();
                Err(Unfit)
            }
        };
        (String::from_utf8_lossy(&key).to_ascii_lowercase(), value)
    }

    fn value(&mut self) -> Result<Vec<u8>, Unfit> {
        let (mut value, mut is_quoted) = (Vec::new(), false);
        // How much of it is left when blanks at its end are cut off.
        let mut kept = 0;
        loop {
            let byte = self.bytes.next();
            match byte {
                None | Some(b'\n') if is_quoted => return Err(Unfit),
                None | Some(b'\n') => break,
                Some(b'#' | b';') if !is_quoted => {
                    self.skip_line();
                    break;
                }
                Some(b'"') => is_quoted = !is_quoted,
                Some(blank) if is_blank(blank) && !is_quoted => {
                    if !value.is_empty() {
                        value.push(blank);
                    }
                    continue;
                }
                Some(b'\\') => match self.bytes.next() {
                    // The value goes on behind the end of the line.
                    Some(b'\n') => {}
                    Some(letter) => value.push(escaped(letter).ok_or_else(|| {
                        self.skip_line();
                        Unfit
                    })?),
                    None => return Err(Unfit),
                },
                Some(byte) => value.push(byte),
            }
            kept = value.len();
        }
        value.truncate(kept);
        Ok(value)
    }
}

/// A section as git knows it: an older form has the subsection behind a dot.
fn section(name: &[u8], subsection: Option<Vec<u8>>) -> Section {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    match (name.split_once('.'), subsection) {
        (Some((section, rest)), None) => (section.to_owned(), Some(rest.as_bytes().to_vec())),
        (_, subsection) => (name, subsection),
    }
}

/// What a letter behind a backslash stands for.
fn escaped(letter: u8) -> Option<u8> {
    match letter {
        b'"' | b'\\' => Some(letter),
        b'n' => Some(b'\n'),
        b't' => Some(b'\t'),
        b'b' => Some(8),
        _ => None,
    }
}

fn is_blank(byte: u8) -> bool {
    b" \t\r\n".contains(&byte)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The settings in the form of `git config --list -z`.
    fn listed(text: &[u8]) -> Vec<u8> {
        let mut list = Vec::new();
        for Setting { section, subsection, key, value } in parse(text) {
            list.extend(section.bytes());
            let subsection = subsection.map(|it| [&b"."[..], &it].concat());
            list.extend(subsection.into_iter().flatten());
            list.extend(format!(".{key}").bytes());
            let value = value.map(|it| [&b"\n"[..], &it].concat());
            list.extend(value.into_iter().flatten());
            list.push(0);
        }
        list
    }

    const TEXTS: [&[u8]; 12] = [
        b"[core] hooksPath = own\n[include]path=../x.cfg",
        b"[core]\n\thooksPath = own # ours\n a = b ; c\n",
        b"[a \"Sub \\\"x\\\\ y\"]\r\n\tkey = va\\tlue \r\n[b.Old-One]\nK\n",
        b"[a]\n x = \"quo # ted\"  tail\\\n  goes on \\\"here\\\" \n y=\n z = \"\" \n",
        b"\xef\xbb\xbf# c\n[A]\n; d\nB = 1\nb = 2 3  4\t5\n",
        b"[a]\n x = \"two \\\n lines\"\n",
        b"[ a]\n x = 1\n",
        b"[includeIf \"gitdir:~/x/\"]\n path = ~/y\n[include]\npath=a b\n",
        b"[a]\nk=v\n[b]c=d # e\n[f] g\n",
        b"[a]\n\x0bx = 1\x0b2\x0b\n",
        b"[a] [b] x = y\n [c]\n = \n",
        b"[a]\n x = \\\\server\\\\share\n y = \\x\n",
    ];

    // The other side is the real git: it lists what it obeys.
    #[test]
    fn settings_are_read_as_git_reads_them() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        let mut compared = 0;
        for text in TEXTS {
            std::fs::write(&file, text).unwrap();
            let mut git = Command::new("git");
            git.args(["config", "--no-includes", "--list", "-z", "--file"]).arg(&file);
            let git = git.output().unwrap();
            // Git obeys nothing of a file that breaks the rules.
            if git.status.success() {
                let shown = String::from_utf8_lossy(text);
                let found = listed(text);
                assert_eq!(found, git.stdout, "{shown}: {}", String::from_utf8_lossy(&found));
                compared += 1;
            }
        }
        assert_eq!(compared, 8);
    }

    #[test]
    fn a_broken_line_hides_nothing_behind_it() {
        for broken in ["x = \\y", "x = \"open", "= 1", "[sec tion]", "k !"] {
            let text = format!("[a]\n{broken}\n[include]\npath = p\n");
            let found = parse(text.as_bytes()).pop();
            assert!(found.is_some_and(|it| it.is("include", "path")), "{broken}");
        }
    }
}
