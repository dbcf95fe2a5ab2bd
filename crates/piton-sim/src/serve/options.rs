//! How a server serves, as its caller says.

use crate::script::Fault;

/// How a server serves.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The port; 0 takes any that is free.
    pub port: u16,
    /// The key that a request must carry; `None` accepts any.
    pub key: Option<String>,
    /// Largest piece of an answer, in bytes; 0 sends each event in one.
    pub split: usize,
    /// Packs answers for clients that accept gzip.
    pub gzip: bool,
    /// What goes wrong beside the faults of the script: at a step, from 0, or at the next request
    /// whichever it is.
    pub faults: Vec<(Option<usize>, Fault)>,
}
