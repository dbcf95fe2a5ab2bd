//! The world for tests, benchmarks and the first run without a key.
//!
//! [`script`] and [`demo`] are models that need no network; [`serve`] plays them as a provider over
//! HTTP on loopback, in every dialect; [`mcp`] is a server of tools. [`world`] has tools whose effects are
//! counted, [`disk`] a store that dies on command, [`crash`] kills a driver at every point of a
//! turn, and [`oracle`] says what must hold afterwards.

pub mod demo;
pub mod mcp;
pub mod script;
pub mod serve;

pub mod crash;
pub mod disk;
pub mod oracle;
pub mod world;
