//! The text of answers, each piece exactly once, whatever was coalesced, cut or tried again.

/// What has been shown of the answer that is under way.
#[derive(Debug, Default)]
pub(crate) struct AnswerText {
    shown: String,
}

impl AnswerText {
    /// A request leaves. What was shown of an earlier try stays; the new one begins on a new line.
    pub(crate) fn asked(&mut self) -> String {
        self.break_off()
    }

    /// More text came; all of it is to be shown.
    pub(crate) fn live<'a>(&mut self, text: &'a str) -> &'a str {
        self.shown.push_str(text);
        text
    }

    /// The whole answer is there. Returns what is still to be shown of it.
    pub(crate) fn answered(&mut self, whole: &str) -> String {
        let rest = match whole.strip_prefix(self.shown.as_str()) {
            Some(rest) => rest.to_owned(),
            // What streamed is not how the answer begins: the answer counts.
            None => format!("{}{whole}", self.end_of_line()),
        };
        self.shown.clear();
        if whole.is_empty() || whole.ends_with('\n') { rest } else { rest + "\n" }
    }

    /// The stream will not become an answer.
    pub(crate) fn break_off(&mut self) -> String {
        let end = self.end_of_line().to_owned();
        self.shown.clear();
        end
    }

    fn end_of_line(&self) -> &'static str {
        if self.shown.is_empty() || self.shown.ends_with('\n') { "" } else { "\n" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Is {
        Asked,
        Live(&'static str),
        Answered(&'static str),
        Failed,
    }
    use Is::{Answered, Asked, Failed, Live};

    fn check(script: &[Is], expected: &str) {
        let mut text = AnswerText::default();
        let mut shown = String::new();
        for is in script {
            let piece = match is {
                Asked => text.asked(),
                Live(piece) => text.live(piece).to_owned(),
                Answered(whole) => text.answered(whole),
                Failed => text.break_off(),
            };
            shown.push_str(&piece);
        }
        assert_eq!(shown, expected);
    }

    // D34
    #[test]
    fn the_whole_text_appears_once_also_when_pieces_were_missed() {
        check(&[Asked, Live("He"), Live("llo"), Answered("Hello")], "Hello\n");
        check(&[Asked, Live("He"), Answered("Hello")], "Hello\n");
        check(&[Asked, Answered("Hello\n")], "Hello\n");
        check(&[Asked, Answered("")], "");
    }

    #[test]
    fn two_answers_stand_on_lines_of_their_own() {
        check(&[Asked, Live("One"), Answered("One"), Asked, Answered("Two")], "One\nTwo\n");
    }

    // K38
    #[test]
    fn a_new_try_begins_on_a_new_line_and_shows_its_whole_text() {
        check(
            &[Asked, Live("Hel"), Failed, Asked, Live("Hello"), Answered("Hello")],
            "Hel\nHello\n",
        );
        check(&[Asked, Live("Hel"), Asked, Answered("Hello")], "Hel\nHello\n");
    }

    #[test]
    fn an_answer_that_began_otherwise_counts() {
        check(&[Asked, Live("Hullo"), Answered("Hello")], "Hullo\nHello\n");
    }
}
