//! The only way out of a network namespace: a proxy that lets a command reach the hosts that were granted to it.
//!
//! Kernels know addresses and no names, so names are decided here, before they become addresses. Two listeners
//! that were made inside the namespace are served from outside it: one speaks HTTP (CONNECT and whole addresses),
//! the other SOCKS5. A name that leads to this machine or to the network around it is refused, and so is another
//! TLS name, or another `Host`, than the granted one.
//!
//! Threads that wait, and no more of them than a bound: this process has nothing else to do, and holds no secret.

pub(crate) mod connect;
mod gateway;
mod head;
mod hello;
mod http;
mod ports;
mod refusal;
mod relay;
mod serve;
mod socks;
pub(crate) mod variables;

pub(crate) use self::gateway::Gateway;
pub(crate) use self::ports::{HTTP_PORT, SOCKS_PORT};
pub(crate) use self::refusal::{NOT_GRANTED, Refused};
pub(crate) use self::serve::{Speech, serve};

#[cfg(test)]
mod tests;
