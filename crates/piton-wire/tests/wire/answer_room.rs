//! How long an answer may be, in the words of every provider: never longer than the window has room for.

use std::fmt::Write as _;

use expect_test::expect;
use piton_core::event::{ConfigChange, Event, Limits, Window, WindowSource};
use piton_wire::anthropic::Anthropic;
use piton_wire::cache::Cache;
use piton_wire::gemini::Gemini;
use piton_wire::openai_chat::{Flavour, OpenAiChat};
use piton_wire::openai_responses::OpenAiResponses;
use piton_wire::{Ask, Dialect, Effort};
use serde_json::Value;

use crate::transcripts::{Journal, ask};

const MODELS: [(&dyn Dialect, &str); 7] = [
    (&Anthropic, "claude-sonnet-4-5"),
    (&Anthropic, "claude-sonnet-5-5"),
    (&Anthropic, "kimi-k2"),
    (&OpenAiResponses::Public, "gpt-6-sol"),
    (&OpenAiChat { flavour: Flavour::OpenAi }, "gpt-6-sol"),
    (&OpenAiChat { flavour: Flavour::OpenRouter }, "x/y"),
    (&Gemini, "gemini-3-flash"),
];

/// A conversation of so many tokens with a model that takes so many.
fn journal(window: u64, said: usize, set: u32) -> Journal {
    let mut journal = Journal::new();
    let (tokens, answer_tokens_max, from) = (window, 0, WindowSource::Setting);
    let window = Some(Window { tokens, answer_tokens_max, from }).filter(|_| 0 < window);
    let limits = Some(Limits { window, ..Limits::default() });
    let change = ConfigChange { limits, answer_tokens_max: Some(set), ..ConfigChange::default() };
    journal.push(Event::ConfigChanged { change });
    journal.user(&"word".repeat(said));
    journal
}

/// What a body says of the length of the answer.
fn most(dialect: &dyn Dialect, model: &str, journal: &Journal) -> Option<u64> {
    let transcript = journal.transcript();
    let max_tokens = Some(transcript.answer_tokens_max()).filter(|most| *most != 0);
    let ask = Ask { max_tokens, effort: Some(Effort::High), ..ask("p", model) };
    let body = dialect.encode(&transcript, &ask, &mut Cache::default());
    let body: Value = serde_json::from_slice(&body).unwrap();
    let thinks = body["thinking"]["budget_tokens"].as_u64().unwrap_or_default();
    let keys = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    let found = keys.iter().find_map(|key| body[key].as_u64());
    let found = found.or(body["generationConfig"]["maxOutputTokens"].as_u64());
    assert!(found.is_none_or(|most| thinks < most), "{body}");
    found
}

// qwen-code#7960 in another agent: request and answer must fit together.
#[test]
fn no_provider_is_asked_for_a_longer_answer_than_the_window_has_room_for() {
    let journals = [
        ("window unknown", journal(0, 100, 0)),
        ("16k, 100 tokens", journal(16_384, 100, 0)),
        ("16k, 100 tokens, 40,000 set", journal(16_384, 100, 40_000)),
        ("16k, 11,000 tokens", journal(16_384, 11_000, 0)),
        ("16k, 11,000 tokens, 2,000 set", journal(16_384, 11_000, 2_000)),
        ("16k, 15,000 tokens", journal(16_384, 15_000, 0)),
        ("200k, 170,000 tokens", journal(200_000, 170_000, 0)),
        ("200k, 199,000 tokens", journal(200_000, 199_000, 0)),
    ];
    let mut lines = String::new();
    for (name, journal) in &journals {
        let most = MODELS.map(|(dialect, model)| {
            most(dialect, model, journal).map_or("-".to_owned(), |most| most.to_string())
        });
        writeln!(lines, "{name}: {}", most.join(" ")).unwrap();
    }
    expect![[r#"
        window unknown: 32000 32000 8192 - - - -
        16k, 100 tokens: 15241 15241 8192 - - - -
        16k, 100 tokens, 40,000 set: 15241 15241 15241 15241 15241 15241 15241
        16k, 11,000 tokens: 4341 4341 4341 - - - -
        16k, 11,000 tokens, 2,000 set: 2000 2000 2000 2000 2000 2000 2000
        16k, 15,000 tokens: 341 341 341 341 341 341 341
        200k, 170,000 tokens: 28957 28957 8192 - - - -
        200k, 199,000 tokens: 1 1 1 16 1 1 1
    "#]]
    .assert_eq(&lines);
}
