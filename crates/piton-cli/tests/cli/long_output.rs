//! Outputs that are too long to be shown: their ends, how much is missing, and how to read on.

use serde_json::json;

use crate::world::World;

#[test]
fn the_rest_of_a_long_output_is_read_with_the_words_that_the_result_gives() {
    let world = World::new();
    let command = "for i in $(seq 20000); do echo line $i; done";
    let shell = json!({ "tool": "shell", "arguments": { "command": command } });
    let read = |more: serde_json::Value| json!({ "calls": [{ "tool": "read_output", "arguments": more }] });
    let steps = json!([
        { "calls": [shell] },
        read(json!({ "call": "1.1.0", "from": 15_872 })),
        read(json!({ "call": "1.1.0", "find": "line 12345" })),
        read(json!({ "call": "1.9.0" })),
        { "say": "Read." }
    ]);
    let model = world.script(&json!({ "steps": steps }).to_string());
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Read.\n"), "{}", ran.stderr);
    let text = |call: &str| world.finished(call)["output"]["text"].as_str().unwrap().to_owned();
    let first = text("1.1.0");
    assert!(first.starts_with("line 1\nline 2\n") && first.contains("\nline 20000\n"), "{first}");
    assert!(first.contains(" bytes left out ...]\n"), "{first}");
    let told =
        "[the whole output has 208894 bytes: read on with read_output, call 1.1.0, from 15872,";
    assert!(first.contains(told), "{}", first.lines().last().unwrap());
    let second = text("1.2.0");
    assert!(second.contains("[bytes 15872 to ") && second.contains(" of 208894; read on from "));
    let seam = first.split("\n[... ").next().unwrap().lines().last().unwrap().to_owned();
    let whole = format!("{seam}{}", second.lines().next().unwrap());
    assert!(
        whole.starts_with("line ") && whole[5..].parse::<u32>().is_ok(),
        "nothing is lost: {whole}"
    );
    assert!(text("1.3.0").contains("\nline 12345\nline 12346\n"));
    assert!(text("1.4.0").contains("there is no call 1.9.0"));
}
