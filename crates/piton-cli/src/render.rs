//! What people see of a turn: readable without colour.

pub(crate) mod age;
pub(crate) mod answer;
pub(crate) mod changed;
pub(crate) mod count;
pub(crate) mod diff;
pub(crate) mod incomplete;
pub(crate) mod legible;
pub(crate) mod lines;
pub(crate) mod markdown;
pub(crate) mod moves;
pub(crate) mod paint;
pub(crate) mod print;
pub(crate) mod question;
pub(crate) mod rule;
pub(crate) mod running;
pub(crate) mod servers;
pub(crate) mod status;
pub(crate) mod streamed;
pub(crate) mod table;
pub(crate) mod tasks;
pub(crate) mod thought;
pub(crate) mod tokens;
pub(crate) mod tool;
pub(crate) mod turn;
pub(crate) mod visible;
pub(crate) mod wrap;
