#![cfg(test)]
//! Tools from the outside: prepared, run and settled as the engine does it.

mod apply_patch;
mod bench;
mod edit_file;
mod glob;
mod grep;
mod list_dir;
mod looks;
mod own_tool;
mod race;
mod read_file;
mod refused;
mod shell;
mod undo;
mod undo_intent;
mod write_file;
