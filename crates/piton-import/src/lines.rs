//! Reading files of others, within bounds.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use memchr::{memchr_iter, memmem};
use ruzstd::decoding::StreamingDecoder;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::record::{Stand, Story};

/// Largest file that is read, in bytes; unpacked, if it is packed. It is held in memory.
pub const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Longest line that is read, in bytes. One line can hold a picture.
pub const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Most places of a damaged line at which a whole record is looked for.
const RECORDS_TRIED_MAX: usize = 256;

/// How a packed file begins.
pub(crate) const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a file holds now. It may grow meanwhile: what comes behind its present size is not read.
pub(crate) fn whole(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(size.min(FILE_BYTES_MAX)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The first bytes of a file.
pub(crate) fn beginning(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What a packed file holds, at most `bytes_max` of it; and what is wrong with the rest. It may have been
/// packed piece by piece.
pub(crate) fn unpacked(packed: &[u8], bytes_max: u64) -> (Vec<u8>, Option<String>) {
    let (mut bytes, mut rest) = (Vec::new(), packed);
    while !rest.is_empty() {
        let left = bytes_max.saturating_sub(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        if left == 0 {
            return (bytes, Some(format!("more than {bytes_max} bytes")));
        }
        let decoder = match StreamingDecoder::new(&mut rest) {
            Ok(decoder) => decoder,
            Err(error) => return (bytes, Some(error.to_string())),
        };
        if let Err(error) = decoder.take(left).read_to_end(&mut bytes) {
            return (bytes, Some(error.to_string()));
        }
    }
    (bytes, None)
}

/// A text without the mark that some editors put in front.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BOM).unwrap_or(bytes)
}

/// A line without what stands around it: white space, and the zeros that a crash of the machine leaves.
pub(crate) fn bare(line: &[u8]) -> &[u8] {
    let is_nothing = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    let begin = line.iter().position(|byte| !is_nothing(byte)).unwrap_or(line.len());
    let end = line.iter().rposition(|byte| !is_nothing(byte)).map_or(begin, |last| last + 1);
    line.get(begin..end).unwrap_or_default()
}

/// The objects in the lines of a file, each with the number of its line. What cannot be read is told and
/// skipped.
pub(crate) fn objects(bytes: &[u8], story: &mut Story) -> Vec<(u64, Value)> {
    let bytes = without_mark(bytes);
    if bare(bytes).starts_with(b"[") {
        return spread(bytes);
    }
    let remarks = story.remarks.len();
    let (mut found, mut firsts) = (Vec::new(), BTreeSet::new());
    for (line, whole) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        let text = bare(whole);
        if whole.first() == Some(&0) || text.is_empty() && whole.contains(&0) {
            let zeros = memchr_iter(0, whole).count();
            story.remark("torn_line", Stand::line(line), &format!("{zeros} zeros"));
        }
        if text.is_empty() {
            continue;
        }
        if LINE_BYTES_MAX < text.len() {
            let why =
                format!("{} bytes in one line; at most {LINE_BYTES_MAX} are read", text.len());
            story.remark("skipped_line", Stand::line(line), &why);
            continue;
        }
        if let Ok(value @ Value::Object(_)) = serde_json::from_slice::<Value>(text) {
            firsts.extend(first_name(text));
            found.push((line, value));
        } else {
            let had = of_damaged(text, line, &firsts, story).into_iter();
            found.extend(had.map(|value| (line, value)));
        }
    }
    if found.is_empty() {
        // Somebody has written each object over several lines.
        found = spread(bytes);
        if !found.is_empty() {
            story.remarks.truncate(remarks);
        }
    }
    found
}

/// The objects of a file that is not made of lines: one behind the other, or in a list.
pub(crate) fn spread(bytes: &[u8]) -> Vec<(u64, Value)> {
    let begin = bytes.len() - bytes.trim_ascii_start().len();
    let begin = if bytes.get(begin) == Some(&b'[') { begin + 1 } else { begin };
    let (mut found, _) = values::<Value>(bytes, begin);
    found.retain(|(_, value)| value.is_object());
    found
}

/// What can be had of a line that is no object: several objects one behind the other, text in which some bytes
/// are none, and a record that was written behind one that was cut. Such a record begins with a name that
/// others of the file began with; anything else could be a piece of what was cut.
fn of_damaged(text: &[u8], line: u64, firsts: &BTreeSet<String>, story: &mut Story) -> Vec<Value> {
    let (found, mut rest) = values::<Value>(text, 0);
    let mut found: Vec<_> = found.into_iter().map(|(_, value)| value).collect();
    found.retain(Value::is_object);
    let readable = String::from_utf8_lossy(rest);
    if let Cow::Owned(readable) = &readable
        && let Ok(value @ Value::Object(_)) = serde_json::from_str(readable)
    {
        story.remark("replaced_bytes", Stand::line(line), &excerpt(rest));
        found.push(value);
        rest = &[];
    }
    if found.is_empty() && rest.is_empty() {
        story.remark("torn_line", Stand::line(line), &torn(text));
    } else if !rest.is_empty() {
        story.remark("torn_line", Stand::line(line), &torn(rest));
        let begins = memmem::find_iter(rest, b"{\"").filter(|begin| 0 < *begin);
        let written_on = begins.take(RECORDS_TRIED_MAX).find_map(|begin| {
            let text = rest.get(begin..)?;
            let is_like_others = firsts.contains(first_name(text)?.as_str());
            let record = is_like_others.then(|| serde_json::from_slice::<Value>(text).ok());
            record.flatten().filter(Value::is_object)
        });
        found.extend(written_on);
    }
    found
}

/// The first name in an object.
fn first_name(object: &[u8]) -> Option<String> {
    let inner = object.strip_prefix(b"{")?.trim_ascii_start().strip_prefix(b"\"")?;
    let end = inner.iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(inner.get(..end)?).ok().map(ToOwned::to_owned)
}

/// A line that is no object, for people. What a full disk leaves can end within a character.
fn torn(text: &[u8]) -> String {
    match std::str::from_utf8(text) {
        Err(error) if error.error_len().is_none() => {
            let whole = text.get(..error.valid_up_to()).unwrap_or(text);
            format!("cut in the middle of a character: {}", excerpt(whole))
        }
        Ok(_) | Err(_) => excerpt(text),
    }
}

/// The readable beginning of a line, for people.
fn excerpt(text: &[u8]) -> String {
    const EXCERPT_BYTES_MAX: usize = 300;
    let kept = text.get(..EXCERPT_BYTES_MAX).unwrap_or(text);
    let more = if kept.len() < text.len() { "…" } else { "" };
    format!("{}{more}", String::from_utf8_lossy(kept))
}

/// The content of a file that is one value. Bytes that are no text are replaced, if that makes it one.
pub(crate) fn readable<'a>(bytes: &'a [u8], story: &mut Story) -> Cow<'a, [u8]> {
    let bytes = without_mark(bytes);
    if let Cow::Owned(text) = String::from_utf8_lossy(bytes)
        && serde_json::from_str::<IgnoredAny>(&text).is_ok()
    {
        story.remark("replaced_bytes", Stand::default(), "somewhere in the file");
        return Cow::Owned(text.into_bytes());
    }
    Cow::Borrowed(bytes)
}

/// The items of a list that was cut, or is damaged somewhere: those in front of the damage, each with the line
/// in which it begins. The list is the whole file, or has one of these names in the object around it.
pub(crate) fn of_cut_list(
    bytes: &[u8],
    names: &[&str],
    error: &serde_json::Error,
    story: &mut Story,
) -> Vec<(u64, Value)> {
    let (found, rest) = numbered::<Value>(bytes, names);
    let line = u64::try_from(error.line()).unwrap_or_default();
    story.remark("torn_line", Stand::line(line), &format!("{error}: {}", excerpt(rest)));
    found
}

/// The lines in which the items of a list begin; nought for all if those cannot be told.
pub(crate) fn of_list(bytes: &[u8], names: &[&str], count: usize) -> Vec<u64> {
    let (found, _) = numbered::<IgnoredAny>(bytes, names);
    if found.len() == count {
        found.into_iter().map(|(line, _)| line).collect()
    } else {
        vec![0; count]
    }
}

/// The items of a list with their lines, and what stands behind the last one that can be read.
fn numbered<'a, T: Deserialize<'a>>(bytes: &'a [u8], names: &[&str]) -> (Vec<(u64, T)>, &'a [u8]) {
    let bytes = without_mark(bytes);
    let named = names.iter().filter_map(|name| {
        let at = find(bytes, format!("\"{name}\"").as_bytes())?;
        Some(at + find(bytes.get(at..)?, b"[")?)
    });
    let is_list = bytes.trim_ascii_start().starts_with(b"[");
    let begin = if is_list { find(bytes, b"[") } else { named.min() };
    values(bytes, begin.map_or(bytes.len(), |begin| begin + 1))
}

/// The values from a place on, one behind the other, with the lines in which they begin; and what stands
/// behind the last one that can be read.
fn values<'a, T: Deserialize<'a>>(bytes: &'a [u8], begin: usize) -> (Vec<(u64, T)>, &'a [u8]) {
    let mut found = Vec::new();
    let mut rest = bytes.get(begin..).unwrap_or_default();
    let (mut counted, mut line) = (0, 1);
    loop {
        rest = rest.trim_ascii_start();
        rest = rest.strip_prefix(b",").unwrap_or(rest).trim_ascii_start();
        let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<T>();
        let Some(Ok(value)) = values.next() else { break };
        let read = values.byte_offset();
        let place = bytes.len() - rest.len();
        let between = bytes.get(counted..place).unwrap_or_default();
        line += breaks(between);
        counted = place;
        found.push((u64::try_from(line).unwrap_or_default(), value));
        rest = rest.get(read..).unwrap_or_default();
    }
    (found, rest)
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    memmem::find(bytes, wanted)
}

/// How many lines end in it.
pub(crate) fn breaks(bytes: &[u8]) -> usize {
    memchr_iter(b'\n', bytes).count()
}
