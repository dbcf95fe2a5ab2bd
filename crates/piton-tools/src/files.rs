//! Tools for files: reading, searching, changing, and taking changes back.
//!
//! Paths are confined to the workspace (`workspace`). A change happens exactly once (`change`) and
//! keeps what it replaces (`undo`). Search goes through directories in `walk`, and what permission
//! rules keep from the model is not shown (`left_out`).

mod apply_patch;
mod change;
pub(crate) mod digest;
mod edit_file;
mod glob;
mod grep;
mod left_out;
mod list_dir;
mod now;
mod read_file;
mod regular;
mod suggestion;
pub mod undo;
mod walk;
mod workspace;
mod write_file;

pub use self::apply_patch::ApplyPatch;
pub use self::change::{EDIT_BYTES_MAX, difference};
pub use self::edit_file::EditFile;
pub use self::glob::Glob;
pub use self::grep::Grep;
pub use self::list_dir::ListDir;
pub use self::now::digest_now;
pub use self::read_file::{READ_BYTES_MAX, ReadFile};
pub use self::regular::{open_regular, read_regular};
pub(crate) use self::workspace::Place;
pub use self::write_file::WriteFile;
