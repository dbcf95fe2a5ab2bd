# Sourced by the scripts beside it: finds Rust, also with a fresh HOME.

RUST_MINOR_MIN=95            # rust-version of the workspace is 1.95

# A reason, what to do about it, and out.
give_up() {
    printf '%s: %s\n' "$0" "$*" >&2
    exit 1
}

# Rust may be installed under another home than ours, or be missing from PATH.
find_rust() {
    own_bin=${CARGO_HOME:-${HOME:-/nonexistent}/.cargo}/bin
    if ! command -v cargo >/dev/null 2>&1 && [ -x "$own_bin/cargo" ]; then
        PATH=$own_bin:$PATH
        export PATH
    fi
    # rustup looks for its toolchains in HOME. With a fresh one it finds nothing, although they are
    # where its cargo is: <home>/.cargo/bin/cargo has <home>/.rustup beside it.
    if ! rustc --version >/dev/null 2>&1 && [ -z "${RUSTUP_HOME:-}" ]; then
        beside=$(dirname "$(command -v cargo || echo /nonexistent/bin/cargo)")/../../.rustup
        if [ -d "$beside/toolchains" ]; then
            RUSTUP_HOME=$(cd "$beside" && pwd)
            export RUSTUP_HOME
        fi
    fi
    command -v cargo >/dev/null 2>&1 && command -v rustc >/dev/null 2>&1 ||
        give_up "no cargo and rustc in PATH; install Rust 1.$RUST_MINOR_MIN or newer from https://rustup.rs"
}
