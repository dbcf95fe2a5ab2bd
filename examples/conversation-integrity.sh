#!/bin/sh
# The story of a history that every provider takes: whatever went wrong before, each call is followed by exactly one
# result, no result stands without its call, and the next message is answered. The providers played here reject what
# real ones reject.
#
# Needs no key and no network. Works in a fresh directory and leaves nothing behind. Exits with 1 as soon as
# something of it does not hold, or was not played.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/stage.sh"

points <<'LIST'
clean        A clean history is sent as it is: the next request begins with the one before.
abort        Calls that an abort cut off each get a result, in words that are true.
after_abort  The next message is answered: its request has one result for each call, right behind it.
no_op        To mend what is whole changes nothing.
worker       An abort while a worker is at work leaves a history that is taken, too.
stream_error An error in the middle of a stream makes no answer, and starts no tool.
healed       Behind a stream that failed, the next message is answered.
half_call    A call of which only half has come does not run.
nameless     A call without a name does not run; one without an id runs, and gets an id.
arguments    Arguments that are no JSON are the model's mistake: it is told, and the turn goes on.
deep         In a history that came from elsewhere, calls without results are found however deep they lie.
moved        A result that stands too late is moved behind its call.
stripped     Results without a call are left out, and so are second results.
no_calls     Messages with empty lists of calls, and with none, stay as they are.
shapes       Calls written in different shapes are read alike.
all_take_it  Every provider takes that history.
reload       A history that was broken by a kill is whole when it is read again.
compaction   When old outputs make room, no result loses its call.
LIST

# A command that runs until "go" is there, or for a minute.
hold='echo begun >> begun; i=0; until [ -e go ] || [ $i -gt 600 ]; do i=$((i+1)); sleep 0.1; done; echo ended >> ended'

# Whether each call of a request to Claude has one result: as many, and each id twice.
paired() {
    calls=$(times_in "$1" '"type":"tool_use"')
    results=$(times_in "$1" '"type":"tool_result"')
    [ "$calls" = "$results" ]
}

play clean
world clean <<'JSON'
{"steps":[{"say":"I look.","calls":[{"tool":"list_dir","arguments":{"path":"."}}]},{"say":"Nothing."},{"say":"Bye."}]}
JSON
provider
run query "what is here?" --model "$chat"
exits 0
run query "good bye"
exits 0
# All of the second request but the brackets at its end.
begins=$(($(wc -c <"$(asked 2)") - 2))
same "how it begins" "$(head -c "$begins" "$(asked 3)" | cksum)" "$(head -c "$begins" "$(asked 2)" | cksum)"
none_refused

play abort
world abort <<JSON
{"steps":[
  {"say":"Both.","calls":[
    {"tool":"shell","arguments":{"command":"$hold"}},
    {"tool":"shell","arguments":{"command":"$hold; true"}}]},
  {"say":"I see."},{"say":"Bye."}]}
JSON
provider
behind query "run both" --permissions auto --model "$claude"
two_begun() { [ "$(lines_of begun)" = 2 ]; }
until_it "both commands run" two_begun
run stop
exits 0
wait "$agent" || true
same "results" "$(facts ToolFinished)" 2
run print
same "calls that are shown as cancelled" "$(grep -c 'cancelled' "$dir/said")" 2
holds "neither command came to its end" test ! -e ended

play after_abort
run query --continue "never mind"
exits 0
says "I see."
body=$(asked 2)
holds "one result for each call" paired "$body"
holds "right behind it" in_order "$body" "run both" '"tool_use"' '"tool_use"' '"tool_result"' '"tool_result"' "never mind"
same "results that say they went well" "$(grep -c 'exit code 0' "$body" || true)" 0
none_refused

play no_op
entries=$("$piton" print --json --raw | wc -l)
run query --continue
exits 0
same "entries in the journal" "$("$piton" print --json --raw | wc -l)" "$entries"
run query "bye"
exits 0
same "results" "$(facts ToolFinished)" 2
same "how the request begins" "$(times_in "$(asked 3)" '"tool_result"')" 2

play worker
world worker <<JSON
{"steps":[
  {"say":"I hand it on.","calls":[{"tool":"delegate","arguments":{"task":"wait for it"}}]},
  {"say":"I see."}],
 "workers":[{"task":"wait for it","steps":[
  {"calls":[{"tool":"shell","arguments":{"command":"$hold"}}]},{"say":"Waited."}]}]}
JSON
provider
behind query "let somebody wait" --permissions auto --model "$claude"
until_it "the worker's command runs" test -s begun
run stop
exits 0
wait "$agent" || true
run query --continue "never mind"
exits 0
says "I see."
holds "one result for each call" paired "$(last_asked "never mind")"
none_refused

play stream_error
world streamed <<'JSON'
{"steps":[
  {"say":"I write it down.","calls":[{"tool":"shell","arguments":{"command":"echo written >> log"}}],"chunk":3},
  {"say":"Bye."}]}
JSON
provider --fault 1:invalid_request,after=12,times=99
run query "write it down" --permissions auto --model "$claude"
exits 1
same "answers and calls" "$(facts ModelAnswered) $(facts ToolStarted)" "0 0"
holds "nothing was written" test ! -e log
same "the status in the list" "$(status "$(newest)")" "interrupted (pending LLM response)"

play healed
provider
run query --continue "once more"
exits 0
same "lines that were written" "$(lines_of log)" 1
none_refused_here() { ! grep -q ': 4[0-9][0-9]' "$dir/provider.$served"; }
holds "no request is refused" none_refused_here

play half_call
world half <<'JSON'
{"steps":[
  {"calls":[{"tool":"shell","arguments":{"command":"echo written >> log"}}],"chunk":3},
  {"say":"Bye."}]}
JSON
provider --fault 1:cut,after=6 --fault 1:drop,after=8 --fault 1:no-end
run query "write it down" --permissions auto --model "$claude"
same "lines that were written" "$(lines_of log)" 1
same "calls that were begun" "$(facts ToolStarted)" 1
sed 's/"chunk":3/"chunk":3,"end":"length"/' "$script" >"$script.new" && mv "$script.new" "$script"
provider
run query --new "write it down" --permissions auto --model "$claude"
same "lines that were written" "$(lines_of log)" 1
holds "no request is refused" none_refused_here

play nameless
world nameless <<'JSON'
{"steps":[
  {"calls":[{"tool":"","arguments":{"command":"echo one >> log"}},
            {"tool":"shell","id":"","arguments":{"command":"echo two >> log"}}]},
  {"say":"Bye."}]}
JSON
run query "call them" --permissions auto --model "script:$script"
exits 0
same "what was written" "$(cat log)" two
provider
run query "and now?" --model "$claude"
exits 0
holds "one result for each call" paired "$(asked 1)"
holds "no request is refused" none_refused_here

play arguments
world arguments <<'JSON'
{"steps":[
  {"calls":[{"tool":"shell","raw":"{\"command\": \"echo one >> lo"}]},
  {"say":"I was wrong."},{"say":"Bye."}]}
JSON
provider
run query "call it" --permissions auto --model "$chat"
exits 0
says "I was wrong."
holds "nothing was written" test ! -e log
run query "and now?" --model "$claude"
exits 0
holds "one result for each call" paired "$(last_asked "and now?")"
holds "no request is refused" none_refused_here

play deep
world deep <<'JSON'
{"steps":[{"say":"0"},{"say":"1"},{"say":"2"},{"say":"3"},{"say":"4"},{"say":"5"},{"say":"On."},{"say":"On."},{"say":"On."},{"say":"On."}]}
JSON
cat >"$dir/broken.json" <<'JSON'
[{"role": "user", "content": "look around"},
 {"role": "assistant", "content": [
   {"type": "tool_use", "id": "a", "name": "look", "input": {"at": "north"}},
   {"type": "tool_use", "id": "b", "name": "look", "input": {"at": "south"}}]},
 {"role": "user", "content": "never mind"},
 {"role": "assistant", "content": "As you like."},
 {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "b", "content": "a late lake"}]},
 {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "nobody", "content": "a stray cat"}]},
 {"role": "user", "content": "and up?"},
 {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "look", "input": {"at": "up"}}]},
 {"role": "user", "content": [
   {"type": "tool_result", "tool_use_id": "c", "content": "a blue sky"},
   {"type": "tool_result", "tool_use_id": "c", "content": "a grey sky"}]},
 {"role": "assistant", "content": "The sky."},
 {"role": "user", "content": "and down?"},
 {"role": "assistant", "content": [{"type": "tool_use", "id": "d", "name": "look", "input": {"at": "down"}}]}]
JSON
run import "$dir/broken.json"
exits 0
broken=$(cat "$dir/said")
tells "2 calls without a result, outcome unknown"
provider
run query --continue "go on" --id "$broken" --model "$claude"
exits 0
body=$(asked 1)
holds "one result for each call" paired "$body"
same "calls" "$(times_in "$body" '"type":"tool_use"')" 4
same "results of which nobody knows what became" "$(times_in "$body" "its outcome is unknown")" 2

play moved
holds "the late result stands behind its call" in_order "$body" '"north"' '"south"' "a late lake" "never mind"

play stripped
tells_nothing=$(times_in "$body" "a stray cat")
same "results without a call" "$tells_nothing" 0
same "first and second result" "$(times_in "$body" "a blue sky") $(times_in "$body" "a grey sky")" "1 0"
run print "$broken"
says "The sky."

play no_calls
cat >"$dir/empty.json" <<'JSON'
[{"role": "user", "content": "hello"},
 {"role": "assistant", "content": "Hello.", "tool_calls": []},
 {"role": "user", "content": "again"},
 {"role": "assistant", "content": "Hello again.", "tool_calls": null},
 {"role": "user", "content": "once more"},
 {"role": "assistant", "content": "And again."}]
JSON
run import "$dir/empty.json"
exits 0
tells_not "without a result"
run query "bye" --id "$(cat "$dir/said")" --model "$chat"
exits 0
body=$(last_asked "bye")
holds "all of it, and no call" in_order "$body" hello "Hello." again "Hello again." "once more" "And again." bye
same "calls" "$(times_in "$body" '"tool_calls"')" 0

play shapes
cat >"$dir/mixed.json" <<'JSON'
[{"role": "user", "content": "three ways"},
 {"role": "assistant", "content": [{"type": "tool_use", "id": "m1", "name": "look", "input": {"at": "one"}}]},
 {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "m1", "content": "saw one"}]},
 {"role": "assistant", "content": null, "tool_calls": [
   {"id": "m2", "type": "function", "function": {"name": "look", "arguments": "{\"at\": \"two\"}"}}]},
 {"role": "tool", "tool_call_id": "m2", "content": "saw two"},
 {"type": "function_call", "call_id": "m3", "name": "look", "arguments": "{\"at\": \"three\"}"},
 {"type": "function_call_output", "call_id": "m3", "output": "saw three"},
 {"role": "assistant", "content": "Seen."}]
JSON
run import "$dir/mixed.json"
exits 0
tells_not "without a result"
mixed=$(cat "$dir/said")
run query "so long" --id "$mixed" --model "$claude"
exits 0
body=$(last_asked "so long")
holds "one result for each call" paired "$body"
holds "the order of it" in_order "$body" '"one"' "saw one" '"two"' "saw two" '"three"' "saw three"

play all_take_it
for model in "$gpt" "$chat" "$gemini" "$claude"; do
    run query "and now, $model?" --id "$broken" --model "$model"
    exits 0
    says "On."
done
holds "no request is refused" none_refused_here

play reload
world reload <<JSON
{"steps":[
  {"say":"Both.","calls":[
    {"tool":"shell","arguments":{"command":"echo quick"}},
    {"tool":"pay"}]},
  {"say":"I see."}],
 "tools":[{"name":"pay","effect":"once","append_to":"paid","wait_for":"go","output":"paid"}]}
JSON
behind query "run both" --permissions auto --model "script:$script"
until_it "one has ended, the other runs" has_facts ToolStarted 2
until_it "one has ended" has_facts ToolFinished 1
kill_9 "two commands were asked for, one had ended"
provider
run query --continue "never mind" --model "$claude" --unattended deny
exits 0
body=$(asked 1)
holds "one result for each call" paired "$body"
holds "the outcome of the other is said to be unknown" grep -q "unknown" "$body"
holds "no request is refused" none_refused_here

play compaction
look='{"calls":[{"tool":"read_file","arguments":{"path":"long.txt"}}]}'
world room <<JSON
{"window_tokens":24000,"steps":[$look,$look,$look,$look,$look,$look,$look,$look,{"say":"Read."},{"say":"Bye."}]}
JSON
i=0
while [ $i -lt 800 ]; do echo "a line of a long file, number $i"; i=$((i + 1)); done >long.txt
provider
run query "read it eight times" --model "$claude"
exits 0
holds "room was made" test "$(($(facts OutputsShortened) + $(facts Compacted) + $(facts SummaryLaid)))" -gt 0
for body in "$bodies"/*.json; do
    holds "one result for each call in every request" paired "$body"
done
run query "bye"
exits 0
holds "no request is refused for its order" sh -c "! grep ': 4[0-9][0-9]' '$dir/provider.$served' | grep -v 'too long'"

the_end
