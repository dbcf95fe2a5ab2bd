#!/bin/sh
# Tries to lose a command: kills the agent with `kill -9` while a command runs, in six ways, and goes on each
# time. The command appends one line to a file; it must never have two, and its exit status must be right or
# be said to be unknown.
#
# Needs no key and no network. Works in fresh directories and leaves nothing behind. SECONDS_LONG=20 by default.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
piton=${PITON:-"${CARGO_TARGET_DIR:-"$here/../target"}/release/piton"}
[ -x "$piton" ] || { echo "no $piton: build it with cargo build --release, or set PITON" >&2; exit 2; }
long=${SECONDS_LONG:-20}
short=${SECONDS_SHORT:-5}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export PITON_NO_INPUT=1
bad=0

# A fresh home, and an agent that runs a command of so many seconds.
begin() {
    echo
    echo "== $1 ($2 s)"
    export PITON_HOME="$dir/$3/home"
    mkdir -p "$dir/$3/work"
    cd "$dir/$3/work"
    cat >script.json <<JSON
{"steps":[
  {"calls":[{"tool":"shell","arguments":{"command":"echo begun; echo \$\$ > pid; sleep $2; echo line >> file; echo ended; exit 7"}}]},
  {"say":"Done."}]}
JSON
    "$piton" query go --permissions auto --model script:script.json >/dev/null 2>&1 &
    agent=$!
    until [ -s pid ]; do sleep 0.05; done
}

kill_agent() {
    kill -9 "$agent"
    wait "$agent" 2>/dev/null || true
    echo "[agent $agent: kill -9]"
}

# The supervisors: who runs our binary with this home and is not the agent. Looked for while the agent lives: on
# a busy machine that takes its time, and the command does not wait for us.
supervisors() {
    for proc in /proc/[0-9]*; do
        [ "${proc#/proc/}" != "$agent" ] || continue
        [ "$(readlink "$proc/exe" 2>/dev/null)" = "$(readlink -f "$piton")" ] || continue
        tr '\0' '\n' <"$proc/environ" 2>/dev/null | grep -qx "PITON_HOME=$PITON_HOME" || continue
        echo "${proc#/proc/}"
    done
}

until_gone() {
    while [ -d "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; do sleep 0.1; done
}

go_on() {
    echo "\$ piton query --continue"
    "$piton" query --continue --permissions auto 2>&1 || true
}

# How many lines the file has, and a word that the result of the call must have.
expect() {
    lines=$(cat file 2>/dev/null | wc -l)
    result=$("$piton" print --json --raw | grep '"ToolFinished"')
    if [ "$lines" -eq "$1" ] && echo "$result" | grep -q "$2"; then
        echo "ok: the file has $lines line(s), and the result says: $2"
    else
        echo "WRONG: the file has $lines line(s), wanted $1; result, wanted $2: $result"
        bad=$((bad + 1))
    fi
}

begin "the command goes on without its agent, and is attached to" "$long" attach
kill_agent
go_on
expect 1 '"exit_code":7'

begin "it ends while nobody is there" "$short" absent
kill_agent
until_gone "$(cat pid)"
go_on
expect 1 '"exit_code":7'

begin "one supervisor is killed" "$short" one
pids=$(supervisors | head -n 1)
kill_agent
kill -9 $pids
go_on
expect 1 '"exit_code":7'

begin "both supervisors are killed" "$short" both
pids=$(supervisors)
kill_agent
kill -9 $pids
go_on
expect 1 '"exit_code":7\|unknown'

begin "the machine restarts" "$short" reboot
pids="$(supervisors) $(cat pid)"
kill_agent
kill -9 $pids
echo "[supervisors and command: kill -9]"
if unshare -m true 2>/dev/null; then
    cat /proc/sys/kernel/random/uuid >"$dir/boot"
    echo "\$ piton query --continue    # with another boot id"
    unshare -m sh -c 'mount --bind "$1" /proc/sys/kernel/random/boot_id && exec "$2" query --continue --permissions auto' \
        sh "$dir/boot" "$piton" 2>&1 || true
    expect 0 unknown
else
    echo "skipped: another boot id needs the right to make a mount namespace"
fi

begin "it is stopped from another terminal" "$long" cancel
echo "\$ piton ps"
"$piton" ps
command=$("$piton" ps | awk 'NR == 2 { print $1 }')
echo "\$ piton kill $command"
"$piton" kill "$command"
wait "$agent" || true
expect 0 'stopped\|killed\|signal'

echo
[ "$bad" -eq 0 ] || { echo "$bad of 6 went wrong"; exit 1; }
echo "all as it should be"
