//! A change of one file that happens exactly once.
//!
//! The digests of the content before and after are recorded before anything is touched. A
//! later process compares: *before* means not yet, *after* means done, anything else means that
//! somebody else was here. The new content is written beside the file, synced, and exchanged with it
//! in one step; then what was displaced is looked at (`swap`). If that is not what we meant to
//! replace, it is put back. So a foreign edit is never lost, whenever it happens. Where nothing can
//! take the place of the file, it is overwritten, with its old content kept first (`in_place`).
//! Changes of several files are made together or not at all (`several`).
//!
//! Knows files and digests; what the new content is, the tools say.

mod apply;
mod content;
mod diff;
mod in_place;
mod placed;
mod plan;
mod several;
mod swap;
pub(super) mod temp;
pub(super) mod versions;

pub(super) use self::apply::{Applied, abandon};
pub use self::content::EDIT_BYTES_MAX;
pub(super) use self::content::current;
pub use self::diff::difference;
pub(super) use self::diff::{Compared, preview, preview_all, report, report_all};
pub(super) use self::in_place::is_torn;
pub(super) use self::plan::Change;
pub(super) use self::several::{Changes, Wanted};
