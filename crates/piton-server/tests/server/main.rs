//! The server seen by its clients: requests without a socket, scripted models, virtual time.
#![cfg(test)]

mod stage;

mod api;
mod doors;
mod events;
mod kills;
mod openapi;
mod page;
mod titles;
mod undo;
mod workers;
