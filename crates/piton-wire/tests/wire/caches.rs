//! A cache keeps what one dialect wrote; another dialect with the same ask must not be given it.

use piton_core::event::Outcome;
use piton_wire::Dialect;
use piton_wire::anthropic::Anthropic;
use piton_wire::cache::Cache;
use piton_wire::gemini::Gemini;
use piton_wire::openai_chat::{Flavour, OpenAiChat};
use piton_wire::openai_responses::OpenAiResponses;

use crate::transcripts::{Journal, ask};

#[test]
fn one_cache_may_be_handed_from_dialect_to_dialect() {
    let flavours =
        [Flavour::OpenAi, Flavour::DeepSeek, Flavour::Mistral, Flavour::OpenRouter, Flavour::Local];
    let mut dialects: Vec<Box<dyn Dialect>> = vec![
        Box::new(Anthropic),
        Box::new(Gemini),
        Box::new(OpenAiResponses::Public),
        Box::new(OpenAiResponses::Codex),
    ];
    for flavour in flavours {
        dialects.push(Box::new(OpenAiChat { flavour }));
    }
    let mut journal = Journal::new();
    journal.user("go").answer("Looking.", &[("look", "{}", "x")], None).finish(0, Outcome::Ok, "a");
    let (transcript, ask, mut cache) = (journal.transcript(), ask("test", "m"), Cache::default());
    for dialect in dialects.iter().chain(dialects.iter().rev()) {
        let fresh = dialect.encode(&transcript, &ask, &mut Cache::default());
        let warm = dialect.encode(&transcript, &ask, &mut cache);
        assert_eq!(String::from_utf8(warm), String::from_utf8(fresh), "{dialect:?}");
    }
}
