//! Settings of an earlier build, as the binary shows and uses them.

use std::fmt::Write as _;
use std::fs;

use expect_test::expect;
use serde_json::Value;

use crate::loopback::{Loopback, PROVIDERS, stream};
use crate::world::{World, lines};

/// The workspace that the frozen files name.
const NAMED: &str = "/home/ada/project";
/// Where the frozen provider answers.
const ADDRESS: &str = "127.0.0.1:9/v1";

/// A world with the frozen settings, for this workspace and with a provider at this address.
fn settled(address: &str) -> World {
    let world = World::new();
    fs::create_dir(world.path("home")).unwrap();
    let own = |text: &str| text.replace(NAMED, world.path("work").to_str().unwrap());
    let settings = own(include_str!("settings_v1/piton.toml")).replace(ADDRESS, address);
    fs::write(world.path("home/piton.toml"), settings).unwrap();
    let trusted = own(include_str!("settings_v1/mcp-trusted.json"));
    fs::write(world.path("home/mcp-trusted.json"), trusted).unwrap();
    fs::write(world.work(".mcp.json"), include_str!("settings_v1/mcp.json")).unwrap();
    world
}

fn shown(rows: &[Value], fields: &[&str]) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| row["type"] != "result") {
        let fields: Vec<_> = fields.iter().map(|field| row[*field].to_string()).collect();
        writeln!(text, "{}", fields.join(" ")).unwrap();
    }
    text
}

#[test]
fn every_rule_counts() {
    let rows = lines(&settled(ADDRESS).run(&["permissions", "--json"]).stdout);
    expect![[r#"
        1 {"command":"cargo test *","effect":"allow","scope":"user","tool":"shell"}
        2 {"effect":"deny","path":"**/.env","scope":"user","tool":"*"}
        3 {"arguments":{"method":"GET|HEAD","url":"https://docs\\.example\\.org/.*"},"effect":"ask","scope":"user","tool":"fetch"}
        4 {"effect":"allow","path":"src/**","scope":"project","tool":"write_file"}
    "#]].assert_eq(&shown(&rows, &["number", "rule"]));
}

// The approval counts for exactly these servers.
#[test]
fn every_server_of_tools_is_known_and_trusted_or_not() {
    let rows = lines(&settled(ADDRESS).run(&["mcp", "list", "--json"]).stdout);
    expect![[r#"
        "files" "piton.toml" "no-such-server --stdio ${ROOT:-.}" true "failed"
        "own" ".mcp.json" "./server --stdio" false "failed"
        "remote" ".mcp.json" "http://127.0.0.1:9/mcp" false "failed"
        "tracker" "piton.toml" "https://tracker.example.invalid/mcp" false "off"
        "off" ".mcp.json" "./other" false "off"
    "#]]
    .assert_eq(&shown(&rows, &["name", "from", "how", "trust", "state"]));
}

// The model, its address, key, headers, effort and length, and the tools.
#[test]
fn a_request_is_made_as_the_settings_say() {
    let server = Loopback::start(vec![stream(PROVIDERS[2].yes)]);
    let world = settled(&format!("{}/v1", server.address));
    let ran = world.run(&["query", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
    let (head, body) = server.request(0);
    let mut text = String::new();
    let said = ["post ", "authorization:", "x-team:"];
    for line in head.lines().filter(|line| said.iter().any(|begin| line.starts_with(begin))) {
        writeln!(text, "{line}").unwrap();
    }
    for key in ["model", "max_completion_tokens", "max_tokens", "reasoning_effort"] {
        writeln!(text, "{key} {}", body[key]).unwrap();
    }
    let own = ["check", "deploy", "lines", "publish", "usual"];
    for tool in body["tools"].as_array().unwrap() {
        let tool = &tool["function"];
        if own.iter().any(|own| tool["name"] == *own) {
            writeln!(text, "{} {} {}", tool["name"], tool["description"], tool["parameters"])
                .unwrap();
        }
    }
    expect![[r#"
        post /v1/chat/completions http/1.1
        x-team: climbers
        authorization: bearer key-of-work
        model "large"
        max_completion_tokens 5000
        max_tokens null
        reasoning_effort "low"
        "check" "Checks." {"properties":{},"type":"object"}
        "deploy" "Deploys the site." {"properties":{"to":{"description":"Where.","type":"string"}},"required":["to"],"type":"object"}
        "lines" "Counts lines." {"properties":{},"type":"object"}
        "publish" "Publishes." {"properties":{},"type":"object"}
        "usual" "Has only what it must." {"properties":{},"type":"object"}
    "#]].assert_eq(&text);
}
