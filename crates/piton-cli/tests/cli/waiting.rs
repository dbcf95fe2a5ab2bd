//! A model that keeps the line open and brings nothing: whoever watches sees for how long.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::emulator::screen;
use crate::loopback::{CANARY, chat, events, read_request};
use crate::person::Person;
use crate::world::World;

/// Between two signs of life.
const PING_EVERY: Duration = Duration::from_millis(200);

/// A server that answers with these events, and between them with signs of life until it is told to go on.
fn pinging(answer: &'static [&'static str]) -> (String, mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (go_on, told) = mpsc::channel();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        read_request(&mut socket).unwrap();
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked";
        socket.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
        for event in answer {
            // wait: signs of life come from time to time
            while told.recv_timeout(PING_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                chunk(&mut socket, ": ping\n\n");
            }
            chunk(&mut socket, &events(&[event]));
        }
        chunk(&mut socket, "");
    });
    (address, go_on)
}

fn chunk(socket: &mut TcpStream, text: &str) {
    // Whoever has gone away does not hear it.
    socket.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).unwrap_or_default();
}

fn asks(world: &World, address: &str, variables: &[(&str, &str)]) -> Person {
    let provider = chat();
    let mut command = world.command(&["query", "go", "--model", provider.model]);
    command
        .env(provider.address, format!("http://{address}{}", provider.suffix))
        .env(provider.key, CANARY)
        .env("NO_PROXY", "127.0.0.1");
    Person::starts_sized(command, (24, 80), variables)
}

// J47
#[test]
fn a_model_that_brings_nothing_is_waited_for_in_sight_of_what_came() {
    const ANSWER: [&str; 3] = [
        r#"{"choices":[{"index":0,"delta":{"content":"A paragraph that is longer than one line has its first one on the screen while half of "}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"it."}}]}"#,
        "[DONE]",
    ];
    let world = World::new();
    let (address, go_on) = pinging(&ANSWER);
    let mut person = asks(&world, &address, &[]);
    person.sees(" s: waiting for openai-chat/gpt-4o");
    go_on.send(()).unwrap();
    person
        .sees("A paragraph that is longer than one line has its first one on the screen while\r\n");
    person.sees("half of").sees(" s: waiting for openai-chat/gpt-4o");
    go_on.send(()).unwrap();
    drop(go_on);
    let (code, written) = person.leaves();
    assert_eq!(code, 0, "{written}");
    let lines = screen(&written, 80);
    assert!(lines.iter().any(|line| line == "half of it."), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("waiting for")), "{lines:?}");
}

#[test]
fn a_plain_terminal_is_told_of_the_wait_from_time_to_time() {
    let world = World::new();
    let (address, go_on) = pinging(chat().yes);
    let mut person = asks(&world, &address, &[("TERM", "dumb")]);
    person.sees(" s: waiting for openai-chat/gpt-4o\r\n");
    drop(go_on);
    let (code, written) = person.leaves();
    let theirs = written.replace("\r\n", "\n");
    assert!(code == 0 && theirs.contains("Yes.\n"), "{written}");
    assert!(!theirs.chars().any(|it| it.is_control() && it != '\n'), "{theirs:?}");
}
