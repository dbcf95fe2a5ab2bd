# The stage of the stories in this directory. It is read by them, and is no program.
#
# A story lists its points, plays them one by one, and stops with exit code 1 as soon as something does not hold.
# At its end it fails if a point of the list was not played, or was played without looking at anything.
#
# Needs no key and no network: models and providers are played on this machine. Works in a fresh directory and
# leaves nothing behind.
set -eu

piton=${PITON:-"${CARGO_TARGET_DIR:-"$here/../target"}/release/piton"}
[ -x "$piton" ] || { echo "no $piton: build it with cargo build --release, or set PITON" >&2; exit 2; }

# Longest wait for something that must happen, in looks of 0.05 s.
LOOKS_MAX=1200
# A provider of each dialect.
claude=anthropic/claude-sonnet-4-5
gpt=openai/gpt-5
chat=openai-chat/gpt-4o
gemini=gemini/gemini-3-pro

dir=$(mktemp -d)
pids=
# By number and one by one: nobody else's processes.
trap 'for pid in $pids; do kill -9 "$pid" 2>/dev/null || true; done; rm -rf "$dir"' EXIT
export PITON_NO_INPUT=1 NO_PROXY=127.0.0.1
# What is left open here is not a message for piton.
exec </dev/null

scene=
looked=0
: >"$dir/points" >"$dir/played"

fail() {
    echo "does not hold: $1" >&2
    [ -z "$scene" ] || echo "in the scene: $(sentence "$scene")" >&2
    exit 1
}

# The points of a story, from standard input: a word each, and the sentence that it stands for.
points() {
    grep -v '^ *$' | sed 's/^ *//' >"$dir/points"
}

sentence() {
    sed -n "s/^$1  *//p" "$dir/points"
}

# Begins the scene of a point.
play() {
    leave
    grep -q "^$1 " "$dir/points" || fail "$1 is a point of this story"
    ! grep -qx "$1" "$dir/played" || fail "$1 is played once"
    scene=$1
    looked=0
    echo "$1" >>"$dir/played"
    echo
    echo "== $(sentence "$1")"
}

# A scene that looks at nothing shows nothing.
leave() {
    [ -z "$scene" ] || [ "$looked" -gt 0 ] || fail "something is looked at"
}

# Ends the story.
the_end() {
    leave
    scene=
    missing=$(cut -d ' ' -f 1 "$dir/points" | grep -vxF -f "$dir/played" || true)
    [ -z "$missing" ] || fail "every point is played; missing:$(printf ' %s' $missing)"
    echo
    echo "$(wc -l <"$dir/played" | tr -d ' ') points played, all of them hold."
}

# A fresh home and a fresh workspace, and the script of its model from standard input.
world() {
    name=$1
    export PITON_HOME="$dir/$name/home"
    mkdir -p "$dir/$name/work"
    cd "$dir/$name/work"
    script=$dir/$name/script.json
    cat >"$script"
}

shown() {
    printf '$ piton'
    for word in "$@"; do
        word=$(printf %s "$word" | sed "s|$dir/||g")
        case $word in
        *' '*) printf ' "%s"' "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
}

# Runs piton and keeps what it says ($dir/said), what it tells people ($dir/told) and its exit code.
run() {
    shown "$@"
    echo
    code=0
    "$piton" "$@" >"$dir/said" 2>"$dir/told" || code=$?
    told
}

# Shows it; of data, the beginning of each line.
told() {
    sed "s|$dir/||g; s/^\({.\{100\}\).*/\1…/" "$dir/told" "$dir/said"
    echo "[exit $code]"
}

# The same in the background; $agent is its process.
behind() {
    shown "$@"
    echo " &"
    "$piton" "$@" >"$dir/said" 2>"$dir/told" &
    agent=$!
    pids="$pids $agent"
}

# Waits for the one in the background.
rejoin() {
    code=0
    wait "$agent" || code=$?
    told
}

kill_9() {
    kill -9 "$agent"
    wait "$agent" 2>/dev/null || true
    echo "[kill -9: $1]"
}

# Plays a provider that follows the script, and leads what follows to it. $bodies gets what it is asked.
served=0
provider() {
    served=$((served + 1))
    bodies=$dir/bodies.$served
    variables=$dir/variables.$served
    : >"$variables"
    "$piton" sim serve --script "$script" --bodies "$bodies" "$@" >"$variables" 2>"$dir/provider.$served" &
    pids="$pids $!"
    until_it "a provider is there" grep -q '^export OPENROUTER_API_KEY=' "$variables"
    . "$variables"
    echo "[a provider is played${1:+: $*}]"
}

until_it() {
    what=$1
    shift
    looks=0
    until "$@"; do
        looks=$((looks + 1))
        [ "$looks" -lt "$LOOKS_MAX" ] || fail "$what, and not only after a minute"
        sleep 0.05
    done
}

# What the provider was asked with its request of this number.
asked() {
    until_it "request $1 is made" test -e "$bodies/$1.json"
    echo "$bodies/$1.json"
}

# How many requests there were.
requests() {
    ls "$bodies" | grep -c '\.json$' || true
}

# The newest request, once it has these words.
last_asked() {
    until_it "it is asked: $1" is_asked "$1"
    echo "$bodies/$(requests).json"
}

is_asked() {
    grep -q -F -- "$1" "$bodies/$(requests).json" 2>/dev/null
}

# How many entries of a kind the journal of a conversation has: KIND [ID].
facts() {
    "$piton" print --json --raw ${2:+"$2"} 2>/dev/null | grep -c "\"event\":{\"type\":\"$1\"" || true
}

has_facts() {
    [ "$(facts "$1")" -ge "$2" ]
}

# The newest conversation of this workspace.
newest() {
    "$piton" ls --json 2>/dev/null | sed -n '1s/.*"conversation":"\([^"]*\)".*/\1/p'
}

status() {
    "$piton" ls --json 2>/dev/null | grep "\"conversation\":\"$1\"" | sed 's/.*"status":"\([^"]*\)".*/\1/'
}

lines_of() {
    cat "$1" 2>/dev/null | wc -l | tr -d ' '
}

times_in() {
    grep -o -F -- "$2" "$1" | wc -l | tr -d ' '
}

# Whether a file has these words, one behind the other.
in_order() {
    awk 'BEGIN { n = ARGC; for (i = 2; i < n; i++) { want[i] = ARGV[i]; delete ARGV[i] } }
        { text = text $0 "\n" }
        END {
            at = 1
            for (i = 2; i < n; i++) {
                found = index(substr(text, at), want[i])
                if (!found) exit 1
                at += found + length(want[i]) - 1
            }
        }' "$@"
}

# What is looked at. Each of these fails the story unless it holds.

holds() {
    looked=$((looked + 1))
    what=$1
    shift
    "$@" || fail "$what"
}

exits() {
    looked=$((looked + 1))
    [ "$code" = "$1" ] || fail "the exit code is $1"
}

same() {
    looked=$((looked + 1))
    [ "$2" = "$3" ] || fail "$1: $2, where $3 is right"
}

# So many requests were made, and no more.
made() {
    asked "$1" >"$dir/last"
    same "requests" "$(requests)" "$1"
}

says() {
    looked=$((looked + 1))
    grep -q -F -- "$1" "$dir/said" || fail "it says: $1"
}

says_not() {
    looked=$((looked + 1))
    ! grep -q -F -- "$1" "$dir/said" || fail "it does not say: $1"
}

tells() {
    looked=$((looked + 1))
    grep -q -F -- "$1" "$dir/told" || fail "it tells: $1"
}

tells_not() {
    looked=$((looked + 1))
    ! grep -q -F -- "$1" "$dir/told" || fail "it does not tell: $1"
}

# Whether the requests so far were taken: no provider has objected.
none_refused() {
    looked=$((looked + 1))
    ! grep -q ': 4[0-9][0-9]' "$dir"/provider.* || fail "no request is refused: $(grep -h ': 4[0-9][0-9]' "$dir"/provider.*)"
}
