//! From a literal text to a question about words.
//!
//! A literal may begin and end in the middle of a word, and the index knows whole words. So the words
//! that contain its first and last piece are looked for among all words there are, which are far fewer
//! than texts. The answer may hold texts that do not fit, and never misses one that does.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension as _};

use super::terms::{self, LONG, TAIL_CHARS_MIN};

/// Most words that one piece of a literal may stand for. A piece of more of them says next to nothing.
const TERMS_MAX: usize = 256;
/// Comes behind every letter of a word.
const BEHIND_LETTERS: char = char::MAX;

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
    let needed = needed.join(" AND ");
    // Asking for a word that no text has costs as much as asking for one that is there.
    let has_long = is_known(db, LONG)?;
    Ok(Some(if has_long { format!("({needed}) OR \"{LONG}\"") } else { needed }))
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
    if run.chars().count() < TAIL_CHARS_MIN {
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
) -> Result<Option<BTreeSet<String>>, rusqlite::Error> {
    let fits = |term: &str| match (piece.open_left, piece.open_right) {
        (true, true) => term.contains(run),
        (true, false) => term.ends_with(run),
        (false, true) => term.starts_with(run),
        (false, false) => term == run,
    };
    let (first, sql) = if piece.open_left {
        let sql = "SELECT terms.term FROM tails CROSS JOIN terms ON terms.id = tails.term
             WHERE tail >= ?1 AND tail < ?2";
        (terms::tail(run), sql)
    } else {
        (run, "SELECT term FROM terms WHERE term >= ?1 AND term < ?2")
    };
    let mut ask = db.prepare_cached(sql)?;
    let mut rows = ask.query([first, &format!("{first}{BEHIND_LETTERS}")])?;
    let mut found = BTreeSet::new();
    while let Some(row) = rows.next()? {
        let term: String = row.get(0)?;
        if fits(&term) {
            found.insert(term);
            if TERMS_MAX < found.len() {
                return Ok(None);
            }
        }
    }
    Ok(Some(found))
}

fn is_known(db: &Connection, term: &str) -> Result<bool, rusqlite::Error> {
    let mut ask = db.prepare_cached("SELECT 1 FROM terms WHERE term = ?1")?;
    Ok(ask.query_row([term], |_| Ok(())).optional()?.is_some())
}
