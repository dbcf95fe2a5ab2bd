//! Encrypted connections: what is spoken on them, what a browser keeps of them, and those that never begin.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use std::{fs, io};

use piton_server::Tls;
use reqwest::{Certificate, Client, ClientBuilder, Version};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::stage::Stage;

const TALK: &str = r#"{"steps":[{"say":"Hello."}]}"#;

/// A server that encrypts.
struct Encrypted {
    stage: Stage,
    tls: Tls,
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Encrypted {
    async fn start() -> Self {
        let stage = Stage::new(TALK);
        let files = renewed(&stage);
        let tls = Tls::read(&files.0, &files.1).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (server, own) = (stage.server.clone(), tls.clone());
        let serving = tokio::spawn(async move { server.serve_encrypted(listener, own).await });
        Self { stage, tls, address, serving }
    }

    /// A client that trusts the certificate of now.
    fn client(&self) -> ClientBuilder {
        let pem = fs::read(self.stage.dir.path().join("cert.pem")).unwrap();
        builder().tls_certs_only([Certificate::from_pem(&pem).unwrap()])
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }

    async fn stop(self) {
        self.stage.server.stop();
        tokio::time::timeout(Duration::from_secs(10), self.serving).await.unwrap().unwrap();
    }
}

fn builder() -> ClientBuilder {
    rustls::crypto::ring::default_provider().install_default().unwrap_or_default();
    Client::builder().no_proxy()
}

/// Another certificate with its key, in the place of the one before.
fn renewed(stage: &Stage) -> (PathBuf, PathBuf) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = (stage.dir.path().join("cert.pem"), stage.dir.path().join("key.pem"));
    fs::write(&files.0, made.cert.pem()).unwrap();
    fs::write(&files.1, made.signing_key.serialize_pem()).unwrap();
    files
}

#[tokio::test]
async fn both_versions_of_http_are_spoken_and_the_cookie_never_goes_out_unencrypted() {
    let encrypted = Encrypted::start().await;
    for (client, version) in [
        (encrypted.client().http1_only().build().unwrap(), Version::HTTP_11),
        (encrypted.client().build().unwrap(), Version::HTTP_2),
    ] {
        let answer = client.get(encrypted.url("/healthz")).send().await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.version()), (200, version));
        let code = encrypted.stage.code();
        let url = encrypted.url(&format!("/sign-in?code={code}"));
        let answer = client.get(url).send().await.unwrap();
        let cookie = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
        assert!(cookie.ends_with("; Secure") && cookie.contains("; HttpOnly"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let port = encrypted.address.port();
        for (origin, status) in [
            (format!("https://localhost:{port}"), 200),
            (format!("http://localhost:{port}"), 403),
            ("https://evil.example".to_owned(), 403),
        ] {
            let asked = client.post(encrypted.url("/api/v1/conversations"));
            let asked = asked.header("cookie", &cookie).header("origin", &origin);
            let directory = serde_json::json!({ "directory": encrypted.stage.work() });
            let asked = asked.header("content-type", "application/json");
            let answer = asked.body(directory.to_string()).send().await.unwrap();
            let told = (answer.status().as_u16() / 100 * 100, origin);
            assert_eq!(told.0, status / 100 * 100, "{}", told.1);
        }
    }
    encrypted.stop().await;
}

#[tokio::test]
async fn a_renewed_certificate_counts_for_new_connections_without_a_restart() {
    let encrypted = Encrypted::start().await;
    let old = encrypted.client().build().unwrap();
    assert!(old.get(encrypted.url("/healthz")).send().await.unwrap().status().is_success());
    renewed(&encrypted.stage);
    assert!(encrypted.tls.renew().unwrap());
    let new = encrypted.client().build().unwrap();
    assert!(new.get(encrypted.url("/healthz")).send().await.unwrap().status().is_success());
    let stranger = builder().build().unwrap();
    let refused = stranger.get(encrypted.url("/healthz")).send().await.unwrap_err();
    assert!(refused.is_connect(), "{refused}");
    encrypted.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_agrees_on_a_key_is_cut_off() {
    let encrypted = Encrypted::start().await;
    let mut silent = TcpStream::connect(encrypted.address).await.unwrap();
    // The clock runs while nothing else does, so the limit is reached at once.
    let heard: io::Result<usize> = silent.read(&mut [0; 16]).await;
    assert!(matches!(heard, Ok(0) | Err(_)), "{heard:?}");
    encrypted.stop().await;
}
