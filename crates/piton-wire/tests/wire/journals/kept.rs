//! Bodies kept for a validator of someone else, one per line.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use super::voices::Voice;

/// Where bodies are kept, if anywhere.
#[derive(Debug)]
pub(crate) struct Shelf(Option<PathBuf>);

impl Shelf {
    pub(crate) fn from_env() -> Self {
        Self(std::env::var_os("PITON_BODIES").map(PathBuf::from))
    }

    pub(crate) fn keep(&self, voice: Voice, body: &str) {
        let Some(folder) = &self.0 else { return };
        let path = folder.join(voice.file());
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        // A line is what every reader of lines takes for one.
        let breaks = ['\u{85}', '\u{2028}', '\u{2029}'];
        let escaped = |all: String, it: char| all.replace(it, &format!("\\u{:04x}", u32::from(it)));
        let line = breaks.into_iter().fold(body.to_owned(), escaped);
        // One write per line: others append to the same file.
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}
