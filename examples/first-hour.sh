#!/bin/sh
# Plays the first hour of a new user on terminals of 40, 80 and 120 columns, item by item, and shows
# what is on the screen. Fails if an item was not played or something of it is missing.
#
# Needs no key and no network: scripted models, and servers of this machine.
set -eu
cd "$(dirname "$0")/.."
exec cargo test --quiet -p piton-cli --test cli first_hour:: -- --nocapture --test-threads=1
