//! How a process that holds a conversation is called.

use piton_store::Holder;

/// The process, as far as it is known.
pub(crate) fn holding(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "another process".into(), |holder| format!("process {}", holder.pid))
}
