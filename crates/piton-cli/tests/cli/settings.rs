//! Effort and length of answers: flags, variables, the settings file, and what a conversation keeps.

use std::fs;

use expect_test::expect;
use serde_json::Value;

use crate::loopback::{Loopback, PROVIDERS, Provider, stream};
use crate::world::World;

/// What a request says about thinking and length.
fn said(body: &Value) -> String {
    let keys = [
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "reasoning_effort",
        "reasoning",
        "thinking",
        "generationConfig",
    ];
    let told = keys.iter().filter_map(|key| Some(format!("{key} {}", body.get(key)?)));
    told.collect::<Vec<_>>().join(", ")
}

/// The newest model of the provider that can be told to think.
fn thinker() -> Provider {
    Provider { model: "openai-chat/gpt-5", ..PROVIDERS[2] }
}

#[test]
fn flags_reach_every_provider_in_its_words() {
    let mut lines = Vec::new();
    for provider in &PROVIDERS {
        let world = World::new();
        let server = Loopback::start(vec![stream(provider.yes)]);
        let flags = ["--effort", "low", "--max-tokens", "5000", "--model", provider.model];
        let ran = provider.run(&world, &server, &[&["query", "go"], &flags[..]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        lines.push(format!("{}: {}", provider.model, said(&server.request(0).1)));
    }
    expect![[r#"
        anthropic/claude-sonnet-4-5: max_tokens 5000, thinking {"budget_tokens":2048,"type":"enabled"}
        openai/gpt-5: max_output_tokens 5000, reasoning {"effort":"low"}
        openai-chat/gpt-4o: max_completion_tokens 5000
        codex/gpt-5-codex: reasoning {"effort":"low","summary":"auto"}
        gemini/gemini-2.5-flash: generationConfig {"maxOutputTokens":5000,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":512}}"#]].assert_eq(&lines.join("\n"));
}

// A number above a model's own limit is rejected, so without a flag, a variable or a setting no
// number is sent. The endpoint of Anthropic insists on one, and gets one that the model takes.
#[test]
fn a_length_that_nobody_named_is_left_to_the_provider() {
    let mut lines = Vec::new();
    let old = Provider { model: "anthropic/claude-3-haiku-20240307", ..PROVIDERS[0] };
    for provider in PROVIDERS.iter().chain([&old]) {
        let world = World::new();
        let server = Loopback::start((0..2).map(|_| stream(provider.yes)).collect());
        let unset = ["query", "go", "--new", "--model", provider.model];
        let zero = [&unset[..], &["--max-tokens", "0"]].concat();
        for args in [&unset[..], &zero] {
            let ran = provider.run(&world, &server, args);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
        }
        let told = said(&server.request(0).1);
        assert_eq!(told, said(&server.request(1).1), "0 and unset are one");
        lines.push(format!("{} ({told})", provider.model));
    }
    expect![[r#"
        anthropic/claude-sonnet-4-5 (max_tokens 32000)
        openai/gpt-5 ()
        openai-chat/gpt-4o ()
        codex/gpt-5-codex (reasoning {"summary":"auto"})
        gemini/gemini-2.5-flash ()
        anthropic/claude-3-haiku-20240307 (max_tokens 4096)"#]]
    .assert_eq(&lines.join("\n"));
}

// J37
#[test]
fn a_conversation_keeps_what_it_was_told() {
    let (world, provider) = (World::new(), thinker());
    let server = Loopback::start((0..4).map(|_| stream(provider.yes)).collect());
    let ask = |args: &[&str]| {
        let before = server.requests();
        let ran = provider.run(&world, &server, &[&["query", "go"], args].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        said(&server.request(before).1)
    };
    let first = ask(&["--model", provider.model, "--effort", "high", "--max-tokens", "9"]);
    assert_eq!(first, r#"max_completion_tokens 9, reasoning_effort "high""#);
    fs::write(world.path("home/piton.toml"), "effort = \"low\"\nmax_tokens = 7\n").unwrap();
    assert_eq!(ask(&[]), first, "the settings are for new conversations");
    let back = ask(&["--effort", "auto", "--max-tokens", "0"]);
    assert_eq!(back, "", "nothing is said, so the provider decides");
    let fresh = ask(&["--new", "--model", provider.model]);
    assert_eq!(fresh, r#"max_completion_tokens 7, reasoning_effort "low""#);
}

#[test]
fn a_variable_goes_before_the_provider_and_that_before_the_rest() {
    let (world, provider) = (World::new(), thinker());
    let settings = "effort = \"high\"\nmax_tokens = 7\n\
                    [providers.openai-chat]\neffort = \"medium\"\n";
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(world.path("home/piton.toml"), settings).unwrap();
    let server = Loopback::start((0..2).map(|_| stream(provider.yes)).collect());
    let args = ["query", "go", "--new", "--model", provider.model];
    assert_eq!(provider.run(&world, &server, &args).code, 0);
    let told = said(&server.request(0).1);
    assert_eq!(told, r#"max_completion_tokens 7, reasoning_effort "medium""#);
    let mut command = provider.command(&world, &server, &args);
    let ran = world.ran(command.env("PITON_EFFORT", "minimal").output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told = said(&server.request(1).1);
    assert_eq!(told, r#"max_completion_tokens 7, reasoning_effort "minimal""#);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_begun() {
    let world = World::new();
    world.check(
        &[&["query", "go", "--effort", "heroic"], &["query", "go", "--max-tokens", "many"]],
        expect![[r#"
            $ piton query go --effort heroic
            2> error: invalid value 'heroic' for '--effort <EFFORT>': an effort is one of auto, none, minimal, low, medium, high, max
            2>
            2> hint: try --help
            exit 2
            $ piton query go --max-tokens many
            2> error: invalid value 'many' for '--max-tokens <N>': invalid digit found in string
            2>
            2> hint: try --help
            exit 2
        "#]],
    );
    for (name, value) in [("PITON_EFFORT", "heroic"), ("PITON_MAX_TOKENS", "many")] {
        let ran = world.ran(world.command(&["query", "go"]).env(name, value).output().unwrap());
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains(&format!("{name} cannot be {value}: ")), "{}", ran.stderr);
    }
    assert_eq!(world.rows().len(), 0);
}

// K49: prompt caches go by conversation
#[test]
fn every_conversation_has_its_own_cache_key() {
    for provider in PROVIDERS.iter().filter(|provider| provider.key != "ANTHROPIC_API_KEY") {
        let world = World::new();
        let server = Loopback::start((0..3).map(|_| stream(provider.yes)).collect());
        let new = ["query", "go", "--new", "--model", provider.model];
        for args in [&new[..], &["query", "more"], &new[..]] {
            assert_eq!(provider.run(&world, &server, args).code, 0);
        }
        let key = |number| server.request(number).1.get("prompt_cache_key").cloned();
        let ids: Vec<_> = world.rows().iter().map(|row| row["conversation"].clone()).collect();
        if provider.model.starts_with("gemini") {
            assert_eq!(key(0), None, "its cache goes by the beginning of the request");
            continue;
        }
        assert_eq!((key(0), key(2)), (Some(ids[1].clone()), Some(ids[0].clone())));
        assert_eq!(key(0), key(1), "{}", provider.model);
    }
}

// Opening a pipe waits for whoever writes into it, for ever: anybody can put one into a workspace.
#[test]
fn a_pipe_where_a_file_is_looked_for_holds_up_nobody() {
    let world = World::new();
    let pipe = |path: &std::path::Path| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
    };
    fs::create_dir_all(world.path("home")).unwrap();
    pipe(&world.work(".mcp.json"));
    let ran = world.run(&["query", "--new", "hi"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let note = "it is no regular file; going on without it";
    assert!(ran.stderr.contains(".mcp.json") && ran.stderr.contains(note), "{}", ran.stderr);
    pipe(&world.work("script"));
    let ran = world.run(&["query", "--new", "hi", "--model", "script:script"]);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("it is no regular file"), "{}", ran.stderr);
    pipe(&world.path("home/piton.toml"));
    let ran = world.run(&["query", "--new", "hi"]);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("it is no regular file"), "{}", ran.stderr);
}
