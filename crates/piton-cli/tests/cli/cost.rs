//! What turns and conversations cost, and limits that stop a turn and can be raised.

use piton_sim::script::Script;
use piton_sim::serve::{Options, Server};
use serde_json::{Value, json};

use crate::person::Person;
use crate::world::{Ran, World, lines};

/// Every step takes 100 tokens in and 10 out.
const THREE_STEPS: &str = r#"{"steps":[
    {"calls":[{"tool":"write_file","arguments":{"path":"a.txt","content":"one\n"}}]},
    {"calls":[{"tool":"shell","arguments":{"command":"printf ran | tee -a log"}}]},{"say":"Done."},{"say":"More."}]}"#;
/// Its price is known: a request of a script costs $0.0004, an answer $0.0002.
const OPUS: &str = "anthropic/claude-opus-5-5";

fn serve(script: &str) -> Server {
    Server::with(Script::parse(script).unwrap(), Options::default()).unwrap()
}

fn run(world: &World, server: &Server, args: &[&str]) -> Ran {
    let mut command = world.command(args);
    command.envs(server.variables()).env("NO_PROXY", "127.0.0.1").env("ANTHROPIC_API_KEY", "k");
    world.ran(command.output().unwrap())
}

fn result(ran: &Ran) -> Value {
    serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap()
}

// D68
#[test]
fn a_turn_that_cost_too_much_says_what_it_took_and_goes_on_with_a_higher_limit() {
    let world = World::new();
    let server = serve(THREE_STEPS);
    let ran = run(
        &world,
        &server,
        &["query", "go", "--model", OPUS, "--permissions", "auto", "--max-cost", "0.001"],
    );
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    let id = world.only_id();
    let told = format!(
        "The turn is incomplete: it cost ≈$0.0012, $0.001 is allowed. \
         So far the turn took 200 in, 20 out, ≈$0.0012.\n\
         hint: to go on with a fresh allowance: piton query --continue --id {id}\n\
         hint: to go on with a higher limit: piton query --continue --id {id} --max-cost 0.002\n"
    );
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    // The command that is named, as it stands there.
    let on = run(
        &world,
        &server,
        &["query", "--continue", "--id", &id, "--max-cost", "0.002", "--json"],
    );
    assert_eq!(on.code, 0, "{}", on.stderr);
    let result = result(&on);
    assert_eq!((&result["turn"], &result["text"]), (&json!(1), &json!("Done.")));
    assert_eq!(result["usage"], json!({"input": 300, "output": 30, "cached": 0}));
    assert_eq!(result["cost_microdollars"], 1_800);
    assert_eq!(result["in_all"]["cost_microdollars"], 1_800);
    // Nothing was asked or done again.
    assert_eq!(std::fs::read_to_string(world.work("log")).unwrap(), "ran");
    let events = world.events();
    let count = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((count("ModelAsked"), count("ToolStarted"), count("TurnStarted")), (3, 2, 1));
}

#[test]
fn a_limit_of_tokens_is_raised_by_its_own_flag() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"look"}]},{"calls":[{"tool":"look"}]},{"say":"Done."}],
            "tools":[{"name":"look","effect":"read_only","output":"seen"}]}"#,
    );
    let ran = world.run(&["query", "go", "--model", &model, "--max-turn-tokens", "150"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains(" So far the turn took 200 in, 20 out.\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains(" --max-turn-tokens 300\n"), "{}", ran.stderr);
    assert_eq!(world.run(&["query", "--continue", "--max-turn-tokens", "300"]).stdout, "Done.\n");
    let ran = world.run(&["query", "--new", "go", "--model", &model, "--max-steps", "1"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains(" --max-steps 2\n"), "{}", ran.stderr);
}

#[test]
fn what_a_conversation_cost_is_told_the_same_everywhere() {
    let world = World::new();
    let server = serve(r#"{"steps":[{"say":"One."},{"say":"Two."}]}"#);
    run(&world, &server, &["query", "go", "--model", OPUS]);
    // Another model, at half the price.
    let sonnet = ["query", "-c", "and on", "--model", "anthropic/claude-sonnet-5-5", "--json"];
    let second = result(&run(&world, &server, &sonnet));
    assert_eq!(second["cost_microdollars"], 300);
    let usage = json!({"input": 200, "output": 20, "cached": 0});
    assert_eq!(second["in_all"]["usage"], usage);
    assert_eq!(second["in_all"]["cost_microdollars"], 900);
    let printed = world.run(&["print"]);
    assert!(printed.stderr.contains(", 20 out, ≈$0.0009"), "{}", printed.stderr);
    let listed = lines(&world.run(&["ls", "--cost", "--json"]).stdout).remove(0);
    assert_eq!(listed["in_all"], second["in_all"]);
    let table = world.run(&["ls", "--cost"]).stdout;
    assert!(table.contains("USED") && table.contains("200 in, 20 out, ≈$0.0009"), "{table}");
    assert!(world.rows()[0].get("in_all").is_none());
    let view = lines(&world.run(&["print", "--json"]).stdout).remove(0);
    assert_eq!(view["view"]["head"]["used"].as_array().unwrap().len(), 2);
    // What a fork shares was paid elsewhere.
    let fork = world.run(&["fork"]).stdout;
    let rows = lines(&world.run(&["ls", "--cost", "--json"]).stdout);
    let row = rows.iter().find(|row| row["conversation"] == fork.trim_end()).unwrap();
    assert_eq!(row["in_all"]["usage"], json!({"input": 0, "output": 0, "cached": 0}));
    assert!(row["in_all"].get("cost_microdollars").is_none());
}

// D68
#[test]
fn a_chat_shows_what_was_used_and_raises_a_limit() {
    let world = World::new();
    let server = serve(THREE_STEPS);
    let mut command = world.command(&["-m", OPUS, "--permissions", "auto"]);
    command.envs(server.variables()).env("NO_PROXY", "127.0.0.1").env("ANTHROPIC_API_KEY", "k");
    command.env("PITON_MAX_TURN_COST", "0.001");
    let mut person = Person::starts_sized(command, (40, 100), &[]);
    person.sees("Ctrl-D leaves.").sees("> ");
    person.types("/limit\r").sees("cost    at most $0.001").sees("> ");
    person.types("go\r").sees("it cost ≈$0.0012").sees("/continue, after /limit $0.002").sees("> ");
    person.types("/limit much\r").sees("hint: /limit $2 bounds").sees("> ");
    person.types("/limit $0.002\r").sees("cost    at most $0.002; the open turn has ≈$0.0012");
    person.sees("> ").types("/continue\r").sees("Done.").sees("≈$0.0018").sees("> ");
    person.types("/tokens\r").sees("context ").sees("the last turn: 300 in, 30 out · ≈$0.0018");
    person.sees("in all: 300 in, 30 out · ≈$0.0018").sees("> ");
    person.types("/limit off\r").sees("cost    no limit").sees("> ");
    person.types("and on\r").sees("More.").sees("in all ≈$0.0024").sees("> ").types("\x04");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(std::fs::read_to_string(world.work("log")).unwrap(), "ran");
}

#[test]
fn a_chat_holds_no_cost_that_it_cannot_know() {
    let world = World::new();
    let mut person = Person::starts(&world, &["-m", "demo"]);
    person.sees("Ctrl-D leaves.").sees("> ").types("/limit $2\r");
    person.sees("The price of the model is not known").sees("/limit 200000").sees("> ");
    person.types("/limit 200000\r").sees("tokens  at most 200000").sees("> ").types("\x04");
    assert_eq!(person.leaves().0, 0);
}

// What `/tokens` tells in a chat is told to the shell, too.
#[test]
fn the_table_of_tokens_tells_money_as_an_estimate() {
    let (world, server) = (World::new(), serve(r#"{"steps":[{"say":"One."},{"say":"Two."}]}"#));
    for text in ["one", "two"] {
        assert_eq!(run(&world, &server, &["query", "-c", text, "--model", OPUS]).code, 0);
    }
    let shown = world.run(&["tokens"]).stdout;
    let row = |name: &str| {
        let row = shown.lines().find_map(|line| line.strip_prefix(name));
        row.unwrap_or_else(|| panic!("{name}: {shown}")).trim().to_owned()
    };
    assert_eq!(row("last turn"), "100 in, 10 out · ≈$0.00060");
    assert_eq!(row("in all"), "200 in, 20 out · ≈$0.0012");
    assert!(row("next request").contains(" (≈$0.0"), "{shown}");
    assert!(row("next request").ends_with(" to send, if nothing is cached)"), "{shown}");
    let line = &lines(&world.run(&["tokens", "--json"]).stdout)[0];
    assert_eq!(line["in_all"]["cost_microdollars"], 1_200, "{line}");
    assert!(0 < line["next_microdollars"].as_u64().unwrap(), "{line}");
}
