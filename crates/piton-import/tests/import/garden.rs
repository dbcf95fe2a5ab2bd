//! One session about a garden, written in every format and broken in every known way.

use serde_json::{Value, json};

/// One thing that is said in it.
#[derive(Clone, Debug, PartialEq)]
enum Said {
    Person(&'static str),
    Model(&'static str, Vec<Call>),
    /// What a call gave, by its id.
    Gave(&'static str, &'static str),
    /// A record of a kind that nobody knows.
    Strange,
}

#[derive(Clone, Debug, PartialEq)]
struct Call {
    id: &'static str,
    tool: &'static str,
}

fn call(id: &'static str, tool: &'static str) -> Call {
    Call { id, tool }
}

/// The session as it should be.
fn whole() -> Vec<Said> {
    use Said::{Gave, Model, Person};
    vec![
        Person("tidy up the garden"),
        Model("I look.", vec![call("c1", "look"), call("c2", "dig")]),
        Gave("c1", "weeds"),
        Gave("c2", "a hole"),
        Model("Tidy.", vec![]),
        Person("and the shed?"),
        Model("I look there.", vec![call("c3", "look")]),
        Gave("c3", "spiders"),
        Model("Done. 日本語", vec![]),
    ]
}

/// How a file is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breakage {
    Whole,
    CallWithoutResult,
    MissingResults,
    ResultWithoutCall,
    DuplicateResult,
    CallWithoutName,
    UnknownTool,
    UnknownRecord,
    TornLastLine,
    CutInACharacter,
    BytesThatAreNoText,
    LineEndsOfWindows,
    MarkInFront,
    EmptyLines,
    ZerosBehind,
    WrittenOnBehindATornLine,
    OverSeveralLines,
    AsAList,
}

use Breakage as B;

impl Breakage {
    /// Whether it takes something away, or puts something in, that the reader has to mend.
    pub(crate) fn loses(self) -> bool {
        let same =
            [B::LineEndsOfWindows, B::MarkInFront, B::EmptyLines, B::OverSeveralLines, B::AsAList];
        !same.contains(&self)
    }
}

pub(crate) const BREAKAGES: [Breakage; 18] = [
    B::Whole,
    B::CallWithoutResult,
    B::MissingResults,
    B::ResultWithoutCall,
    B::DuplicateResult,
    B::CallWithoutName,
    B::UnknownTool,
    B::UnknownRecord,
    B::TornLastLine,
    B::CutInACharacter,
    B::BytesThatAreNoText,
    B::LineEndsOfWindows,
    B::MarkInFront,
    B::EmptyLines,
    B::ZerosBehind,
    B::WrittenOnBehindATornLine,
    B::OverSeveralLines,
    B::AsAList,
];

/// A format: its name, how its records are made, and what stands around them.
type Format = (&'static str, fn(&[Said]) -> Vec<Value>, Frame);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    /// A record per line.
    Lines,
    /// A list.
    List,
    /// An object with the list under this name, and this beside it.
    Under(&'static str, &'static str),
}

const FORMATS: [Format; 13] = [
    ("claude", claude, Frame::Lines),
    ("codex", codex, Frame::Lines),
    ("codex-old", codex_old, Frame::Lines),
    ("gemini", gemini, Frame::Lines),
    (
        "gemini-old",
        gemini_messages,
        Frame::Under("messages", r#"{"sessionId":"s","projectHash":"h"}"#),
    ),
    ("qwen", qwen, Frame::Lines),
    ("pi", pi, Frame::Lines),
    ("opencode", opencode, Frame::Under("messages", r#"{"info":{"id":"ses_g","title":"garden"}}"#)),
    ("anthropic", anthropic, Frame::List),
    ("openai-chat", chat, Frame::List),
    ("openai-chat-lines", chat, Frame::Lines),
    ("openai-responses", responses, Frame::Under("input", r#"{"model":"x"}"#)),
    ("gemini-contents", contents, Frame::Under("contents", "{}")),
];

/// A broken file.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) format: &'static str,
    pub(crate) breakage: Breakage,
    pub(crate) bytes: Vec<u8>,
}

impl File {
    pub(crate) fn name(&self) -> String {
        format!("{}-{:?}.jsonl", self.format, self.breakage)
    }
}

/// Every format, broken in every way that it can be broken in.
pub(crate) fn files() -> Vec<File> {
    let formats = FORMATS.into_iter();
    formats
        .flat_map(|format| BREAKAGES.into_iter().filter_map(move |breakage| file(format, breakage)))
        .collect()
}

fn file((format, write, frame): Format, breakage: Breakage) -> Option<File> {
    // There calls and results are one thing.
    let is_one = format == "opencode";
    if is_one && matches!(breakage, B::ResultWithoutCall | B::DuplicateResult) {
        return None;
    }
    let of_lines = [B::WrittenOnBehindATornLine, B::OverSeveralLines, B::AsAList];
    if frame != Frame::Lines && of_lines.contains(&breakage)
        || format.ends_with("-lines") && breakage == B::AsAList
    {
        return None;
    }
    let records = write(&broken(breakage));
    let text = match (frame, breakage) {
        (Frame::Lines, B::OverSeveralLines) => lined(records.iter().map(|it| format!("{it:#}"))),
        (Frame::Lines, B::AsAList) | (Frame::List, _) => format!("{:#}\n", Value::from(records)),
        (Frame::Lines, B::WrittenOnBehindATornLine) => written_on(&records),
        (Frame::Lines, _) => lined(records.iter().map(ToString::to_string)),
        (Frame::Under(name, beside), _) => {
            let mut object: Value = serde_json::from_str(beside).unwrap();
            object[name] = records.into();
            format!("{object:#}\n")
        }
    };
    Some(File { format, breakage, bytes: damaged(text, breakage) })
}

fn lined(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// The session with a part of it missing, or one too many.
fn broken(breakage: Breakage) -> Vec<Said> {
    let mut said = whole();
    let is_of = |it: &Said, wanted: &str| matches!(it, Said::Gave(id, _) if *id == wanted);
    let place = said.iter().position(|it| is_of(it, "c2")).unwrap();
    match breakage {
        B::CallWithoutResult => said.retain(|it| !is_of(it, "c2")),
        B::MissingResults => said.retain(|it| !is_of(it, "c1") && !is_of(it, "c2")),
        B::ResultWithoutCall => said.insert(place, Said::Gave("nobody", "a stray cat")),
        B::DuplicateResult => said.insert(place, Said::Gave("c1", "weeds")),
        B::UnknownRecord => said.insert(place + 2, Said::Strange),
        B::CallWithoutName | B::UnknownTool => {
            let tool = if breakage == B::UnknownTool { "frobnicate.9000" } else { "" };
            let Said::Model(_, calls) = &mut said[1] else { panic!("an answer") };
            calls[1].tool = tool;
        }
        B::Whole
        | B::TornLastLine
        | B::CutInACharacter
        | B::BytesThatAreNoText
        | B::LineEndsOfWindows
        | B::MarkInFront
        | B::EmptyLines
        | B::ZerosBehind
        | B::WrittenOnBehindATornLine
        | B::OverSeveralLines
        | B::AsAList => {}
    }
    said
}

/// The answer in front of the second question is cut, and the question written on the same line.
fn written_on(records: &[Value]) -> String {
    let is_question = |it: &&Value| it.to_string().contains("and the shed?");
    let question = records.iter().position(|it| is_question(&it)).unwrap();
    let lines = records.iter().enumerate().map(|(place, record)| {
        let line = record.to_string();
        if place + 1 == question { line[..line.len() - 5].to_owned() } else { format!("{line}\n") }
    });
    lines.collect()
}

fn damaged(text: String, breakage: Breakage) -> Vec<u8> {
    let bytes = text.clone().into_bytes();
    match breakage {
        B::TornLastLine => bytes[..text.rfind("Done").unwrap() + 2].to_vec(),
        B::CutInACharacter => bytes[..=text.rfind('日').unwrap()].to_vec(),
        B::BytesThatAreNoText => {
            let at = text.find("weeds").unwrap();
            [&bytes[..at], b"w\xff\xfeds", &bytes[at + 5..]].concat()
        }
        B::LineEndsOfWindows => text.replace('\n', "\r\n").into_bytes(),
        B::MarkInFront => [b"\xef\xbb\xbf", &bytes[..]].concat(),
        B::EmptyLines => text.replace('\n', "\n\n  \n").into_bytes(),
        B::ZerosBehind => [&bytes[..], &[0; 700]].concat(),
        B::Whole
        | B::CallWithoutResult
        | B::MissingResults
        | B::ResultWithoutCall
        | B::DuplicateResult
        | B::CallWithoutName
        | B::UnknownTool
        | B::UnknownRecord
        | B::WrittenOnBehindATornLine
        | B::OverSeveralLines
        | B::AsAList => bytes,
    }
}

fn arguments(call: &Call) -> Value {
    json!({ "at": format!("for {}", call.id) })
}

fn tool_of(said: &[Said], wanted: &str) -> &'static str {
    let calls = said.iter().flat_map(|it| match it {
        Said::Model(_, calls) => calls.as_slice(),
        Said::Person(_) | Said::Gave(..) | Said::Strange => &[],
    });
    let mut calls = calls.filter(|call| call.id == wanted);
    calls.next().map_or("nobody", |call| call.tool)
}

fn claude(said: &[Said]) -> Vec<Value> {
    let mut records: Vec<Value> = Vec::new();
    let mut add = |kind: &str, message: Value| {
        let (id, parent) = (records.len() + 1, records.len());
        let parent = (0 < parent).then(|| format!("r{parent}"));
        records.push(json!({ "parentUuid": parent, "isSidechain": false, "type": kind, "uuid": format!("r{id}"),
            "sessionId": "s", "timestamp": "2026-01-02T03:04:05.000Z", "version": "2.0.0", "message": message }));
    };
    for (place, it) in said.iter().enumerate() {
        let block = |block: Value| json!({ "id": format!("m{place}"), "role": "assistant", "model": "x", "content": [block] });
        match it {
            Said::Person(words) => add("user", json!({ "role": "user", "content": words })),
            Said::Model(words, calls) => {
                add("assistant", block(json!({ "type": "text", "text": words })));
                for call in calls {
                    let input = arguments(call);
                    add(
                        "assistant",
                        block(
                            json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": input }),
                        ),
                    );
                }
            }
            Said::Gave(id, words) => {
                let result = json!({ "type": "tool_result", "tool_use_id": id, "content": words });
                add("user", json!({ "role": "user", "content": [result] }));
            }
            Said::Strange => add("from-the-future", json!({})),
        }
    }
    records
}

fn items(said: &[Said]) -> Vec<Value> {
    let message = |role: &str, kind: &str, words: &str| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": words }] });
    said.iter()
        .flat_map(|it| match it {
            Said::Person(words) => vec![message("user", "input_text", words)],
            Said::Model(words, calls) => {
                let calls = calls.iter().map(|call| {
                    json!({ "type": "function_call", "name": call.tool, "call_id": call.id, "arguments": arguments(call).to_string() })
                });
                [message("assistant", "output_text", words)].into_iter().chain(calls).collect()
            }
            Said::Gave(id, words) => {
                vec![json!({ "type": "function_call_output", "call_id": id, "output": words })]
            }
            Said::Strange => vec![json!({ "type": "from_the_future" })],
        })
        .collect()
}

fn codex(said: &[Said]) -> Vec<Value> {
    let line = |kind: &str, payload: Value| json!({ "timestamp": "2026-01-02T03:04:05.000Z", "type": kind, "payload": payload });
    let meta =
        line("session_meta", json!({ "id": "s", "cwd": "/no/such/place", "cli_version": "0.1.0" }));
    let items = items(said).into_iter().map(|item| line("response_item", item));
    [meta].into_iter().chain(items).collect()
}

fn codex_old(said: &[Said]) -> Vec<Value> {
    let meta = json!({ "id": "s", "timestamp": "2025-06-02T03:04:05.000Z", "instructions": null });
    [meta].into_iter().chain(items(said)).collect()
}

fn responses(said: &[Said]) -> Vec<Value> {
    items(said)
}

/// The parts of a message as Gemini and its relatives write them.
fn parts(it: &Said, said: &[Said], with_ids: bool) -> Vec<Value> {
    let mut parts = match it {
        Said::Person(words) => vec![json!({ "text": words })],
        Said::Model(words, calls) => {
            let calls = calls.iter().map(|call| json!({ "functionCall": { "id": call.id, "name": call.tool, "args": arguments(call) } }));
            [json!({ "text": words })].into_iter().chain(calls).collect()
        }
        Said::Gave(id, words) => {
            let name = tool_of(said, id);
            vec![
                json!({ "functionResponse": { "id": id, "name": name, "response": { "output": words } } }),
            ]
        }
        Said::Strange => Vec::new(),
    };
    for part in parts.iter_mut().filter(|_| !with_ids) {
        for name in ["functionCall", "functionResponse"] {
            part.get_mut(name).and_then(Value::as_object_mut).map(|it| it.remove("id"));
        }
    }
    parts
}

fn gemini_messages(said: &[Said]) -> Vec<Value> {
    let messages = said.iter().enumerate().map(|(place, it)| {
        let (id, at) = (format!("g{place}"), "2026-01-02T03:04:05.000Z");
        match it {
            Said::Model(words, calls) => {
                let calls = calls.iter().map(|call| json!({ "id": call.id, "name": call.tool, "args": arguments(call), "status": "success" }));
                json!({ "id": id, "timestamp": at, "type": "gemini", "model": "x", "content": words, "toolCalls": calls.collect::<Vec<_>>() })
            }
            Said::Strange => json!({ "id": id, "timestamp": at, "type": "from_the_future", "content": "?" }),
            Said::Person(_) | Said::Gave(..) => {
                json!({ "id": id, "timestamp": at, "type": "user", "content": parts(it, said, true) })
            }
        }
    });
    messages.collect()
}

fn gemini(said: &[Said]) -> Vec<Value> {
    let head = json!({ "sessionId": "s", "projectHash": "h" });
    [head].into_iter().chain(gemini_messages(said)).collect()
}

fn qwen(said: &[Said]) -> Vec<Value> {
    let records = said.iter().enumerate().map(|(place, it)| {
        let parent = place.checked_sub(1).map(|before| format!("q{before}"));
        let (kind, role) = match it {
            Said::Person(_) => ("user", "user"),
            Said::Model(..) => ("assistant", "model"),
            Said::Gave(..) => ("tool_result", "user"),
            Said::Strange => ("from_the_future", "user"),
        };
        json!({ "uuid": format!("q{place}"), "parentUuid": parent, "sessionId": "s", "type": kind, "version": "0.1.0",
            "timestamp": "2026-01-02T03:04:05.000Z", "message": { "role": role, "parts": parts(it, said, true) } })
    });
    records.collect()
}

fn contents(said: &[Said]) -> Vec<Value> {
    let messages = said.iter().map(|it| match it {
        Said::Model(..) => json!({ "role": "model", "parts": parts(it, said, false) }),
        Said::Strange => json!({ "role": "user", "parts": [{ "hologram": {} }] }),
        Said::Person(_) | Said::Gave(..) => {
            json!({ "role": "user", "parts": parts(it, said, false) })
        }
    });
    messages.collect()
}

fn pi(said: &[Said]) -> Vec<Value> {
    let head = json!({ "type": "session", "version": 3, "id": "s", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/no/such/place" });
    let entries = said.iter().enumerate().map(|(place, it)| {
        let parent = place.checked_sub(1).map(|before| format!("0000000{before}"));
        let message = match it {
            Said::Person(words) => json!({ "role": "user", "content": words }),
            Said::Model(words, calls) => {
                let calls = calls.iter().map(|call| json!({ "type": "toolCall", "id": call.id, "name": call.tool, "arguments": arguments(call) }));
                let content: Vec<_> = [json!({ "type": "text", "text": words })].into_iter().chain(calls).collect();
                json!({ "role": "assistant", "provider": "p", "model": "x", "content": content, "stopReason": "stop" })
            }
            Said::Gave(id, words) => json!({ "role": "toolResult", "toolCallId": id, "toolName": tool_of(said, id),
                "content": [{ "type": "text", "text": words }], "isError": false }),
            Said::Strange => Value::Null,
        };
        let kind = if *it == Said::Strange { "from_the_future" } else { "message" };
        json!({ "type": kind, "id": format!("0000000{place}"), "parentId": parent, "timestamp": "2026-01-02T03:04:05.000Z", "message": message })
    });
    [head].into_iter().chain(entries).collect()
}

fn opencode(said: &[Said]) -> Vec<Value> {
    let gave = |wanted: &str| {
        let given = said.iter().filter_map(|it| match it {
            Said::Gave(id, words) => Some((*id, *words)),
            Said::Person(_) | Said::Model(..) | Said::Strange => None,
        });
        given.into_iter().find(|(id, _)| *id == wanted).map(|(_, words)| words)
    };
    let message = |role: &str, parts: Vec<Value>| {
        let time = json!({ "created": 1_700_000_000_000_u64, "completed": 1_700_000_000_001_u64 });
        json!({ "info": { "id": "msg", "role": role, "time": time, "modelID": "x", "providerID": "p" }, "parts": parts })
    };
    let text = |words: &str| json!({ "type": "text", "text": words, "time": { "end": 1 } });
    let messages = said.iter().filter_map(|it| match it {
        Said::Person(words) => Some(message("user", vec![text(words)])),
        Said::Model(words, calls) => {
            let calls = calls.iter().map(|call| {
                let state = match gave(call.id) {
                    Some(words) => {
                        json!({ "status": "completed", "input": arguments(call), "output": words })
                    }
                    None => json!({ "status": "running", "input": arguments(call) }),
                };
                json!({ "type": "tool", "callID": call.id, "tool": call.tool, "state": state })
            });
            Some(message("assistant", [text(words)].into_iter().chain(calls).collect()))
        }
        Said::Gave(..) => None,
        Said::Strange => Some(message("narrator", vec![text("?")])),
    });
    messages.collect()
}

fn anthropic(said: &[Said]) -> Vec<Value> {
    let messages = said.iter().map(|it| match it {
        Said::Person(words) => json!({ "role": "user", "content": words }),
        Said::Model(words, calls) => {
            let calls = calls.iter().map(|call| json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": arguments(call) }));
            let content: Vec<_> = [json!({ "type": "text", "text": words })].into_iter().chain(calls).collect();
            json!({ "role": "assistant", "content": content })
        }
        Said::Gave(id, words) => json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": words }] }),
        Said::Strange => json!({ "role": "narrator", "content": "?" }),
    });
    messages.collect()
}

fn chat(said: &[Said]) -> Vec<Value> {
    let messages = said.iter().map(|it| match it {
        Said::Person(words) => json!({ "role": "user", "content": words }),
        Said::Model(words, calls) => {
            let calls: Vec<_> = calls
                .iter()
                .map(|call| {
                    json!({ "id": call.id, "type": "function",
                "function": { "name": call.tool, "arguments": arguments(call).to_string() } })
                })
                .collect();
            let mut message = json!({ "role": "assistant", "content": words });
            if !calls.is_empty() {
                message["tool_calls"] = calls.into();
            }
            message
        }
        Said::Gave(id, words) => json!({ "role": "tool", "tool_call_id": id, "content": words }),
        Said::Strange => json!({ "role": "narrator", "content": "?" }),
    });
    messages.collect()
}
