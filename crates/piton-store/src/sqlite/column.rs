//! From columns to values, and numbers back.

use std::borrow::Cow;

use rusqlite::Row;

/// Text for people. A flipped bit in a title must not hide the conversation, let alone the list.
pub(super) fn text(row: &Row<'_>, column: usize) -> Result<String, rusqlite::Error> {
    borrowed(row, column).map(Cow::into_owned)
}

/// The same, as long as the row is looked at.
pub(super) fn borrowed<'a>(
    row: &'a Row<'_>,
    column: usize,
) -> Result<Cow<'a, str>, rusqlite::Error> {
    let bytes = row.get_ref(column)?.as_bytes_or_null()?.unwrap_or_default();
    Ok(String::from_utf8_lossy(bytes))
}

/// `SQLite`'s numbers have a sign, ours have none. No honest number is too large for it.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
