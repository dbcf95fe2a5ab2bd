//! A program that does nothing: how long starting takes at least.

fn main() {}
