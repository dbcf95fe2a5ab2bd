//! What makes no sense in the settings, in words for people: where it is, and what may be meant.

use crate::near::{near, one_of, quote, suggestion};

/// What to tell of a fault: where it is, and near names where a name is unknown.
pub(super) fn complaint(error: &toml::de::Error, text: &str) -> String {
    let (shown, said) = (error.to_string(), error.message());
    let shown = shown.trim_end();
    let value = error.span().and_then(|span| text.get(span)).unwrap_or_default();
    match (better(said, value), shown.strip_suffix(said)) {
        (Some(better), Some(place)) => format!("{place}{better}"),
        (Some(_), None) | (None, _) => shown.to_owned(),
    }
}

/// The same in words that help, where there are some.
fn better(said: &str, value: &str) -> Option<String> {
    if let Some(named) = said.strip_prefix("unknown field ") {
        let mut words = quoted(named);
        let unknown = words.next()?;
        return Some(unknown_key(unknown, &words.collect::<Vec<_>>()));
    }
    if let Some(named) = said.strip_prefix("unknown variant ") {
        let mut words = quoted(named);
        let unknown = words.next()?;
        return Some(wrong_word(unknown, &words.collect::<Vec<_>>()));
    }
    if let Some((_, wanted)) = said.split_once(", expected ")
        && said.starts_with("invalid ")
    {
        return Some(format!("{} is wanted here", in_words(wanted)));
    }
    Some(wrong_word(value.trim_matches(['"', '\'']), &one_of(said)?))
}

/// What a type is called by people who write settings.
fn in_words(wanted: &str) -> &str {
    match wanted {
        "u32" | "u64" => "a whole number, 0 or more,",
        "a boolean" => "true or false",
        "a string" | "string" => "a text in quotes",
        "a sequence" => "a list in brackets",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

fn unknown_key(unknown: &str, known: &[&str]) -> String {
    let meant = quote(near(unknown, known.iter().copied()));
    if !meant.is_empty() {
        return format!("there is no key `{unknown}`{}", suggestion(&meant));
    }
    let known = known.join(", ");
    format!("there is no key `{unknown}`; a newer piton may know it, this one knows {known}")
}

/// What to tell of a word that is none of those that can be written.
fn wrong_word(typed: &str, words: &[&str]) -> String {
    let meant = quote(near(typed, words.iter().copied()));
    let words = words.join(", ");
    format!("`{typed}` is none of {words}{}", suggestion(&meant))
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::settings_file::SettingsFile;

    #[test]
    fn a_slip_is_told_with_its_line_and_what_may_be_meant() {
        let faults = [
            "modle = \"demo\"\n",
            "\n[sandbox]\nnetwrok = false\n",
            "[sandbox]\nmode = \"onn\"\n",
            "effort = \"hihg\"\n",
            "[[permissions]]\ntool = \"shell\"\neffect = \"alow\"\n",
            "[providers.work]\ndialect = \"opnai-chat\"\n",
            "[ask]\nquickly = true\n",
            "[mcp.files]\ncomand = \"x\"\n",
            "effort = \"quite\"\n",
            "max_tokens = -1\n",
            "ask = 3\n",
            "permissions = 3\n",
            "model = 3\n",
        ]
        .map(|text| {
            let fault = SettingsFile::parse(text).unwrap_err();
            let (place, why) = (fault.lines().next().unwrap(), fault.lines().last().unwrap());
            format!("{}: {why}", place.trim_start_matches("TOML parse error at "))
        });
        expect![[r#"
            line 1, column 1: there is no key `modle`; did you mean `model`?
            line 3, column 1: there is no key `netwrok`; did you mean `network`?
            line 2, column 8: `onn` is none of off, auto, on; did you mean `on`?
            line 1, column 10: `hihg` is none of auto, none, minimal, low, medium, high, max; did you mean `high`?
            line 3, column 10: `alow` is none of allow, ask, deny; did you mean `allow`?
            line 2, column 11: `opnai-chat` is none of anthropic, openai-responses, openai-chat, deepseek, mistral, openrouter, local-chat, codex, gemini; did you mean `openai-chat`?
            line 2, column 1: there is no key `quickly`; a newer piton may know it, this one knows batch, permissions
            line 2, column 1: there is no key `comand`; did you mean `command`?
            line 1, column 10: `quite` is none of auto, none, minimal, low, medium, high, max
            line 1, column 14: a whole number, 0 or more, is wanted here
            line 1, column 7: a table is wanted here
            line 1, column 15: a list in brackets is wanted here
            line 1, column 9: a text in quotes is wanted here"#]].assert_eq(&faults.join("\n"));
    }
}
