//! Providers over real HTTP on loopback, played by the simulator: one tool-using turn each, and a
//! change of provider in the middle of a turn. The player objects to whatever its provider would
//! reject, and to signed reasoning that is altered or of another model.

use piton_core::event::FailureClass;
use piton_sim::script::{Fault, FaultKind, Script};
use piton_sim::serve::{Options, Server};

use crate::world::{Ran, World};

/// A provider as it is played.
#[derive(Clone, Copy)]
struct Provider {
    model: &'static str,
    /// Another model of the same provider.
    other: &'static str,
    key: &'static str,
    path: &'static str,
    key_header: &'static str,
    /// What stands in a request that carries signed reasoning back.
    seal: &'static str,
}

const ANTHROPIC: Provider = Provider {
    model: "anthropic/claude-sonnet-4-5",
    other: "anthropic/claude-opus-4-5",
    key: "ANTHROPIC_API_KEY",
    path: "/v1/messages",
    key_header: "x-api-key",
    seal: "\"signature\":\"simu",
};
const OPENAI: Provider = Provider {
    model: "openai/gpt-5",
    other: "openai/gpt-5-mini",
    key: "OPENAI_API_KEY",
    path: "/v1/responses",
    key_header: "authorization",
    seal: "\"encrypted_content\":\"gAAAAAB",
};
const CHAT: Provider = Provider {
    model: "openai-chat/gpt-4o",
    other: "openai-chat/gpt-4o-mini",
    path: "/v1/chat/completions",
    seal: "",
    ..OPENAI
};
const CODEX: Provider = Provider {
    model: "codex/gpt-5-codex",
    other: "codex/gpt-5",
    key: "CODEX_ACCESS_TOKEN",
    path: "/backend-api/codex/responses",
    ..OPENAI
};
const GEMINI: Provider = Provider {
    model: "gemini/gemini-3-pro",
    other: "gemini/gemini-3-flash",
    key: "GEMINI_API_KEY",
    path: "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
    key_header: "x-goog-api-key",
    seal: "\"thoughtSignature\":\"simu",
};
const OLLAMA: Provider = Provider {
    model: "ollama/llama",
    other: "ollama/qwen",
    key: "",
    path: "/ollama/v1/chat/completions",
    key_header: "",
    seal: "",
};
const DEEPSEEK: Provider = Provider {
    model: "deepseek/deepseek-reasoner",
    other: "deepseek/deepseek-chat",
    key: "DEEPSEEK_API_KEY",
    path: "/deepseek/chat/completions",
    seal: "\"reasoning_content\":\"A file, hm.\"",
    ..CHAT
};
const MISTRAL: Provider = Provider {
    model: "mistral/large",
    other: "mistral/small",
    key: "MISTRAL_API_KEY",
    path: "/mistral/v1/chat/completions",
    ..CHAT
};
const OPENROUTER: Provider = Provider {
    model: "openrouter/a/b",
    other: "openrouter/c/d",
    key: "OPENROUTER_API_KEY",
    path: "/openrouter/api/v1/chat/completions",
    seal: "\"reasoning_details\"",
    ..CHAT
};

/// Every dialect, and a server without a key.
const DIALECTS: [Provider; 6] = [ANTHROPIC, OPENAI, CHAT, CODEX, GEMINI, OLLAMA];
const FLAVOURS: [Provider; 3] = [DEEPSEEK, MISTRAL, OPENROUTER];

/// Serves a turn that reads a file, with faults at its second step.
fn serve(faults: &[Fault]) -> Server {
    let script = r#"{ "steps": [
        { "think": "A file, hm.",
          "calls": [{ "tool": "read_file", "arguments": { "path": "a.txt" } }], "chunk": 3 },
        { "say": "It says hi.", "chunk": 3 }
    ] }"#;
    let faults = faults.iter().map(|fault| (Some(1), *fault)).collect();
    let options = Options { key: Some("k3y".into()), faults, ..Options::default() };
    Server::with(Script::parse(script).unwrap(), options).unwrap()
}

fn world() -> World {
    let world = World::new();
    std::fs::write(world.work("a.txt"), "hi\n").unwrap();
    world
}

/// Runs a query whose requests all go to the server.
fn query(world: &World, server: &Server, provider: &Provider, args: &[&str]) -> Ran {
    let mut command = world.command(&[&["query"], args].concat());
    command.envs(server.variables()).env("NO_PROXY", "127.0.0.1");
    // Reasoning goes back only to who is asked to reason.
    command.env("PITON_EFFORT", "medium");
    if !provider.key.is_empty() {
        command.env(provider.key, "k3y");
    }
    world.finish(command.spawn().unwrap())
}

fn statuses(server: &Server) -> Vec<u16> {
    server.seen().iter().map(|seen| seen.status).collect()
}

fn finished(world: &World) -> usize {
    world.events().iter().filter(|event| event["type"] == "ToolFinished").count()
}

#[test]
fn every_provider_is_spoken_to_in_its_own_words() {
    for provider in DIALECTS.iter().chain(&FLAVOURS) {
        let (world, server) = (world(), serve(&[]));
        let ran =
            query(&world, &server, provider, &["what does a.txt say?", "--model", provider.model]);
        let seen = server.seen();
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (0, "It says hi.\n"),
            "{seen:?}: {}",
            ran.stderr
        );
        assert_eq!(statuses(&server), [200, 200], "{}", provider.model);
        assert_eq!(seen[0].path, provider.path);
        if !provider.key_header.is_empty() {
            assert_eq!(seen[0].header(provider.key_header), Some("[key]"), "{}", provider.model);
        }
        let body = String::from_utf8_lossy(&seen[1].body).into_owned();
        assert!(body.contains("hi\\n"), "the result goes back: {body}");
        // Signed reasoning goes back as it came, or the player would have objected.
        assert!(body.contains(provider.seal), "{} in {body}", provider.seal);
        let journal = world.run(&["print", "--json", "--raw"]).stdout;
        assert!(!journal.contains("k3y"), "a key is never recorded");
    }
}

/// A png of one pixel, and a part of it in base64.
const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
    \0\0\0\nIDATx\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82";
const PNG_BASE64: &str = "iVBORw0KGgoAAAANSUhEUg";

#[test]
fn an_image_that_is_read_is_seen_by_every_model_that_sees() {
    for provider in DIALECTS.iter().chain(&FLAVOURS) {
        let (world, server) = (World::new(), serve(&[]));
        std::fs::write(world.work("a.txt"), PNG).unwrap();
        let ran = query(&world, &server, provider, &["what is a.txt?", "--model", provider.model]);
        let seen = server.seen();
        assert_eq!((ran.code, statuses(&server)), (0, vec![200, 200]), "{seen:?}: {}", ran.stderr);
        let body = String::from_utf8_lossy(&seen[1].body).into_owned();
        let (sees, model) = (provider.key != DEEPSEEK.key, provider.model);
        assert_eq!(body.contains(PNG_BASE64), sees, "{model}: {body}");
        assert_eq!(body.contains("this model takes no images"), !sees, "{model}: {body}");
        assert!(body.contains("[image `a.txt`, image/png, 1 x 1, 67 bytes]"), "{model}: {body}");
        // The journal has a reference, and what it refers to is kept.
        std::fs::remove_file(world.work("a.txt")).unwrap();
        let finished = world.events().into_iter().find(|event| event["type"] == "ToolFinished");
        assert_eq!(finished.unwrap()["output"]["files"][0]["blob"]["bytes"], 67, "{model}");
    }
}

/// The work of one provider goes on with another.
fn switches_to_every_other(from: &Provider) {
    for to in DIALECTS.iter().filter(|to| to.model != from.model) {
        let (world, server) = (world(), serve(&[Fault::new(FaultKind::Fail(FailureClass::Auth))]));
        let ran = query(&world, &server, from, &["what does a.txt say?", "--model", from.model]);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        let ran = query(&world, &server, to, &["--continue", "--model", to.model]);
        let pair = format!("{} to {}: {}", from.model, to.model, ran.stderr);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "It says hi.\n"), "{pair}");
        let seen = server.seen();
        assert_eq!(seen.len(), 3, "{pair}: {seen:?}");
        assert_eq!((seen[2].path.as_str(), seen[2].status), (to.path, 200), "{pair}");
        let body = String::from_utf8_lossy(&seen[2].body).into_owned();
        assert!(body.contains("hi\\n") && body.contains("read_file"), "{pair}: {body}");
        assert!(!body.contains("simu") && !body.contains("gAAAAAB"), "{pair}: {body}");
        assert_eq!(finished(&world), 1, "{pair}: the tool is not run again");
    }
}

// X8, K40
#[test]
fn a_turn_of_anthropic_goes_on_with_every_other_dialect() {
    switches_to_every_other(&ANTHROPIC);
}

// X8, K40
#[test]
fn a_turn_of_responses_goes_on_with_every_other_dialect() {
    switches_to_every_other(&OPENAI);
}

// X8, K40
#[test]
fn a_turn_of_chat_completions_goes_on_with_every_other_dialect() {
    switches_to_every_other(&CHAT);
}

// X8, K40
#[test]
fn a_turn_of_codex_goes_on_with_every_other_dialect() {
    switches_to_every_other(&CODEX);
}

// X8, K40
#[test]
fn a_turn_of_gemini_goes_on_with_every_other_dialect() {
    switches_to_every_other(&GEMINI);
}

// X8, K40
#[test]
fn a_turn_of_a_local_server_goes_on_with_every_other_dialect() {
    switches_to_every_other(&OLLAMA);
}

// X8: signatures are bound to their model, and the player knows its own.
#[test]
fn a_turn_changes_its_model_and_leaves_the_signatures_behind() {
    for provider in DIALECTS.iter().chain(&FLAVOURS) {
        let (world, server) = (world(), serve(&[Fault::new(FaultKind::Fail(FailureClass::Auth))]));
        let ran =
            query(&world, &server, provider, &["what does a.txt say?", "--model", provider.model]);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        let ran = query(&world, &server, provider, &["--continue", "--model", provider.other]);
        let said = format!("{}: {} {:?}", provider.other, ran.stderr, server.seen());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "It says hi.\n"), "{said}");
        assert_eq!(finished(&world), 1, "{said}");
    }
}

// J51, J52
#[test]
fn signatures_that_the_provider_rejects_are_left_out_and_the_turn_goes_on() {
    for provider in [ANTHROPIC, OPENAI, CODEX, GEMINI] {
        let (world, server) = (world(), serve(&[Fault::new(FaultKind::BadSignature).times(10)]));
        let ran =
            query(&world, &server, &provider, &["what does a.txt say?", "--model", provider.model]);
        let seen = server.seen();
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (0, "It says hi.\n"),
            "{seen:?}: {}",
            ran.stderr
        );
        assert_eq!(statuses(&server), [200, 400, 200], "{}", provider.model);
        let body = String::from_utf8_lossy(&seen[2].body).into_owned();
        assert!(!body.contains("simu") && !body.contains("gAAAAAB"), "{body}");
        assert_eq!(finished(&world), 1, "{}", provider.model);
    }
}

// D71, J49: a retry is never hidden
#[test]
fn a_busy_provider_is_asked_again_and_the_person_sees_it() {
    for provider in &DIALECTS {
        let busy = Fault::new(FaultKind::Status(429)).times(2).retry_after_ms(1);
        let (world, server) = (world(), serve(&[busy]));
        let ran =
            query(&world, &server, provider, &["what does a.txt say?", "--model", provider.model]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "It says hi.\n"), "{}", ran.stderr);
        assert_eq!(statuses(&server), [200, 429, 429, 200], "{}", provider.model);
        assert_eq!(ran.stderr.matches(" of 5, next ").count(), 2, "{}", ran.stderr);
    }
}

#[test]
fn providers_say_what_they_lack() {
    let ran = world().run(&["models"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("ready: no key, no network, no language model"), "{}", ran.stdout);
    assert!(ran.stdout.contains("no key: set ANTHROPIC_API_KEY"), "{}", ran.stdout);
}
