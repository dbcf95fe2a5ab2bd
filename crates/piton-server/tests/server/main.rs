//! The server seen by its clients: requests without a socket, scripted models, virtual time.
#![cfg(test)]

mod stage;

mod api;
mod behind;
mod composer;
mod crowd;
mod doors;
mod events;
mod kills;
mod openapi;
mod page;
mod prompt;
mod refused;
mod secrets;
mod titles;
mod tls;
mod undo;
mod workers;
