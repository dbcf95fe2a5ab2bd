//! Streams, bodies and failures of this dialect.

mod bodies;
mod failures;
mod real;
mod rules;
mod streams;
