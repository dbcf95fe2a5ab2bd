//! Conversations for others to read.

use std::fs;

use crate::world::{World, lines};

fn told() -> World {
    let world = World::new();
    fs::write(world.work("a.txt"), "<b>``` & more\n").unwrap();
    let model = world.script(
        r#"{"steps":[
            {"say":"I look.","calls":[{"tool":"read_file","arguments":{"path":"a.txt"}}]},
            {"say":"It is <script>alert(1)</script>."}]}"#,
    );
    world.run(&["query", "what is in it?\n<img src=x>", "--model", &model]);
    world
}

#[test]
fn markdown_has_turns_messages_answers_and_calls() {
    let text = told().run(&["export"]).stdout;
    for piece in
        ["# what is in it?", "## Turn 1", "> <img src=x>", "\nI look.\n", "read_file: a.txt"]
    {
        assert!(text.contains(piece), "{piece} in {text}");
    }
    // What a call gave stays within its block, whatever it is.
    assert!(text.contains("\n````text\n") && text.contains("<b>```"), "{text}");
}

#[test]
fn a_page_has_no_markup_but_its_own_and_runs_nothing() {
    let text = told().run(&["export", "--format", "html"]).stdout;
    assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>\n"), "{text}");
    assert!(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{text}");
    for markup in ["<script", "<img", "<b>", "javascript:", "http://", "https://"] {
        assert!(!text.contains(markup), "{markup} in {text}");
    }
}

#[test]
fn entries_go_out_as_they_are_stored() {
    let world = told();
    let exported = world.run(&["export", "--format", "jsonl"]).stdout;
    assert_eq!(exported, world.run(&["print", "--json", "--raw"]).stdout);
    assert_eq!(lines(&exported)[0]["event"]["type"], "ConversationOpened");
}

#[test]
fn a_file_is_written_for_its_owner_and_never_over_another() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = told();
    let written = world.run(&["export", "--format", "html", "-o", "page.html"]);
    assert_eq!((written.code, written.stdout.as_str()), (0, ""), "{}", written.stderr);
    let file = world.work("page.html");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        world.run(&["export", "--format", "html"]).stdout
    );
    fs::write(&file, "mine").unwrap();
    let refused = world.run(&["export", "-o", "page.html"]);
    assert_eq!((refused.code, fs::read_to_string(&file).unwrap().as_str()), (2, "mine"));
    assert_eq!(world.run(&["export", "--format", "pdf"]).code, 2);
}
