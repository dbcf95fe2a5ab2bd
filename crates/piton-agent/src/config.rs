//! The settings as a person sees them: every key with its value and where that comes from, the form of
//! the file, and changes of single keys.
//!
//! The form is made from the types that read the file, so it cannot differ from what is read.

mod change;
mod hidden;
mod page;
mod schema;
mod values;

pub use self::change::{ConfigError, set, spelled, unset};
pub use self::page::page;
pub use self::schema::schema;
pub use self::values::{Given, Origin, Setting, all, one};
