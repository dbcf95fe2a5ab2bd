//! Workers, as people and programs see them (D72 to D79, O46, X16).

use expect_test::expect;
use serde_json::Value;

use crate::world::{World, lines};

const TWO: &str = r#"{"steps":[{"calls":[
        {"tool":"delegate","arguments":{"task":"count the reeds"}}]},{"say":"Three reeds."}],
    "workers":[{"task":"count the reeds","steps":[
        {"calls":[{"tool":"shell","arguments":{"command":"echo counted >> log"}}]},{"say":"Three."}]}]}"#;

// D77: calls of workers are shown, labelled; their text is in the result.
#[test]
fn the_demo_model_hands_a_task_on() {
    let world = World::new();
    std::fs::write(world.work("a.txt"), "hello\n").unwrap();
    world.check(&[&["query", "delegate: read a.txt"], &["ls"], &["print"]], expect![[r#"
        $ piton query "delegate: read a.txt"
        (demo model) On it.
        (demo model) Done. This is what the tools gave:

        delegate:
        ````
        (demo model) Done. This is what the tools gave:

        read_file:
        ```
        hello
        ```
        ````
        2> conversation AAAAAAAAAA (new), turn 1, model demo
        2> The demo model answers: no key, no network, no language model. Choose another with --model.
        2> • delegate: read a.txt
        2> [worker 1] • read_file: a.txt
        2> [worker 1] ✓ read_file: a.txt — hello
        2> ✓ delegate: read a.txt — (demo model) Done. This is what the tools gave:
        exit 0
        $ piton ls
        ID          TOUCHED   TURNS  STATUS  TITLE
        AAAAAAAAAA  just now  1              delegate: read a.txt
        exit 0
        $ piton print
        > delegate: read a.txt
        (demo model) On it.
        ✓ delegate: read a.txt — completed [worker: AAAAAAAAAA_1-1-0]
        (demo model) Done. This is what the tools gave:

        delegate:
        ````
        (demo model) Done. This is what the tools gave:

        read_file:
        ```
        hello
        ```
        ````
        2> conversation AAAAAAAAAA
        exit 0
    "#]]);
    let rows = world.rows();
    let workers: Vec<_> = rows.iter().filter(|row| row["parent"].is_string()).collect();
    assert_eq!((rows.len(), workers.len()), (2, 1), "workers are listed when all are asked for");
    let id = workers[0]["conversation"].as_str().unwrap();
    let printed = world.run(&["print", id]);
    assert!(printed.stderr.contains("call 1.1.0"), "{}", printed.stderr);
    assert!(printed.stdout.starts_with("> read a.txt\n"), "{}", printed.stdout);
    // The beginning of an id means the conversation, although its workers begin like that too.
    let parent = workers[0]["parent"].as_str().unwrap();
    let printed = world.run(&["print", &parent[..9]]);
    assert!(printed.stdout.starts_with("> delegate: read a.txt\n"), "{}", printed.stdout);
}

// D79: whoever is asked, wherever the question is.
#[test]
fn what_a_worker_asks_is_answered_through_its_parent() {
    for by_worker in [false, true] {
        let world = World::new();
        let model = world.script(TWO);
        let asked = world.run(&["query", "go", "--model", &model]);
        assert_eq!(asked.code, 3, "{}", asked.stderr);
        assert!(asked.stderr.contains("worker 1: Run shell"), "{}", asked.stderr);
        let shown = lines(&world.run(&["answer", "--json"]).stdout);
        let worker = shown[0]["conversation"].as_str().unwrap().to_owned();
        assert!(worker.ends_with("_1-1-0"), "{worker}");
        assert_eq!(shown[0]["type"], "question");
        let waiting = world.run(&["ls"]).stdout;
        assert!(waiting.contains("waiting-for-input (delegate)"), "{waiting}");
        let args: &[&str] = if by_worker {
            &["answer", "yes", "--continue", "--id", &worker]
        } else {
            &["answer", "yes", "--continue"]
        };
        let answered = world.run(args);
        assert_eq!((answered.code, answered.stdout.as_str()), (0, "Three reeds.\n"));
        assert_eq!(std::fs::read_to_string(world.work("log")).unwrap(), "counted\n");
    }
}

// X16: programs tell workers by call and conversation.
#[test]
fn lines_of_data_say_which_worker_it_was() {
    let world = World::new();
    let model = world.script(TWO);
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model, "--json"]);
    let all = lines(&ran.stdout);
    let parent = all[0]["conversation"].as_str().unwrap();
    let of_workers: Vec<&Value> = all.iter().filter(|line| line["type"] == "worker").collect();
    let kinds: Vec<_> = of_workers.iter().map(|line| line["did"].as_str()).collect();
    assert_eq!(kinds, [Some("started"), Some("ended")], "{}", ran.stdout);
    for line in of_workers {
        assert_eq!(line["worker"]["call"], "1.1.0");
        assert_eq!(line["worker"]["conversation"], format!("{parent}_1-1-0"));
        assert_eq!(line["tool"], "shell");
    }
    let live = all.iter().filter(|line| line["type"] == "live");
    let mut said = live.filter_map(|line| line["live"]["step"]["text"].as_str());
    assert!(said.all(|text| "Three reeds.".starts_with(text)), "no text of workers");
}

// D74, D78: what the workers do comes as it likes; the answer does not.
#[test]
fn a_coordinated_turn_is_split_worked_on_and_put_together() {
    let world = World::new();
    std::fs::write(world.work("a.txt"), "hello\n").unwrap();
    let ran = world.run(&["query", "--coordinate", "read a.txt and read gone.txt"]);
    expect![[r#"
        (demo model) This is what the workers did:

        ✓ worker 1: read a.txt
        (demo model) Done. This is what the tools gave:

        read_file:
        ```
        hello
        ```

        ✓ worker 2: read gone.txt
        (demo model) Done. This is what the tools gave:

        read_file (failed):
        ```
        there is no `gone.txt` in the workspace DIR/work: use list_dir or glob to find it
        ```
    "#]]
    .assert_eq(&ran.stdout.replace(world.path("").to_str().unwrap(), "DIR/"));
    for line in
        ["Split into 2 subtasks.", "[worker 1] • read_file: a.txt", "[worker 2] ✗ read_file"]
    {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    let refused = world.run(&["query", "--coordinate", "x", "--continue"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
}

// O46
#[test]
fn the_settings_say_how_long_workers_may_work() {
    let world = World::new();
    std::fs::create_dir_all(world.path("home")).unwrap();
    std::fs::write(world.path("home/piton.toml"), "[workers]\nseconds = 1\nsteps = 7\n").unwrap();
    let script = TWO.replace("echo counted >> log", "sleep 60");
    let model = world.script(&script);
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let events = world.events();
    let ended = events.iter().find(|event| event["type"] == "ToolFinished").unwrap();
    let text = ended["output"]["text"].as_str().unwrap();
    assert!(text.contains("it was stopped after 1 s"), "{text}");
}
