//! No bytes make the decoder panic, and no piece size changes what they mean (O32).

use piton_wire::gemini::Gemini;
use proptest::prelude::*;

use super::gemini;

fn quietly() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(quietly())]

    #[test]
    fn no_bytes_break_the_decoder(
        start in prop_oneof![Just("data: "), Just("["), Just("{"), Just("")],
        body in prop::collection::vec(prop_oneof![
            Just(r#"{"candidates":[{"content":{"parts":["#), Just(r#"{"text":"ä"}"#), Just("]}}]}"),
            Just(r#"{"functionCall":{"name":"a","willContinue":true}}"#), Just(","), Just("\n\n"),
            Just("data: "), Just(r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.a[0]"}]}}"#),
            Just(r#"{"candidates":[{"finishReason":"STOP"}]}"#), Just("\"\\"), Just("]"), Just("\u{0}"),
        ], 0..20),
    ) {
        let body = format!("{start}{}", body.concat());
        crate::recorded::read_all_ways(&Gemini, &gemini("gemini-3-pro"), body.as_bytes());
    }
}
