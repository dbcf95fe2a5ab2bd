//! Changes the settings file that a person writes.
//!
//! Whole or not at all, one writer at a time, and nothing of what a person wrote is lost: other
//! settings, their order, comments and line ends stay. What a change means is not known here.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use toml_edit::DocumentMut;

use crate::settings::make_private;
use crate::settings_file::{BOM, SettingsFile, Unread, read_text};

/// What a settings file that we make allows: everything to its owner, nothing to others.
const PRIVATE: u32 = 0o600;

/// Why the settings cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The system refused.
    #[error("cannot write the settings {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What is there, or would be there, makes no sense, so it is left alone.
    #[error("cannot change the settings {}: {detail}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What makes no sense.
        detail: String,
    },
    /// Another program saved it at the same moment.
    #[error("the settings {} were changed at the same moment", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

/// Changes the file, if there is something to change. The change sees the document and the text that
/// it was read from. Durable when this returns.
pub(crate) fn edit(
    file: &Path,
    change: impl FnOnce(&mut DocumentMut, &str) -> Result<bool, String>,
) -> Result<bool, EditError> {
    // A link stays one: what it leads to is replaced.
    let path = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let failed = |source| EditError::Write { path: path.clone(), source };
    let unclear = |detail| EditError::Parse { path: path.clone(), detail };
    let unread = |unread| match unread {
        Unread::System(source) => failed(source),
        Unread::NoText(detail) => unclear(detail),
    };
    let directory = path.parent().unwrap_or(Path::new("."));
    make_private(directory).map_err(failed)?;
    // Two of us would each write what the other has not seen.
    let one_writer = File::open(directory).map_err(failed)?;
    one_writer.lock().map_err(failed)?;
    let before = read_text(&path).map_err(unread)?;
    let text = before.as_deref().unwrap_or_default();
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| unclear(error.to_string()))?;
    if !change(&mut document, text).map_err(unclear)? {
        return Ok(false);
    }
    let printed = document.to_string();
    // What stood first may have gone, and an empty line behind it is first now.
    let is_blank_at_first = text.trim_start_matches(BOM).starts_with(['\n', '\r']);
    let printed =
        if is_blank_at_first { &printed } else { printed.trim_start_matches(['\n', '\r']) };
    let after = with_ends_of(text, printed);
    // Whatever went wrong with it, the file must stay one that can be used.
    SettingsFile::parse(&after).map_err(unclear)?;
    let draft = write_beside(&path, &after).map_err(failed)?;
    if read_text(&path).map_err(unread)? != before {
        fs::remove_file(&draft).map_err(failed)?;
        return Err(EditError::Changed { path });
    }
    fs::rename(&draft, &path).map_err(failed)?;
    one_writer.sync_all().map_err(failed)?;
    Ok(true)
}

/// The new text with the byte order mark and the line ends of the old one. Lines before and behind the
/// change are those of the old text to the byte; those between end as most lines of the old one do.
fn with_ends_of(old: &str, new: &str) -> String {
    let bare = |line: &str| line.trim_end_matches(['\r', '\n']).to_owned();
    let unmarked = old.strip_prefix(BOM).unwrap_or(old);
    let old_lines: Vec<&str> = unmarked.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.trim_start_matches(BOM).split_inclusive('\n').collect();
    let is_same = |(one, other): &(&&str, &&str)| bare(one) == bare(other);
    let before = old_lines.iter().zip(&new_lines).take_while(is_same).count();
    let (old_rest, new_rest) = (old_lines.len() - before, new_lines.len() - before);
    let behind = old_lines.iter().rev().zip(new_lines.iter().rev()).take_while(is_same).count();
    let behind = behind.min(old_rest).min(new_rest);
    let ending = |end: &str| old_lines.iter().filter(|line| line.ends_with(end)).count();
    let end = if ending("\n") < 2 * ending("\r\n") { "\r\n" } else { "\n" };
    let ended = |line: &str| format!("{}{end}", bare(line));
    let mut text: String = old.strip_suffix(unmarked).unwrap_or_default().to_owned();
    // The last line of the old text may have had no end, and now has a line behind it.
    let is_whole = |line: &str| line.ends_with('\n');
    for (at, line) in old_lines.iter().take(before).enumerate() {
        let is_last = at + 1 == new_lines.len();
        text.push_str(&if is_whole(line) || is_last { (*line).to_owned() } else { ended(line) });
    }
    text.extend(new_lines.iter().skip(before).take(new_rest - behind).map(|line| ended(line)));
    text.extend(old_lines.iter().skip(old_lines.len() - behind).copied());
    text
}

/// The new content in a file of its own, with the rights of the old one.
pub(crate) fn write_beside(path: &Path, text: &str) -> io::Result<PathBuf> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".half");
    let draft = path.with_file_name(name);
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&draft)?;
    if let Ok(old) = fs::metadata(path) {
        file.set_permissions(Permissions::from_mode(old.permissions().mode()))?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_the_mark_in_front_stay_as_they_were() {
        for (old, new, expected) in [
            ("a\r\nb\r\n", "a\nx\nb\n", "a\r\nx\r\nb\r\n"),
            ("\u{feff}a\r\n", "a\nb\n", "\u{feff}a\r\nb\r\n"),
            ("a\nb\r\nc\n", "a\nb\nx\nc\n", "a\nb\r\nx\nc\n"),
            ("a", "a\nb\n", "a\nb\n"),
            ("a\r\nb", "a\nb\nc\n", "a\r\nb\r\nc\r\n"),
            ("a\nb\n", "b\n", "b\n"),
            ("a\na\n", "a\n", "a\n"),
            ("", "a\n", "a\n"),
            ("a\r\n", "", ""),
        ] {
            assert_eq!(with_ends_of(old, new), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_file_with_carriage_returns_keeps_them() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("piton.toml");
        let before = "# mine\r\nmodel = \"a\" # now\r\n\r\n[ask]\r\nbatch = true\r\n";
        fs::write(&file, before).unwrap();
        let changed = edit(&file, |document, _| {
            document.insert("max_tokens", toml_edit::value(7));
            Ok(true)
        });
        assert!(changed.unwrap());
        let after = fs::read_to_string(&file).unwrap();
        let expected =
            "# mine\r\nmodel = \"a\" # now\r\nmax_tokens = 7\r\n\r\n[ask]\r\nbatch = true\r\n";
        assert_eq!(after, expected);
    }

    #[test]
    fn what_is_no_text_or_would_make_no_sense_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("piton.toml");
        for before in [&b"a = \"\xff\"\n"[..], b"version = 9\nnew = 1\n", b"model = \"a\"\n"] {
            fs::write(&file, before).unwrap();
            let changed = edit(&file, |document, _| {
                document.insert("modle", toml_edit::value("b"));
                Ok(true)
            });
            assert!(matches!(changed, Err(EditError::Parse { .. })), "{changed:?}");
            assert_eq!(fs::read(&file).unwrap(), before);
        }
    }
}
