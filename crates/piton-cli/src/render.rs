//! What people see of a turn: words only, readable without colour.

pub(crate) mod age;
pub(crate) mod answer;
pub(crate) mod incomplete;
pub(crate) mod lines;
pub(crate) mod moves;
pub(crate) mod print;
pub(crate) mod question;
pub(crate) mod rule;
pub(crate) mod servers;
pub(crate) mod streamed;
pub(crate) mod table;
pub(crate) mod tool;
pub(crate) mod turn;
pub(crate) mod visible;
