//! What a search has found so far, as the model will see it.

use std::io;

use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use crate::contract::{OUTPUT_BYTES_MAX, excerpt};
use crate::files::left_out::LeftOut;
use piton_core::summary::name_on_one_line;

/// Longest line in a result, in bytes.
const LINE_SHOWN_BYTES_MAX: usize = 500;
/// Room kept for the notes at the end, in bytes.
const NOTES_BYTES_MAX: usize = 512;

/// Matches, bounded.
#[derive(Debug)]
pub(super) struct Report {
    text: String,
    matches: usize,
    matches_max: usize,
    files: usize,
    binary: usize,
    unreadable: usize,
    /// There was another match that found no room.
    full: bool,
    too_much: bool,
    left_out: Option<LeftOut>,
}

impl Report {
    pub(super) fn new(matches_max: usize) -> Self {
        Self {
            text: String::new(),
            matches: 0,
            matches_max,
            files: 0,
            binary: 0,
            unreadable: 0,
            full: false,
            too_much: false,
            left_out: None,
        }
    }

    /// Takes the matches of one file.
    pub(super) fn file<'a>(&'a mut self, path: &'a str) -> FileReport<'a> {
        self.files += 1;
        let (start, matches) = (self.text.len(), self.matches);
        FileReport { report: self, path, start, matches }
    }

    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    pub(super) fn note_unreadable(&mut self) {
        self.unreadable += 1;
    }

    pub(super) fn note_too_much(&mut self) {
        self.too_much = true;
    }

    pub(super) fn note_left_out(&mut self, left_out: LeftOut) {
        self.left_out = Some(left_out);
    }

    pub(super) fn into_text(self) -> String {
        let Self { mut text, matches, files, binary, unreadable, .. } = self;
        let mut note = |told: std::fmt::Arguments<'_>| excerpt::note(&mut text, told);
        if matches == 0 {
            note(format_args!("no line matches ({files} files searched)\n"));
        }
        if self.full {
            let told = "there are more: narrow with `path`, `glob` or a longer pattern";
            note(format_args!("[the first {matches} matches; {told}]\n"));
        }
        if self.too_much {
            note(format_args!("[too many files to search all of them: give `path`]\n"));
        }
        if 0 < binary {
            note(format_args!("[{binary} binary files skipped]\n"));
        }
        if 0 < unreadable {
            note(format_args!("[{unreadable} files could not be searched]\n"));
        }
        if let Some(left_out) = self.left_out {
            left_out.note(&mut text);
        }
        text
    }

    fn push(&mut self, line: &str) -> bool {
        if OUTPUT_BYTES_MAX - NOTES_BYTES_MAX < self.text.len() + line.len() {
            self.full = true;
            return false;
        }
        self.text.push_str(line);
        true
    }
}

/// The part of a report that one file adds.
#[derive(Debug)]
pub(super) struct FileReport<'a> {
    report: &'a mut Report,
    path: &'a str,
    /// Where this file's lines begin, in case it turns out to be binary.
    start: usize,
    matches: usize,
}

impl FileReport<'_> {
    fn line(&self, mark: char, number: Option<u64>, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        let text = excerpt::line(&text, LINE_SHOWN_BYTES_MAX);
        format!("{}{mark}{}{mark}{text}\n", name_on_one_line(self.path), number.unwrap_or(0))
    }
}

impl Sink for FileReport<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.report.matches_max <= self.report.matches {
            self.report.full = true;
            return Ok(false);
        }
        let line = self.line(':', found.line_number(), found.bytes());
        let fits = self.report.push(&line);
        self.report.matches += usize::from(fits);
        Ok(fits)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> io::Result<bool> {
        // As ripgrep does it: a match has colons, the lines around it have dashes.
        let line = self.line('-', around.line_number(), around.bytes());
        Ok(self.report.push(&line))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        Ok(self.report.push("--\n"))
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        // A NUL far into the file: lines before it were taken for text.
        self.report.text.truncate(self.start);
        self.report.matches = self.matches;
        self.report.binary += 1;
        Ok(false)
    }
}
