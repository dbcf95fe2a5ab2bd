//! A server of conversations, spoken to over HTTP: what it is asked, and what it says. Nothing is shown here.

mod sse;
mod stream;

use std::time::Duration;

use piton::chance::{Chance as _, SystemChance};
use piton::{Command, Envelope};
use piton_core::id::{CommandId, ConversationId};
use piton_core::view::Status;
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url, header};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

pub(crate) use self::stream::{Heard, Stream};
use crate::cmd::serve::place::Place;
use crate::report::ServerFault;

/// Longest wait for an answer that is not a stream.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
/// How long a command is sent again and again to a server that is away.
const AWAY_WAIT: Duration = Duration::from_mins(1);
/// Pause before a command is sent again; it doubles each time.
const PAUSE_MIN: Duration = Duration::from_millis(200);
/// Longest such pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// What stands between the address of a server and the name of a conversation.
const CONVERSATION: &str = "/c/";

/// A server.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    client: Client,
    /// Where it is: a scheme, a host and a port.
    url: Url,
    token: String,
    /// The home whose server it is, if it is one of this machine: it may have another port when it comes back.
    home: Option<Place>,
}

/// A row of the list of a server.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Row {
    pub(crate) conversation: String,
    pub(crate) title: String,
    pub(crate) status: Status,
    pub(crate) touched: u64,
}

/// The list of a server.
#[derive(Debug, Deserialize)]
struct List {
    conversations: Vec<Row>,
}

/// What a server says of a request that it does not carry out.
#[derive(Debug, Deserialize)]
struct Refusal {
    error: Refused,
}

/// What is wrong with a request.
#[derive(Debug, Deserialize)]
struct Refused {
    kind: String,
    message: String,
    #[serde(default)]
    hint: Option<String>,
}

/// An address that was typed: the server, and the conversation that it names.
pub(crate) fn address(typed: &str) -> Result<(Url, Option<String>), ServerFault> {
    let bad = || ServerFault::Address { typed: typed.to_owned() };
    let mut url = Url::parse(typed).map_err(|_| bad())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad());
    }
    let id = match url.path() {
        "/" => None,
        path => {
            let id = path.strip_prefix(CONVERSATION).map(|id| id.trim_end_matches('/'));
            Some(id.filter(|id| !id.is_empty() && !id.contains('/')).ok_or_else(bad)?.to_owned())
        }
    };
    url.set_path("/");
    url.set_query(None);
    url.set_fragment(None);
    Ok((url, id))
}

impl Remote {
    /// The server at an address, for the bearer of a token.
    pub(crate) fn new(url: Url, token: String, home: Option<Place>) -> Result<Self, ServerFault> {
        let builder = piton_agent::http_client_builder();
        // A proxy leads elsewhere, and what is here is not there.
        let builder = if is_here(&url) { builder.no_proxy() } else { builder };
        let client = builder.build().map_err(|error| ServerFault::unreachable(&url, &error))?;
        Ok(Self { client, url, token, home })
    }

    /// Where it is now.
    fn url(&self) -> Url {
        let moved = self.home.as_ref().and_then(Place::running).and_then(|it| it.reached());
        moved.unwrap_or_else(|| self.url.clone())
    }

    /// The address of something below the interface.
    fn at(&self, path: &[&str]) -> Url {
        let mut url = self.url();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.clear().extend(["api", "v1"]).extend(path);
        }
        url
    }

    /// The newest conversations.
    pub(crate) async fn list(&self, rows_max: usize) -> Result<Vec<Row>, ServerFault> {
        let mut url = self.at(&["conversations"]);
        url.query_pairs_mut().append_pair("limit", &rows_max.to_string());
        let answer = self.ask(self.client.get(url).timeout(ANSWER_WAIT)).await?;
        let url = answer.url().clone();
        let text = answer.text().await.map_err(|error| ServerFault::unreachable(&url, &error))?;
        let list: Result<List, _> = serde_json::from_str(&text);
        Ok(list.map_err(|_| ServerFault::not_piton(&url))?.conversations)
    }

    /// Sends a command under a name of its own, again and again while the server is away: under one name it is
    /// one command.
    pub(crate) async fn send(
        &self,
        id: &ConversationId,
        command: Command,
    ) -> Result<(), ServerFault> {
        let name = CommandId::from_chance(SystemChance.next());
        if let Command::Answer { inquiry, reply, .. } = &command {
            let path = ["conversations", id.as_str(), "questions", inquiry.as_str(), "answer"];
            let body = match reply.secret() {
                Some(secret) => json!({ "id": name, "secret": secret.reveal() }),
                None => json!({ "id": name, "reply": reply }),
            };
            return self.post(&path, &body).await;
        }
        let text = Envelope::new(name, command).to_text().unwrap_or_default();
        let body = serde_json::from_str(&text).unwrap_or_default();
        self.post(&["conversations", id.as_str(), "commands"], &body).await
    }

    /// Tries the newest message again, by another model if one is named.
    pub(crate) async fn retry(
        &self,
        id: &ConversationId,
        model: Option<&str>,
    ) -> Result<(), ServerFault> {
        let mut body = json!({ "id": CommandId::from_chance(SystemChance.next()) });
        if let (Some(model), Some(fields)) = (model, body.as_object_mut()) {
            fields.insert("model".into(), model.into());
        }
        self.post(&["conversations", id.as_str(), "retry"], &body).await
    }

    async fn post(&self, path: &[&str], body: &Value) -> Result<(), ServerFault> {
        let (deadline, mut pause) = (Instant::now() + AWAY_WAIT, PAUSE_MIN);
        loop {
            let request = self.client.post(self.at(path)).timeout(ANSWER_WAIT);
            let request = request.header(header::CONTENT_TYPE, "application/json");
            match self.ask(request.body(body.to_string())).await {
                Err(fault) if fault.is_passing() && Instant::now() + pause < deadline => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                answered => return answered.map(drop),
            }
        }
    }

    /// Opens a stream of what happens in a conversation, behind a cursor.
    async fn events(
        &self,
        id: &ConversationId,
        cursor: Option<&str>,
    ) -> Result<Response, ServerFault> {
        let mut url = self.at(&["events"]);
        url.query_pairs_mut().append_pair("c", id.as_str());
        let mut request = self.client.get(url);
        if let Some(cursor) = cursor {
            request = request.header("last-event-id", cursor);
        }
        let opening = tokio::time::timeout(ANSWER_WAIT, self.ask(request));
        let answer = opening.await.map_err(|_| ServerFault::silent(&self.url()))??;
        let kind = answer.headers().get(header::CONTENT_TYPE);
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if is_stream { Ok(answer) } else { Err(ServerFault::not_piton(answer.url())) }
    }

    /// Sends a request, and reads why it is not carried out.
    async fn ask(&self, request: RequestBuilder) -> Result<Response, ServerFault> {
        let sent = request.bearer_auth(&self.token).send().await;
        let answer = sent.map_err(|error| ServerFault::unreachable(&self.url(), &error))?;
        let (status, url) = (answer.status(), answer.url().clone());
        if status.is_success() {
            return Ok(answer);
        }
        let text = answer.text().await.unwrap_or_default();
        let Ok(Refusal { error }) = serde_json::from_str(&text) else {
            return Err(ServerFault::not_piton(&url));
        };
        let Refused { kind, message, hint } = error;
        let at = ServerFault::host(&url);
        Err(match (status, kind.as_str()) {
            (StatusCode::UNAUTHORIZED, "no_token") => ServerFault::NoToken { at },
            (StatusCode::UNAUTHORIZED, _) => ServerFault::WrongToken { at },
            (StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS, _) => {
                ServerFault::Away { at, why: message }
            }
            (_, "unknown_conversation") => ServerFault::UnknownConversation { at, message },
            _ => ServerFault::Refused { at, kind, message, hint },
        })
    }
}

/// Whether an address is on this machine.
fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse();
    host == "localhost" || address.is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_server_and_perhaps_a_conversation() {
        for (typed, server, id) in [
            ("http://127.0.0.1:4747", "http://127.0.0.1:4747/", None),
            ("https://host.example/?x=1#y", "https://host.example/", None),
            ("http://[::1]:1/c/7kq2m9xd4t", "http://[::1]:1/", Some("7kq2m9xd4t")),
            ("http://h:1/c/7kq2m9xd4t/", "http://h:1/", Some("7kq2m9xd4t")),
        ] {
            let (url, found) = address(typed).unwrap();
            assert_eq!((url.as_str(), found.as_deref()), (server, id), "{typed}");
        }
        for typed in ["ftp://h", "http://", "http://h/elsewhere", "http://h/c/", "http://h/c/a/b"] {
            assert!(matches!(address(typed), Err(ServerFault::Address { .. })), "{typed}");
        }
    }

    #[test]
    fn only_addresses_of_this_machine_are_here() {
        for (typed, here) in [
            ("http://127.0.0.1:1", true),
            ("http://[::1]:1", true),
            ("http://localhost", true),
            ("http://10.0.0.1", false),
            ("https://host.example", false),
        ] {
            assert_eq!(is_here(&Url::parse(typed).unwrap()), here, "{typed}");
        }
    }
}
