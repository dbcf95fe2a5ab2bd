//! Reading files of others, within bounds.

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

/// The objects in the lines of a file, each with the number of its line. What cannot be read is told and
/// skipped.
pub(crate) fn objects(bytes: &[u8], story: &mut Story) -> Vec<(u64, Value)> {
    let mut found = Vec::new();
    for (line, text) in (1..).zip(without_mark(bytes).split(|byte| *byte == b'\n')) {
        let text = text.trim_ascii();
        if text.is_empty() {
            continue;
        }
        if LINE_BYTES_MAX < text.len() {
            let why =
                format!("{} bytes in one line; at most {LINE_BYTES_MAX} are read", text.len());
            story.remark("skipped_line", Stand::line(line), &why);
            continue;
        }
        match serde_json::from_slice::<Value>(text) {
            Ok(value @ Value::Object(_)) => found.push((line, value)),
            Ok(_) | Err(_) => story.remark("torn_line", Stand::line(line), &excerpt(text)),
        }
    }
    found
}

/// The readable beginning of a line, for people.
fn excerpt(text: &[u8]) -> String {
    const EXCERPT_BYTES_MAX: usize = 300;
    let kept = text.get(..EXCERPT_BYTES_MAX).unwrap_or(text);
    let more = if kept.len() < text.len() { "…" } else { "" };
    format!("{}{more}", String::from_utf8_lossy(kept))
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
    let mut found = Vec::new();
    let mut rest = begin.and_then(|begin| bytes.get(begin + 1..)).unwrap_or_default();
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
