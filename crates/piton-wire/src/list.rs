//! A JSON list from the texts of its entries. They can be large, so it is written once, at its full
//! size: a text that grows is moved again and again.

/// The entries with commas between them and `open` and `close` around them.
pub(crate) fn written(open: &str, entries: &[&str], close: &str) -> String {
    let bytes: usize = entries.iter().map(|entry| entry.len() + 1).sum();
    let mut list = String::with_capacity(open.len() + bytes + close.len());
    list.push_str(open);
    for (at, entry) in entries.iter().enumerate() {
        if 0 < at {
            list.push(',');
        }
        list.push_str(entry);
    }
    list.push_str(close);
    list
}
