//! What a program prints: messages go on, line by line; anything else is kept apart.
//!
//! Programs print greetings, questions and lines of a log where only messages belong. Those are
//! skipped, as other clients do. Where no message comes, the first of them says best what is wrong: a
//! wrong command, a server of another kind, a question.
//!
//! A message that the protocol library would lose as a whole for a part of it is changed so that it
//! can be read.

use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use rmcp::model::{ErrorCode, ErrorData};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufRead as _, AsyncRead, BufReader, ReadBuf};
use tokio_util::bytes::Bytes;

use crate::listing::EXECUTION;
use crate::text::line;

/// Longest message, in bytes; a longer one is skipped. Over HTTP it is the same.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Longest line that is told, in bytes.
const TOLD_BYTES_MAX: usize = 200;
/// Before the text, where a program thinks that it writes a file.
const MARK: char = '\u{feff}';

/// What a program printed where only messages belong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Printed(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    /// The first line that is no message.
    stray: Option<String>,
    /// The beginning of a line that has not ended.
    begun: Vec<u8>,
}

impl Printed {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it printed besides messages, as a part of a sentence.
    pub(crate) fn told(&self) -> Option<String> {
        let kept = self.kept();
        if let Some(stray) = &kept.stray {
            return Some(format!("where only messages belong, it printed: {stray}"));
        }
        let begun = line(&String::from_utf8_lossy(&kept.begun), TOLD_BYTES_MAX);
        (!begun.is_empty()).then(|| format!("it began a line and did not end it: {begun}"))
    }

    /// A line has not ended yet.
    fn begin(&self, line: &[u8]) {
        let begin = line.get(..TOLD_BYTES_MAX * 2).unwrap_or(line);
        begin.clone_into(&mut self.kept().begun);
    }

    fn stray(&self, text: &str) {
        let told = line(text, TOLD_BYTES_MAX);
        if !told.is_empty() {
            self.kept().stray.get_or_insert(told);
        }
    }

    /// What goes on of a line that has ended.
    fn sift(&self, bytes: Vec<u8>) -> Bytes {
        self.kept().begun.clear();
        // One letter in another encoding must not lose an answer.
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let message = text.trim_start_matches(MARK);
        if serde_json::from_str::<Message>(message).is_err() {
            self.stray(message);
            return Bytes::new();
        }
        match readable(message) {
            Some(changed) => Bytes::from(changed + "\n"),
            None => Bytes::from(text),
        }
    }
}

/// What makes a message.
#[derive(Deserialize)]
struct Message {
    #[serde(rename = "jsonrpc")]
    _version: IgnoredAny,
}

/// The message so that it can be read, if it had to be changed.
fn readable(message: &str) -> Option<String> {
    let words = ["\"tools\"", "\"error\"", "\"capabilities\""];
    if !words.iter().any(|word| message.contains(word)) {
        return None;
    }
    let mut message: Value = serde_json::from_str(message).ok()?;
    let changed = match message.get_mut("error") {
        Some(error) => fit_error(error),
        None => fit_result(message.get_mut("result")?.as_object_mut()?),
    };
    changed.then(|| message.to_string())
}

fn fit_error(error: &mut Value) -> bool {
    if serde_json::from_value::<ErrorData>(error.clone()).is_ok() {
        return false;
    }
    let said = error.get("message").and_then(Value::as_str).or(error.as_str());
    let said = said.map_or_else(|| error.to_string(), ToOwned::to_owned);
    *error = json!({"code": ErrorCode::INTERNAL_ERROR, "message": said});
    true
}

fn fit_result(result: &mut Map<String, Value>) -> bool {
    if let Some(Value::Array(tools)) = result.get_mut("tools") {
        let moved = tools.iter_mut().filter_map(Value::as_object_mut).map(keep_execution);
        let moved = moved.fold(false, |any, one| any | one);
        // With it, a list is taken for something else if a tool in it makes no sense, and is lost.
        return result.remove("_meta").is_some() | moved;
    }
    let can = result.get_mut("capabilities").and_then(Value::as_object_mut);
    let mut changed = false;
    for told in can.into_iter().flat_map(Map::values_mut) {
        // Some languages write an empty object as an empty list.
        if told.as_array().is_some_and(Vec::is_empty) {
            *told = json!({});
            changed = true;
        }
    }
    changed
}

/// How a tool is run goes to where the protocol library keeps what it does not know.
fn keep_execution(tool: &mut Map<String, Value>) -> bool {
    let Some(execution) = tool.remove("execution") else { return false };
    let meta = tool.entry("_meta").or_insert_with(|| json!({}));
    if let Some(meta) = meta.as_object_mut() {
        meta.insert(EXECUTION.into(), execution);
    }
    true
}

/// The messages among what a program prints.
#[derive(Debug)]
struct Messages<R> {
    output: BufReader<R>,
    line: Vec<u8>,
    /// Whether the line is too long, and the rest of it is skipped.
    skips: bool,
    ready: Bytes,
    printed: Printed,
}

impl<R: AsyncRead> Messages<R> {
    fn of(output: R, printed: Printed) -> Self {
        let output = BufReader::new(output);
        Self { output, line: Vec::new(), skips: false, ready: Bytes::new(), printed }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Messages<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { output, line, skips, ready, printed } = &mut *self;
        while ready.is_empty() {
            let piece = ready!(Pin::new(&mut *output).poll_fill_buf(context))?;
            if piece.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let count = end.map_or(piece.len(), |place| place.saturating_add(1));
            line.extend(piece.iter().take(count));
            Pin::new(&mut *output).consume(count);
            if MESSAGE_BYTES_MAX < line.len() && !*skips {
                printed.stray(&format!("a line of more than {MESSAGE_BYTES_MAX} bytes"));
                *skips = true;
            }
            if *skips {
                line.clear();
                *skips = end.is_none();
            } else if end.is_some() {
                *ready = printed.sift(mem::take(line));
            } else {
                printed.begin(line);
            }
        }
        let count = ready.len().min(buffer.remaining());
        buffer.put_slice(&ready.split_to(count));
        Poll::Ready(Ok(()))
    }
}

/// Messages that the agent can still read after the protocol library has stopped reading.
#[derive(Debug)]
pub(crate) struct Shared<R>(Arc<Mutex<Messages<R>>>);

impl<R: AsyncRead> Shared<R> {
    pub(crate) fn of(output: R, printed: Printed) -> Self {
        Self(Arc::new(Mutex::new(Messages::of(output, printed))))
    }

    pub(crate) fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Shared<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut messages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Pin::new(&mut *messages).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// What goes on, and what is told of the rest. It comes in pieces that end anywhere.
    async fn sifted(printed: &[u8]) -> (String, Option<String>) {
        let kept = Printed::default();
        let (mut program, output) = tokio::io::duplex(7);
        let mut messages = Messages::of(output, kept.clone());
        let print = async move { program.write_all(printed).await.unwrap() };
        let mut all = String::new();
        let ((), read) = tokio::join!(print, messages.read_to_string(&mut all));
        read.unwrap();
        (all, kept.told())
    }

    const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";

    #[tokio::test]
    async fn messages_go_on_and_the_first_of_anything_else_is_told() {
        let check = async |printed: &[u8], messages: &str, stray: Option<&str>| {
            let told = stray.map(|it| format!("where only messages belong, it printed: {it}"));
            assert_eq!(sifted(printed).await, (messages.to_owned(), told));
        };
        check(b"", "", None).await;
        let two = format!("{PING}\r\n\n \n{PING}\n");
        check(two.as_bytes(), &two.replace("\n\n \n", "\n"), None).await;
        let mixed = format!("Listening  on \u{1b}[1m80\n{{\"level\":30}}\n{PING}\nmore\n");
        check(mixed.as_bytes(), &format!("{PING}\n"), Some("Listening on \u{1b}[1m80")).await;
        check(b"{ port: 3000 }\n", "", Some("{ port: 3000 }")).await;
        check(format!("\u{feff}{PING}\n").as_bytes(), &format!("\u{feff}{PING}\n"), None).await;
    }

    #[tokio::test]
    async fn a_line_that_does_not_end_is_told() {
        let told = |text: &str| Some(format!("it began a line and did not end it: {text}"));
        assert_eq!(sifted(b"Password: ").await, (String::new(), told("Password:")));
        assert_eq!(sifted(PING.as_bytes()).await, (String::new(), told(PING)));
        let words = "word ".repeat(1_000);
        let (_, found) = sifted(words.as_bytes()).await;
        assert_eq!(found, told(&line(&words, TOLD_BYTES_MAX)));
    }

    #[tokio::test]
    async fn what_would_be_lost_as_a_whole_is_made_readable() {
        let check = async |printed: &str, expected: Value| {
            let (all, stray) = sifted(format!("{printed}\n").as_bytes()).await;
            assert_eq!((all.matches('\n').count(), stray), (1, None));
            assert_eq!(serde_json::from_str::<Value>(&all).unwrap(), expected);
        };
        let list = |more: Value| {
            let mut result = json!({"tools": [{"name": "bare"}], "nextCursor": "n"});
            result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"jsonrpc": "2.0", "id": 1, "result": result})
        };
        check(&list(json!({"_meta": {"a": 1}})).to_string(), list(json!({}))).await;
        // How a tool is run is kept, although the library knows no such field.
        let long = |more: Value| {
            let mut tool = json!({"name": "long"});
            tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool, 7]}})
        };
        let run = json!({"taskSupport": "required"});
        let told = long(json!({"execution": run, "_meta": {"a": 1}}));
        check(&told.to_string(), long(json!({"_meta": {"a": 1, EXECUTION: run}}))).await;
        let fails = |error: Value| json!({"jsonrpc": "2.0", "id": 1, "error": error});
        let internal = |said: &str| fails(json!({"code": -32603, "message": said}));
        check(&fails(json!("no")).to_string(), internal("no")).await;
        check(&fails(json!({"message": "no"})).to_string(), internal("no")).await;
        check(&fails(json!({"why": 1})).to_string(), internal("{\"why\":1}")).await;
        let fits = fails(json!({"code": -32601, "message": "tools"}));
        check(&fits.to_string(), fits).await;
        let greeted = |tools: Value| {
            let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": tools}});
            json!({"jsonrpc": "2.0", "id": 1, "result": result})
        };
        check(&greeted(json!([])).to_string(), greeted(json!({}))).await;
        check(&greeted(json!([7])).to_string(), greeted(json!([7]))).await;
        // A result of a call is left alone, also one that tells of tools.
        let result = json!({"content": [], "structuredContent": {"tools": []}, "_meta": {}});
        let result = json!({"jsonrpc": "2.0", "id": 1, "result": result});
        check(&result.to_string(), result).await;
    }

    #[tokio::test]
    async fn a_letter_in_another_encoding_loses_no_answer() {
        let printed = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"caf\xe9\"}\n";
        let (all, stray) = sifted(printed).await;
        assert!(all.contains("caf\u{fffd}") && stray.is_none(), "{all}");
    }
}
