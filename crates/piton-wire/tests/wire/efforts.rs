//! How much a model should think, in the words of every provider.

use std::fmt::Write as _;

use expect_test::expect;
use piton_wire::anthropic::Anthropic;
use piton_wire::cache::Cache;
use piton_wire::gemini::Gemini;
use piton_wire::openai_chat::{Flavour, OpenAiChat};
use piton_wire::openai_responses::OpenAiResponses;
use piton_wire::{Ask, Dialect, Effort};
use serde_json::Value;

use crate::transcripts::{Journal, ask};

const MODELS: [(&dyn Dialect, &str); 11] = [
    (&Anthropic, "claude-opus-4-7"),
    (&Anthropic, "claude-sonnet-4-5"),
    (&Anthropic, "kimi-k2"),
    (&OpenAiResponses::Public, "gpt-5.2"),
    (&OpenAiResponses::Codex, "gpt-5-codex"),
    (&OpenAiChat { flavour: Flavour::OpenAi }, "gpt-5"),
    (&OpenAiChat { flavour: Flavour::OpenAi }, "gpt-4o"),
    (&OpenAiChat { flavour: Flavour::DeepSeek }, "deepseek-v4"),
    (&OpenAiChat { flavour: Flavour::OpenRouter }, "x/y"),
    (&Gemini, "gemini-2.5-flash"),
    (&Gemini, "gemini-3-flash"),
];

/// What a body says about thinking.
fn said(body: &Value) -> String {
    let keys = ["thinking", "output_config", "reasoning", "reasoning_effort"];
    let told = keys.iter().filter_map(|key| Some(format!("{key} {}", body.get(key)?)));
    let gemini = body["generationConfig"].get("thinkingConfig").map(ToString::to_string);
    told.chain(gemini).collect::<Vec<_>>().join(" ")
}

#[test]
fn efforts_in_the_words_of_every_provider() {
    let efforts = [Effort::None, Effort::Minimal, Effort::Medium, Effort::Max];
    let mut journal = Journal::new();
    journal.user("Hello.");
    let mut lines = String::new();
    for (dialect, model) in MODELS {
        for effort in efforts {
            let ask = Ask { effort: Some(effort), max_tokens: Some(8000), ..ask("p", model) };
            let body = dialect.encode(&journal.transcript(), &ask, &mut Cache::default());
            let body: Value = serde_json::from_slice(&body).unwrap();
            writeln!(lines, "{model} {effort:?}: {}.", said(&body)).unwrap();
        }
    }
    expect![[r#"
        claude-opus-4-7 None: thinking {"type":"disabled"}.
        claude-opus-4-7 Minimal: thinking {"display":"summarized","type":"adaptive"} output_config {"effort":"low"}.
        claude-opus-4-7 Medium: thinking {"display":"summarized","type":"adaptive"} output_config {"effort":"medium"}.
        claude-opus-4-7 Max: thinking {"display":"summarized","type":"adaptive"} output_config {"effort":"max"}.
        claude-sonnet-4-5 None: .
        claude-sonnet-4-5 Minimal: thinking {"budget_tokens":1024,"type":"enabled"}.
        claude-sonnet-4-5 Medium: thinking {"budget_tokens":6000,"type":"enabled"}.
        claude-sonnet-4-5 Max: thinking {"budget_tokens":6000,"type":"enabled"}.
        kimi-k2 None: thinking {"type":"disabled"}.
        kimi-k2 Minimal: thinking {"budget_tokens":1024,"type":"enabled"}.
        kimi-k2 Medium: thinking {"budget_tokens":6000,"type":"enabled"}.
        kimi-k2 Max: thinking {"budget_tokens":6000,"type":"enabled"}.
        gpt-5.2 None: reasoning {"effort":"none"}.
        gpt-5.2 Minimal: reasoning {"effort":"low"}.
        gpt-5.2 Medium: reasoning {"effort":"medium"}.
        gpt-5.2 Max: reasoning {"effort":"xhigh"}.
        gpt-5-codex None: reasoning {"effort":"low","summary":"auto"}.
        gpt-5-codex Minimal: reasoning {"effort":"low","summary":"auto"}.
        gpt-5-codex Medium: reasoning {"effort":"medium","summary":"auto"}.
        gpt-5-codex Max: reasoning {"effort":"high","summary":"auto"}.
        gpt-5 None: reasoning_effort "minimal".
        gpt-5 Minimal: reasoning_effort "minimal".
        gpt-5 Medium: reasoning_effort "medium".
        gpt-5 Max: reasoning_effort "high".
        gpt-4o None: .
        gpt-4o Minimal: .
        gpt-4o Medium: .
        gpt-4o Max: .
        deepseek-v4 None: thinking {"type":"disabled"}.
        deepseek-v4 Minimal: reasoning_effort "low".
        deepseek-v4 Medium: reasoning_effort "medium".
        deepseek-v4 Max: reasoning_effort "high".
        x/y None: reasoning {"effort":"none"}.
        x/y Minimal: reasoning {"effort":"minimal"}.
        x/y Medium: reasoning {"effort":"medium"}.
        x/y Max: reasoning {"effort":"xhigh"}.
        gemini-2.5-flash None: {"includeThoughts":false,"thinkingBudget":0}.
        gemini-2.5-flash Minimal: {"includeThoughts":true,"thinkingBudget":512}.
        gemini-2.5-flash Medium: {"includeThoughts":true,"thinkingBudget":-1}.
        gemini-2.5-flash Max: {"includeThoughts":true,"thinkingBudget":24576}.
        gemini-3-flash None: {"includeThoughts":true,"thinkingLevel":"minimal"}.
        gemini-3-flash Minimal: {"includeThoughts":true,"thinkingLevel":"minimal"}.
        gemini-3-flash Medium: {"includeThoughts":true}.
        gemini-3-flash Max: {"includeThoughts":true,"thinkingLevel":"high"}.
    "#]].assert_eq(&lines);
}
