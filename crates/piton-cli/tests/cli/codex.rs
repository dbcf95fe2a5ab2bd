//! The Codex backend: the login's token, the account, the headers and the body that it wants.

use piton_wire::openai_responses::rules::codex_violations;

use crate::loopback::{CANARY, Loopback, PROVIDERS, Provider, refusal, stream};
use crate::world::World;

fn codex() -> &'static Provider {
    &PROVIDERS[3]
}

#[test]
fn codex_gets_the_token_the_account_and_the_headers_of_its_own_client() {
    let (world, provider) = (World::new(), codex());
    let server = Loopback::start(vec![stream(provider.yes)]);
    let mut command =
        provider.command(&world, &server, &["query", "go", "--model", provider.model]);
    let ran = world.ran(command.env("CODEX_ACCOUNT_ID", "acc-1").output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
    let (head, body) = server.request(0);
    let id = world.only_id();
    assert!(head.starts_with("post /backend-api/codex/responses http/1.1"), "{head}");
    for line in [
        format!("authorization: bearer {CANARY}"),
        "chatgpt-account-id: acc-1".into(),
        "originator: piton".into(),
        "accept: text/event-stream".into(),
        format!("session-id: {id}"),
        format!("thread-id: {id}"),
        format!("user-agent: piton/{}", env!("CARGO_PKG_VERSION")),
    ] {
        assert!(head.lines().any(|header| header == line), "{line}: {head}");
    }
    assert_eq!(codex_violations(&body), Vec::<String>::new());
    assert_eq!(body["prompt_cache_key"], id.as_str());
}

#[test]
fn codex_without_a_token_says_what_to_set() {
    let world = World::new();
    let ran = world.run(&["query", "go", "--model", "codex/gpt-5-codex"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("codex needs a key: set CODEX_ACCESS_TOKEN"), "{}", ran.stderr);
}

#[test]
fn a_token_that_codex_refuses_and_a_limit_that_is_reached_are_told_apart() {
    let refused =
        r#"{"detail":"Could not parse your authentication token. Please try signing in again."}"#;
    let spent = r#"{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_at":1}}"#;
    for (status, body, said) in [
        ("401 Unauthorized", refused, "Please try signing in again"),
        ("429 Too Many Requests", spent, "usage limit"),
    ] {
        let (world, provider) = (World::new(), codex());
        let server = Loopback::start(vec![refusal(status, body)]);
        let ran = provider.run(&world, &server, &["query", "go", "--model", provider.model]);
        assert_eq!(ran.code, 1, "final, not to be tried again: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        assert_eq!(server.requests(), 1);
    }
}
