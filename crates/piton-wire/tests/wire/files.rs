//! Files in messages, in the words of every provider. C16 to C19, C21.

use expect_test::{Expect, expect};
use piton_core::event::{BlobRef, Event, Outcome, OutputFile, ToolOutput, UserPart};
use piton_core::id::{Attempt, CallId, Digest, MessageId, TurnId};
use piton_core::transcript::{Files, Transcript};
use piton_wire::anthropic::Anthropic;
use piton_wire::cache::Cache;
use piton_wire::gemini::Gemini;
use piton_wire::openai_chat::{Flavour, OpenAiChat};
use piton_wire::openai_responses::OpenAiResponses;
use piton_wire::{Ask, Dialect, anthropic, gemini, openai_chat, openai_responses};
use serde_json::Value;

use crate::transcripts::{Journal, ask};

fn file(name: &str, media_type: &str) -> UserPart {
    let blob = BlobRef { digest: Digest::new(name), bytes: 5 };
    UserPart::File { name: name.into(), media_type: media_type.into(), blob }
}

fn message(id: &str, parts: Vec<UserPart>) -> Event {
    Event::UserMessage { message: MessageId::new(id), parts, attempt: Attempt::FIRST }
}

/// A question with a file of every kind, and a word behind it.
fn transcript() -> Transcript {
    let inlined = UserPart::InlinedFile {
        name: "n.json".into(),
        media_type: "application/json".into(),
        text: "{\r\n}".into(),
    };
    let lookalike = "Attached file: x\nMIME: text/plain\ny";
    let mut journal = Journal::new();
    journal.user("See.").end();
    journal.push(Event::TurnStarted { turn: TurnId(2), agent: None }).push(message(
        "m2",
        vec![
            UserPart::text(lookalike),
            inlined,
            file("a.png", "image/png"),
            file("b.gif", "image/gif"),
            file("c.pdf", "application/pdf"),
            file("d.txt", "text/plain"),
            file("e.zip", "application/zip"),
            file("lost.png", "image/png"),
        ],
    ));
    let mut files = Files::default();
    for name in ["a.png", "b.gif", "c.pdf", "d.txt", "e.zip"] {
        files.insert(Digest::new(name), name.as_bytes().into());
    }
    journal.transcript().with_files(files)
}

/// One line per part of the user's content.
fn shown(content: &Value) -> String {
    let parts = content.as_array().unwrap().iter().map(ToString::to_string);
    parts.collect::<Vec<_>>().join("\n") + "\n"
}

fn body(dialect: &dyn Dialect, ask: &Ask) -> Value {
    let mut cache = Cache::default();
    let first = dialect.encode(&transcript(), ask, &mut cache);
    assert_eq!(
        first,
        dialect.encode(&transcript(), ask, &mut cache),
        "a kept encoding is the same"
    );
    serde_json::from_slice(&first).unwrap()
}

#[test]
fn anthropic_takes_images_and_documents() {
    let body = body(&Anthropic, &ask("anthropic", "claude-opus-4-7"));
    assert_eq!(anthropic::rules::violations(&body), Vec::<String>::new());
    expect![[r#"
        {"text":"See.","type":"text"}
        {"text":"Attached file: x\nMIME: text/plain\ny","type":"text"}
        {"text":"Attached file: n.json\nMIME: application/json\n{\r\n}","type":"text"}
        {"source":{"data":"YS5wbmc=","media_type":"image/png","type":"base64"},"type":"image"}
        {"source":{"data":"Yi5naWY=","media_type":"image/gif","type":"base64"},"type":"image"}
        {"source":{"data":"Yy5wZGY=","media_type":"application/pdf","type":"base64"},"title":"c.pdf","type":"document"}
        {"source":{"data":"d.txt","media_type":"text/plain","type":"text"},"title":"d.txt","type":"document"}
        {"text":"Attached file: e.zip\nMIME: application/zip\n(Not sent: this model takes no files of type application/zip.)","type":"text"}
        {"cache_control":{"type":"ephemeral"},"text":"Attached file: lost.png\nMIME: image/png\n(Its content is lost.)","type":"text"}
    "#]].assert_eq(&shown(&body["messages"][0]["content"]));
}

#[test]
fn chat_takes_images_and_documents() {
    let dialect = OpenAiChat { flavour: Flavour::OpenAi };
    let body = body(&dialect, &ask("openai", "gpt-4o"));
    assert_eq!(
        openai_chat::rules::flavour_violations(&body, Flavour::OpenAi),
        Vec::<String>::new()
    );
    expect![[r#"
        {"text":"See.","type":"text"}
        {"text":"Attached file: x\nMIME: text/plain\ny","type":"text"}
        {"text":"Attached file: n.json\nMIME: application/json\n{\r\n}","type":"text"}
        {"image_url":{"url":"data:image/png;base64,YS5wbmc="},"type":"image_url"}
        {"image_url":{"url":"data:image/gif;base64,Yi5naWY="},"type":"image_url"}
        {"file":{"file_data":"data:application/pdf;base64,Yy5wZGY=","filename":"c.pdf"},"type":"file"}
        {"text":"Attached file: d.txt\nMIME: text/plain\n(Not sent: this model takes no text files of more than 200000 characters.)","type":"text"}
        {"text":"Attached file: e.zip\nMIME: application/zip\n(Not sent: this model takes no files of type application/zip.)","type":"text"}
        {"text":"Attached file: lost.png\nMIME: image/png\n(Its content is lost.)","type":"text"}
    "#]].assert_eq(&shown(&body["messages"][1]["content"]));
}

#[test]
fn chat_in_other_flavours_takes_less() {
    let check = |flavour, model, expected: Expect| {
        let body = body(&OpenAiChat { flavour }, &ask("x", model));
        assert_eq!(openai_chat::rules::flavour_violations(&body, flavour), Vec::<String>::new());
        let content = &body["messages"][1]["content"];
        let kinds = content.as_array().into_iter().flatten().map(|part| part["type"].to_string());
        let notes = content.to_string().matches("Not sent: this model").count();
        expected.assert_eq(&format!("{} {notes}", kinds.collect::<Vec<_>>().join(" ")));
    };
    check(Flavour::DeepSeek, "deepseek-v4", expect![" 6"]);
    check(
        Flavour::Mistral,
        "mistral-large",
        expect![[r#""text" "text" "text" "image_url" "image_url" "text" "text" "text" "text" 3"#]],
    );
    check(
        Flavour::Local,
        "gemma3",
        expect![[r#""text" "text" "text" "image_url" "image_url" "text" "text" "text" "text" 3"#]],
    );
    check(
        Flavour::OpenRouter,
        "anthropic/claude",
        expect![[r#""text" "text" "text" "image_url" "image_url" "file" "text" "text" "text" 2"#]],
    );
    check(Flavour::OpenAi, "gpt-3.5-turbo", expect![" 6"]);
}

#[test]
fn responses_take_images_and_documents() {
    let body = body(&OpenAiResponses::Public, &ask("openai", "gpt-5"));
    assert_eq!(openai_responses::rules::violations(&body), Vec::<String>::new());
    expect![[r#"
        {"text":"Attached file: x\nMIME: text/plain\ny","type":"input_text"}
        {"text":"Attached file: n.json\nMIME: application/json\n{\r\n}","type":"input_text"}
        {"image_url":"data:image/png;base64,YS5wbmc=","type":"input_image"}
        {"image_url":"data:image/gif;base64,Yi5naWY=","type":"input_image"}
        {"file_data":"data:application/pdf;base64,Yy5wZGY=","filename":"c.pdf","type":"input_file"}
        {"text":"Attached file: d.txt\nMIME: text/plain\n(Not sent: this model takes no text files of more than 200000 characters.)","type":"input_text"}
        {"text":"Attached file: e.zip\nMIME: application/zip\n(Not sent: this model takes no files of type application/zip.)","type":"input_text"}
        {"text":"Attached file: lost.png\nMIME: image/png\n(Its content is lost.)","type":"input_text"}
    "#]]
    .assert_eq(&shown(&body["input"][1]["content"]));
}

#[test]
fn codex_takes_images_only() {
    let body = body(&OpenAiResponses::Codex, &ask("codex", "gpt-5-codex"));
    let kinds: Vec<_> =
        body["input"][1]["content"].as_array().unwrap().iter().map(|part| &part["type"]).collect();
    expect![[r#"[String("input_text"), String("input_text"), String("input_image"), String("input_image"), String("input_text"), String("input_text"), String("input_text"), String("input_text")]"#]].assert_eq(&format!("{kinds:?}"));
}

#[test]
fn gemini_takes_images_and_documents_but_no_gif() {
    let body = body(&Gemini, &ask("gemini", "gemini-2.5-pro"));
    assert_eq!(gemini::rules::violations(&body), Vec::<String>::new());
    expect![[r#"
        {"text":"See."}
        {"text":"Attached file: x\nMIME: text/plain\ny"}
        {"text":"Attached file: n.json\nMIME: application/json\n{\r\n}"}
        {"inlineData":{"data":"YS5wbmc=","mimeType":"image/png"}}
        {"text":"Attached file: b.gif\nMIME: image/gif\n(Not sent: this model takes no image/gif, only image/png, image/jpeg, image/webp.)"}
        {"inlineData":{"data":"Yy5wZGY=","mimeType":"application/pdf"}}
        {"inlineData":{"data":"ZC50eHQ=","mimeType":"text/plain"}}
        {"text":"Attached file: e.zip\nMIME: application/zip\n(Not sent: this model takes no files of type application/zip.)"}
        {"text":"Attached file: lost.png\nMIME: image/png\n(Its content is lost.)"}
    "#]].assert_eq(&shown(&body["contents"][0]["parts"]));
}

/// Two calls, of which the second gives an image.
fn looked(media_type: &str) -> Transcript {
    let mut journal = Journal::new();
    journal.user("Look.").answer(
        "",
        &[("shell", "{}", "call_a"), ("read_file", "{}", "call_b")],
        None,
    );
    journal.finish(0, Outcome::Ok, "nothing");
    let call = CallId { turn: TurnId(1), step: 1, index: 1 };
    let blob = BlobRef { digest: Digest::new("a.png"), bytes: 5 };
    let file = OutputFile { name: "a.png".into(), media_type: media_type.into(), blob };
    let output = ToolOutput { files: vec![file], ..ToolOutput::text("[image a.png]") };
    journal.push(Event::ToolFinished { call, outcome: Outcome::Ok, output });
    let mut files = Files::default();
    files.insert(Digest::new("a.png"), b"a.png".as_slice().into());
    journal.transcript().with_files(files)
}

/// The body of a request with that image; it must break no rule.
fn image_of_a_result(
    dialect: &dyn Dialect,
    ask: &Ask,
    violations: fn(&Value) -> Vec<String>,
) -> Value {
    let encoded = dialect.encode(&looked("image/png"), ask, &mut Cache::default());
    let body = serde_json::from_slice(&encoded).unwrap();
    assert_eq!(violations(&body), Vec::<String>::new());
    body
}

#[test]
fn an_image_of_a_result_stands_where_the_dialect_takes_it() {
    let asked = ask("anthropic", "claude-opus-4-7");
    let body = image_of_a_result(&Anthropic, &asked, anthropic::rules::violations);
    expect![[r#"
        {"content":"nothing","tool_use_id":"call_1_1_0","type":"tool_result"}
        {"cache_control":{"type":"ephemeral"},"content":[{"text":"[image a.png]","type":"text"},{"source":{"data":"YS5wbmc=","media_type":"image/png","type":"base64"},"type":"image"}],"tool_use_id":"call_1_1_1","type":"tool_result"}
    "#]]
    .assert_eq(&shown(&body["messages"][2]["content"]));

    let asked = ask("openai", "gpt-5");
    let rules = openai_responses::rules::violations;
    let body = image_of_a_result(&OpenAiResponses::Public, &asked, rules);
    expect![[r#"
        {"text":"[image a.png]","type":"input_text"}
        {"image_url":"data:image/png;base64,YS5wbmc=","type":"input_image"}
    "#]]
    .assert_eq(&shown(&body["input"][4]["output"]));
    assert_eq!(body["input"][3]["output"], "nothing");

    let asked = ask("gemini", "gemini-2.5-pro");
    let body = image_of_a_result(&Gemini, &asked, gemini::rules::violations);
    expect![[r#"
        {"functionResponse":{"id":"call_1_1_0","name":"shell","response":{"output":"nothing"}}}
        {"functionResponse":{"id":"call_1_1_1","name":"read_file","response":{"output":"[image a.png]"}}}
        {"text":"(From the result of read_file above:)"}
        {"inlineData":{"data":"YS5wbmc=","mimeType":"image/png"}}
    "#]]
    .assert_eq(&shown(&body["contents"][2]["parts"]));
}

#[test]
fn chat_puts_an_image_of_a_result_behind_it_or_says_that_it_is_not_sent() {
    let encode = |flavour, model: &str, transcript: &Transcript| -> Value {
        let asked = ask("x", model);
        let dialect = OpenAiChat { flavour };
        serde_json::from_slice(&dialect.encode(transcript, &asked, &mut Cache::default())).unwrap()
    };
    let body = encode(Flavour::OpenAi, "gpt-4o", &looked("image/png"));
    assert_eq!(openai_chat::rules::violations(&body), Vec::<String>::new());
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "user"]);
    assert_eq!(messages[4]["content"], "[image a.png]");
    expect![[r#"
        {"text":"(From the result of read_file above:)","type":"text"}
        {"image_url":{"url":"data:image/png;base64,YS5wbmc="},"type":"image_url"}
    "#]]
    .assert_eq(&shown(&messages[5]["content"]));

    let body = encode(Flavour::DeepSeek, "deepseek-chat", &looked("image/png"));
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 5, "{body}");
    let told = "[image a.png]\nAttached file: a.png\nMIME: image/png\n(Not sent: this model takes no images.)";
    assert_eq!(messages[4]["content"], told);
}
