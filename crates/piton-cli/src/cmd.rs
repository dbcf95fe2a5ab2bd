//! The commands, one file each.

pub(crate) mod answer;
pub(crate) mod chat;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod drafts;
pub(crate) mod fork;
pub(crate) mod help;
pub(crate) mod init;
pub(crate) mod kill;
pub(crate) mod logs;
pub(crate) mod ls;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod permissions;
pub(crate) mod print;
pub(crate) mod ps;
pub(crate) mod query;
pub(crate) mod rewind;
pub(crate) mod send;
pub(crate) mod serve;
pub(crate) mod sim_mcp;
pub(crate) mod stop;
pub(crate) mod undo;
