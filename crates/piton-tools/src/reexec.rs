//! How our own binary is executed again, as something else than an agent.

/// The word that makes our binary a supervisor.
pub(crate) const WORD: &str = "supervise";
