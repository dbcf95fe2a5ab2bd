#!/bin/sh
# The story of a message that failed: it is sent with two files to one provider, which refuses the key. The
# files are deleted, another provider is chosen, and the same message is tried again. There is one message in
# the end, with both files, and two attempts that can be compared.
#
# Needs no key and no network: both providers are played on loopback. Works in a fresh directory and leaves
# nothing behind. Exits with 1 as soon as something of it does not hold.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
piton=${PITON:-"${CARGO_TARGET_DIR:-"$here/../target"}/release/piton"}
[ -x "$piton" ] || { echo "no $piton: build it with cargo build --release, or set PITON" >&2; exit 2; }

dir=$(mktemp -d)
servers=
# By name and one by one: nobody else's processes.
trap 'for server in $servers; do kill "$server" 2>/dev/null || true; done; rm -rf "$dir"' EXIT
export PITON_HOME="$dir/home" PITON_NO_INPUT=1 NO_PROXY=127.0.0.1
mkdir "$dir/work"
cd "$dir/work"
exec </dev/null

fail() {
    echo "does not hold: $1" >&2
    exit 1
}

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
    "$piton" "$@" >"$dir/said" 2>"$dir/told" || code=$?
    cat "$dir/told" "$dir/said"
    echo "[exit $code]"
    echo
}

# Plays a provider, and leads what follows to it.
provider() {
    name=$1
    shift
    "$piton" sim serve --script "$dir/script.json" "$@" >"$dir/$name" 2>"$dir/$name.log" &
    servers="$servers $!"
    until grep -q '^export OPENROUTER_API_KEY=' "$dir/$name"; do sleep 0.05; done
    . "$dir/$name"
}

cat >"$dir/script.json" <<'JSON'
{"steps": [
  {"calls": [{"tool": "write_file", "arguments": {"path": "answer.txt", "content": "a dot\n"}}]},
  {"say": "It is a dot."}]}
JSON
printf '\211PNG\r\n\032\n' >dot.png
printf 'one\r\ntwo\r\n' >notes.txt

provider first --fault 2:401,times=9
run query "What is this?" -f dot.png -f notes.txt --permissions auto --model openai-chat/gpt-4o
[ "$code" = 1 ] || fail "the first provider refuses the second request"
grep -q "piton retry --id" "$dir/told" || fail "retry is offered by name"
rm dot.png notes.txt

provider second
run retry --model anthropic/claude-sonnet-4-5
[ "$code" = 0 ] || fail "the second attempt succeeds"
grep -q "What attempt 1 did is not undone:" "$dir/told" || fail "effects that stand are named"
grep -q "write_file: answer.txt" "$dir/told" || fail "the file that was written is named"

run print
[ "$(grep -c '^> What is this?$' "$dir/said")" = 1 ] || fail "there is one user message"
grep -q '^> \[image dot.png, 8 bytes\]$' "$dir/said" || fail "the picture is still attached"
grep -q '^> \[file notes.txt, 10 bytes\]$' "$dir/said" || fail "the text is still attached"
grep -q '^It is a dot.$' "$dir/said" || fail "the answer is there"

run print --attempts
grep -q 'attempt 1 of 2 · openai-chat/gpt-4o · failed' "$dir/said" || fail "the first attempt is kept"
grep -q 'attempt 2 of 2 · anthropic/claude-sonnet-4-5 · answered' "$dir/said" || fail "the second is beside it"

messages=$("$piton" print --json --raw | grep -c '"type":"UserMessage"')
[ "$messages" = 1 ] || fail "the message is recorded once"
grep -q 'a message is tried again .*files=2' "$PITON_HOME/log/piton.log" || fail "the log has a line on it"
echo "One message, two attempts, nothing lost."
