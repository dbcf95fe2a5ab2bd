#!/bin/sh
# The story of turns that can be resumed: a turn that was left half-way is seen, shown, resumed where it stopped,
# or discarded; and nothing that was done is done again.
#
# Needs no key and no network. Works in a fresh directory and leaves nothing behind. Exits with 1 as soon as
# something of it does not hold, or was not played.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/stage.sh"

points <<'LIST'
each         Each result is kept as soon as its tool has ended, while others of the same answer still run.
before       An answer and all of its calls are kept before the first of them begins.
third        Of three tools two had ended: only the third runs after a kill.
promoted     A turn that was resumed to its end is a turn like any other, with the one message that it began with.
no_answer    A turn without an answer asks the model again: the message is not sent anew.
no_result    An answer whose calls have not begun runs all of them.
all_results  A turn whose tools have all ended asks the model, and runs none of them.
question     A question is kept when it is asked, and its answer when it is given; then the rest runs.
listed       The list says for each of them what it waits for.
printed      The incomplete turn is shown behind the complete ones, tool by tool.
refused      A new message is refused with the ways on, and nothing is written.
no_op        To continue where nothing is incomplete does nothing, and a message then goes as usual.
discarded    A turn that is discarded is gone from view, and the next message begins anew.
partial      A stream that was killed keeps what had come, and the end has no word twice.
stopped      A stream that a person stopped keeps what had come, and is not lost.
settings     What was chosen during the turn still holds when it is resumed.
fork         The fork of an incomplete turn is incomplete, and each of the two goes its own way.
middle       A fork in the middle of a turn is an incomplete turn, and no repaired one.
one_writer   While one process works on it, another one may read and may not write.
by_itself    Nothing is resumed by itself.
LIST

# A tool that only reads and waits for the file "go"; with it two that leave a line behind.
three() {
    world "$1" <<'JSON'
{"steps":[
  {"say":"Three at once.","calls":[{"tool":"first"},{"tool":"slow"},{"tool":"third"}]},
  {"say":"All three are done."},{"say":"Next."}],
 "tools":[
  {"name":"first","effect":"once","append_to":"first.log","output":"one"},
  {"name":"slow","effect":"read_only","wait_for":"go","output":"two"},
  {"name":"third","effect":"once","append_to":"third.log","output":"three"}]}
JSON
}
scripted() {
    run query "$@" --model "script:$script"
}

play each
three three
behind query "do three things" --permissions auto --model "script:$script"
until_it "two results are kept while the third tool runs" has_facts ToolFinished 2
same "results" "$(facts ToolFinished)" 2
holds "the agent still works" kill -0 "$agent"

play before
"$piton" print --json --raw >"$dir/journal" 2>/dev/null
holds "the answer stands in front of the first call" in_order "$dir/journal" '"type":"ModelAnswered"' '"type":"ToolStarted"'
holds "all calls are in the answer" in_order "$dir/journal" '"type":"ModelAnswered"' '"first"' '"slow"' '"third"' '"type":"ToolStarted"'

play third
kill_9 "two of three tools have ended"
id=$(newest)
run ls
says "interrupted (pending tool execution)"
touch go
run query --continue
exits 0
says "All three are done."
same "lines of the tools that had ended" "$(lines_of first.log) $(lines_of third.log)" "1 1"
tells "• slow"
tells_not "• first"
same "results" "$(facts ToolFinished)" 3

play promoted
same "the status in the list" "$(status "$id")" ""
same "messages and turns" "$(facts UserMessage) $(facts TurnStarted)" "1 1"
run print
says_not "Incomplete"
run query --continue
tells "There is no incomplete turn to continue."

play no_answer
world unanswered <<'JSON'
{"steps":[{"say":"Here I am."}]}
JSON
provider --fault 1:401
run query "is anybody there?" --model "$claude"
exits 1
unanswered=$(status "$(newest)")
provider
run query --continue
exits 0
says "Here I am."
same "messages" "$(facts UserMessage)" 1
same "how often the request has the message" "$(times_in "$(asked 1)" "is anybody there?")" 1

play no_result
three unbegun
sed 's/"effect":"read_only","wait_for":"go"/"effect":"once"/' "$script" >"$script.new"
mv "$script.new" "$script"
scripted "do three things"
exits 3
same "calls that have begun" "$(facts ToolStarted)" 0
unbegun=$(status "$(newest)")
run query --continue --permissions auto
exits 0
same "results" "$(facts ToolFinished)" 3
same "lines" "$(lines_of first.log) $(lines_of third.log)" "1 1"

play all_results
three answered
touch go
cp "$script" "$script.good"
sed 's/{"say":"All three are done."}/{"say":"x","faults":[{"kind":{"fail":"auth"}}]}/' "$script.good" >"$script"
scripted "do three things" --permissions auto
exits 1
answered=$(status "$(newest)")
cp "$script.good" "$script"
run query --continue
exits 0
says "All three are done."
tells_not "• first"
same "lines" "$(lines_of first.log) $(lines_of third.log)" "1 1"

play question
world question <<'JSON'
{"steps":[
  {"say":"I look, and I ask.","calls":[
    {"tool":"look"},
    {"tool":"ask_user","arguments":{"question":"Overwrite the file?","options":["yes","no"]}},
    {"tool":"rest"}]},
  {"say":"As you like."}],
 "tools":[
  {"name":"look","effect":"once","append_to":"look.log","output":"seen"},
  {"name":"rest","effect":"read_only","wait_for":"go","output":"rested"}]}
JSON
behind query "go" --permissions auto --model "script:$script"
until_it "the question is kept" has_facts InquiryRaised 1
until_it "the first tool has ended" has_facts ToolFinished 1
kill_9 "a question is open"
asking=$(newest)
waiting=$(status "$asking")
run answer
says "Overwrite the file?"
run answer no
exits 0
same "answers that are kept" "$(facts InquiryAnswered)" 1
touch go
run query --continue
exits 0
says "As you like."
tells "✓ rest"
same "how often it was asked" "$(facts InquiryRaised)" 1
same "lines of the tool that had ended" "$(lines_of look.log)" 1

play listed
same "a question" "$waiting" "waiting-for-input (ask_user)"
same "no answer" "$unanswered" "interrupted (pending LLM response)"
same "no follow-up" "$answered" "interrupted (pending follow-up)"
same "calls that wait for permission" "$unbegun" "waiting-for-input (first)"
same "one that is over" "$(status "$asking")" ""

play printed
world printed <<'JSON'
{"steps":[
  {"say":"Hello."},
  {"say":"I will modify those files for you.","calls":[
    {"tool":"check"},{"tool":"list_dir","arguments":{"path":"."}},
    {"tool":"write_file","arguments":{"path":"a.txt","content":"x\n"}}]},
  {"say":"Modified."}],
 "tools":[{"name":"check","effect":"read_only","output":"fine"}]}
JSON
scripted "hello"
scripted "modify them"
exits 3
printed=$(newest)
run print
holds "the complete turn, then the other" in_order "$dir/said" "> hello" "Hello." "⏳ Incomplete turn (waiting for input)" \
    "> modify them" "I will modify those files for you."
says "✓ check — completed"
says "✓ list_dir: . — completed"
says '⏸ write_file: a.txt — waiting for input: "Run write_file: a.txt?"'

play refused
entries=$("$piton" print --json --raw | wc -l)
run query "something else"
exits 6
tells "Conversation $printed has an incomplete turn."
tells 'Waiting for input: write_file — "Run write_file: a.txt?"'
tells "piton query --continue --id $printed"
tells "piton query --discard-turn --id $printed"
same "entries in the journal" "$("$piton" print --json --raw | wc -l)" "$entries"

play discarded
run query --discard-turn --id "$printed"
exits 0
run print
says "Hello."
says_not "modify them"
holds "the journal keeps it" has_facts UserMessage 2
scripted "modify them after all"
same "the status in the list" "$(status "$printed")" "waiting-for-input (write_file)"
run query --discard-turn

play no_op
world noop <<'JSON'
{"steps":[{"say":"One."},{"say":"Two."}]}
JSON
scripted "first"
entries=$("$piton" print --json --raw | wc -l)
run query --continue
exits 0
same "entries in the journal" "$("$piton" print --json --raw | wc -l)" "$entries"
run query --continue "second"
exits 0
says "Two."
same "turns" "$(facts TurnStarted)" 2

play partial
world partial <<'JSON'
{"steps":[{"say":"The answer is a long one.","chunk":4}]}
JSON
provider --fault 1:stall,after=8
behind query "tell me" --model "$claude"
until_it "some of it is kept" has_facts ModelPartial 1
kill_9 "the answer was streaming"
run print
says "The "
says "[the answer broke off here]"
provider
run query --continue
exits 0
run print
same "how often the answer is there" "$(times_in "$dir/said" "The answer is a long one.")" 1

play stopped
world stopped <<'JSON'
{"steps":[{"say":"The answer is a long one.","chunk":4},{"say":"And on it goes."}]}
JSON
provider --fault 1:stall,after=8
behind query "tell me" --model "$claude"
until_it "some of it is kept" has_facts ModelPartial 1
kill -TERM "$agent"
rejoin
exits 130
tells "[interrupted]"
run print
says "The "
provider
run query --continue "and then?"
exits 0

play settings
world settings <<'JSON'
{"steps":[{"say":"One.","calls":[{"tool":"list_dir","arguments":{"path":"."}}]},{"say":"Two."}]}
JSON
provider --fault 2:401
run query "go" --model "$claude"
exits 1
provider --fault 1:stall --fault 2:stall
behind query --continue --model "$gemini" --effort high
until_it "the other model is asked" has_facts ModelAsked 3
kill_9 "the model was changed in the middle of the turn"
provider
run query --continue
exits 0
tells "model $gemini"
until_it "the provider that was chosen last is asked" grep -q "GenerateContent" "$dir/provider.$served"

play fork
world forked <<'JSON'
{"steps":[
  {"say":"I ask.","calls":[{"tool":"write_file","arguments":{"path":"a.txt","content":"x\n"}}]},
  {"say":"That is that."}]}
JSON
scripted "go"
exits 3
origin=$(newest)
run fork
exits 0
tells "the last one incomplete"
fork=$(cat "$dir/said")
same "both wait" "$(status "$origin") / $(status "$fork")" "waiting-for-input (write_file) / waiting-for-input (write_file)"
run answer no --continue --id "$fork"
exits 0
holds "in the fork it was not written" test ! -e a.txt
same "the other one still waits" "$(status "$origin")" "waiting-for-input (write_file)"
run answer yes --continue --id "$origin"
exits 0
same "the file" "$(cat a.txt)" x

play middle
entry=$("$piton" print --json --raw "$origin" | grep '"type":"ModelAnswered"' | head -n 1 | sed 's/.*"seq":\([0-9]*\).*/\1/')
run fork "$origin" --entry "$entry"
exits 0
middle=$(cat "$dir/said")
same "no result is made up for it" "$("$piton" print --json --raw "$middle" | grep -c '"event":{"type":"ToolFinished"' || true)" 0
holds "it is incomplete" test -n "$(status "$middle")"
run print "$middle"
says "⏳ Incomplete turn"
run query --continue --id "$middle" --permissions read-only
exits 0
says "That is that."

play one_writer
three held
behind query "do three things" --permissions auto --model "script:$script"
until_it "it works" has_facts ToolFinished 2
code=0
shown query "me too" --lock-wait 0
echo
"$piton" query "me too" --lock-wait 0 >"$dir/said.2" 2>"$dir/told.2" || code=$?
sed "s|$dir/||g" "$dir/told.2"
exits 5
same "messages" "$(facts UserMessage)" 1
holds "it can be read" "$piton" print
kill_9 "it worked"

play by_itself
same "the status in the list" "$(status "$(newest)")" "interrupted (pending tool execution)"
"$piton" ls >/dev/null
"$piton" print >/dev/null 2>&1
run query "go on, please"
exits 6
same "results" "$(facts ToolFinished)" 2

the_end
