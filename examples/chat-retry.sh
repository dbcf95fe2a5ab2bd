#!/bin/sh
# The story of a message that failed and is tried again: it is sent with two files to one provider, which refuses the
# key. The files are deleted, another provider is chosen, and the same message is tried again. There is one message in
# the end, with both files, and every attempt can be compared.
#
# Needs no key and no network. Works in a fresh directory and leaves nothing behind. Exits with 1 as soon as
# something of it does not hold, or was not played.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/stage.sh"

points <<'LIST'
offered      Retry is offered where the message failed, by the name of its conversation; the failure is told once.
by_itself    Nothing is tried again by itself, and nobody else is asked.
same_message The same message is tried again: one message, one id, and the conversation goes on.
model        The model is the one that is chosen now, also of another provider.
files        The files come from what was stored: the originals are gone, and both are sent as they were.
inline       A file of text is sent as text in a fixed form, so that every provider takes it; a picture stays a file.
effects      What the first attempt did is not undone, and is named before the second one begins.
attempts     Both attempts are kept, and can be compared.
no_pile      However often it is tried again, nothing is added to the message.
fails_again  An attempt that fails leaves the message as it was, and offers retry again.
agent        Who answered the message answers it again: what was coordinated is coordinated.
log          Each retry is a line in the log.
list         The list shows the conversation as it is now: at its top, and without an error.
older        A message with later ones behind it is not tried again over their heads: fork there.
by_name      A message is chosen by the beginning of its id.
refused      A model that cannot take a file is refused before anything is hidden.
killed       Killed at any point, it goes on: one message, its files, and nothing done twice.
LIST

attempt_file() {
    world "$1" <<'JSON'
{"steps":[
  {"calls":[{"tool":"shell","arguments":{"command":"echo effect >> effects"}}]},
  {"say":"It is a dot."},{"say":"Yes."}]}
JSON
    printf '\211PNG\r\n\032\n' >dot.png
    printf 'one\r\ntwo\r\n' >notes.txt
}
message_of() {
    "$piton" print --attempts --json "$@" 2>/dev/null | tail -n 1 | sed 's/.*"message":"\([^"]*\)".*/\1/'
}

play offered
attempt_file first
provider --fault 2:401,times=9
run query "What is this?" -f dot.png -f notes.txt --permissions auto --model "$chat"
exits 1
id=$(newest)
tells "piton retry --id $id"
same "how often the failure is told" "$(grep -c 'Incorrect API key' "$dir/told")" 1
run print
same "how often print tells it" "$(grep -c 'Incorrect API key' "$dir/said")" 1
message=$(message_of)

play by_itself
same "attempts" "$("$piton" print --attempts --json | wc -l | tr -d ' ')" 1
made 2
same "conversations" "$("$piton" ls --json | wc -l | tr -d ' ')" 1
rm dot.png notes.txt

play same_message
provider
run retry --model "$claude"
exits 0
says "It is a dot."
cp "$dir/told" "$dir/told.retry"
run print
same "messages that are shown" "$(grep -c '^> What is this?$' "$dir/said")" 1
same "messages that are recorded" "$(facts UserMessage)" 1
same "its id" "$(message_of)" "$message"
same "the conversation" "$(newest)" "$id"

play model
holds "the second provider was asked" grep -q '^anthropic POST' "$dir/provider.$served"
same "the model of the conversation" "$("$piton" print --json | grep -o '"model":{"provider":"[a-z-]*"' | head -n 1)" \
    '"model":{"provider":"anthropic"'

play files
run print
says '> [image dot.png, 8 bytes]'
says '> [file notes.txt, 10 bytes]'
body=$(asked 1)
same "pictures in the request" "$(times_in "$body" '"type":"image"')" 1
same "with what was in it" "$(times_in "$body" "iVBORw0KGgo=")" 1
same "the text in the request" "$(times_in "$body" 'one\r\ntwo')" 1

play inline
first=$dir/bodies.1/1.json
same "the same text for both providers" "$(times_in "$first" 'one\r\ntwo')" 1
form='Attached file: notes.txt\nMIME: text/plain\none\r\ntwo\r\n'
same "one form for both" "$(times_in "$first" "$form") $(times_in "$body" "$form")" "1 1"
same "pictures for the first one" "$(times_in "$first" '"type":"image_url"')" 1
same "files for the first one" "$(times_in "$first" '"type":"file"')" 0

play effects
cp "$dir/told.retry" "$dir/told"
tells "What attempt 1 did is not undone:"
tells "shell: echo effect >> effects"
holds "named before the second attempt begins" in_order "$dir/told" "is not undone" "• shell"
same "effects" "$(lines_of effects)" 2

play attempts
run print --attempts
says "attempt 1 of 2 · openai-chat/gpt-4o · failed"
says "attempt 2 of 2 · anthropic/claude-sonnet-4-5 · answered"
says "attempts 1, 2: ✓ shell: echo effect >> effects — completed"

play no_pile
provider
run retry
exits 0
run retry
exits 0
same "the same request each time" "$(cksum <"$(asked 1)")" "$(cksum <"$(asked 3)")"
same "messages that are recorded" "$(facts UserMessage)" 1
same "attempts" "$("$piton" print --attempts --json | wc -l | tr -d ' ')" 4
run print
same "files that are shown" "$(grep -c '^> \[' "$dir/said")" 2

play fails_again
provider --fault 1:401,times=9
run retry --model "$gemini"
exits 1
tells "piton retry --id $id"
run print
says '> [image dot.png, 8 bytes]'
provider
run retry --model "$gpt"
exits 0
says "It is a dot."
same "attempts" "$("$piton" print --attempts --json | wc -l | tr -d ' ')" 6

play log
same "retries in the log" "$(grep -c 'a message is tried again' "$PITON_HOME/log/piton.log")" 5
holds "with what matters" grep -q "a message is tried again .*conversation=$id.*message_id=$message.*files=2" "$PITON_HOME/log/piton.log"

play list
same "the status in the list" "$(status "$id")" ""
run query --new "another one" --model demo
sleep 0.01
run retry --id "$id"
exits 0
same "the newest" "$(newest)" "$id"

play older
run query "Sure?" --id "$id"
exits 0
run retry "$message" --id "$id"
exits 2
tells "belongs to an earlier turn"
tells "fork"
same "messages that are shown" "$("$piton" print "$id" | grep -c '^> Sure?$')" 1
run fork "$id" --behind "$message"
exits 0
fork=$(cat "$dir/said")
run query --continue --permissions auto --id "$fork"
exits 0
run print "$fork"
same "messages that are shown there" "$(grep -c '^> What is this?$' "$dir/said")" 1
says '> [image dot.png, 8 bytes]'

play by_name
second=$(message_of "$id")
holds "another message" test "$second" != "$message"
run retry "$(printf %s "$second" | cut -c 1-6)" --id "$id"
exits 0
run retry nobody --id "$id"
exits 2
tells "there is no message nobody"

play agent
world agent <<'JSON'
{"steps":[{"say":"[\"one\"]"},{"say":"Both."}],"workers":[{"task":"one","steps":[{"say":"1"}]}]}
JSON
provider --fault 1:401
run query --coordinate "go" --model "$claude"
exits 1
provider
run retry --model "$chat"
exits 0
says "Both."
holds "it was coordinated again" grep -q '"agent":"coordinator"' <<AGENT
$("$piton" print --json)
AGENT

play refused
world refused <<'JSON'
{"steps":[{"say":"Seen."}]}
JSON
printf '%%PDF-1.7 \377' >a.pdf
provider
run query "see" -f a.pdf --model "$claude"
exits 0
run retry --model "codex/gpt-5-codex"
exits 1
tells "cannot be sent"
same "retries" "$(facts MessageRetried)" 0
run print
says "Seen."

play killed
kills=0
printf '{"steps":[{"say":"x","faults":[{"kind":{"fail":"auth"}}]}]}' >"$dir/fails.json"
for wait in 0.00 0.02 0.04 0.06 0.08 0.10 0.13 0.16 0.20 0.25 0.30 0.40; do
    attempt_file "killed-$wait"
    "$piton" query "What is this?" -f dot.png -f notes.txt --permissions auto --model "script:$dir/fails.json" >/dev/null 2>&1 || true
    cp "$script" "$dir/works.json"
    rm dot.png notes.txt
    "$piton" retry --model "script:$dir/works.json" >/dev/null 2>&1 &
    agent=$!
    sleep "$wait"
    if kill -9 "$agent" 2>/dev/null; then kills=$((kills + 1)); fi
    wait "$agent" 2>/dev/null || true
    if [ "$(facts MessageRetried)" = 0 ]; then
        "$piton" retry --model "script:$dir/works.json" >/dev/null 2>&1 || true
    else
        "$piton" query --continue --permissions auto >/dev/null 2>&1 || true
    fi
    run print
    same "messages" "$(grep -c '^> What is this?$' "$dir/said")" 1
    says '> [image dot.png, 8 bytes]'
    says '> [file notes.txt, 10 bytes]'
    says "It is a dot."
    same "attempts" "$("$piton" print --attempts --json | wc -l | tr -d ' ')" 2
done
echo "[killed $kills times]"
holds "it was killed" test "$kills" -gt 0

the_end
