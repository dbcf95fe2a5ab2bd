//! What goes into a pipe may end up on a terminal: nothing in it is obeyed there, unless somebody asks for it.

use serde_json::json;

use crate::world::{World, lines, wait_until};

/// A title, a bell, a colour of the second set, and text that is turned around.
const SAID: &str = "\x1b]0;title\x07\u{9b}31m\u{202e}dne\u{200f}";
const SHOWN: &str = "\\x1b]0;title\\x07\\x9b31m\\u{202e}dne\\u{200f}";

fn is_obeyed(text: &str) -> bool {
    let turns = |letter| matches!(letter, '\u{200f}' | '\u{202e}');
    text.chars().any(|letter| (letter.is_control() && letter != '\n') || turns(letter))
}

#[test]
fn a_pipe_carries_nothing_that_a_terminal_would_obey_unless_somebody_asks_for_it() {
    let world = World::new();
    let model = world.script(&json!({ "steps": [{ "say": SAID }, { "say": SAID }] }).to_string());
    let ran = world.run(&["query", SAID, "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, &*format!("{SHOWN}\n")), "{}", ran.stderr);
    let ran = world.run(&["query", "again", "--raw", "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, &*format!("{SAID}\n")), "{}", ran.stderr);
    let printed = world.run(&["print"]).stdout;
    assert!(printed.contains(SHOWN) && !is_obeyed(&printed), "{printed:?}");
    let printed = world.run(&["print", "--raw"]).stdout;
    assert_eq!(printed.matches(SAID).count(), 3, "{printed:?}");
    for args in [&["print", "--json"][..], &["print", "--json", "--raw"], &["ls", "--json"]] {
        let json = world.run(args).stdout;
        assert!(!is_obeyed(&json), "{args:?}: {json:?}");
        // The values are the same.
        let value = lines(&json).iter().map(ToString::to_string).collect::<String>();
        assert!(value.contains('\u{202e}'), "{args:?}: {value}");
    }
}

#[test]
fn what_a_command_printed_is_harmless_in_a_pipe() {
    let world = World::new();
    let arguments = json!({
        "command": "printf '\\033]0;title\\007red\\n'; exec sleep 100", "keep": true, "wait_s": 0,
    });
    let call = json!({ "calls": [{ "tool": "shell", "arguments": arguments }] });
    let model = world.script(&json!({ "steps": [call, { "say": "Done." }] }).to_string());
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    wait_until(|| !world.run(&["logs", "1.1.0"]).stdout.is_empty());
    assert_eq!(world.run(&["logs", "1.1.0"]).stdout, "\\x1b]0;title\\x07red\n");
    assert_eq!(world.run(&["logs", "1.1.0", "--raw"]).stdout, "\x1b]0;title\x07red\n");
    assert_eq!(world.run(&["kill", "1.1.0"]).code, 0);
}
