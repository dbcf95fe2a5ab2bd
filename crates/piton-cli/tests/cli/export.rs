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
    assert!(refused.stderr.contains("hint: choose another name"), "{}", refused.stderr);
    assert_eq!(world.run(&["export", "--format", "pdf"]).code, 2);
    // The name says what it becomes, and a dash is standard output.
    assert_eq!(world.run(&["export", "-o", "talk.html"]).code, 0);
    let page = world.run(&["export", "--format", "html", "-o", "-"]).stdout;
    assert_eq!(fs::read_to_string(world.work("talk.html")).unwrap(), page);
    assert!(!world.work("-").exists());
}

// A backup of a fork has what it shares, in front of what is its own.
#[test]
fn an_export_of_a_fork_begins_with_what_it_shares() {
    let world = told();
    let origin = world.only_id();
    let stored = world.run(&["print", "--json", "--raw", &origin]).stdout;
    let first = world.run(&["fork", &origin]).stdout.trim_end().to_owned();
    assert_eq!(world.run(&["query", "on", "--id", &first, "--model", "demo"]).code, 0);
    let fork = world.run(&["fork", &first]).stdout.trim_end().to_owned();
    assert_eq!(world.run(&["query", "further", "--id", &fork, "--model", "demo"]).code, 0);
    let exported = lines(&world.run(&["export", &fork, "--format", "jsonl"]).stdout);
    let of = |id: &str| exported.iter().filter(|line| line["conversation"] == id).count();
    let raw = world.run(&["print", "--json", "--raw", &fork]);
    let own = lines(&raw.stdout);
    assert_eq!(of(&origin), lines(&stored).len());
    assert_eq!(exported.len(), of(&origin) + of(&first) + own.len());
    assert!(0 < of(&first) && exported.ends_with(&own), "{exported:?}");
    let told = format!("What it shares is in conversation {first}, through entry ");
    let whole = format!("piton export {fork} --format jsonl");
    assert!(raw.stderr.contains(&told) && raw.stderr.contains(&whole), "{}", raw.stderr);
}

// Who reads it elsewhere knows when it was, who answered, and what was changed.
#[test]
fn an_export_tells_the_day_the_model_and_what_was_changed() {
    let world = World::new();
    fs::write(world.work("a.txt"), "one\ntwo <b>\n").unwrap();
    let model = world.script(
        r#"{"steps":[
            {"calls":[{"tool":"edit_file","arguments":{"path":"a.txt","old":"two","new":"2"}}]},
            {"calls":[{"tool":"write_file","arguments":{"path":"b.txt","content":"new\n"}}]},
            {"say":"Done."}]}"#,
    );
    let ran = world.run(&["query", "go", "--model", &model, "--permissions", "auto"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let id = world.only_id();
    let text = world.run(&["export"]).stdout;
    let head = text.lines().nth(2).unwrap();
    let parts: Vec<&str> = head.split(" · ").collect();
    assert_eq!((parts[0], parts[2]), (format!("Conversation {id}").as_str(), model.as_str()));
    let day: Vec<&str> = parts[1].split(['-', ' ', ':']).take(3).collect();
    assert!(day.iter().all(|it| it.parse::<u32>().is_ok()) && parts[1].contains(" UTC"), "{head}");
    assert!(text.contains("\n```diff\n@@ ") && text.contains("\n-two <b>\n+2 <b>\n"), "{text}");
    assert!(text.contains("\n+new\n```\n"), "{text}");
    let page = world.run(&["export", "--format", "html"]).stdout;
    assert!(page.contains(&format!("<p>{head}</p>")), "{page}");
    assert!(page.contains("<del>-two &lt;b&gt;</del>\n<ins>+2 &lt;b&gt;</ins>\n"), "{page}");
}
