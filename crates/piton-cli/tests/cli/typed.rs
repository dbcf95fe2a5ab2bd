//! What a typed text brings along: files that it mentions, commands of the user, skills.

use std::fs;

use serde_json::Value;

use crate::world::World;

const YES: &str = r#"{"steps":[{"say":"Yes."}]}"#;

fn write(world: &World, path: &str, content: &str) {
    let path = world.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// The parts of the only message.
fn parts(world: &World) -> Vec<Value> {
    let events = world.events();
    let said = events.iter().find(|event| event["type"] == "UserMessage").unwrap();
    said["parts"].as_array().unwrap().clone()
}

fn say(world: &World, text: &str) -> Vec<Value> {
    let model = world.script(YES);
    let ran = world.run(&["query", text, "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
    parts(world)
}

#[test]
fn a_mentioned_file_goes_along_and_a_directory_as_its_list() {
    let world = World::new();
    write(&world, "work/src/a.rs", "fn a() {}\n");
    write(&world, "work/src/b\nc.rs", "");
    let parts = say(&world, "explain @src/a.rs, then @src/ and @nothing.rs for me@src");
    let shown: Vec<_> = parts.iter().map(|part| (&part["part"], &part["name"])).collect();
    assert_eq!(shown.len(), 3, "{parts:?}");
    assert_eq!(parts[0]["text"], "explain @src/a.rs, then @src/ and @nothing.rs for me@src");
    let of = |name: &str| parts.iter().find(|part| part["name"] == name).unwrap();
    assert_eq!(of("src/a.rs")["text"], "fn a() {}\n");
    let list = of("src/")["text"].as_str().unwrap();
    assert_eq!(list.lines().collect::<Vec<_>>(), ["a.rs", "b\\nc.rs"]);
}

#[test]
fn what_a_pipe_brings_mentions_nothing() {
    let world = World::new();
    write(&world, "work/secret.txt", "s");
    let model = world.script(YES);
    let ran = world.run_with_input(&["query", "-", "--model", &model], "look at @secret.txt");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(parts(&world).len(), 1);
}

#[test]
fn a_command_of_the_user_is_sent_as_what_it_says() {
    let world = World::new();
    write(&world, "home/commands/review.md", "---\ndescription: R.\n---\nReview $1 well.\n");
    let parts = say(&world, "/review a.rs");
    assert_eq!(parts[0]["text"], "/review a.rs\n\nReview a.rs well.");
    let ran = world.run(&["query", "/revew a.rs"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    let said = "there is no command /revew; did you mean /review?";
    assert!(ran.stderr.contains(said) && ran.stderr.contains("put a blank"), "{}", ran.stderr);
    write(&world, "home/commands/bad.md", "---\n- x\n---\n");
    let ran = world.run(&["query", "/bad"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("the command /bad cannot be used"), "{}", ran.stderr);
}

#[test]
fn a_skill_is_listed_and_loaded_by_name() {
    let world = World::new();
    write(
        &world,
        "home/skills/ship/SKILL.md",
        "---\nname: ship\ndescription: Ships it.\n---\nPush the button. See notes.md.\n",
    );
    write(&world, "home/skills/ship/notes.md", "The red one.\n");
    write(&world, "home/skills/broken/SKILL.md", "no head\n");
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"skill","arguments":{"name":"ship"}},
            {"tool":"skill","arguments":{"name":"ship","file":"notes.md"}},
            {"tool":"skill","arguments":{"name":"ship","file":"../../piton.toml"}},
            {"tool":"skill","arguments":{"name":"none"}}]},{"say":"Yes."}]}"#,
    );
    let ran = world.run(&["query", "ship it", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let broken = "broken/SKILL.md: its head has no description";
    assert_eq!(ran.stderr.matches(broken).count(), 1, "{}", ran.stderr);
    let output = |call: &str| world.finished(call)["output"]["text"].as_str().unwrap().to_owned();
    assert!(
        output("1.1.0").contains("Push the button.") && output("1.1.0").contains("\"notes.md\"")
    );
    assert_eq!(output("1.1.1"), "The red one.\n");
    assert!(output("1.1.2").contains("not below the folder"), "{}", output("1.1.2"));
    assert!(output("1.1.3").contains("there are: ship"), "{}", output("1.1.3"));
    let config = world.events().into_iter().find(|event| event["type"] == "ConfigChanged").unwrap();
    let system = config["change"]["system"].as_str().unwrap();
    assert!(system.ends_with("- ship: Ships it."), "{system}");
}
