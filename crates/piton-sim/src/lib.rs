//! Models, providers and servers of tools that need no network and no key.
//!
//! [`script`] and [`demo`] are models; [`serve`] plays them as a provider over HTTP on loopback, in
//! every dialect; [`mcp`] is a server of tools. All of it ships with the binary: `piton` uses it for
//! the first run without a key and for `piton sim`. What only tests need is in `piton-proof`.

pub mod demo;
pub mod mcp;
pub mod script;
pub mod serve;
