//! Faults at the wire: statuses in the provider's shape, cuts, stalls, garbage, and how often.

use std::time::Duration;

use piton_core::answer::Delta;
use piton_core::event::FailureClass;
use piton_sim::script::{Fault, FaultKind, Script};
use piton_sim::serve::{Options, Server};
use serde_json::json;

use super::{Played, played, post, script};

/// Longest wait for something that is about to happen.
const SOON: Duration = Duration::from_secs(20);

fn hello() -> Script {
    script(&json!({ "steps": [{ "say": "Hello", "chunk": 1 }] }))
}

fn serving(fault: Fault) -> Server {
    let options = Options { faults: vec![(Some(0), fault)], ..Options::default() };
    Server::with(hello(), options).unwrap()
}

/// What became of an answer: its text, whether its end mark came, and the failure.
#[derive(Debug, Default, PartialEq, Eq)]
struct Read {
    text: String,
    ended: bool,
    failure: Option<FailureClass>,
}

async fn read(server: &Server, played: &Played) -> Read {
    let mut read = Read::default();
    let Ok(mut response) = post(server, played.path, &played.body).await else {
        return Read { failure: Some(FailureClass::Network), ..read };
    };
    let status = response.status().as_u16();
    if status != 200 {
        let headers = response.headers().clone();
        let header = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
        let body = response.bytes().await.unwrap();
        let failure = played.dialect.failure(status, &header, &body);
        return Read { failure: Some(failure.class), ..read };
    }
    let mut decoder = played.dialect.decoder(&[], &played.ask());
    loop {
        let (piece, mut deltas) = (response.chunk().await, Vec::new());
        let decoded = match &piece {
            Ok(Some(piece)) => decoder.push(piece, &mut deltas),
            Ok(None) | Err(_) => decoder.end(&mut deltas),
        };
        for delta in deltas {
            read.ended |= matches!(delta, Delta::End { .. });
            if let Delta::Text { text, .. } = delta {
                read.text.push_str(&text);
            }
        }
        if let Err(failure) = decoded {
            read.failure = Some(failure.class);
        }
        match piece {
            Ok(Some(_)) => {}
            Ok(None) => return read,
            Err(_) => {
                read.failure = read.failure.or(Some(FailureClass::Network));
                return read;
            }
        }
    }
}

// D71, J49, J50
#[tokio::test]
async fn every_class_of_failure_is_said_so_that_it_is_understood() {
    for class in [
        FailureClass::Overloaded,
        FailureClass::RateLimited,
        FailureClass::Server,
        FailureClass::Auth,
        FailureClass::Quota,
        FailureClass::InvalidRequest,
        FailureClass::ContextOverflow,
        FailureClass::ContentFilter,
        FailureClass::Network,
    ] {
        for played in played() {
            let server = serving(Fault::new(FaultKind::Fail(class)));
            let found = read(&server, &played).await;
            assert_eq!(found.failure, Some(class), "{}", played.path);
            let after = read(&server, &played).await;
            assert_eq!((after.text.as_str(), after.ended), ("Hello", true), "{}", played.path);
        }
    }
}

#[tokio::test]
async fn a_failure_inside_a_stream_ends_it() {
    let classes = [FailureClass::Overloaded, FailureClass::RateLimited, FailureClass::Server];
    for class in classes {
        for played in played() {
            let server = serving(Fault::new(FaultKind::Fail(class)).after(2));
            let found = read(&server, &played).await;
            assert_eq!((found.ended, found.failure), (false, Some(class)), "{}", played.path);
        }
    }
}

#[tokio::test]
async fn statuses_come_as_often_as_wanted_and_say_how_long_to_wait() {
    for played in played() {
        let fault = Fault::new(FaultKind::Status(503)).times(2).retry_after_ms(1500);
        let server = serving(fault);
        for expected in [503, 503, 200] {
            let answer = post(&server, played.path, &played.body).await.unwrap();
            assert_eq!(answer.status(), expected, "{}", played.path);
            let headers = answer.headers().clone();
            let header = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
            let body = answer.bytes().await.unwrap();
            if expected == 503 {
                let failure = played.dialect.failure(503, &header, &body);
                assert_eq!(failure.retry_after_ms, Some(1500), "{}", played.path);
            }
        }
    }
}

// J45: nothing but the end mark is an end
#[tokio::test]
async fn a_stream_without_its_end_is_no_answer() {
    for kind in [FaultKind::Cut, FaultKind::Drop, FaultKind::Garbage] {
        for played in played() {
            let found = read(&serving(Fault::new(kind).after(3)), &played).await;
            assert!(!found.ended, "{kind:?} {}: {found:?}", played.path);
        }
    }
    for played in played() {
        let found = read(&serving(Fault::new(FaultKind::NoEnd)), &played).await;
        // The end mark of Chat Completions is optional, and that of Gemini rides on the last piece.
        let is_optional =
            matches!(played.dialect.path(&played.ask()).as_str(), "/chat/completions");
        assert_eq!(found.ended, is_optional, "{}: {found:?}", played.path);
    }
}

#[tokio::test]
async fn a_connection_breaks_after_exactly_so_many_bytes() {
    for played in played() {
        let server = Server::start(hello()).unwrap();
        let whole = post(&server, played.path, &played.body).await.unwrap();
        let whole = whole.bytes().await.unwrap();
        for bytes in [1, 7, 100, whole.len() - 1] {
            let server = serving(Fault::new(FaultKind::Drop).after_bytes(bytes));
            let mut response = post(&server, played.path, &played.body).await.unwrap();
            let mut got = Vec::new();
            let broke = loop {
                match response.chunk().await {
                    Ok(Some(piece)) => got.extend_from_slice(&piece),
                    Ok(None) => break false,
                    Err(_) => break true,
                }
            };
            assert!(broke, "{}", played.path);
            assert_eq!(got, whole[..bytes], "{}", played.path);
        }
    }
}

#[tokio::test]
async fn a_stall_is_a_stall_and_can_be_waited_for() {
    for played in played() {
        let server = serving(Fault::new(FaultKind::Stall).after(2));
        let mut response = post(&server, played.path, &played.body).await.unwrap();
        assert!(response.chunk().await.unwrap().is_some());
        assert!(server.wait_for_stalls(1, SOON), "{}", played.path);
        drop(response);
        let after = read(&server, &played).await;
        assert_eq!(after.text, "Hello", "{}", played.path);
    }
}

#[tokio::test]
async fn a_server_ends_with_its_value_and_breaks_what_is_open() {
    let server = serving(Fault::new(FaultKind::Stall).after(1));
    let played = &played()[0];
    let mut response = post(&server, played.path, &played.body).await.unwrap();
    assert!(server.wait_for_requests(1, SOON));
    let address = server.address();
    drop(server);
    while let Ok(Some(_)) = response.chunk().await {}
    assert!(std::net::TcpStream::connect(address).is_err());
}
