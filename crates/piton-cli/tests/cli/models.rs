//! `piton models`: what is configured, what is reachable, and why not.

use std::fs;
use std::net::TcpListener;

use crate::loopback::{CANARY, Loopback, chat, stream};
use crate::person::Person;
use crate::world::{World, lines};

fn row(listed: &str, provider: &str) -> String {
    let row = listed.lines().find(|line| line.split_whitespace().next() == Some(provider));
    row.unwrap_or_else(|| panic!("{provider}: {listed}")).to_owned()
}

#[test]
fn every_provider_is_listed_with_what_it_lacks() {
    let world = World::new();
    let mut command = world.command(&["models"]);
    for key in ["ANTHROPIC", "OPENAI", "GEMINI", "GOOGLE", "DEEPSEEK", "MISTRAL", "OPENROUTER"] {
        command.env_remove(format!("{key}_API_KEY"));
    }
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    command.env_remove("CODEX_ACCESS_TOKEN").env("NO_PROXY", "127.0.0.1");
    let ran = world.ran(command.env("OLLAMA_HOST", gone.to_string()).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for (provider, state) in [
        ("demo", "ready: no key, no network, no language model"),
        ("anthropic", "no key: set ANTHROPIC_API_KEY"),
        ("openai", "no key: set OPENAI_API_KEY"),
        ("openai-chat", "no key: set OPENAI_API_KEY"),
        ("codex", "no key: set CODEX_ACCESS_TOKEN"),
        ("gemini", "no key: set GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("ollama", "not reachable: Connection refused (os error 111) (no key needed)"),
    ] {
        let row = row(&ran.stdout, provider);
        assert!(row.ends_with(state), "{row}");
    }
    let known = row(&ran.stdout, "anthropic/claude-opus-5-5");
    assert_eq!(known.split_whitespace().collect::<Vec<_>>()[1..], ["1M", "128k", "4.00/20.00"]);
    let said = "no provider could be asked for its models; these are known to this build\n";
    assert_eq!(ran.stderr, format!("{said}new conversations use demo\n"));
}

#[test]
fn programs_get_the_same_as_lines_of_data() {
    let world = World::new();
    let mut command = world.command(&["models", "--json"]);
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    command.env_remove("ANTHROPIC_API_KEY").env("NO_PROXY", "127.0.0.1");
    let ran = world.ran(command.env("OLLAMA_HOST", gone.to_string()).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let rows = lines(&ran.stdout);
    let row = |name: &str| rows.iter().find(|row| row["provider"] == name).unwrap();
    assert!(rows.iter().all(|row| row["v"] == 2));
    let models = rows.iter().filter(|row| row["type"] == "model");
    assert!(models.clone().any(|row| row["price_input"] == 4.0), "{rows:?}");
    assert_eq!(
        (&row("demo")["ready"], &row("demo")["default_model"]),
        (&true.into(), &"demo".into())
    );
    let without_key = row("anthropic");
    assert_eq!(without_key["state"], "no key: set ANTHROPIC_API_KEY");
    assert_eq!((&without_key["ready"], &without_key["default_model"]), (&false.into(), &().into()));
    assert_eq!(row("ollama")["address"], format!("http://{gone}/v1"));
}

#[test]
fn a_key_goes_to_the_provider_that_it_belongs_to_and_no_command_is_asked_for_one() {
    let world = World::new();
    let answer =
        || b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_vec();
    let server = Loopback::start(vec![answer(), answer(), answer()]);
    let address = format!("http://{}", server.address);
    fs::create_dir_all(world.path("home")).unwrap();
    let settings = format!(
        "model = \"mine/large\"\n[providers.mine]\ndialect = \"anthropic\"\n\
         base_url = \"{address}\"\nkey_command = [\"pass\", \"{CANARY}\"]\n"
    );
    fs::write(world.path("home/piton.toml"), settings).unwrap();
    let mut command = world.command(&["models"]);
    command.env("NO_PROXY", "127.0.0.1").env("GOOGLE_API_KEY", CANARY);
    let ran = world.ran(command.env("GOOGLE_GEMINI_BASE_URL", &address).output().unwrap());
    assert!(
        row(&ran.stdout, "gemini").ends_with("ready: key from GOOGLE_API_KEY"),
        "{}",
        ran.stdout
    );
    assert!(
        row(&ran.stdout, "mine").ends_with("ready: key from the command pass"),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("new conversations use mine/large"), "{}", ran.stderr);
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(CANARY));
    assert!(!server.request(0).0.contains(CANARY) && !server.request(1).0.contains(CANARY));
    let (asked, _) = server.request(2);
    assert!(asked.starts_with("get /v1beta/models?pagesize=1000 "), "{asked}");
    assert!(asked.contains(CANARY), "{asked}");
    assert_eq!(server.requests(), 3, "the command that prints a key was not asked");
    let said = "models of gemini: known to this build; it answered with status 404";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
}

#[test]
fn a_provider_lists_its_models_once_a_day() {
    let world = World::new();
    let body = r#"{"data": [{"id": "large", "context_length": 32000}, {"id": "small"}]}"#;
    let head =
        || b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_vec();
    let list = || {
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json";
        format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    };
    let server = Loopback::start(vec![head(), list(), head(), head(), list()]);
    let run = |flags: &[&str]| {
        let mut command = world.command(&[&["models", "mistral"], flags].concat());
        command.env("NO_PROXY", "127.0.0.1").env("MISTRAL_API_KEY", "k");
        command.env("MISTRAL_BASE_URL", format!("http://{}/v1", server.address));
        world.ran(command.output().unwrap())
    };
    for (flags, said, requests) in [
        (&[][..], "models of mistral: asked just now", 2),
        (&[], "models of mistral: as listed just now; --refresh asks again", 3),
        (&["--refresh"], "models of mistral: asked just now", 5),
    ] {
        let ran = run(flags);
        let found = row(&ran.stdout, "mistral/large");
        assert!(found.contains("32k"), "{found}");
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        assert_eq!(server.requests(), requests, "{}", ran.stderr);
        assert!(!ran.stdout.contains("anthropic"), "{}", ran.stdout);
    }
}

#[test]
fn the_only_provider_with_a_key_answers_and_that_is_said() {
    let (world, provider) = (World::new(), chat());
    let server = Loopback::start(vec![stream(provider.yes)]);
    let mut command = world.command(&["query", "Well?"]);
    command.env("NO_PROXY", "127.0.0.1").env("MISTRAL_API_KEY", "k");
    command.env("MISTRAL_BASE_URL", format!("http://{}/v1", server.address));
    let ran = world.ran(command.output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
    let said = "mistral/mistral-medium-2604 answers because MISTRAL_API_KEY is set";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert_eq!(server.request(0).1["model"], "mistral-medium-2604");
}

#[test]
fn with_several_keys_and_nobody_there_a_model_has_to_be_chosen() {
    let world = World::new();
    let mut command = world.command(&["query", "Well?"]);
    command.env("MISTRAL_API_KEY", "k").env("DEEPSEEK_API_KEY", "k");
    let ran = world.ran(command.output().unwrap());
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    let said = "there are keys for several: deepseek/deepseek-v4-pro, mistral/mistral-medium-2604";
    assert!(
        ran.stderr.contains(said) && ran.stderr.contains("choose one: --model MODEL"),
        "{}",
        ran.stderr
    );
}

#[test]
fn with_several_keys_a_person_is_asked_once() {
    let (world, provider) = (World::new(), chat());
    let server = Loopback::start(vec![stream(provider.yes), stream(provider.yes)]);
    let command = || {
        let mut command = world.command(&["query", "--new", "Well?"]);
        command
            .env("NO_PROXY", "127.0.0.1")
            .env("MISTRAL_API_KEY", "k")
            .env("DEEPSEEK_API_KEY", "k");
        command.env("MISTRAL_BASE_URL", format!("http://{}/v1", server.address));
        command
    };
    let mut person = Person::starts_command(command());
    person.sees("1  deepseek/deepseek-v4-pro").sees("2  mistral/mistral-medium-2604").types("3\n");
    person.sees("1 to 2").types("2\n").sees("kept as model in");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    let settings = fs::read_to_string(world.path("home/piton.toml")).unwrap();
    assert_eq!(settings, "model = \"mistral/mistral-medium-2604\"\n");
    let ran = world.ran(command().output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
}
