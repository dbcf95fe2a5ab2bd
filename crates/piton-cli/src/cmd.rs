//! The commands, one file each.

pub(crate) mod ls;
pub(crate) mod models;
pub(crate) mod print;
pub(crate) mod query;
pub(crate) mod serve;
