//! The world for tests, benchmarks and the first run without a key.
//!
//! [`script`] and [`demo`] are models that need no network.

pub mod demo;
pub mod script;
