//! How requests travel: reused connections, proxies, certificates, packed bodies; and no key on
//! the way to a screen or a disk.

use std::fs;
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::loopback::{CANARY, Loopback, PROVIDERS, chat, events, read_request, refusal, stream};
use crate::world::World;

const CALL: &[&str] = &[
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"list_dir","arguments":"{}"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    "[DONE]",
];

#[test]
fn the_steps_of_a_turn_share_a_connection() {
    let (world, provider) = (World::new(), chat());
    let mut answers = vec![stream(CALL); 7];
    answers.push(stream(provider.yes));
    let server = Loopback::start(answers);
    let ran = provider.run(&world, &server, &["query", "go", "--model", provider.model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
    // The end of an answer is waited for only for a moment. A machine that is busy right then costs one
    // connection more, not one for every step.
    let (requests, connections) = (server.requests(), server.connections());
    assert!(requests == 8 && connections < 4, "{requests} requests, {connections} connections");
}

#[test]
fn a_packed_answer_is_unpacked() {
    let (world, provider) = (World::new(), chat());
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(events(provider.yes).as_bytes()).unwrap();
    let body = packer.finish().unwrap();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    let server = Loopback::start(vec![[head.into_bytes(), body].concat()]);
    let ran = provider.run(&world, &server, &["query", "go", "--model", provider.model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
    assert!(server.request(0).0.contains("accept-encoding: gzip"), "{}", server.request(0).0);
}

#[test]
fn requests_go_through_the_proxy_of_the_environment() {
    let (world, provider) = (World::new(), chat());
    let proxy = Loopback::start(vec![stream(provider.yes)]);
    let mut command = world.command(&["query", "go", "--model", provider.model]);
    command
        .env(provider.address, "http://models.invalid/v1")
        .env(provider.key, CANARY)
        .env("HTTP_PROXY", format!("http://{}", proxy.address))
        .env("http_proxy", format!("http://{}", proxy.address))
        .env_remove("NO_PROXY")
        .env_remove("no_proxy");
    let ran = world.ran(command.output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
    let (head, _) = proxy.request(0);
    assert!(head.starts_with("post http://models.invalid/v1/chat/completions http/1.1"), "{head}");
}

// K56: the command is asked again when its key is refused, once, and no more often than needed
#[test]
fn a_key_of_a_command_is_asked_for_anew_when_it_is_refused() {
    let (world, provider) = (World::new(), chat());
    let refused = || refusal("401 Unauthorized", "{}");
    let server = Loopback::start(vec![refused(), stream(CALL), stream(provider.yes)]);
    fs::create_dir_all(world.path("home")).unwrap();
    let settings = format!(
        "[providers.own]\ndialect = \"openai-chat\"\nbase_url = \"http://{}/v1\"\n\
         key_command = [\"sh\", \"-c\", \"echo x >> asked; echo key-$(wc -l < asked)\"]\n",
        server.address
    );
    fs::write(world.path("home/piton.toml"), settings).unwrap();
    let mut command = world.command(&["query", "go", "--model", "own/gpt-4o"]);
    let ran = world.ran(command.env("NO_PROXY", "127.0.0.1").output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
    let key = |number| {
        let (head, _) = server.request(number);
        let line = head.lines().find(|line| line.starts_with("authorization:"));
        line.unwrap().rsplit(' ').next().unwrap().to_owned()
    };
    assert_eq!([key(0), key(1), key(2)], ["key-1", "key-2", "key-2"]);
}

/// A server behind a certificate that nobody but `certificate` vouches for. Gives one answer.
fn start_tls(certificate: &Path, answer: Vec<u8>) -> String {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(certificate, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let config = Arc::new(config);
    thread::spawn(move || {
        while let Ok((socket, _)) = listener.accept() {
            let connection = ServerConnection::new(config.clone()).unwrap();
            let mut socket = StreamOwned::new(connection, socket);
            // Who does not trust the certificate goes away.
            if read_request(&mut socket).is_some() {
                socket.write_all(&answer).unwrap();
                socket.flush().unwrap();
            }
        }
    });
    format!("https://localhost:{port}/v1")
}

#[test]
fn a_certificate_of_ones_own_is_trusted_when_named_and_not_before() {
    let (world, provider) = (World::new(), chat());
    let certificate = world.path("own.pem");
    let address = start_tls(&certificate, stream(provider.yes));
    let settings = "[providers.own]\ndialect = \"openai-chat\"\n";
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(world.path("home/piton.toml"), format!("{settings}base_url = \"{address}\"\n"))
        .unwrap();
    let mut models = world.command(&["models"]);
    let listed = world.ran(models.env("NO_PROXY", "localhost").output().unwrap());
    let row = listed.stdout.lines().find(|line| line.starts_with("own ")).unwrap().to_owned();
    assert!(row.contains("not reachable") && row.contains("ertificate"), "{row}");
    let mut command = world.command(&["query", "go", "--model", "own/gpt-4o"]);
    command.env("NO_PROXY", "localhost").env("SSL_CERT_FILE", &certificate);
    let ran = world.ran(command.output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
}

/// A proxy that opens one tunnel to wherever it is asked to. Gives its address, and what it is told.
fn start_tunnel() -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (told, hears) = mpsc::channel();
    thread::spawn(move || {
        let (mut near, _) = listener.accept().unwrap();
        let head = read_request(&mut near).unwrap();
        let to = head.split(' ').nth(1).unwrap().replace("localhost", "127.0.0.1");
        told.send(head).unwrap();
        let mut far = TcpStream::connect(to).unwrap();
        near.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        let (mut back, mut answers) = (near.try_clone().unwrap(), far.try_clone().unwrap());
        thread::spawn(move || io::copy(&mut answers, &mut back));
        io::copy(&mut near, &mut far).ok();
    });
    (address, hears)
}

#[test]
fn requests_to_an_encrypted_address_go_through_a_tunnel_of_the_proxy() {
    let (world, provider) = (World::new(), chat());
    let certificate = world.path("own.pem");
    let address = start_tls(&certificate, stream(provider.yes));
    let (proxy, told) = start_tunnel();
    let mut command = world.command(&["query", "go", "--model", provider.model]);
    command
        .env(provider.address, &address)
        .env(provider.key, CANARY)
        .env("SSL_CERT_FILE", &certificate)
        .env("HTTPS_PROXY", format!("http://me:word@{proxy}"))
        .env_remove("https_proxy")
        .env_remove("NO_PROXY")
        .env_remove("no_proxy");
    let ran = world.ran(command.output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
    let head = told.try_recv().unwrap().to_lowercase();
    let port = address.trim_end_matches("/v1").rsplit(':').next().unwrap();
    assert!(head.starts_with(&format!("connect localhost:{port} http/1.1\r\n")), "{head}");
    assert!(head.contains("proxy-authorization: basic bwu6d29yza=="), "{head}");
    assert!(!head.contains(CANARY), "the proxy sees no key: {head}");
}

/// Everything under a directory, as text.
fn everything(directory: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        if entry.path().is_dir() {
            text.push_str(&everything(&entry.path()));
        } else {
            let bytes = fs::read(entry.path()).unwrap_or_default();
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
    text
}

/// Runs a query whose provider does something odd, and looks for the key.
fn check_secret(name: &str, answers: Vec<Vec<u8>>) {
    for provider in &PROVIDERS {
        let world = World::new();
        let server = Loopback::start(answers.clone());
        let args = ["query", "go", "--json", "--model", provider.model];
        let mut child = provider.command(&world, &server, &args).spawn().unwrap();
        // The first failure is enough; whether it is tried again is not the question here.
        world.wait_for_events("ModelFailed", 1);
        child.kill().unwrap();
        let ran = world.finish(child);
        let printed = world.run(&["print", "--json", "--raw"]);
        let told = format!("{}{}{}{}", ran.stdout, ran.stderr, printed.stdout, printed.stderr);
        assert!(!told.contains(CANARY), "{name}, {}: {told}", provider.model);
        let stored = everything(&world.path("home"));
        assert!(!stored.contains(CANARY), "{name}, {}: on the disk", provider.model);
        let events = world.events();
        let failures = events.iter().filter(|event| event["type"] == "ModelFailed");
        for message in failures.map(|event| event["message"].as_str().unwrap()) {
            assert!(message.len() < 600, "{name}, {}: {} bytes", provider.model, message.len());
        }
    }
}

#[test]
fn a_key_that_a_provider_quotes_is_shown_to_nobody() {
    let quoting = format!(
        r#"{{"type":"error","error":{{"type":"authentication_error","message":"bad key {CANARY}","code":401,"status":"UNAUTHENTICATED"}},"detail":"Bearer {CANARY}"}}"#
    );
    check_secret("401", vec![refusal("401 Unauthorized", &quoting)]);
    check_secret("400", vec![refusal("400 Bad Request", &quoting)]);
    check_secret("404", vec![refusal("404 Not Found", &format!("<b>no {CANARY} here</b>"))]);
    let event = format!(
        r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"no {CANARY}","code":400,"status":"INVALID_ARGUMENT"}}}}"#
    );
    check_secret("an error in the stream", vec![stream(&[&event])]);
}

#[test]
fn an_error_page_is_shown_short() {
    let page = format!("<html>{}{CANARY}</html>", "sorry ".repeat(20_000));
    check_secret("a page", vec![refusal("403 Forbidden", &page)]);
}

#[test]
fn a_key_stays_hidden_when_nobody_is_there() {
    let (world, provider) = (World::new(), chat());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut command = world.command(&["query", "go", "--model", provider.model]);
    let url = format!("http://user:{CANARY}@{address}/v1");
    command.env(provider.address, &url).env(provider.key, CANARY).env("NO_PROXY", "127.0.0.1");
    let mut child = command.spawn().unwrap();
    world.wait_for_events("ModelFailed", 1);
    child.kill().unwrap();
    let ran = world.finish(child);
    let mut models = world.command(&["models"]);
    models.env(provider.address, &url).env(provider.key, CANARY).env("NO_PROXY", "127.0.0.1");
    let listed = world.ran(models.output().unwrap());
    let told = format!("{}{}{}{}", ran.stdout, ran.stderr, listed.stdout, listed.stderr);
    assert!(!told.contains(CANARY), "{told}");
    assert!(!everything(&world.path("home")).contains(CANARY));
    assert!(listed.stdout.contains("not reachable: Connection refused"), "{}", listed.stdout);
}
