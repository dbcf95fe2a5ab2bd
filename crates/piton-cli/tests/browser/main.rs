//! The page in a real browser: the real binary, Debian's chromium, and scripts as models. Where there is no
//! chromium the tests say so and are over.
#![cfg(test)]

mod driver;
mod place;
mod tab;

mod first_prompt;
mod hostile;
mod killed;
mod names;
mod permission;
mod phone;
mod pictures;
mod reading;
mod retry;
mod said;
mod tabs;
mod workers;
