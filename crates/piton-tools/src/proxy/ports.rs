//! Where the listeners are, within a network of commands.

/// The listener for HTTP.
pub(crate) const HTTP_PORT: u16 = 3128;
/// The listener for SOCKS.
pub(crate) const SOCKS_PORT: u16 = 1080;
