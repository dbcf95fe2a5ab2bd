//! One request: who is asked, whether it may be, what comes next, and what goes wrong.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use hyper::http::request;
use hyper::{Request, Response};
use piton_core::event::FailureClass;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::asked::{Asked, text};
use super::body::{Body, Broken, body, packed, split};
use super::book::{Book, Seen};
use super::fault::{Close, Plan, manifest};
use super::options::Options;
use super::part::{Next, Part};
use super::refusal::Refusal;
use super::route::{self, Route, Streams};
use super::seal::{Condition, Sealed};
use crate::script::fault::MetFaults;
use crate::script::{Fault, FaultKind};

/// Largest body of a request, in bytes.
const REQUEST_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Headers that carry keys.
const KEY_HEADERS: [&str; 3] = ["authorization", "x-api-key", "x-goog-api-key"];
/// What is said of a sealed block behind a history that was changed.
const MOVED: &str = "this block was given behind other content; nothing that stands before it may be \
                     changed, added or left out.";
/// Where faults that wait for no step are counted.
const ANY_STEP: usize = usize::MAX;

/// What is played, and to whom.
#[derive(Debug)]
pub(super) struct Stage {
    part: Part,
    options: Options,
    met: MetFaults,
    /// Faults beside those of the script, by step.
    beside: BTreeMap<Option<usize>, Vec<Fault>>,
    met_beside: MetFaults,
    book: Arc<Book>,
}

/// What becomes of a request.
struct Outcome {
    plan: Plan,
    dialect: &'static str,
    step: Option<usize>,
    note: String,
}

impl Stage {
    pub(super) fn new(part: Part, options: Options, book: Arc<Book>) -> Self {
        let (met, met_beside) = (MetFaults::default(), MetFaults::default());
        let mut beside: BTreeMap<Option<usize>, Vec<Fault>> = BTreeMap::new();
        for (step, fault) in &options.faults {
            beside.entry(*step).or_default().push(*fault);
        }
        Self { part, options, met, beside, met_beside, book }
    }

    /// Answers a request, or breaks.
    pub(super) async fn serve(&self, request: Request<Incoming>) -> Result<Response<Body>, Broken> {
        let (head, incoming) = request.into_parts();
        let read = Limited::new(incoming, REQUEST_BYTES_MAX).collect().await;
        let sent = read.map(http_body_util::Collected::to_bytes).ok();
        let outcome = self.outcome(&head, sent.as_ref());
        let close = outcome.plan.close;
        self.book.enter(seen(&head, sent.unwrap_or_default(), &outcome));
        match close {
            Close::DropFirst => Err(Broken),
            Close::StallFirst => {
                self.book.stall();
                std::future::pending().await
            }
            Close::End | Close::Drop | Close::Stall => self.respond(&head, outcome.plan),
        }
    }

    fn outcome(&self, head: &request::Parts, sent: Option<&Bytes>) -> Outcome {
        let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
        let Some(route) = route::find(head.method.as_str(), path, query) else {
            let refusal = route::nobody(head.method.as_str(), path);
            // The answer names all paths; a person who watches knows them.
            let note = "nothing is served there".into();
            return Outcome { note, ..Outcome::refused("", &refusal) };
        };
        let refused = |refusal: Refusal| Outcome::refused(route.dialect, &refusal);
        match self.key(&route, head) {
            Key::Right => {}
            Key::Missing => return refused(route.voice.no_key()),
            Key::Wrong => return refused(route.voice.refuse(FailureClass::Auth, None, None)),
        }
        let Some(sent) = sent else {
            return refused(route.voice.refuse(FailureClass::ContextOverflow, Some(413), None));
        };
        let asked = asked(&route, sent);
        if asked.body.is_null() {
            return refused(route.voice.reject("The body of the request is not valid JSON."));
        }
        if let Some(refusal) = route.voice.objection(&asked) {
            return refused(refusal);
        }
        if self.part.overflows(sent.len()) {
            return refused(route.voice.refuse(FailureClass::ContextOverflow, None, None));
        }
        let sealed = route.voice.sealed(&asked);
        for Sealed { at, condition } in &sealed {
            match condition {
                Condition::Intact => {}
                Condition::Altered => return refused(route.voice.bad_seal(at)),
                Condition::Moved => return refused(route.voice.reject(&format!("{at}: {MOVED}"))),
            }
        }
        let next = self.part.next(route.voice.hear(&asked), &asked);
        let (step, fault) = (next.reply.place, self.fault(&next, !sealed.is_empty()));
        let note = fault.map(|fault| format!("fault: {}", fault.kind)).unwrap_or_default();
        let signed = sealed.first().map_or("", |sealed| sealed.at.as_str());
        let plan = plan(&route, &asked, next, fault.as_ref(), signed);
        Outcome { plan, dialect: route.dialect, step: Some(step), note }
    }

    /// What goes wrong with this request.
    fn fault(&self, next: &Next, signed: bool) -> Option<Fault> {
        let place = next.reply.place;
        let meets = |fault: &Fault| fault.kind != FaultKind::BadSignature || signed;
        let beside = |wanted| self.beside.get(&wanted).map_or(&[][..], Vec::as_slice);
        self.met_beside
            .next(ANY_STEP, beside(None), meets)
            .or_else(|| self.met_beside.next(place, beside(Some(place)), meets))
            .or_else(|| self.met.next(next.faults_at, &next.faults, meets))
    }

    fn key(&self, route: &Route, head: &request::Parts) -> Key {
        let names = route.voice.key_headers();
        if names.is_empty() {
            return Key::Right;
        }
        let header = |name: &&str| head.headers.get(*name)?.to_str().ok();
        let in_query = || {
            let query = head.uri.query().unwrap_or_default();
            query.split('&').find_map(|field| field.strip_prefix("key="))
        };
        let found = names.iter().find_map(header).or_else(in_query);
        let found = found.map(|key| key.strip_prefix("Bearer ").unwrap_or(key).trim());
        match (found.filter(|key| !key.is_empty()), &self.options.key) {
            (None, _) => Key::Missing,
            (Some(found), Some(wanted)) if found != wanted => Key::Wrong,
            (Some(_), _) => Key::Right,
        }
    }

    fn respond(&self, head: &request::Parts, plan: Plan) -> Result<Response<Body>, Broken> {
        let mut response = Response::builder().status(plan.status);
        for (name, value) in &plan.headers {
            response = response.header(*name, value);
        }
        let accepts = head.headers.get(ACCEPT_ENCODING).and_then(|it| it.to_str().ok());
        let mut pieces = plan.pieces;
        if self.options.gzip && accepts.is_some_and(|accepted| accepted.contains("gzip")) {
            response = response.header(CONTENT_ENCODING, "gzip");
            pieces = packed(pieces, plan.close).map_err(|_| Broken)?;
        }
        let pieces = split(pieces, self.options.split);
        let body = body(pieces, plan.pace, plan.close, self.book.clone());
        response.body(body).map_err(|_| Broken)
    }
}

/// What was found of a key.
enum Key {
    Right,
    Wrong,
    Missing,
}

impl Outcome {
    fn refused(dialect: &'static str, refusal: &Refusal) -> Self {
        let error = refusal.body.get(0).unwrap_or(&refusal.body);
        let said = text(&error["error"], "message");
        let note = if said.is_empty() { text(error, "detail") } else { said };
        Self { plan: Plan::refuse(refusal), dialect, step: None, note: note.to_owned() }
    }
}

fn asked(route: &Route, sent: &Bytes) -> Asked {
    let body: Value = serde_json::from_slice(sent).unwrap_or_default();
    let raw = sent.clone();
    if let Some((model, streams)) = &route.by_path {
        return Asked { body, raw, model: model.clone(), streams: *streams == Streams::Yes };
    }
    let model = text(&body, "model").to_owned();
    let streams = body.get("stream") == Some(&Value::Bool(true));
    Asked { body, raw, model, streams }
}

fn plan(route: &Route, asked: &Asked, next: Next, fault: Option<&Fault>, signed: &str) -> Plan {
    let voice = &*route.voice;
    match fault.map(|fault| (manifest(fault.kind), fault)) {
        Some((FaultKind::BadSignature, _)) => Plan::refuse(&voice.bad_seal(signed)),
        Some((FaultKind::Empty, _)) => Plan::answer(voice, asked, &next.reply.emptied(), next.pace),
        Some((_, fault)) => Plan::answer(voice, asked, &next.reply, next.pace).spoil(voice, fault),
        None => Plan::answer(voice, asked, &next.reply, next.pace),
    }
}

fn seen(head: &request::Parts, sent: Bytes, outcome: &Outcome) -> Seen {
    let headers = head.headers.iter().map(|(name, value)| {
        let shown = if KEY_HEADERS.contains(&name.as_str()) {
            "[key]".into()
        } else {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        };
        (name.as_str().to_owned(), shown)
    });
    let path = head.uri.path_and_query().map_or("", |path| path.as_str());
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let query: Vec<&str> = query.split('&').filter(|it| !it.is_empty()).map(shown_field).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    let mut sha256 = String::new();
    for byte in Sha256::digest(&sent) {
        // Writing to a string cannot fail.
        write!(sha256, "{byte:02x}").unwrap_or_default();
    }
    let is_answered = !matches!(outcome.plan.close, Close::DropFirst | Close::StallFirst);
    Seen {
        method: head.method.to_string(),
        path: format!("{path}{mark}{}", query.join("&")),
        dialect: outcome.dialect,
        headers: headers.collect(),
        body: sent,
        sha256,
        step: outcome.step,
        status: if is_answered { outcome.plan.status } else { 0 },
        note: outcome.note.clone(),
    }
}

fn shown_field(field: &str) -> &str {
    if field.starts_with("key=") { "key=[key]" } else { field }
}
