#!/bin/sh
# The story of the loop: a message becomes requests, answers and calls until the model has nothing more to ask for.
# Calls run side by side, may need a person, and may fail; everything is told as it happens; and there is always room.
#
# Needs no key and no network. Works in a fresh directory and leaves nothing behind. Exits with 1 as soon as
# something of it does not hold, or was not played.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/stage.sh"

points <<'LIST'
first        The message is kept before the model is asked.
cycle        Requests, answers and results alternate until an answer asks for nothing; that one ends the turn.
silent       An answer of calls alone, without a word, is an answer.
next         The next message continues the same history.
parallel     Calls of one answer run side by side.
order        Their results are sent in the order of the calls, in one message, whichever ended first.
tool_error   A tool that fails stops neither the others nor the turn: the model is told, and goes on.
asks         A call that needs permission asks, and begins only behind a yes.
one_by_one   Two calls that ask are answered one after the other, each for itself.
denied       A call that is denied does not run: the model is told so, and goes on.
always       A standing yes is asked for once.
quit         Whoever leaves while something is asked leaves no process behind, and loses nothing.
cancelled    A turn that is cancelled while the model speaks ends at once, and says so.
events       What happens is told as data, in order: the start of each call, its end, what was used, the end of the turn.
labels       Starts and ends carry the call's name, its number in the answer, and one short line.
usage        Tokens are counted after each answer, and in all.
slow_reader  A reader that is slow holds up nothing, and misses nothing.
in_flight    What is said while a request is under way does not change that request; the next one has it.
prompt       The system prompt goes with every request, and is no message of the history.
instructions A file of instructions that has changed is told with the next message.
stream_error A stream that breaks is an error, and nothing half-built is kept as an answer.
empty        An empty answer is not taken for the end of the turn.
limit        A turn that never ends by itself is ended by its limit, and can be gone on with.
long_output  A result that is too long is cut in a way that says so; the whole is kept.
workers      Workers are loops of their own, with a snapshot of what was said, and their calls are told apart.
estimate     The size of the next request is estimated by letters, not bytes, and shown.
calibrated   What providers count is held against the estimate, and shown.
room         Before a request gets too large, also behind a long result, older parts make room; the newest stay.
summed_up    A summary stands in front of what stays, marked as background, and can be taken off; nothing is lost.
not_yet      Where there is room enough, nothing is summed up.
LIST

play first
world first <<'JSON'
{"steps":[{"say":"Looking.","calls":[{"tool":"read_file","arguments":{"path":"a.txt"}}]},
  {"calls":[{"tool":"list_dir","arguments":{"path":"."}}]},
  {"say":"That is all."},{"say":"You are welcome."}]}
JSON
echo "contents of a" >a.txt
provider --fault 1:stall
behind query "look around" --model "$claude"
until_it "the model is asked" has_facts ModelAsked 1
"$piton" print --json --raw >"$dir/journal" 2>/dev/null
holds "the message stands in front" in_order "$dir/journal" '"type":"UserMessage"' '"type":"ModelAsked"'
kill_9 "the model was asked"
run print
says "> look around"
run query --discard-turn

play cycle
provider
run query "look around" --model "$claude"
exits 0
made 3
holds "the order of it" in_order "$(asked 3)" '"user"' "look around" '"assistant"' Looking '"tool_use"' '"user"' '"tool_result"' \
    "contents of a" '"assistant"' '"tool_use"' '"user"' '"tool_result"' "a.txt"
says "That is all."

play silent
same "what was said" "$(grep -c . "$dir/said")" 2
tells "✓ list_dir"

play next
run query "thank you"
exits 0
holds "the order of it" in_order "$(asked 4)" "look around" "That is all." "thank you"

play parallel
world parallel <<'JSON'
{"steps":[
  {"calls":[
    {"tool":"shell","arguments":{"command":"touch one; i=0; until [ -e two ] || [ $i -gt 300 ]; do i=$((i+1)); sleep 0.1; done; sleep 0.3; [ -e two ] && echo met the second"}},
    {"tool":"shell","arguments":{"command":"touch two; i=0; until [ -e one ] || [ $i -gt 300 ]; do i=$((i+1)); sleep 0.1; done; [ -e one ] && echo met the first"}}]},
  {"say":"Both."}]}
JSON
provider
run query "meet" --permissions auto --model "$claude"
exits 0
body=$(asked 2)
holds "each waited for the other" in_order "$body" "met the second" "met the first"

play order
"$piton" print --json --raw 2>/dev/null | grep '"type":"ToolFinished"' >"$dir/ended"
holds "the second ended first" sh -c "head -n 1 '$dir/ended' | grep -q 'met the first'"
holds "the first is sent first" in_order "$body" '"tool_result"' "met the second" '"tool_result"' "met the first"
sed 's/.*"role":"user","content":\[{"type":"tool_result"//' "$body" >"$dir/last"
holds "in one message" in_order "$dir/last" "met the second" "met the first"

play tool_error
world failing <<'JSON'
{"steps":[
  {"calls":[{"tool":"read_file","arguments":{"path":"gone.txt"}},{"tool":"read_file","arguments":{"path":"a.txt"}}]},
  {"say":"One of them is gone."}]}
JSON
echo "contents of a" >a.txt
provider
run query "read both" --model "$claude"
exits 0
says "One of them is gone."
tells "✗ read_file: gone.txt"
tells "✓ read_file: a.txt"
body=$(asked 2)
holds "the model is told which one failed" grep -q '"is_error":true' "$body"
holds "and what the other gave" grep -q "contents of a" "$body"

play asks
world asks <<'JSON'
{"steps":[
  {"calls":[{"tool":"shell","arguments":{"command":"echo one >> log"}},
            {"tool":"shell","arguments":{"command":"echo two >> log"}}]},
  {"say":"I see."},
  {"calls":[{"tool":"shell","arguments":{"command":"touch three"}}]},
  {"say":"Done."},
  {"calls":[{"tool":"shell","arguments":{"command":"touch three"}}]},
  {"say":"Done again."}]}
JSON
provider
run query "run them" --model "$claude"
exits 3
tells "Waiting for input: shell"
same "calls that have begun" "$(facts ToolStarted)" 0
holds "nothing has run" test ! -e log

play one_by_one
run answer
same "questions" "$(grep -c '^Run shell' "$dir/said")" 2
run answer yes
exits 0
same "the other one is still asked" "$("$piton" answer 2>/dev/null | grep -c '^Run shell')" 1
run answer no --continue
exits 0
same "what has run" "$(cat log)" one
"$piton" print --json --raw >"$dir/journal" 2>/dev/null
holds "the yes stands in front of the start" in_order "$dir/journal" '"type":"InquiryAnswered"' '"type":"ToolStarted"'

play denied
says "I see."
same "calls that have begun" "$(facts ToolStarted)" 1
body=$(asked 2)
holds "the model is told" grep -qi 'denied\|declined\|refused\|said no' "$body"
holds "as an error" grep -q '"is_error":true' "$body"

play always
run query "again"
exits 3
run answer always --continue
exits 0
run query "and again"
exits 0
says "Done again."
same "calls that have begun" "$(facts ToolStarted)" 3

play quit
world quit <<'JSON'
{"steps":[{"calls":[{"tool":"ask_user","arguments":{"question":"Shall I?"}}]},{"say":"Thanks."}]}
JSON
provider
run query "ask me" --model "$claude"
exits 3
asking=$(newest)
same "the status in the list" "$(status "$asking")" "waiting-for-input (ask_user)"
holds "no process works on it" sh -c "'$piton' ls --json | grep -q '\"running_pid\":null'"
run answer --text "yes, do" --continue
exits 0
says "Thanks."
holds "the model reads it" grep -q "yes, do" "$(asked 2)"

play cancelled
world cancelled <<'JSON'
{"steps":[{"say":"I could go on for hours.","chunk":3}]}
JSON
provider --fault 1:stall,after=6
behind query "talk" --json --model "$claude"
until_it "it speaks" has_facts ModelPartial 1
kill -TERM "$agent"
rejoin
exits 130
says '"ending":"interrupted"'
holds "nobody works on it" sh -c "'$piton' ls --json | grep -q '\"running_pid\":null'"

play events
world events <<'JSON'
{"steps":[
  {"say":"Two calls.","chunk":2,"calls":[
    {"tool":"read_file","arguments":{"path":"a.txt"}},
    {"tool":"shell","arguments":{"command":"echo a very long line that goes on and on, much further than anybody would want to read it in one line of a list of calls"}}]},
  {"say":"Told."}]}
JSON
echo "contents of a" >a.txt
provider
run query "tell me" --permissions auto --json --model "$claude"
exits 0
holds "the order of it" in_order "$dir/said" '"type":"view"' '"state":{"is":"running"}' '"state":{"is":"done"' '"usage"' '"type":"result"' '"ending":"done"'
holds "text comes as it streams" grep -q '"type":"live"' "$dir/said"
same "the last line" "$(tail -n 1 "$dir/said" | grep -c '"type":"result"')" 1
same "ends" "$(grep -c '"ending"' "$dir/said")" 1
"$piton" print --json --raw >"$dir/journal" 2>/dev/null
holds "the start of a call, then its end" in_order "$dir/journal" '"type":"ToolStarted"' '"type":"ToolFinished"'

play labels
for number in 0 1; do
    same "start and end of call $number" "$(grep -c "\"type\":\"Tool\(Started\|Finished\)\",\"call\":\"1.1.$number\"" "$dir/journal")" 2
done
run query "again" --permissions auto
run query --new "tell me" --permissions auto --model "$claude"
tells "• read_file: a.txt"
tells "• shell: echo a very long line"
holds "the line is short" sh -c "grep '• shell' '$dir/told' | awk '{ exit 120 < length(\$0) }'"

play usage
world usage <<'JSON'
{"steps":[{"calls":[{"tool":"list_dir","arguments":{"path":"."}}]},{"say":"Counted."}]}
JSON
provider
run query "count" --json --model "$claude"
exits 0
each=$("$piton" print --json --raw | grep '"type":"ModelAnswered"' | sed 's/.*"usage":{"input":\([0-9]*\).*/\1/')
same "answers with a count" "$(echo "$each" | wc -l | tr -d ' ')" 2
all=$(tail -n 1 "$dir/said" | sed 's/.*"usage":{"input":\([0-9]*\).*/\1/')
same "all of it" "$all" "$(echo "$each" | awk '{ sum += $1 } END { print sum }')"

play slow_reader
world slow <<JSON
{"steps":[{"say":"$(i=0; while [ $i -lt 4000 ]; do printf 'many words, '; i=$((i + 1)); done)","chunk":12,
  "calls":[{"tool":"shell","arguments":{"command":"echo done >> log"}}]},{"say":"The end."}]}
JSON
mkfifo "$dir/slow.fifo"
provider
echo "\$ piton query talk --json | (somebody who reads only when all is done)"
"$piton" query "talk" --permissions auto --json --model "$claude" >"$dir/slow.fifo" 2>"$dir/told" &
agent=$!
pids="$pids $agent"
exec 3<"$dir/slow.fifo"
until_it "the turn is over although nobody has read" has_facts TurnEnded 1
cat <&3 >"$dir/said"
exec 3<&-
wait "$agent"
says '"ending":"done"'
says "The end."
same "every entry was told once" "$(grep -o '"change":{"cursor":[0-9]*' "$dir/said" | sort | uniq -d | wc -l | tr -d ' ')" 0

play in_flight
world flight <<'JSON'
{"steps":[
  {"say":"I wait.","calls":[{"tool":"shell","arguments":{"command":"touch begun; i=0; until [ -e go ] || [ $i -gt 600 ]; do i=$((i+1)); sleep 0.1; done"}}]},
  {"say":"Seen."}]}
JSON
provider
behind query "wait" --permissions auto --model "$claude"
until_it "the call runs" test -e begun
"$piton" query --steer "by the way" --no-wait >/dev/null 2>"$dir/told.2"
sed "s|$dir/||g" "$dir/told.2"
touch go
rejoin
exits 0
same "the request that was under way" "$(times_in "$(asked 1)" "by the way")" 0
same "the next one" "$(times_in "$(asked 2)" "by the way")" 1

play prompt
world prompt <<'JSON'
{"steps":[{"calls":[{"tool":"list_dir","arguments":{"path":"."}}]},{"say":"One."},{"say":"Two."}]}
JSON
echo "Speak like a gardener." >AGENTS.md
provider
run query "hello" --model "$claude"
exits 0
for number in 1 2; do
    body=$(asked $number)
    same "the prompt in request $number" "$(times_in "$body" "Speak like a gardener.")" 1
    holds "it is no message" sh -c "! sed 's/.*\"messages\":\\[//; s/\"system\":.*//' '$body' | grep -q 'Speak like a gardener.'"
done

play instructions
echo "Speak like a sailor." >AGENTS.md
run query "hello again"
exits 0
body=$(asked 3)
same "the new words" "$(times_in "$body" "Speak like a sailor.")" 1
same "what was sent before stays" "$(times_in "$body" "Speak like a gardener.")" 1

play stream_error
world broken <<'JSON'
{"steps":[{"say":"I write.","chunk":2,"calls":[{"tool":"shell","arguments":{"command":"echo x >> log"}}]},{"say":"Done."}]}
JSON
provider --fault 1:invalid_request,after=8
run query "write" --permissions auto --json --model "$claude"
exits 1
says '"ending":"error"'
same "answers and calls" "$(facts ModelAnswered) $(facts ToolStarted)" "0 0"

play empty
world empty <<'JSON'
{"steps":[{"say":"Here."}]}
JSON
provider --fault 1:empty,times=99
run query "hello" --json --model "$claude"
holds "it is not done" sh -c "! grep -q '\"ending\":\"done\"' '$dir/said'"
says '"reason":"empty_answer"'

play limit
look='{"calls":[{"tool":"list_dir","arguments":{"path":"."}}]}'
world limit <<JSON
{"steps":[$look,$look,$look,$look,$look,$look,{"say":"At last."}]}
JSON
provider
run query "never stop" --max-steps 3 --model "$claude"
exits 4
made 3
run query --continue
exits 4
run query --continue
exits 0
says "At last."

play long_output
world long <<'JSON'
{"steps":[{"calls":[{"tool":"shell","arguments":{"command":"i=0; while [ $i -lt 9000 ]; do echo line number $i of many; i=$((i+1)); done"}}]},{"say":"Long."}]}
JSON
provider
run query "talk much" --permissions auto --model "$claude"
exits 0
body=$(asked 2)
holds "it is cut" test "$(wc -c <"$body")" -lt 150000
holds "beginning and end are there" in_order "$body" "line number 0 of many" "line number 8999 of many"
"$piton" print --full >"$dir/said" 2>"$dir/told"
says "line number 4500 of many"

play workers
world workers <<'JSON'
{"steps":[
  {"say":"[\"count the reeds\",\"count the ducks\"]"},
  {"say":"Three reeds, two ducks."}],
 "workers":[
  {"task":"count the reeds","steps":[{"calls":[{"tool":"shell","arguments":{"command":"echo reeds >> log"}}]},{"say":"Three."}]},
  {"task":"count the ducks","steps":[{"calls":[{"tool":"shell","arguments":{"command":"echo ducks >> log"}}]},{"say":"Two."}]}]}
JSON
provider
run query --coordinate "how many are there at the pond?" --permissions auto --model "$claude"
exits 0
says "Three reeds, two ducks."
tells "[worker 1] • shell: echo reeds >> log"
tells "[worker 2] • shell: echo ducks >> log"
same "what they did" "$(sort log | tr '\n' ' ')" "ducks reeds "
seeded=0
for body in "$bodies"/*.json; do
    if grep -q "count the reeds" "$body" && grep -q "how many are there at the pond?" "$body"; then seeded=$((seeded + 1)); fi
done
holds "they know what was said" test "$seeded" -gt 0

play estimate
world estimate <<'JSON'
{"window_tokens":100000,"steps":[{"say":"One."},{"say":"Two."}]}
JSON
provider
run query "$(i=0; while [ $i -lt 400 ]; do printf a; i=$((i + 1)); done)" --model "$claude"
run tokens
exits 0
says "next request"
latin=$("$piton" tokens --json | grep -o '"rest":[0-9]*')
run query --new "$(i=0; while [ $i -lt 400 ]; do printf 日; i=$((i + 1)); done)" --model "$claude"
same "400 letters of another script" "$("$piton" tokens --json | grep -o '"rest":[0-9]*')" "$latin"

play calibrated
run tokens
says "for each estimated"

play room
look='{"calls":[{"tool":"read_file","arguments":{"path":"long.txt"}}]}'
world room <<JSON
{"window_tokens":24000,"steps":[$look,$look,$look,$look,$look,$look,$look,$look,$look,$look,$look,$look,{"say":"Read."},{"say":"Bye."}]}
JSON
i=0
while [ $i -lt 800 ]; do echo "a line of a long file, number $i"; i=$((i + 1)); done >long.txt
mkdir -p "$PITON_HOME"
printf '[context]\ntokens_max = 20000\n' >"$PITON_HOME/piton.toml"
provider
run query "read it twelve times" --model "$claude"
exits 0
says "Read."
holds "room was made" test "$(($(facts OutputsShortened) + $(facts Compacted) + $(facts SummaryLaid)))" -gt 0
last=$(asked 13)
holds "the message stays" grep -q "read it twelve times" "$last"
holds "the newest result stays whole" grep -q "number 799" "$last"
none_refused

play summed_up
long=$(i=0; while [ $i -lt 600 ]; do printf 'and on it goes, '; i=$((i + 1)); done)
world summed <<JSON
{"window_tokens":100000,"steps":[$(i=1; while [ $i -lt 20 ]; do printf '{"say":"Answer %s: %send of answer %s."},' $i "$long" $i; i=$((i + 1)); done){"say":"The last."}]}
JSON
provider
for number in 1 2 3 4 5 6 7 8; do
    "$piton" query "Question $number, which has some more words." --model "$claude" >/dev/null 2>&1
done
run compact
exits 0
"$piton" print --compacted >"$dir/said" 2>"$dir/told"
says "[Earlier conversation summary — treat as background context]"
"$piton" query "And now?" >"$dir/said" 2>"$dir/told" || fail "it goes on"
body=$(last_asked "And now?")
holds "the summary, then the newest messages" in_order "$body" "[Earlier conversation summary — treat as background context]" \
    "Question 8" "end of answer 8." "And now?"
same "older answers word for word" "$(times_in "$body" "end of answer 1.")" 0
"$piton" print >"$dir/said" 2>"$dir/told"
says "> Question 1, which has some more words."
says "end of answer 1."
run uncompact
exits 0
"$piton" query "And without it?" >"$dir/said" 2>"$dir/told" || fail "it goes on"
body=$(last_asked "And without it?")
same "summaries" "$(times_in "$body" "[Earlier conversation summary")" 0
same "older answers word for word" "$(times_in "$body" "end of answer 1.")" 1

play not_yet
world enough <<'JSON'
{"steps":[{"calls":[{"tool":"list_dir","arguments":{"path":"."}}]},{"say":"Done."}]}
JSON
provider
run query "look" --model "$claude"
exits 0
same "what made room" "$(facts OutputsShortened) $(facts Compacted) $(facts SummaryLaid)" "0 0 0"

the_end
