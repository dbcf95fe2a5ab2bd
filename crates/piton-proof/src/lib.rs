//! How we know that nothing is lost. No part of this crate is in the shipped binary.
//!
//! [`world`] has tools whose effects are counted, [`disk`] a store that dies on command, [`passing`] a
//! store in front of another one, [`crash`] kills a driver at every point of a turn, [`letters`] kills
//! who commands from elsewhere and who is commanded, [`undo`] does the same to a change that is taken
//! back, [`forks`] to a turn that is forked where it died, and [`oracle`] says what must hold afterwards.
//! [`client`] reads a real server over HTTP. The models that drive those turns are in
//! `piton-sim`.

pub mod client;
pub mod crash;
pub mod disk;
pub mod forks;
pub mod letters;
pub mod oracle;
pub mod passing;
pub mod surroundings;
pub mod undo;
pub mod world;
