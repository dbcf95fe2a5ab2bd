//! MCP servers that do not listen, or are not there: nobody waits for them longer than they were
//! told to.

use std::fs;
use std::net::TcpListener;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::loopback::CANARY;
use crate::mcp::{calls, query, result};
use crate::mcp_faulty::{DONE_IT, Odd, at_address, over_http};
use crate::world::wait_until;

// Its input is full then: it cannot be told to stop either, nor be called again.
#[test]
fn a_server_that_does_not_read_is_given_up_and_started_anew() {
    let list = r#"say '{"tools":[{"name":"do","inputSchema":{}}]}'
        [ -e deaf ] || { : > deaf; exec sleep 600; }"#;
    let world =
        Odd { list: list.into(), call: DONE_IT, ..Odd::default() }.world("call_seconds = 5");
    let more_than_a_pipe_holds = "x".repeat(300_000);
    let first = json!({"tool": "odd__do", "arguments": {"text": more_than_a_pipe_holds}});
    let ran =
        query(&world, &calls(&world, &format!(r#"{first}]}},{{"calls":[{{"tool":"odd__do"}}"#)));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let events = world.events();
    let ends: Vec<_> = events.iter().filter(|event| event["type"] == "ToolFinished").collect();
    let text = ends[0]["output"]["text"].as_str().unwrap();
    assert_eq!(ends[0]["outcome"], "unknown", "{text}");
    assert!(text.contains("it was silent for 5 s (call_seconds)"), "{text}");
    assert_eq!(ends[1]["output"]["text"], "done it");
    assert_eq!(fs::read_to_string(world.work("called")).unwrap().lines().count(), 1);
}

#[test]
fn why_a_server_is_not_reached_is_told_without_the_keys_in_its_address() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = at_address(&format!("http://{address}/mcp"));
    for (world, why) in [
        (nobody, "it cannot be talked to: client error (Connect): "),
        (over_http(None), "it does not list its tools: client error "),
    ] {
        let model = world.script(r#"{"steps":[{"say":"Done."}]}"#);
        for args in [&["mcp", "list"][..], &["query", "go", "--model", &model]] {
            let output = world.command(args).env("MY_KEY", CANARY).output();
            let ran = world.ran(output.unwrap());
            let said = ran.stdout + &ran.stderr;
            assert!(said.contains(why), "{said}");
            assert!(!said.contains(CANARY), "{said}");
        }
    }
}

const TASK: &str = r#""taskId":"t","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null,"pollIntervalMs":20"#;

// K31
#[test]
fn an_interrupt_does_not_wait_for_a_server_that_takes_no_answers() {
    let discover = r#"say '{"resultType":"complete","supportedVersions":["2026-07-28"],
        "capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"private"}'"#;
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let params = json!({"mode": "form", "message": "Who?", "requestedSchema": schema});
    let asked = json!({"who": {"method": "elicitation/create", "params": params}});
    let call = format!(r#"say '{{"resultType":"task","status":"working",{TASK}}}'"#);
    let more = format!(
        r#"*'"method":"tasks/get"'*) say '{{"resultType":"complete","status":"input_required","inputRequests":{asked},{TASK}}}' ;;
    *'"method":"tasks/update"'*) : > updated ;;"#
    );
    let list = r#"say '{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"do","inputSchema":{}}]}'"#;
    let server = Odd { discover, list: list.into(), call: &call, more: &more, ..Odd::newest() };
    let world = server.world("");
    let ran = query(&world, &calls(&world, r#"{"tool":"odd__do"}"#));
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_eq!(world.run(&["answer", "--text", r#"{"name":"Ada"}"#]).code, 0);
    let child = world.spawn(&["query", "--continue"]);
    wait_until(|| world.work("updated").exists());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(world.finish(child).code, 130);
    let (outcome, text) = result(&world);
    assert_eq!(outcome, "unknown");
    assert!(text.contains("Interrupted; the MCP server odd was told to stop."), "{text}");
}
