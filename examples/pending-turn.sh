#!/bin/sh
# The story of the pending turn: whatever ends a turn early, its work stays and is sent along with the next words.
#
# Needs no key and no network. Works in a fresh directory and leaves nothing behind. Exits with 1 as soon as
# something of it does not hold, or was not played.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/stage.sh"

points <<'LIST'
done         A turn that ends well is done: the answer is there, and nothing is pending.
plain        Where nothing is pending, a request has the message, the calls and the results, and nothing else.
error        An API error behind some work leaves an incomplete turn, and it is told once, at its end.
kept         All of that work is kept: every answer, every call, every result; and it is shown in one place.
resume       The next words go behind it: the model gets the request, the work, and then these words.
not_again    No tool runs a second time.
once         Later requests have that work once, not twice.
again        A turn that fails a second time keeps the work of both times.
retries      A request that fails on its way is sent again in sight, and that changes nothing of the turn.
empty        An empty answer behind some work is an incomplete turn, and not a turn that is done.
limit        A turn that has used up its steps is incomplete, and not done; it goes on with as many again.
interrupted  An interrupt keeps the work, and says so.
half         Half an answer is no answer: it is shown as broken off, and the step is asked for again.
no_work      An error before any work is an error; the message is kept, and nothing else is pending.
endings      Programs read from one word how a turn ended.
native       Every provider gets the work in its own form, and takes it.
switch       Another provider takes the turn over, work and all.
crash        A process that dies loses none of it.
cleared      A turn that is discarded is not sent any more.
LIST

steps='
  {"say":"I read it.","calls":[{"tool":"read_file","arguments":{"path":"auth.go"}}]},
  {"say":"I change it.","calls":[{"tool":"shell","arguments":{"command":"echo edited >> log"}}]}'
refactor() {
    world "$1" <<JSON
{"steps":[$steps,
  {"say":"The module is refactored.","chunk":6},
  {"say":"You are welcome."}]}
JSON
    echo "package auth" >auth.go
}
# How the turn ended, for programs.
ending() {
    sed 's/.*"ending":"\([^"]*\)","reason":\("\([^"]*\)"\|null\).*/\1 \3/; s/ $//' "$dir/result"
}
begin() {
    run query "refactor the auth module" --permissions auto --result-file "$dir/result" --model "${model:-$claude}" "$@"
}
echo >"$dir/endings"
note_ending() {
    echo "$(ending)" >>"$dir/endings"
}

play done
refactor first
provider
begin
exits 0
says "The module is refactored."
same "the ending" "$(ending)" done
note_ending
same "the status in the list" "$(status "$(newest)")" ""
same "turns that are over" "$(facts TurnEnded)" 1

play plain
made 3
body=$(asked 3)
same "the message is there so often" "$(times_in "$body" "refactor the auth module")" 1
same "calls" "$(times_in "$body" '"type":"tool_use"')" 2
same "results" "$(times_in "$body" '"type":"tool_result"')" 2
none_refused

play error
refactor second
provider --fault 3:500,times=99,wait=1
begin
same "the ending" "$(ending)" "incomplete api_error"
note_ending
same "how often it is told" "$(grep -c 'The turn is incomplete' "$dir/told")" 1
same "the status in the list" "$(status "$(newest)")" "interrupted (pending follow-up)"

play kept
run print
for said in "> refactor the auth module" "I read it." "I change it."; do
    same "how often print has: $said" "$(times_in "$dir/said" "$said")" 1
done
same "calls that are shown as completed" "$(grep -c '^✓ .* — completed$' "$dir/said")" 2
run print --full
says "package auth"

play resume
provider
run query --continue "continue"
exits 0
says "The module is refactored."
body=$(asked 1)
holds "the order of it" in_order "$body" "refactor the auth module" "I read it." '"tool_use"' '"tool_result"' \
    "package auth" "I change it." '"tool_use"' "echo edited" '"tool_result"' '"continue"'
made 1

play not_again
same "lines that the command wrote" "$(lines_of log)" 1
same "calls that were begun" "$(facts ToolStarted)" 2

play once
run query "thank you"
exits 0
body=$(asked 2)
for said in "refactor the auth module" "I read it." "I change it." "package auth" '"continue"'; do
    same "how often the request has: $said" "$(times_in "$body" "$said")" 1
done
run print
same "how often print has it" "$(times_in "$dir/said" "I change it.")" 1

play again
refactor twice
provider --fault 2:401
begin
exits 1
provider --fault 3:401
run query --continue "go on"
exits 1
provider
run query --continue "and on"
exits 0
body=$(asked 1)
holds "the order of it" in_order "$body" "refactor the auth module" "I read it." "package auth" '"go on"' "I change it." \
    '"tool_result"' '"and on"'
same "lines that the command wrote" "$(lines_of log)" 1

play retries
refactor retried
provider --fault 2:529,times=2,wait=1
begin
exits 0
tells "try 1 of 5"
tells "try 2 of 5"
same "answers" "$(facts ModelAnswered)" 3
same "messages" "$(facts UserMessage)" 1
same "lines that the command wrote" "$(lines_of log)" 1
body=$(asked 4)
same "requests that were sent again are the same" "$(cksum <"$(asked 2)")" "$(cksum <"$body")"

play empty
refactor empty
provider --fault 3:empty,times=99
begin
same "the ending" "$(ending)" "incomplete empty_answer"
note_ending
same "turns that are over" "$(facts TurnEnded)" 0
provider
run query --continue
exits 0
same "lines that the command wrote" "$(lines_of log)" 1

play limit
refactor limit
provider
begin --max-steps 2
exits 4
same "the ending" "$(ending)" "incomplete max_steps"
note_ending
run query --continue
exits 0
says "The module is refactored."
same "lines that the command wrote" "$(lines_of log)" 1

play interrupted
refactor interrupted
provider --fault 3:stall
behind query "refactor the auth module" --permissions auto --result-file "$dir/result" --model "$claude"
until_it "the third request is made" has_facts ModelAsked 3
run stop
exits 0
cp "$dir/told" "$dir/told.stop"
wait "$agent" && code=0 || code=$?
exits 130
same "the ending" "$(ending)" "interrupted interrupted"
note_ending
run print
says "[interrupted]"
says "I change it."
provider
run query --continue "continue"
exits 0
same "lines that the command wrote" "$(lines_of log)" 1

play half
refactor half
provider --fault 3:invalid_request,after=5
begin
run print
says "The mod"
says "[the answer broke off here]"
same "answers that count" "$(facts ModelAnswered)" 2
provider
run query --continue
exits 0
run print
same "how often the answer is there" "$(times_in "$dir/said" "The module is refactored.")" 1

play no_work
refactor nowork
provider --fault 1:401
begin
exits 1
same "the ending" "$(ending)" "error api_error"
note_ending
same "answers and calls that are kept" "$(facts ModelAnswered) $(facts ToolStarted)" "0 0"
run print
says "> refactor the auth module"

play endings
sed '/^$/d' "$dir/endings"
same "words that tell them apart" "$(sed '/^$/d' "$dir/endings" | sort -u | wc -l | tr -d ' ')" 6

play native
for model in "$claude" "$gpt" "$chat" "$gemini"; do
    refactor "native-${model%%/*}"
    provider --fault 3:401
    begin
    exits 1
    provider
    run query --continue "continue"
    exits 0
    says "The module is refactored."
    body=$(asked 1)
    holds "the order of it" in_order "$body" "refactor the auth module" "package auth" "echo edited" "continue"
    same "lines that the command wrote" "$(lines_of log)" 1
done
unset model

play switch
refactor switch
provider --fault 3:401
begin
provider
run query --continue "continue" --model "$gemini"
exits 0
body=$(asked 1)
holds "the order of it" in_order "$body" "refactor the auth module" functionCall functionResponse "package auth" "continue"
same "lines that the command wrote" "$(lines_of log)" 1

play crash
refactor crash
provider --fault 3:stall
behind query "refactor the auth module" --permissions auto --model "$claude"
until_it "the third request is made" has_facts ModelAsked 3
kill_9 "the model was asked for the third time"
provider
run query --continue "continue"
exits 0
holds "the order of it" in_order "$(asked 1)" "refactor the auth module" "package auth" "echo edited" '"continue"'
same "lines that the command wrote" "$(lines_of log)" 1

play cleared
refactor cleared
provider --fault 3:401
begin
run query --discard-turn
exits 0
provider
run query "what is auth.go?"
body=$(asked 1)
same "how often the request has the old message" "$(times_in "$body" "refactor the auth module")" 0
holds "the journal keeps it" has_facts ToolFinished 2

the_end
