//! The real binary, run in directories of its own against scripts.
#![cfg(test)]
#![expect(clippy::needless_raw_string_hashes, reason = "expectations are written by a machine")]

mod loopback;
mod mailbox;
mod permissions;
mod person;
mod world;

mod bypass;
mod codex;
mod command;
mod command_deaths;
mod command_tools;
mod connections;
mod crash_commands;
mod damage;
mod doctor;
mod draft;
mod edits;
mod errors;
mod escapes;
mod faults;
mod files;
mod home;
mod incomplete;
mod input;
mod interrupt;
mod json;
mod kill;
mod kill9;
mod ls;
mod mcp;
mod mcp_deaf;
mod mcp_deaths;
mod mcp_faulty;
mod mcp_tasks;
mod menu;
mod models;
mod own;
mod print;
mod providers;
mod ps;
mod pty;
mod query;
mod question;
mod redirects;
mod resumed_bytes;
mod sandbox;
mod scopes;
mod serve;
mod settings;
mod supervised;
mod terminal;
mod undo;
mod worker_kills;
mod workers;
