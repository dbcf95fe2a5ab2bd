//! The page in a real browser: the real binary, Debian's chromium, and scripts as models. Where there is no
//! chromium the tests say so and are over.
#![cfg(test)]

mod driver;
mod place;
mod proxy;
mod tab;

mod copied;
mod draft;
mod files;
mod first_prompt;
mod half_dead;
mod hands;
mod history;
mod hostile;
mod killed;
mod large;
mod mention;
mod names;
mod permission;
mod phone;
mod pictures;
mod plain;
mod read_again;
mod reading;
mod retry;
mod said;
mod tabs;
mod workers;
