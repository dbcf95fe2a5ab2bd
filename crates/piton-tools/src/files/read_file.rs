//! `read_file`: the text of a file, by lines, or an image.
//!
//! Reads as a stream, so that a large file costs no more memory than what is shown of it. Knows
//! nothing of encodings other than UTF-8.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use async_trait::async_trait;
use piton_core::event::{ArgumentRole, EffectClass, ToolSpec};
use piton_core::id::CallId;
use serde::Deserialize;

use super::workspace::Place;
use crate::contract::excerpt::{self, CUT_MARK};
use crate::contract::{
    Arguments, Finished, IMAGE_BYTES_MAX, Image, Job, OUTPUT_BYTES_MAX, Prepared, Refusal, Site,
    Tool, blocking, parse_arguments,
};

/// Largest file that is read without naming lines, in bytes.
pub const READ_BYTES_MAX: u64 = 10 * 1024 * 1024;
/// How far into a file a NUL is looked for, in bytes: what has one is not text.
const SNIFF_BYTES: usize = 8 * 1024;
/// Room kept for the note behind an extract, in bytes.
const NOTE_BYTES_MAX: usize = 256;
/// Most bytes of the file in one result.
const TEXT_BYTES_MAX: usize = OUTPUT_BYTES_MAX - NOTE_BYTES_MAX;
const _: () = assert!(SNIFF_BYTES <= BUFFER_BYTES);
/// Read buffer, in bytes.
const BUFFER_BYTES: usize = 64 * 1024;

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "File to read, relative to the workspace."},
        "offset": {"type": "integer", "minimum": 1, "description": "First line to read, from 1."},
        "limit": {"type": "integer", "minimum": 1, "description": "Most lines to read."}
    },
    "required": ["path"],
    "additionalProperties": false
}"#;

/// The tool.
#[derive(Clone, Copy, Debug)]
pub struct ReadFile;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        let description = "Reads a text file, or shows an image (png, jpeg, gif, webp). A long text \
                           is shown in parts; the result says which offset comes next.";
        ToolSpec::new("read_file", description, SCHEMA, EffectClass::ReadOnly)
            .with_roles([("path", ArgumentRole::WorkspacePath)])
    }

    async fn prepare(
        &self,
        site: &Site,
        _: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        // In place: resolving and opening a path takes microseconds.
        let wanted: ReadArguments = parse_arguments(SCHEMA, arguments)?;
        open(site, &wanted)?;
        Ok(Place::locate(site, &wanted.path)?.prepared())
    }

    async fn run(&self, job: Job) -> Finished {
        let Job { site, arguments, cancel, .. } = job;
        blocking::reading(&cancel, move || {
            let wanted: ReadArguments = parse_arguments(SCHEMA, &arguments)?;
            read(open(&site, &wanted)?, &wanted)
        })
        .await
    }
}

fn open(site: &Site, wanted: &ReadArguments) -> Result<File, Refusal> {
    let place = Place::locate(site, &wanted.path)?;
    let file = place.open_file(site)?;
    let bytes = file.metadata().map_err(|error| broken(&wanted.path, &error))?.len();
    if READ_BYTES_MAX < bytes && wanted.offset.is_none() && wanted.limit.is_none() {
        return Err(Refusal(format!(
            "`{}` has {bytes} bytes, more than {READ_BYTES_MAX}: read a part with `offset` and \
             `limit`, or search it with grep",
            wanted.path
        )));
    }
    Ok(file)
}

fn read(file: File, wanted: &ReadArguments) -> Result<Finished, Refusal> {
    let path = &wanted.path;
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let start = reader.fill_buf().map_err(|error| broken(path, &error))?;
    if start.is_empty() {
        return Ok(Finished::ok(format!("[`{path}` is empty]")));
    }
    if Image::kind(start).is_some() {
        return image(reader, path);
    }
    if start.iter().take(SNIFF_BYTES).any(|byte| *byte == 0) {
        return Err(binary(path));
    }
    let offset = wanted.offset.unwrap_or(1);
    skip(&mut reader, offset, path)?;
    let part = Part::take(&mut reader, wanted.limit.unwrap_or(u64::MAX))
        .map_err(|error| broken(path, &error))?;
    let mut text = String::from_utf8(part.bytes).map_err(|_| binary(path))?;
    if part.cut {
        text.push_str(CUT_MARK);
    }
    if part.more {
        let next = offset.saturating_add(part.lines);
        let told =
            format_args!("[lines {offset} to {} shown; read on with offset {next}]", next - 1);
        excerpt::note(&mut text, told);
    } else if part.cut {
        let told = format_args!("[line {offset} is too long to show: search it with grep]");
        excerpt::note(&mut text, told);
    }
    Ok(Finished::ok(text))
}

/// The whole image, for the model to see.
fn image(reader: impl Read, path: &str) -> Result<Finished, Refusal> {
    let mut content = Vec::new();
    // One byte more than fits tells an image that is too large.
    let read = reader.take(IMAGE_BYTES_MAX + 1).read_to_end(&mut content);
    read.map_err(|error| broken(path, &error))?;
    let unfit = |why| {
        Refusal(format!("`{path}` {why}: make another one of it with shell, or look at it there"))
    };
    let image = Image::new(path, content).map_err(unfit)?;
    Ok(Finished { images: vec![image.clone()], ..Finished::ok(image.label()) })
}

/// Goes to the line that was asked for.
fn skip(reader: &mut impl BufRead, offset: u64, path: &str) -> Result<(), Refusal> {
    for passed in 1..offset {
        reader.skip_until(b'\n').map_err(|error| broken(path, &error))?;
        let rest = reader.fill_buf().map_err(|error| broken(path, &error))?;
        if rest.is_empty() {
            let lines = if passed == 1 { "1 line".into() } else { format!("{passed} lines") };
            return Err(Refusal(format!(
                "`{path}` has {lines}: offset {offset} is behind its end"
            )));
        }
    }
    Ok(())
}

/// What is shown of a file.
struct Part {
    bytes: Vec<u8>,
    lines: u64,
    /// The only line was too long and was cut.
    cut: bool,
    /// The file goes on.
    more: bool,
}

impl Part {
    /// Takes whole lines as long as they fit.
    fn take(reader: &mut impl BufRead, limit: u64) -> io::Result<Self> {
        let mut part = Self { bytes: Vec::new(), lines: 0, cut: false, more: false };
        let mut line = Vec::new();
        while part.lines < limit {
            line.clear();
            // One byte more than fits tells a line that is too long from one that just fits.
            let room = TEXT_BYTES_MAX - part.bytes.len();
            let most = u64::try_from(room).unwrap_or(u64::MAX).saturating_add(1);
            reader.by_ref().take(most).read_until(b'\n', &mut line)?;
            if line.len() <= room {
                if line.is_empty() {
                    return Ok(part);
                }
                part.bytes.append(&mut line);
                part.lines += 1;
                continue;
            }
            if part.bytes.is_empty() {
                // Not even one line fits: show its beginning rather than nothing for ever.
                reader.skip_until(b'\n')?;
                line.truncate(whole_characters(&line, room));
                part.bytes.append(&mut line);
                part.lines = 1;
                part.cut = true;
            } else {
                part.more = true;
                return Ok(part);
            }
            break;
        }
        part.more = !reader.fill_buf()?.is_empty();
        Ok(part)
    }
}

/// The largest count up to `most` that does not end inside a UTF-8 sequence.
fn whole_characters(bytes: &[u8], most: usize) -> usize {
    let inside = |at: usize| bytes.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    (most.saturating_sub(3)..=most).rev().find(|at| !inside(*at)).unwrap_or(most)
}

fn binary(path: &str) -> Refusal {
    Refusal(format!(
        "`{path}` is not UTF-8 text: look at it with shell, for example `file` or `od -c`"
    ))
}

fn broken(path: &str, error: &io::Error) -> Refusal {
    Refusal(format!("`{path}` cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_and_struct_agree() {
        crate::contract::arguments::assert_agree::<ReadArguments>(SCHEMA);
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        let bytes = "aé漢🙂".as_bytes();
        for most in 0..=bytes.len() {
            let kept = whole_characters(bytes, most);
            assert!(std::str::from_utf8(&bytes[..kept]).is_ok(), "{most}");
        }
    }
}
