//! From a literal text to a question about words.
//!
//! A literal may begin and end in the middle of a word, and the index knows whole words. So the words
//! that contain its first and last piece are looked for among all words there are, which are far fewer
//! than texts. The answer may hold texts that do not fit, and never misses one that does.

use rusqlite::{Connection, params};

use super::terms::{self, LONG};

/// Most words that one piece of a literal may stand for. A piece of more of them says next to nothing.
const TERMS_MAX: usize = 256;
/// Letters of a piece by which words can be looked up.
const PART_CHARS: usize = 3;

/// Where a piece of a literal can stand in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// Whether letters may stand before it.
    open_left: bool,
    /// Whether letters may follow.
    open_right: bool,
}

/// The question that finds every text with this literal in it; none if all texts are to be looked at.
pub(super) fn words(db: &Connection, literal: &str) -> Result<Option<String>, rusqlite::Error> {
    let runs: Vec<_> = terms::runs(literal).collect();
    let begins = literal.chars().next().is_some_and(char::is_alphanumeric);
    let ends = literal.chars().next_back().is_some_and(char::is_alphanumeric);
    let last = runs.len().saturating_sub(1);
    let mut needed = Vec::new();
    for (place, run) in runs.iter().enumerate() {
        let piece = Piece { open_left: place == 0 && begins, open_right: place == last && ends };
        needed.extend(alternatives(db, run, piece)?);
    }
    if needed.is_empty() {
        return Ok(None);
    }
    Ok(Some(format!("({}) OR \"{LONG}\"", needed.join(" AND "))))
}

/// One of which must be in the text; none if that is not worth asking.
fn alternatives(
    db: &Connection,
    run: &str,
    piece: Piece,
) -> Result<Option<String>, rusqlite::Error> {
    if !terms::is_kept(run) {
        return Ok(None);
    }
    if !piece.open_left && !piece.open_right {
        return Ok(Some(format!("\"{run}\"")));
    }
    if run.chars().count() < PART_CHARS {
        return Ok(None);
    }
    let Some(found) = containing(db, run, piece)? else { return Ok(None) };
    if found.is_empty() {
        // Nothing has it: a word that is nowhere, as nothing else can be asked for.
        return Ok(Some(format!("\"{run}\"")));
    }
    let quoted: Vec<_> = found.iter().map(|term| format!("\"{term}\"")).collect();
    Ok(Some(format!("({})", quoted.join(" OR "))))
}

/// The words that a piece may stand for; none if there are too many of them.
fn containing(
    db: &Connection,
    run: &str,
    piece: Piece,
) -> Result<Option<Vec<String>>, rusqlite::Error> {
    let fits = |term: &str| match (piece.open_left, piece.open_right) {
        (true, true) => term.contains(run),
        (true, false) => term.ends_with(run),
        (false, true) => term.starts_with(run),
        (false, false) => term == run,
    };
    let letters: Vec<char> = run.chars().collect();
    let parts: Vec<_> = letters
        .windows(PART_CHARS)
        .map(|part| format!("\"{}\"", part.iter().collect::<String>()))
        .collect();
    let mut ask = db.prepare_cached(
        "SELECT terms.term FROM parts CROSS JOIN terms ON terms.id = parts.rowid WHERE parts MATCH ?1",
    )?;
    let mut rows = ask.query(params![parts.join(" AND ")])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let term: String = row.get(0)?;
        if fits(&term) {
            if found.len() == TERMS_MAX {
                return Ok(None);
            }
            found.push(term);
        }
    }
    Ok(Some(found))
}
