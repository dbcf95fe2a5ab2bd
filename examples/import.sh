#!/bin/sh
# Broken sessions of other agents become conversations: each is imported, printed, and gone on with by a provider that
# rejects what real ones reject. In the end there is a table of what was mended.
#
# Plays with the files of the tests, and with sessions of real agents where those are at hand: beside the repository
# in ../shared/sessions, or where PITON_SESSIONS says. Other files and directories can be named as arguments.
#
# Needs no key and no network. Works in a fresh directory and leaves nothing behind. Exits with 1 as soon as
# something of it does not hold, or was not played.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/stage.sh"

points <<'LIST'
imported     Every file becomes a conversation, and says line by line what was mended.
printed      Each of them can be read.
goes_on      Each of them goes on with another provider, by a request that is taken.
untouched    No file of others is changed.
once         The same file is the same conversation, however often it is imported.
LIST

files=$here/../crates/piton-import/tests/import/files
sessions=${PITON_SESSIONS:-$here/../../shared/sessions}
world import <<'JSON'
{"steps":[]}
JSON

# The sources, one per line: a file, or a directory with one case.
{
    for file in "$files"/*; do
        case $file in */empty.jsonl | */unknown.txt) ;; *) echo "$file" ;; esac
    done
    if [ -d "$sessions" ]; then
        ls -d "$sessions"/*/*/ | sed 's|/$||'
    fi
    for file in "$@"; do echo "$file"; done
} >"$dir/sources"
[ -d "$sessions" ] || echo "sessions of real agents are not at hand: only the files of the tests are played"
sums() {
    while read -r source; do find "$source" -type f -exec cksum {} +; done <"$dir/sources"
}
sums >"$dir/sums"

play imported
: >"$dir/imported"
while read -r source <&3; do
    code=0
    "$piton" import "$source" --json >"$dir/said" 2>"$dir/told" || code=$?
    [ "$code" = 0 ] || cat "$dir/told" >&2
    exits 0
    name=$(echo "$source" | sed 's#.*/sessions/##; s#.*/files/##')
    grep '"type":"imported"' "$dir/said" | sed "s|^|$name |" >>"$dir/imported"
done 3<"$dir/sources"
count=$(wc -l <"$dir/imported" | tr -d ' ')
echo "$(wc -l <"$dir/sources" | tr -d ' ') sources, $count conversations"
holds "there are some" test "$count" -gt 14

# Name and id of each.
sed 's/^\([^ ]*\) .*"conversation":"\([^"]*\)".*/\1 \2/' "$dir/imported" | awk '!seen[$2]++' >"$dir/ids"

play printed
while read -r name id <&3; do
    "$piton" print "$id" >"$dir/said" 2>"$dir/told" || fail "$name can be printed"
    holds "$name says something" test -s "$dir/said"
done 3<"$dir/ids"

play goes_on
provider
set -- "$claude" "$gpt" "$chat" "$gemini"
while read -r name id <&3; do
    model=$1
    shift
    set -- "$@" "$model"
    code=0
    "$piton" query -c "and now?" --id "$id" --model "$model" >"$dir/said" 2>"$dir/told" || code=$?
    [ "$code" = 0 ] || { echo "$name with $model:" && cat "$dir/told"; } >&2
    exits 0
done 3<"$dir/ids"
none_refused
asked "$(wc -l <"$dir/ids" | tr -d ' ')" >"$dir/last"
taken() { [ "$(grep -c ': 200' "$dir/provider.$served")" = "$(requests)" ]; }
until_it "all requests are taken" taken

# A second opinion on what was sent, where one is at hand.
validator=${PITON_VALIDATOR:-$here/../../shared/wire/validate/validate.py}
python=${PYTHON:-python3}
if [ -f "$validator" ] && "$python" -c 'import pydantic, anthropic, openai, google.genai' 2>/dev/null; then
    number=0
    grep ' POST ' "$dir/provider.$served" | while read -r dialect _; do
        number=$((number + 1))
        mkdir -p "$dir/sent.$dialect"
        cp "$bodies/$number.json" "$dir/sent.$dialect"
    done
    for sent in "$dir"/sent.*; do
        case $sent in
        *.anthropic) set -- -p anthropic ;;
        *.openai-chat) set -- -p openai_chat ;;
        *.gemini) set -- -p gemini --model gemini-3-pro-preview ;;
        *) set -- -p openai_responses ;;
        esac
        # It takes a tool of ours that is called web_fetch for the provider's own, so what it says of tools is left out.
        "$python" "$validator" "$@" --quiet "$sent"/*.json |
            sed 's/{"rule": "SHAPE", "path": "tools\.[^}]*}//g' >"$dir/verdicts" || true
        passed=$(grep -c '"errors": \[[, ]*\]' "$dir/verdicts" || true)
        grep -v '"errors": \[[, ]*\]' "$dir/verdicts" >&2 || true
        all=$(ls "$sent" | wc -l | tr -d ' ')
        echo "a validator of others, $2: $passed of $all bodies pass"
        same "bodies that pass" "$passed" "$all"
    done
else
    echo "no validator of others is at hand (see dev/check-bodies)"
fi

play untouched
sums | cmp -s - "$dir/sums" && same "sums of all files" same same || fail "no file is changed"

play once
before=$("$piton" ls --all --json | wc -l)
source=$(head -n 1 "$dir/sources")
run import "$source"
exits 0
tells "was imported before"
same "conversations" "$("$piton" ls --all --json | wc -l)" "$before"

echo
echo "What was mended, left out or noted:"
echo
awk '
    {
        name = $1
        if (!match($0, /"counts":\{[^}]*\}/)) next
        counts = substr($0, RSTART + 10, RLENGTH - 11)
        rows[name] = 1
        n = split(counts, all, ",")
        for (i = 1; i <= n; i++) {
            split(all[i], pair, ":")
            kind = pair[1]; gsub(/"/, "", kind)
            cell[name, kind] += pair[2]
            total[kind] += pair[2]
        }
        if (!(name in order)) { order[name] = ++last; names[last] = name }
    }
    END {
        for (i = 1; i <= last; i++) {
            line = ""
            for (kind in total) if ((names[i], kind) in cell) line = line sprintf("  %s %d", kind, cell[names[i], kind])
            printf "%-34s%s\n", names[i], line == "" ? "  nothing" : line
        }
        print ""
        for (kind in total) printf "%6d %s\n", total[kind], kind | "sort -rn"
    }' "$dir/imported"

the_end
