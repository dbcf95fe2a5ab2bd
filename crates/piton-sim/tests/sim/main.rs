#![cfg(test)]
//! The simulated provider, over real HTTP on loopback.

mod serve;
