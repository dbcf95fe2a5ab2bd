#!/bin/sh
# The one test command: what it accepts is what we accept. It stops at the first failure with that
# failure's exit code. Missing tools are installed when that is safe, or named in a sentence.
#
# Assumes nothing about HOME, the build directory or a terminal.

set -eu

cd "$(dirname "$0")/.."

. dev/rust.sh

NEXTEST_VERSION=0.9.143      # the version this was last tried with

export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-auto}"

say() {
    printf '%s\n' "$*"
}

# Runs one stage: a heading, the command, the time it took. The exit code is the command's.
stage() {
    title=$1
    shift
    say ""
    say "==> $title"
    started=$(date +%s)
    code=0
    "$@" </dev/null || code=$?
    seconds=$(($(date +%s) - started))
    if [ "$code" -ne 0 ]; then
        say "==> $title: failed with exit code $code after ${seconds} s" >&2
        exit "$code"
    fi
    say "==> $title: ok, ${seconds} s"
}

check_rust() {
    find_rust
    version=$(rustc --version) || give_up "rustc is there but does not start; see above"
    # "rustc 1.95.0 (...)" -> 95
    minor=$(say "$version" | sed -n 's/^rustc 1\.\([0-9][0-9]*\)\..*/\1/p')
    [ -n "$minor" ] && [ "$minor" -ge "$RUST_MINOR_MIN" ] ||
        give_up "found $version, need 1.$RUST_MINOR_MIN or newer; try: rustup update stable"
    cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 ||
        give_up "rustfmt or clippy is missing; try: rustup component add rustfmt clippy"
    say "$version"
}

# SQLite is compiled from source, for which there must be a C compiler.
check_c_compiler() {
    compiler=${CC:-cc}
    # CC may carry arguments; only its first word is a command.
    if command -v "${compiler%% *}" >/dev/null 2>&1; then
        return
    fi
    if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "no C compiler: installing gcc and libc6-dev"
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends gcc libc6-dev; } ||
            give_up "cannot install a C compiler; see above"
    else
        give_up "no C compiler, which SQLite needs; install gcc or clang with the C headers" \
            "(Debian: apt-get install gcc libc6-dev; Fedora: dnf install gcc; macOS: xcode-select --install)"
    fi
}

# Some crash tests kill the binary at chosen system calls. They say that they skipped where that
# cannot be done, so this is no reason to give up.
check_strace() {
    if command -v strace >/dev/null 2>&1; then
        return
    fi
    if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "no strace: installing it"
        if apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends strace; then
            return
        fi
    fi
    say "no strace: the tests that kill at chosen system calls will skip" \
        "(Debian: apt-get install strace; Fedora: dnf install strace)"
}

# The page is tested in a real browser. The tests say that they skipped where there is none.
check_chromium() {
    if command -v chromium >/dev/null 2>&1 && command -v chromedriver >/dev/null 2>&1; then
        return
    fi
    if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "no chromium with its driver: installing them"
        if apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends chromium chromium-driver; then
            return
        fi
    fi
    say "no chromium with its driver: the tests of the page in a browser will skip" \
        "(Debian: apt-get install chromium chromium-driver; Fedora: dnf install chromium chromedriver)"
}

check_nextest() {
    if ! cargo nextest --version >/dev/null 2>&1; then
        say "no cargo-nextest: installing $NEXTEST_VERSION"
        cargo install --locked cargo-nextest --version "$NEXTEST_VERSION" ||
            give_up "cannot install cargo-nextest; see above, or https://nexte.st"
        # cargo finds its subcommands in its own directory, unless it was told to install elsewhere.
        cargo nextest --version >/dev/null 2>&1 ||
            give_up "cargo-nextest is installed but cargo does not find it; add cargo's bin directory to PATH"
    fi
    cargo nextest --version | sed -n 1p
}

check_tools() {
    check_rust
    check_c_compiler
    check_strace
    check_chromium
    check_nextest
}

document() {
    RUSTDOCFLAGS="${RUSTDOCFLAGS:-} -D warnings" cargo doc --workspace --no-deps --locked
}

profile=default
if [ -n "${CI:-}" ]; then
    profile=ci
    # Nothing is built a second time.
    export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}"
    # Nobody steps through what is built here: a panic says its line without these tables.
    export CARGO_PROFILE_DEV_DEBUG="${CARGO_PROFILE_DEV_DEBUG:-false}"
fi

begun=$(date +%s)
stage "tools" check_tools
stage "format" cargo fmt --all --check
# Fails before anything slow.
stage "tidy" cargo run --quiet --locked --package xtask -- tidy
stage "lints" cargo clippy --workspace --all-targets --locked -- -D warnings
stage "tests" cargo nextest run --workspace --locked --profile "$profile"
stage "doc tests" cargo test --doc --workspace --locked
stage "documentation" document
if cargo deny --version >/dev/null 2>&1; then
    # Not the advisories: those come over the network.
    stage "dependencies" cargo deny --locked check bans licenses sources
else
    say ""
    say "==> dependencies: skipped, cargo-deny is not installed"
fi
say ""
say "all passed in $(($(date +%s) - begun)) s"
