//! The text of answers, each piece exactly once, whatever was coalesced, cut or tried again.

/// How the text of an answer goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// As it comes, for somebody who watches.
    Streamed,
    /// In one piece, once it is an answer, for a program that cannot unsee a broken one.
    Whole,
}

/// What has come of the answer that is under way.
#[derive(Debug)]
pub(crate) struct AnswerText {
    pace: Pace,
    came: String,
    /// What came in the last try that broke off, until there is an answer.
    broken: String,
}

impl AnswerText {
    pub(crate) fn new(pace: Pace) -> Self {
        Self { pace, came: String::new(), broken: String::new() }
    }

    /// More text came. Returns what is to be shown of it.
    pub(crate) fn live<'a>(&mut self, text: &'a str) -> &'a str {
        self.came.push_str(text);
        match self.pace {
            Pace::Streamed => text,
            Pace::Whole => "",
        }
    }

    /// The whole answer is there. Returns what is still to be shown of it.
    pub(crate) fn answered(&mut self, whole: &str) -> String {
        let rest = match (self.pace, whole.strip_prefix(self.came.as_str())) {
            (Pace::Whole, _) => whole.to_owned(),
            (Pace::Streamed, Some(rest)) => rest.to_owned(),
            // What streamed is not how the answer begins: the answer counts.
            (Pace::Streamed, None) => format!("{}{whole}", self.end_of_line()),
        };
        self.came.clear();
        self.broken.clear();
        if whole.is_empty() || whole.ends_with('\n') { rest } else { rest + "\n" }
    }

    /// What came will not become an answer, or a request leaves once more. What was shown stays; the
    /// next text begins on a new line.
    pub(crate) fn break_off(&mut self) -> &'static str {
        let end = match self.pace {
            Pace::Streamed => self.end_of_line(),
            Pace::Whole => "",
        };
        if !self.came.is_empty() {
            self.broken = std::mem::take(&mut self.came);
        }
        end
    }

    /// What came, was not shown, and will not become an answer any more.
    pub(crate) fn left_over(&mut self) -> Option<String> {
        self.break_off();
        let left = std::mem::take(&mut self.broken);
        (self.pace == Pace::Whole && !left.trim().is_empty()).then_some(left)
    }

    fn end_of_line(&self) -> &'static str {
        if self.came.is_empty() || self.came.ends_with('\n') { "" } else { "\n" }
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
        assert_eq!(run(Pace::Streamed, script), (expected.to_owned(), None));
    }

    /// What is shown of a row of events, and what is left over.
    fn run(pace: Pace, script: &[Is]) -> (String, Option<String>) {
        let mut text = AnswerText::new(pace);
        let mut shown = String::new();
        for is in script {
            let piece = match is {
                Asked | Failed => text.break_off().to_owned(),
                Live(piece) => text.live(piece).to_owned(),
                Answered(whole) => text.answered(whole),
            };
            shown.push_str(&piece);
        }
        (shown, text.left_over())
    }

    fn check_whole(script: &[Is], expected: &str, left_over: Option<&str>) {
        assert_eq!(run(Pace::Whole, script), (expected.to_owned(), left_over.map(str::to_owned)));
    }

    #[test]
    fn a_program_gets_whole_answers_and_nothing_else() {
        check_whole(&[Asked, Live("He"), Live("llo"), Answered("Hello")], "Hello\n", None);
        check_whole(
            &[Asked, Live("Hel"), Failed, Asked, Live("Hello"), Answered("Hello")],
            "Hello\n",
            None,
        );
        check_whole(&[Asked, Answered("One\n"), Asked, Answered("Two")], "One\nTwo\n", None);
        check_whole(&[Asked, Live("Hullo"), Answered("Hello")], "Hello\n", None);
    }

    #[test]
    fn what_never_became_an_answer_is_left_over() {
        check_whole(&[Asked, Live("Hel")], "", Some("Hel"));
        check_whole(&[Asked, Live("Hel"), Failed, Asked, Failed], "", Some("Hel"));
        check_whole(&[Asked, Answered("One"), Asked, Live("Tw"), Failed], "One\n", Some("Tw"));
        check_whole(&[Asked, Live(" \n"), Failed], "", None);
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
