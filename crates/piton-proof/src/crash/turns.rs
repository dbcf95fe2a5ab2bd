//! The turns that are disturbed: each shows another way through the decide table.

use piton_core::event::{InDoubtPolicy, PermissionMode};
use piton_sim::script::Script;

/// A conversation to disturb.
#[derive(Clone, Copy, Debug)]
pub struct TurnScript {
    /// What it shows.
    pub name: &'static str,
    /// What the user sends, in order.
    pub messages: &'static [&'static str],
    /// What the model does.
    pub json: &'static str,
    /// What may run without asking.
    pub mode: PermissionMode,
    /// What happens to calls in doubt.
    pub in_doubt: InDoubtPolicy,
    /// Context budget in tokens; 0 is none.
    pub context_tokens_max: u64,
    /// Whether its turns are coordinated.
    pub coordinated: bool,
    /// Whether a person is there all the time.
    pub attended: bool,
    /// The tools whose calls hooks look at.
    pub hooked: &'static [&'static str],
    /// Whether the last message, which then has files, is tried again when its turn is over.
    pub retried: bool,
}

impl TurnScript {
    /// The parsed script. A script that does not parse says so instead of answering.
    pub fn script(&self) -> Script {
        Script::parse(self.json).unwrap_or_default()
    }
}

const fn turn(name: &'static str, json: &'static str) -> TurnScript {
    TurnScript {
        name,
        messages: &["do it"],
        json,
        mode: PermissionMode::Auto,
        // Nobody is there.
        in_doubt: InDoubtPolicy::TellModel,
        context_tokens_max: 0,
        coordinated: false,
        attended: false,
        hooked: &[],
        retried: false,
    }
}

/// Turns that hand tasks to workers (M16).
pub const WORKER_TURNS: &[TurnScript] = &[
    turn(
        "one worker",
        r#"{"steps":[{"say":"I hand it on.","calls":[
                {"tool":"delegate","arguments":{"task":"one"}}]},{"say":"Done."}],
            "workers":[{"task":"one","steps":[{"say":"I pay.","calls":[{"tool":"pay"}]},
                {"calls":[{"tool":"change","arguments":{"path":"a","line":"1"}}]},{"say":"Paid."}]}]}"#,
    ),
    turn(
        "three workers and a call",
        r#"{"steps":[{"calls":[
                {"tool":"delegate","arguments":{"task":"one"}},
                {"tool":"delegate","arguments":{"task":"two","context":"snapshot"}},
                {"tool":"pay","arguments":{"ms":15}},
                {"tool":"delegate","arguments":{"task":"three"}}]},{"say":"Done."}],
            "workers":[
                {"task":"one","steps":[{"calls":[{"tool":"pay","arguments":{"ms":10}}]},{"say":"1"}]},
                {"task":"two","steps":[{"calls":[{"tool":"pay","arguments":{"ms":20}}]},{"say":"2"}]},
                {"task":"three","steps":[{"calls":[{"tool":"look","arguments":{"ms":5}}]},
                    {"say":"3"}]}]}"#,
    ),
    turn(
        "a worker that fails",
        r#"{"steps":[{"calls":[
                {"tool":"delegate","arguments":{"task":"one"}},
                {"tool":"delegate","arguments":{"task":"two"}}]},{"say":"One of them failed."}],
            "workers":[
                {"task":"one","steps":[{"say":"I begin.","calls":[{"tool":"pay"}]},
                    {"say":"half","faults":[{"kind":{"fail":"auth"}}]}]},
                {"task":"two","steps":[{"calls":[{"tool":"pay","arguments":{"ms":5}}]},
                    {"say":"2"}]}]}"#,
    ),
    TurnScript {
        mode: PermissionMode::Ask,
        ..turn(
            "a worker that asks",
            r#"{"steps":[{"calls":[
                    {"tool":"delegate","arguments":{"task":"one"}},
                    {"tool":"delegate","arguments":{"task":"two"}}]},{"say":"As you like."}],
                "workers":[
                    {"task":"one","steps":[{"calls":[{"tool":"pay"},{"tool":"set"}]},{"say":"1"}]},
                    {"task":"two","steps":[{"calls":[{"tool":"look"}]},{"say":"2"}]}]}"#,
        )
    },
    TurnScript {
        coordinated: true,
        ..turn(
            "a coordinated turn",
            r#"{"steps":[{"say":"Here: [\"one\", \"two\"]"},{"say":"Both."}],
                "workers":[
                    {"task":"one","steps":[{"calls":[{"tool":"pay","arguments":{"ms":5}}]},
                        {"say":"1"}]},
                    {"task":"two","steps":[{"say":"Half.","calls":[{"tool":"pay"}]},
                        {"say":"x","faults":[{"kind":{"fail":"auth"}}]}]}]}"#,
        )
    },
    TurnScript {
        in_doubt: InDoubtPolicy::Ask,
        ..turn(
            "a worker in doubt",
            r#"{"steps":[{"calls":[
                    {"tool":"delegate","arguments":{"task":"one","context":"snapshot"}}]},
                    {"say":"Settled."}],
                "workers":[{"task":"one","steps":[
                    {"calls":[{"tool":"pay","arguments":{"ms":5}}]},{"say":"1"}]}]}"#,
        )
    },
];

/// Turns whose tools are real commands of the settings: each class that can be declared there.
pub const COMMAND_TURNS: &[TurnScript] = &[
    turn(
        "a command of each class",
        r#"{"steps":[{"calls":[{"tool":"peek"},{"tool":"label"},{"tool":"job"},{"tool":"mail"}]},
            {"say":"Done."}]}"#,
    ),
    turn(
        "commands that ask",
        r#"{"steps":[{"calls":[
            {"tool":"job","arguments":{"ask":1}},
            {"tool":"mail","arguments":{"ask":1}}]},{"say":"Answered."}]}"#,
    ),
    TurnScript {
        in_doubt: InDoubtPolicy::Ask,
        ..turn(
            "a person settles doubts about commands",
            r#"{"steps":[{"calls":[{"tool":"mail"}]},{"calls":[{"tool":"job"}]},
                {"calls":[{"tool":"mail"}]},{"say":"Settled."}]}"#,
        )
    },
];

/// All turns of one conversation alone.
pub const TURNS: &[TurnScript] = &[
    turn(
        "streamed answer",
        r#"{"steps":[{"say":"a long answer that streams","think":"hm","chunk":4,"chunk_ms":90}]}"#,
    ),
    turn("one look", r#"{"steps":[{"say":"I look.","calls":[{"tool":"look"}]},{"say":"Seen."}]}"#),
    turn(
        "three in parallel",
        r#"{"steps":[{"calls":[
            {"tool":"pay","arguments":{"ms":30}},
            {"tool":"change","arguments":{"path":"a","line":"one","ms":10}},
            {"tool":"look","arguments":{"ms":20}}]},{"say":"Done."}]}"#,
    ),
    turn(
        "jobs that outlive their driver",
        r#"{"steps":[{"calls":[
            {"tool":"build","arguments":{"ms":25}},
            {"tool":"build"}]},{"say":"Built."}]}"#,
    ),
    turn(
        "work in other hands",
        r#"{"steps":[{"calls":[
            {"tool":"post","arguments":{"ms":25}},
            {"tool":"post"}]},{"say":"Posted."}]}"#,
    ),
    turn(
        "edits in a row",
        r#"{"steps":[
            {"calls":[{"tool":"change","arguments":{"path":"a","line":"1"}},
                      {"tool":"change","arguments":{"path":"a","line":"2"}}]},
            {"calls":[{"tool":"change","arguments":{"path":"a","line":"3"}},
                      {"tool":"change","arguments":{"path":"b","line":"1"}}]},
            {"calls":[{"tool":"change","arguments":{"path":"b","line":"2"}}]},
            {"say":"Edited."}]}"#,
    ),
    turn(
        "failures and retries",
        r#"{"steps":[
            {"say":"first","chunk":2,"calls":[{"tool":"pay"}],"faults":[
                {"kind":{"fail":"network"}},
                {"kind":"cut","after":2},
                {"kind":{"fail":"overloaded"},"after":1,"retry_after_ms":9000}]},
            {"say":"second","faults":[{"kind":"panic"},{"kind":{"fail":"server"}}]}]}"#,
    ),
    turn(
        "empty, then not",
        r#"{"steps":[{"say":"x","calls":[{"tool":"pay"}],"faults":[{"kind":"empty"}]},
                     {"say":"y","faults":[{"kind":"empty"}]}]}"#,
    ),
    turn(
        "a request that is too large",
        r#"{"window_tokens":2400,"steps":[
            {"calls":[{"tool":"look","arguments":{"times":400}},{"tool":"pay"}]},
            {"say":"More.","calls":[{"tool":"look","arguments":{"times":400}}]},
            {"calls":[{"tool":"look","arguments":{"times":900}},{"tool":"pay"}]},
            {"calls":[{"tool":"look"}]},
            {"say":"Enough."}]}"#,
    ),
    turn(
        "a stalled stream",
        r#"{"steps":[{"say":"slow to come","chunk":3,"faults":[{"kind":"stall","after":2}]}]}"#,
    ),
    turn(
        "bad calls beside good ones",
        r#"{"steps":[{"calls":[
            {"tool":"pay","raw":"{oops"},
            {"tool":"nothing_like_it"},
            {"tool":"change","arguments":{"line":"no path"}},
            {"tool":"pay","id":""},
            {"tool":"pay","id":"same"},
            {"tool":"pay","id":"same"}],"end":"twice"},{"say":"Survived."}]}"#,
    ),
    turn(
        "tools that go wrong",
        r#"{"steps":[{"calls":[
            {"tool":"pay","arguments":{"fail":1}},
            {"tool":"look","arguments":{"panic":1}},
            {"tool":"pay","arguments":{"ms":5}},
            {"tool":"set","arguments":{"ms":3}}]},{"say":"Went on."}]}"#,
    ),
    turn(
        "cut by the output limit",
        r#"{"steps":[{"say":"two","calls":[{"tool":"pay"},{"tool":"pay","arguments":{"x":1}}],
                      "end":"length"},{"calls":[{"tool":"pay"}]},{"say":"Whole."}]}"#,
    ),
    TurnScript {
        mode: PermissionMode::Ask,
        ..turn(
            "a person is asked",
            r#"{"steps":[{"calls":[{"tool":"pay"},{"tool":"look"},{"tool":"set"},
                {"tool":"change","arguments":{"path":"a","line":"1"}}]},{"say":"As you like."}]}"#,
        )
    },
    TurnScript {
        mode: PermissionMode::Ask,
        ..turn(
            "a person does it by hand",
            r#"{"steps":[{"calls":[{"tool":"post"},{"tool":"pay"},{"tool":"post","arguments":{"ms":5}}]},
                {"calls":[{"tool":"post"}]},{"say":"By hand."}]}"#,
        )
    },
    TurnScript {
        mode: PermissionMode::Ask,
        ..turn(
            "a person changes a call",
            r#"{"steps":[{"calls":[{"tool":"change","arguments":{"path":"swap","line":"1"}},{"tool":"pay"}]},
                {"say":"As changed."}]}"#,
        )
    },
    TurnScript {
        hooked: &["*"],
        ..turn(
            "hooks look at calls",
            r#"{"steps":[{"calls":[{"tool":"pay","arguments":{"forbidden":1}},{"tool":"pay"},
                {"tool":"change","arguments":{"path":"a","line":"1","forbidden":1}}]},
                {"calls":[{"tool":"change","arguments":{"path":"a","line":"2"}}]},{"say":"As hooks like."}]}"#,
        )
    },
    TurnScript {
        mode: PermissionMode::Ask,
        hooked: &["p*", "set"],
        ..turn(
            "hooks look at calls before a person does",
            r#"{"steps":[{"calls":[{"tool":"pay","arguments":{"forbidden":1}},{"tool":"pay"},
                {"tool":"set","arguments":{"forbidden":1}}]},{"say":"As both like."}]}"#,
        )
    },
    TurnScript {
        mode: PermissionMode::Ask,
        ..turn(
            "commands that only look",
            r#"{"steps":[{"calls":[{"tool":"shell","arguments":{"command":"ls -l"}},
                {"tool":"shell","arguments":{"command":"make all"}}]},{"say":"Seen and made."}]}"#,
        )
    },
    turn(
        "tools that ask",
        r#"{"steps":[{"calls":[{"tool":"pay","arguments":{"ask":1}},
            {"tool":"set","arguments":{"stay":1}}]},{"say":"Answered."}]}"#,
    ),
    TurnScript {
        attended: true,
        ..turn(
            "tools that are told a secret",
            r#"{"steps":[{"calls":[{"tool":"build","arguments":{"secret":1,"ms":10}},
                {"tool":"pay","arguments":{"secret":1}}]},{"say":"Logged in."}]}"#,
        )
    },
    TurnScript {
        in_doubt: InDoubtPolicy::Ask,
        ..turn(
            "a person settles the doubt",
            r#"{"steps":[{"calls":[{"tool":"pay","arguments":{"ms":5}},{"tool":"pay"}]},
                {"calls":[{"tool":"pay"}]},{"say":"Settled."}]}"#,
        )
    },
    TurnScript {
        retried: true,
        ..turn(
            "a message that is tried again",
            r#"{"steps":[{"say":"I begin.","calls":[{"tool":"look"},{"tool":"pay"},
                {"tool":"change","arguments":{"path":"a","line":"1"}}]},
                {"say":"half","faults":[{"kind":{"fail":"auth"}}]}]}"#,
        )
    },
    TurnScript {
        context_tokens_max: 650,
        ..turn(
            "a long turn in a small window",
            r#"{"window_tokens":9000,"summaries":"bare","steps":[
                {"say":"I begin.","calls":[{"tool":"look","arguments":{"times":45}},{"tool":"set"}]},
                {"calls":[{"tool":"look","arguments":{"times":44}}]},
                {"calls":[{"tool":"look","arguments":{"times":43}}]},
                {"say":"Half.","calls":[{"tool":"look","arguments":{"times":42}}]},
                {"calls":[{"tool":"look","arguments":{"times":41}}]},
                {"calls":[{"tool":"look","arguments":{"times":40}}]},
                {"say":"All seen."}]}"#,
        )
    },
    TurnScript {
        context_tokens_max: 1_700,
        ..turn(
            "a long turn that a model sums up",
            concat!(
                r#"{"window_tokens":9000,"steps":[{"say":""#,
                include_str!("long.txt"),
                include_str!("long.txt"),
                include_str!("long.txt"),
                r#"","calls":[{"tool":"set"}]},{"say":""#,
                include_str!("long.txt"),
                include_str!("long.txt"),
                include_str!("long.txt"),
                r#"","calls":[{"tool":"look"}]},{"say":""#,
                include_str!("long.txt"),
                include_str!("long.txt"),
                include_str!("long.txt"),
                r#"","calls":[{"tool":"look"}]},{"say":""#,
                include_str!("long.txt"),
                include_str!("long.txt"),
                include_str!("long.txt"),
                r#"","calls":[{"tool":"look"}]},{"say":""#,
                include_str!("long.txt"),
                include_str!("long.txt"),
                include_str!("long.txt"),
                r#"","calls":[{"tool":"look"}]},{"say":"All seen."}]}"#
            ),
        )
    },
    TurnScript {
        messages: &["first", "second", "third"],
        context_tokens_max: 750,
        ..turn(
            "several turns and two summaries",
            concat!(
                r#"{"window_tokens":9000,"steps":[{"say":""#,
                include_str!("long.txt"),
                include_str!("long.txt"),
                include_str!("long.txt"),
                include_str!("long.txt"),
                include_str!("long.txt"),
                include_str!("long.txt"),
                r#""},{"calls":[{"tool":"pay"}]},{"say":""#,
                include_str!("long.txt"),
                include_str!("long.txt"),
                include_str!("long.txt"),
                include_str!("long.txt"),
                r#""},{"say":"three"}]}"#
            ),
        )
    },
];
