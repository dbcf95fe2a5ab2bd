#!/bin/sh
# Tries to lose a turn: kills the agent with `kill -9` while three tools run in parallel and two of
# them have finished, kills every attempt to go on ten times, and then lets it go on.
#
# Needs no key and no network. Works in a fresh directory and leaves nothing behind.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
piton=${PITON:-"${CARGO_TARGET_DIR:-"$here/../target"}/release/piton"}
[ -x "$piton" ] || { echo "no $piton: build it with cargo build --release, or set PITON" >&2; exit 2; }

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export PITON_HOME="$dir/home" PITON_NO_INPUT=1
mkdir "$dir/work"
cd "$dir/work"
cp "$here/three-tools.json" .
# What is left open here is not a message for piton.
exec </dev/null

run() {
    printf '$ piton'
    for word in "$@"; do
        case $word in
        *' '*) printf ' "%s"' "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    echo
    code=0
    "$piton" "$@" || code=$?
    echo "[exit $code]"
    echo
}

finished() {
    "$piton" print --json --raw 2>/dev/null | grep -c '"ToolFinished"' || true
}

echo "\$ piton query go --permissions auto --model script:three-tools.json &"
"$piton" query go --permissions auto --model script:three-tools.json &
agent=$!
until [ "$(finished)" = 2 ]; do sleep 0.05; done
kill -9 "$agent"
wait "$agent" 2>/dev/null || true
echo "[two of three tools have finished: killed]"
echo

run ls
run query "and now?"

echo "# ten times: piton query --continue, killed"
for kill in 1 2 3 4 5 6 7 8 9 10; do
    "$piton" query --continue >/dev/null 2>&1 &
    agent=$!
    sleep "0.0$kill"
    kill -9 "$agent" 2>/dev/null || true
    wait "$agent" 2>/dev/null || true
done
echo

touch go # what the third tool waits for
run query --continue
run print

for file in one.txt two.txt; do
    echo "$file has $(wc -l <"$file") line"
    [ "$(wc -l <"$file")" -eq 1 ] || exit 1
done
