//! Recorded real streams. They belong to others: read in place when they are there, never copied.

use std::fs;
use std::path::{Path, PathBuf};

use piton_core::answer::{Answer, Delta, NoEndMark, Partial};
use piton_core::id::TurnId;
use piton_wire::{Ask, Dialect, Failure};
use serde_json::Value;

/// Sizes of the pieces that a body is read in.
pub(crate) const PIECES: [usize; 5] = [1, 2, 3, 7, 4096];

/// One recorded stream.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) name: String,
    /// The raw body.
    pub(crate) body: Vec<u8>,
    /// What the provider's own library makes of it.
    pub(crate) expected: Value,
    /// All that is known of it.
    pub(crate) about: Value,
}

/// What a dialect made of a body.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) deltas: Vec<Delta>,
    pub(crate) failure: Option<Failure>,
    pub(crate) answer: Result<Answer, NoEndMark>,
}

/// All streams of a folder, or `None`, said aloud, where they are not at hand.
pub(crate) fn all(folder: &str) -> Option<Vec<Recorded>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire/fixtures");
    let folder = root.join(folder);
    let Ok(entries) = fs::read_dir(&folder) else {
        println!("skipped: recorded streams are not at hand");
        return None;
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let about = paths.iter().filter(|path| path.extension().is_some_and(|it| it == "json"));
    let about = about.filter(|path| !path.to_string_lossy().ends_with(".request.json"));
    let recorded: Vec<_> = about.map(|path| read_one(&folder, path)).collect();
    assert!(!recorded.is_empty(), "{} is empty", folder.display());
    println!("{} recorded streams of {}", recorded.len(), folder.file_name()?.to_string_lossy());
    Some(recorded)
}

fn read_one(folder: &Path, path: &Path) -> Recorded {
    let about: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let body = fs::read(folder.join(about["body_file"].as_str().unwrap())).unwrap();
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    Recorded { name, body, expected: about["expected"].clone(), about }
}

/// Reads a body in pieces of one size.
pub(crate) fn read(dialect: &dyn Dialect, ask: &Ask, body: &[u8], size: usize) -> Read {
    let mut decoder = dialect.decoder(&[], ask);
    let (mut deltas, mut failure) = (Vec::new(), None);
    for piece in body.chunks(size) {
        failure = decoder.push(piece, &mut deltas).err();
        if failure.is_some() {
            break;
        }
    }
    if failure.is_none() {
        failure = decoder.end(&mut deltas).err();
    }
    let mut partial = Partial::default();
    for delta in deltas.clone() {
        partial.push(delta);
    }
    Read { deltas, failure, answer: partial.finish(TurnId(1), 1) }
}

/// Reads a body in pieces of every size; all must give the same.
pub(crate) fn read_all_ways(dialect: &dyn Dialect, ask: &Ask, body: &[u8]) -> Read {
    let whole = read(dialect, ask, body, 1 << 20);
    for size in PIECES {
        let pieces = read(dialect, ask, body, size);
        assert_eq!(pieces.failure, whole.failure, "in pieces of {size}");
        // Also before a failure: what was said stays (J44, J46).
        assert_eq!(pieces.deltas, whole.deltas, "in pieces of {size}");
        assert_eq!(pieces.answer, whole.answer, "in pieces of {size}");
    }
    whole
}
