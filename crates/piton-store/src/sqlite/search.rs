//! The index of texts: a database of its own beside the journals, for finding words.
//!
//! Knows texts with a place and a label, and nothing of what they mean; whoever reads the journals
//! hands them in. Nothing depends on it: it is filled when somebody searches, never by a commit, and
//! one that is damaged, of another format or gone is made again. Any number of processes may fill it
//! at once: what is added names the place that it goes on from, and is taken once.

mod narrow;
mod tables;
mod terms;

use std::borrow::Cow;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use piton_core::id::{ConversationId, Seq};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};

use super::beside::{SUFFIXES, with_suffix};
use super::column::{borrowed, signed, text, unsigned};
use super::home::DATABASE;
use super::{failure, open};
use crate::{Directory, ListPosition, StoreError};

/// The name of the index in a home.
pub(super) const INDEX: &str = "search.db";

/// The texts of all conversations of a home, and the words in them.
#[derive(Debug)]
pub struct SearchIndex {
    db: Connection,
    path: PathBuf,
}

/// How far a conversation is known to the index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indexed {
    /// The last entry that was looked at.
    pub through: Seq,
    /// What whoever looked wants to remember, in words of its own.
    pub memo: String,
}

/// What is new of a conversation.
#[derive(Clone, Debug)]
pub struct Addition {
    /// The conversation.
    pub conversation: ConversationId,
    /// The directory it works in.
    pub workspace: String,
    /// How far it was known before.
    pub after: Seq,
    /// How far it is known now.
    pub now: Indexed,
    /// What is new, in order.
    pub changes: Vec<TextChange>,
}

/// One change of what can be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextChange {
    /// A text is new.
    Said(IndexedText),
    /// Texts of a turn do not count any more, and say why.
    Hidden {
        /// Only of this turn.
        turn: u32,
        /// From this entry on.
        from: Seq,
        /// To this one.
        through: Seq,
        /// Why, in a word.
        why: &'static str,
    },
}

/// A text with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedText {
    /// Its entry.
    pub seq: Seq,
    /// Its turn; zero if it belongs to none.
    pub turn: u32,
    /// Who said it.
    pub scope: &'static str,
    /// What it is.
    pub kind: &'static str,
    /// The text.
    pub text: String,
}

/// Which texts are looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sought {
    /// Only texts that hold this, in upper or lower case, as far as the index can tell. The others are
    /// left out; some that do not hold it are handed out all the same.
    pub literal: Option<String>,
    /// Only of this conversation.
    pub conversation: Option<ConversationId>,
    /// Only of conversations that work in a directory.
    pub directory: Option<Directory>,
    /// Workers only, or everything but workers.
    pub worker: Option<bool>,
    /// Only of these scopes; none is all of them.
    pub scopes: Vec<&'static str>,
    /// Also texts that do not count any more.
    pub hidden: bool,
}

/// A text that was found. Borrowed from the index: most of them have no hit, and nothing of those is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundText<'a> {
    /// The conversation's number in the index.
    pub key: i64,
    /// Its name.
    pub conversation: Cow<'a, str>,
    /// Its entry.
    pub seq: Seq,
    /// Its turn; zero if it belongs to none.
    pub turn: u32,
    /// Who said it.
    pub scope: Cow<'a, str>,
    /// What it is.
    pub kind: Cow<'a, str>,
    /// Why it does not count any more; empty if it does.
    pub hidden: Cow<'a, str>,
    /// The text.
    pub text: Cow<'a, str>,
}

impl SearchIndex {
    /// Opens the index of a home. One that cannot be read, or that another build wrote, is made again.
    pub fn open(home: &Path) -> Result<Self, StoreError> {
        let (path, store) = (home.join(INDEX), store(home));
        match tables::open(&path, &store) {
            Ok(Some(db)) => return Ok(Self { db, path }),
            Ok(None) | Err(StoreError::Damaged { .. }) => Self::remove(home)?,
            Err(error) => return Err(error),
        }
        let detail = "another program writes this file".to_owned();
        let refused = || StoreError::Database { path: path.clone(), detail };
        let db = tables::open(&path, &store)?.ok_or_else(refused)?;
        Ok(Self { db, path })
    }

    /// Takes the index of a home away. The next search makes it again.
    pub fn remove(home: &Path) -> Result<(), StoreError> {
        let path = home.join(INDEX);
        for suffix in SUFFIXES {
            let part = with_suffix(&path, suffix);
            match fs::remove_file(&part) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(StoreError::io("remove", &part, error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Up to which moment of the list all conversations are known.
    pub fn position(&self) -> Result<ListPosition, StoreError> {
        let asked = self.db.query_row("SELECT position FROM about", [], |row| row.get(0));
        asked.map(|position| ListPosition(unsigned(position))).map_err(|error| self.failed(&error))
    }

    /// All conversations are known up to this moment.
    pub fn reach(&self, position: ListPosition) -> Result<(), StoreError> {
        let sql = "UPDATE about SET position = max(position, ?1)";
        let done = self.db.execute(sql, [signed(position.0)]);
        done.map(drop).map_err(|error| self.failed(&error))
    }

    /// How far a conversation is known.
    pub fn indexed(&self, conversation: &ConversationId) -> Result<Indexed, StoreError> {
        let asked = self
            .db
            .prepare_cached("SELECT through, memo FROM conversations WHERE name = ?1")
            .and_then(|mut ask| {
                let indexed = |row: &Row<'_>| {
                    Ok(Indexed { through: Seq(unsigned(row.get(0)?)), memo: text(row, 1)? })
                };
                ask.query_row([conversation.as_str()], indexed).optional()
            });
        asked.map(Option::unwrap_or_default).map_err(|error| self.failed(&error))
    }

    /// Takes what is new, all in one commit. Says whether all of it was taken: what somebody else has
    /// brought meanwhile is not.
    pub fn take(&mut self, additions: &[Addition]) -> Result<bool, StoreError> {
        let path = self.path.clone();
        let taken =
            self.db.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|writing| {
                let mut all = true;
                for addition in additions {
                    all &= take(&writing, addition)?;
                }
                writing.commit()?;
                Ok(all)
            });
        taken.map_err(|error| failure::database(&path, &error))
    }

    /// Whether an error says that the index of a home is damaged, and not its journals.
    pub fn is_damage(home: &Path, error: &StoreError) -> bool {
        matches!(error, StoreError::Damaged { path, .. } if *path == home.join(INDEX))
    }

    /// Hands out texts, the last ones that were added first, until `visit` has enough.
    pub fn look(
        &self,
        sought: &Sought,
        mut visit: impl FnMut(&FoundText<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut look = || -> Result<(), rusqlite::Error> {
            // One moment for all questions: each would begin and end one of its own.
            let moment = self.db.unchecked_transaction()?;
            let words = match &sought.literal {
                Some(literal) => narrow::words(&moment, literal)?,
                None => None,
            };
            let sql = if words.is_some() { WITH_WORDS } else { ALL };
            let mut ask = moment.prepare_cached(sql)?;
            let only = sought.conversation.as_ref().map(ConversationId::as_str);
            let mut rows = ask.query(params![only, sought.hidden, words])?;
            while let Some(row) = rows.next()? {
                if sought.admits(row)? && visit(&found(row)?).is_break() {
                    break;
                }
            }
            Ok(())
        };
        look().map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &rusqlite::Error) -> StoreError {
        failure::database(&self.path, error)
    }
}

impl Sought {
    /// Whether a row is wanted, by all that is shorter than its text.
    fn admits(&self, row: &Row<'_>) -> Result<bool, rusqlite::Error> {
        if !self.scopes.is_empty() {
            let scope = borrowed(row, 3)?;
            if !self.scopes.iter().any(|wanted| *wanted == scope) {
                return Ok(false);
            }
        }
        if let Some(directory) = &self.directory
            && !directory.has(&borrowed(row, 6)?)
        {
            return Ok(false);
        }
        let Some(wanted) = self.worker else { return Ok(true) };
        Ok(ConversationId::new(borrowed(row, 0)?).as_worker().is_some() == wanted)
    }
}

/// Which database the texts are of. One that was set aside or replaced is another one, and its
/// conversations are not there any more.
fn store(home: &Path) -> String {
    let file = open::identity(&home.join(DATABASE));
    file.map_or_else(|_| "none".to_owned(), |(device, inode)| format!("{device}:{inode}"))
}

/// In a place of their own, so that both questions have the same columns.
const WITH_WORDS: &str = "
    SELECT name, seq, turn, scope, kind, hidden, workspace, text, key
    FROM words CROSS JOIN texts ON texts.id = words.rowid
    CROSS JOIN conversations ON conversations.key = texts.conversation
    WHERE words MATCH ?3 AND (?1 IS NULL OR texts.conversation = (SELECT key FROM conversations WHERE name = ?1)) AND (?2 OR hidden = '')
    ORDER BY words.rowid DESC";

const ALL: &str = "
    SELECT name, seq, turn, scope, kind, hidden, workspace, text, key
    FROM texts CROSS JOIN conversations ON conversations.key = texts.conversation
    WHERE (?1 IS NULL OR texts.conversation = (SELECT key FROM conversations WHERE name = ?1)) AND (?2 OR hidden = '') AND ?3 IS NULL
    ORDER BY texts.id DESC";

fn found<'a>(row: &'a Row<'_>) -> Result<FoundText<'a>, rusqlite::Error> {
    Ok(FoundText {
        key: row.get(8)?,
        conversation: borrowed(row, 0)?,
        seq: Seq(unsigned(row.get(1)?)),
        turn: u32::try_from(unsigned(row.get(2)?)).unwrap_or(u32::MAX),
        scope: borrowed(row, 3)?,
        kind: borrowed(row, 4)?,
        hidden: borrowed(row, 5)?,
        text: borrowed(row, 7)?,
    })
}

fn take(writing: &Transaction<'_>, addition: &Addition) -> Result<bool, rusqlite::Error> {
    let name = addition.conversation.as_str();
    writing
        .prepare_cached(
            "INSERT INTO conversations (name, workspace, through, memo) VALUES (?1, ?2, 0, '')
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![name, addition.workspace])?;
    let (key, through): (i64, i64) = writing
        .prepare_cached("SELECT key, through FROM conversations WHERE name = ?1")?
        .query_row([name], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if unsigned(through) != addition.after.0 {
        return Ok(false);
    }
    for change in &addition.changes {
        match change {
            TextChange::Said(said) => add(writing, key, said)?,
            TextChange::Hidden { turn, from, through, why } => {
                let sql = "UPDATE texts SET hidden = ?5
                     WHERE conversation = ?1 AND seq BETWEEN ?2 AND ?3 AND turn = ?4 AND hidden = ''";
                let (from, through) = (signed(from.0), signed(through.0));
                writing.prepare_cached(sql)?.execute(params![key, from, through, turn, why])?;
            }
        }
    }
    writing
        .prepare_cached(
            "UPDATE conversations SET workspace = ?2, through = ?3, memo = ?4 WHERE key = ?1",
        )?
        .execute(params![
            key,
            addition.workspace,
            signed(addition.now.through.0),
            addition.now.memo
        ])?;
    Ok(true)
}

fn add(writing: &Transaction<'_>, key: i64, said: &IndexedText) -> Result<(), rusqlite::Error> {
    let id = writing
        .prepare_cached(
            "INSERT INTO texts (conversation, seq, turn, scope, kind, hidden, text)
             VALUES (?1, ?2, ?3, ?4, ?5, '', ?6)",
        )?
        .insert(params![key, signed(said.seq.0), said.turn, said.scope, said.kind, said.text])?;
    let terms = terms::distinct(&said.text);
    let mut know = writing.prepare_cached("INSERT OR IGNORE INTO terms (term) VALUES (?1)")?;
    let mut part =
        writing.prepare_cached("INSERT OR IGNORE INTO tails (tail, term) VALUES (?1, ?2)")?;
    for term in &terms {
        if 0 < know.execute([term])? {
            let id = writing.last_insert_rowid();
            for tail in terms::tails(term) {
                part.execute(params![tail, id])?;
            }
        }
    }
    let words = terms.into_iter().collect::<Vec<_>>().join(" ");
    let mut write = writing.prepare_cached("INSERT INTO words (rowid, tokens) VALUES (?1, ?2)")?;
    write.execute(params![id, words]).map(drop)
}
