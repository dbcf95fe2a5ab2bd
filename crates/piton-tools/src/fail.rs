//! Places where a debug build dies on purpose, so that tests can crash it at each step of the
//! protocol. A release build has none of this.

/// Which place, or which mistake, a test wants.
#[cfg(debug_assertions)]
const VARIABLE: &str = "PITON_FAIL_POINT";

/// Dies here, as hard as possible, if a test wants that.
#[cfg(debug_assertions)]
pub fn here(point: &str) {
    if wanted(point) {
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
            .ok();
    }
}

/// Whether a test wants this; it may want several, with commas between them.
#[cfg(debug_assertions)]
pub fn wanted(point: &str) -> bool {
    let wanted = std::env::var(VARIABLE).unwrap_or_default();
    wanted.split(',').any(|wanted| wanted == point)
}

/// Nothing.
#[cfg(not(debug_assertions))]
pub const fn here(_: &str) {}

/// Never.
#[cfg(not(debug_assertions))]
pub const fn wanted(_: &str) -> bool {
    false
}
