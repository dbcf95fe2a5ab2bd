//! What an experiment gives, unless it could not be made.

/// Anything that keeps an experiment from being made.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
