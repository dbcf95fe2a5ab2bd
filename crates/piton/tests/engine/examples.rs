//! The examples for embedders run, stay small, need no crate but `piton`, and README shows one.

#[path = "../../examples/bot.rs"]
mod bot;
#[path = "../../examples/own_face.rs"]
mod own_face;
#[path = "../../examples/own_model.rs"]
mod own_model;
#[path = "../../examples/own_tool.rs"]
mod own_tool;

const LINES_MAX: usize = 50;

const ALL: [(&str, &str); 4] = [
    ("bot", include_str!("../../examples/bot.rs")),
    ("own_face", include_str!("../../examples/own_face.rs")),
    ("own_model", include_str!("../../examples/own_model.rs")),
    ("own_tool", include_str!("../../examples/own_tool.rs")),
];

#[test]
fn a_bot_serves_many_conversations_and_answers_each_message_once() {
    bot::main().unwrap();
}

#[test]
fn a_face_follows_a_turn_and_answers_its_question() {
    own_face::main().unwrap();
}

#[test]
fn an_embedders_own_model_answers() {
    own_model::main().unwrap();
}

#[test]
fn an_embedders_own_tool_is_called() {
    own_tool::main().unwrap();
}

#[test]
fn examples_are_small_and_need_no_other_crate_of_ours() {
    for (name, text) in ALL {
        assert!(text.lines().count() <= LINES_MAX, "{name}: {} lines", text.lines().count());
        assert!(!text.contains("piton_"), "{name} names a crate other than piton");
    }
}

#[test]
fn readme_shows_the_example_of_a_tool() {
    let readme = include_str!("../../../../README.md");
    let example = include_str!("../../examples/own_tool.rs");
    let shown = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    assert_eq!(shown, Some(example), "copy crates/piton/examples/own_tool.rs into README.md");
}
