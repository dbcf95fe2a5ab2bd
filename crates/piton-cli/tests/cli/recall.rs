//! `recall`: the model looks into its own conversation.

use std::fs;

use serde_json::json;

use crate::world::World;

#[test]
fn what_was_said_and_done_earlier_is_found_and_read() {
    let world = World::new();
    fs::write(world.work("anchor.txt"), "the anchor weighs 312 kg\n").unwrap();
    let call = |tool: &str, arguments| json!({ "tool": tool, "arguments": arguments });
    let steps = json!([
        { "say": "I look.", "calls": [call("read_file", json!({ "path": "anchor.txt" }))] },
        { "calls": [call("shell", json!({ "command": "echo rope; exit 3" }))] },
        { "say": "Looked." },
        { "calls": [
            call("recall", json!({ "query": "ANCHOR weighs", "kind": "tool" })),
            call("recall", json!({ "query": "heavy?" })),
            call("recall", json!({ "entry": "1.2.0" })),
            call("recall", json!({ "query": "/exit code \\d/" })) ] },
        { "say": "It weighs 312 kg." }
    ]);
    let model = world.script(&json!({ "steps": steps }).to_string());
    let ran = world.run(&["query", "is it heavy?", "--permissions", "auto", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", world.shown(&ran));
    // Nobody is asked in any mode.
    let ran = world.run(&["query", "-c", "say it again", "--permissions", "read-only"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "It weighs 312 kg.\n"), "{}", ran.stderr);
    let text = |call: &str| world.finished(call)["output"]["text"].as_str().unwrap().to_owned();
    let found = text("2.1.0");
    assert!(found.starts_with("1 of 1 places, the newest first"), "{found}");
    assert!(found.contains("\n1.1.0 read_file: anchor.txt: …"), "{found}");
    assert!(text("2.1.1").ends_with("\n1 the user: …is it heavy?…"), "{}", text("2.1.1"));
    let read = text("2.1.2");
    assert!(read.starts_with("[1.2.0 shell: echo rope; exit 3, "), "{read}");
    assert!(read.contains("exit code 3:\n") && read.contains("rope\n"), "{read}");
    assert!(text("2.1.3").contains("\n1.2.0 shell: echo rope; exit 3: …"), "{}", text("2.1.3"));
}
