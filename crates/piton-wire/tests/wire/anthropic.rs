//! Streams, bodies and failures of this dialect.
