//! Lists of tools that are kept: a turn begins with them and starts no server; what changed at the
//! server counts from the next turn, and costs no more than the calls that it is about.

use std::fs;

use serde_json::{Value, json};

use crate::mcp::{calls, query};
use crate::mcp_faulty::{DONE_IT, Odd};
use crate::world::{World, lines_of};

/// A server that counts its starts, and whose tools are in the file `tools`.
fn counted(call: &str) -> Odd<'_> {
    Odd { before: "echo x >> started", list: "say \"$(cat tools)\"".into(), call, ..Odd::default() }
}

fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {}})
}

fn write_tools(world: &World, file: &str, tools: &[Value]) {
    fs::write(world.work(file), json!({ "tools": tools }).to_string()).unwrap();
}

/// How often the server was started.
fn starts(world: &World) -> usize {
    lines_of(&world.work("started"))
}

/// A turn without a call.
fn turn(world: &World) {
    let ran = query(world, &world.script(r#"{"steps":[{"say":"Done."}]}"#));
    assert_eq!((ran.code, ran.stderr.contains("mcp:")), (0, false), "{}", ran.stderr);
}

/// The server's tools in the newest turn.
fn offered(world: &World) -> Vec<String> {
    let events = world.events();
    let tools = events.iter().rev().find_map(|event| event["change"]["tools"].as_array());
    let names = tools.unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    names.filter(|name| name.starts_with("odd__")).map(ToOwned::to_owned).collect()
}

/// Outcome and text of each call of the newest conversation.
fn results(world: &World) -> Vec<(String, String)> {
    let events = world.events();
    let ends = events.iter().filter(|event| event["type"] == "ToolFinished");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    ends.map(|end| (text(&end["outcome"]), text(&end["output"]["text"]))).collect()
}

/// Calls one tool after the other.
fn call(world: &World, tools: &[&str]) {
    let steps: Vec<String> =
        tools.iter().map(|tool| format!(r#"{{"tool":"odd__{tool}"}}"#)).collect();
    let ran = query(world, &calls(world, &steps.join("]},{\"calls\":[")));
    assert_eq!((ran.code, ran.stderr.contains("mcp:")), (0, false), "{}", ran.stderr);
}

#[test]
fn a_turn_with_known_tools_starts_no_server_and_the_first_call_does() {
    let world = counted(DONE_IT).world("");
    write_tools(&world, "tools", &[tool("do")]);
    turn(&world);
    assert_eq!((starts(&world), offered(&world)), (1, vec!["odd__do".to_owned()]));
    turn(&world);
    assert_eq!((starts(&world), offered(&world)), (1, vec!["odd__do".to_owned()]));
    call(&world, &["do", "do"]);
    assert_eq!(results(&world), vec![("ok".to_owned(), "done it".to_owned()); 2]);
    assert_eq!(starts(&world), 2);
}

#[test]
fn a_server_that_looks_otherwise_is_asked_again() {
    let world = counted(DONE_IT).world("env = { KEY = \"1\" }");
    write_tools(&world, "tools", &[tool("do")]);
    turn(&world);
    // Its program has changed.
    let program = world.path("server.sh");
    let text = fs::read_to_string(&program).unwrap();
    fs::write(&program, format!("# newer\n{text}")).unwrap();
    write_tools(&world, "tools", &[tool("other")]);
    turn(&world);
    assert_eq!((starts(&world), offered(&world)), (2, vec!["odd__other".to_owned()]));
    // What it is started with has changed.
    let settings = world.path("home/piton.toml");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replace("KEY = \"1\"", "KEY = \"2\"")).unwrap();
    turn(&world);
    assert_eq!(starts(&world), 3);
    // And it need not have changed for somebody who looks.
    world.run(&["mcp", "tools"]);
    assert_eq!(starts(&world), 4);
}

#[test]
fn another_list_counts_from_the_next_turn() {
    let world = counted(DONE_IT).world("");
    write_tools(&world, "tools", &[tool("do")]);
    turn(&world);
    write_tools(&world, "tools", &[tool("do"), tool("more")]);
    call(&world, &["do"]);
    assert_eq!(offered(&world), ["odd__do"]);
    turn(&world);
    assert_eq!((starts(&world), offered(&world).len()), (2, 2));
}

#[test]
fn a_tool_that_is_gone_fails_alone_and_is_not_called() {
    let world = counted(DONE_IT).world("");
    write_tools(&world, "tools", &[tool("do"), tool("old")]);
    turn(&world);
    write_tools(&world, "tools", &[tool("do")]);
    call(&world, &["old", "do"]);
    let found = results(&world);
    assert_eq!(
        found[0].1,
        "The call was not sent to the MCP server odd: it does not offer the tool old any more. \
         Its tools as they are now are offered from the next turn on."
    );
    assert_eq!((found[0].0.as_str(), found[1].0.as_str()), ("failed", "ok"));
    assert_eq!(lines_of(&world.work("called")), 1);
    turn(&world);
    assert_eq!(offered(&world), ["odd__do"]);
}

#[test]
fn a_tool_that_a_server_lists_a_moment_late_is_called() {
    let late =
        r#"if [ -e listed ]; then say "$(cat tools)"; else : > listed; say '{"tools":[]}'; fi"#;
    let world = Odd { list: late.into(), ..counted(DONE_IT) }.world("");
    write_tools(&world, "tools", &[tool("do")]);
    fs::write(world.work("listed"), "").unwrap();
    turn(&world);
    fs::remove_file(world.work("listed")).unwrap();
    call(&world, &["do"]);
    assert_eq!(results(&world), [("ok".to_owned(), "done it".to_owned())]);
    turn(&world);
    assert_eq!((starts(&world), offered(&world)), (2, vec!["odd__do".to_owned()]));
}

// Who may call it unasked was decided by what it said before.
#[test]
fn a_tool_that_does_more_than_it_said_is_not_called() {
    let world = counted(DONE_IT).world("trust = true");
    let reads = json!({"name": "do", "inputSchema": {}, "annotations": {"readOnlyHint": true}});
    write_tools(&world, "tools", &[reads]);
    turn(&world);
    write_tools(&world, "tools", &[tool("do")]);
    let script = calls(&world, r#"{"tool":"odd__do"}"#);
    assert_eq!(world.run(&["query", "go", "--new", "--model", &script]).code, 0);
    let (outcome, text) = results(&world).remove(0);
    assert!(outcome == "failed" && text.contains("do has other effects than it said"), "{text}");
    assert_eq!(lines_of(&world.work("called")), 0);
    assert_eq!(world.run(&["query", "go", "--new", "--model", &script]).code, 3);
}

#[test]
fn a_server_that_is_gone_fails_its_calls_and_nothing_else() {
    let before = "[ -e broken ] && { echo 'no database' >&2; exit 1; }";
    let world = Odd { before, ..counted(DONE_IT) }.world("");
    write_tools(&world, "tools", &[tool("do")]);
    turn(&world);
    fs::write(world.work("broken"), "").unwrap();
    call(&world, &["do"]);
    let (outcome, text) = results(&world).remove(0);
    assert_eq!(outcome, "failed");
    let told = "The MCP server odd was not reached, and the call was not sent: it ended before";
    assert!(text.starts_with(told) && text.contains("no database"), "{text}");
}

#[test]
fn a_server_that_says_that_its_tools_changed_is_asked_for_them() {
    let changes = r#"cp later tools; printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
        say '{"content":[{"type":"text","text":"done it"}]}'"#;
    let world = counted(changes).world("");
    write_tools(&world, "tools", &[tool("do")]);
    write_tools(&world, "later", &[tool("do"), tool("new")]);
    call(&world, &["do"]);
    assert_eq!(offered(&world), ["odd__do"]);
    turn(&world);
    assert_eq!((starts(&world), offered(&world).len()), (1, 2));
}

/// Two servers, each of which answers only once the other one is there too.
fn pair() -> World {
    let before = r#": > up.${1:-a}; while ! { [ -e up.a ] && [ -e up.b ]; }; do sleep 0.01; done"#;
    let world = Odd { before, ..counted(DONE_IT) }.world("");
    let settings = world.path("home/piton.toml");
    let (text, path) = (fs::read_to_string(&settings).unwrap(), world.path("server.sh"));
    let second = format!("{text}[mcp.two]\ncommand = \"sh\"\nargs = [{path:?}, \"b\"]\n");
    fs::write(settings, second).unwrap();
    write_tools(&world, "tools", &[tool("do")]);
    world
}

#[test]
fn servers_are_asked_at_the_same_time_and_started_at_the_same_time() {
    let world = pair();
    turn(&world);
    for name in ["up.a", "up.b"] {
        fs::remove_file(world.work(name)).unwrap();
    }
    let ran = query(&world, &calls(&world, r#"{"tool":"odd__do"},{"tool":"two__do"}"#));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(results(&world), vec![("ok".to_owned(), "done it".to_owned()); 2]);
}

#[test]
fn a_tool_that_can_only_be_a_task_is_not_offered_in_older_revisions() {
    let world = counted(DONE_IT).world("");
    let task = json!({"name": "long", "inputSchema": {}, "execution": {"taskSupport": "required"}});
    write_tools(&world, "tools", &[tool("do"), task]);
    let shown = world.run(&["mcp", "tools"]);
    assert_eq!(shown.stdout, "odd__do  once  \n");
    assert!(
        shown.stderr.contains("left out: long: it can only be called as a task"),
        "{}",
        shown.stderr
    );
}
