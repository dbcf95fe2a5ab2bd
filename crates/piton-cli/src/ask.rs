//! What is asked of a person, and what a typed line means. Nothing is read or shown here.

pub(crate) mod approval;
mod form;
mod heard;
pub(crate) mod held;
mod pager;
mod permission;

use piton::Reply;
use piton_core::id::ConversationId;
use piton_core::question::{Secret, have_numbers};
use piton_core::view::{InquiryKind, QuestionView, RuleEffect, Shape, Wants};

use self::form::Filled;
pub(crate) use self::form::FormPrompt;
use self::heard::type_one_of;
pub(crate) use self::heard::{Heard, not_understood};
pub(crate) use self::pager::{Pager, Sheet, Turned};
pub(crate) use self::permission::Offer;
use self::permission::Permission;
use crate::render::paint::{Line, Page, Span};
use crate::render::question::{laid_out, shown};
use crate::render::tool;
use crate::render::wrap::wrap;

/// A question that is being asked.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    pub(crate) asked: QuestionView,
    /// Whether it was on the screen.
    shown: bool,
    /// Whether its pages were.
    read: bool,
    /// Whether the next line is the result of the call.
    typing: bool,
    /// A form that is being filled in.
    form: Option<FormPrompt>,
    /// What can be decided on a call.
    permission: Permission,
    /// The conversation that asks, if it is a worker's.
    pub(crate) worker: Option<ConversationId>,
}

impl Prompt {
    /// A question, not asked yet, and the standing decisions that are possible.
    pub(crate) fn new(asked: QuestionView, offers: Vec<Offer>) -> Self {
        let form = match asked.wants.as_ref().map(|wants| &wants.shape) {
            Some(Shape::Form { schema }) => Some(FormPrompt::new(schema)),
            Some(Shape::Text | Shape::Confirm | Shape::Choice { .. } | Shape::Secret) | None => {
                None
            }
        };
        let permission = Permission::new(offers);
        Self { asked, shown: false, read: false, typing: false, form, permission, worker: None }
    }

    /// A question of a worker.
    pub(crate) fn of_worker(
        worker: ConversationId,
        asked: QuestionView,
        offers: Vec<Offer>,
    ) -> Self {
        Self { worker: Some(worker), ..Self::new(asked, offers) }
    }

    /// The standing decision that lets calls like this one run, unless one is being made.
    pub(crate) fn allowing(&self) -> Option<&Offer> {
        let allows = |offer: &&Offer| offer.standing.effect == RuleEffect::Allow;
        self.permission.offers.iter().find(allows).filter(|_| !self.is_choosing())
    }

    /// It comes on the screen now. Whether nothing that was typed before may answer it: it decides
    /// what runs, and nobody has seen it yet.
    pub(crate) fn is_news(&mut self) -> bool {
        let is_first = !std::mem::replace(&mut self.shown, true);
        is_first && self.asked.kind != InquiryKind::Question
    }

    /// It is too long for the screen, and is read page by page now.
    pub(crate) fn reads(&mut self) {
        self.read = true;
    }

    /// Whether somebody could read it page by page before.
    pub(crate) fn was_read(&self) -> bool {
        self.read
    }

    /// Whether the next line says how far a decision reaches.
    pub(crate) fn is_choosing(&self) -> bool {
        self.permission.choosing.is_some()
    }

    /// What a reply makes stand, if it does.
    pub(crate) fn offered(&self, reply: &Reply) -> Option<&Offer> {
        let chosen = |offer: &&Offer| *reply == Reply::Always(offer.standing);
        self.permission.offers.iter().find(chosen)
    }

    /// Whether what is typed must not be seen.
    pub(crate) fn is_secret(&self) -> bool {
        self.asked.wants.as_ref().is_some_and(|wants| wants.shape == Shape::Secret)
    }

    /// Everything that it says, without what can be typed.
    pub(crate) fn said(&self) -> String {
        let asked = shown(&self.asked);
        match self.worker.as_ref().map(tool::worker_label) {
            Some(label) => format!("{label} {asked}"),
            None => asked,
        }
    }

    /// The question laid out: its heading, what is to be known, and what can be typed.
    pub(crate) fn sheet(&self, page: Page) -> Sheet {
        let (lines, choices) = if self.asked.kind == InquiryKind::Permission && !self.is_choosing()
        {
            (self.lines(page), self.permission.choices())
        } else {
            let text = self.text();
            let (above, last) = text.rsplit_once('\n').unwrap_or(("", &text));
            let written = above.lines().chain(std::iter::once(last).filter(|_| above.is_empty()));
            let mut lines: Vec<Line> =
                written.flat_map(|line| wrap(&[Span::plain(line)], page.columns)).collect();
            // Of a question on one line, what can be typed is at its end.
            let end = if above.is_empty() { lines.pop() } else { None };
            let end: Option<String> = end.map(|end| end.iter().map(Span::text).collect());
            (lines, end.map_or_else(|| last.to_owned(), |end| format!("{} ", end.trim_end())))
        };
        let mut lines = lines.into_iter();
        Sheet { heading: lines.next().unwrap_or_default(), body: lines.collect(), choices }
    }

    /// All that a question for permission says.
    pub(crate) fn lines(&self, page: Page) -> Vec<Line> {
        let mut lines = laid_out(&self.asked, page);
        if let (Some(worker), Some(heading)) = (&self.worker, lines.first_mut()) {
            heading.insert(0, Span::plain(&format!("{} ", tool::worker_label(worker))));
        }
        lines
    }

    /// What to show in front of the cursor.
    pub(crate) fn text(&self) -> String {
        let question = &self.said();
        match self.asked.kind {
            InquiryKind::InDoubt if self.typing => "the result of the call: ".into(),
            InquiryKind::Permission => self.permission.text(question),
            InquiryKind::Question => match (&self.form, &self.asked.wants) {
                (Some(form), _) => form.text(question),
                (None, Some(wants)) => put(question, wants),
                (None, None) => format!("{question} "),
            },
            InquiryKind::InDoubt => {
                format!(
                    "{question} (r) run it again, (d) treat it as done, (t) type its result, \
                     (u) unknown, tell the model: "
                )
            }
        }
    }

    /// Takes in a typed line.
    pub(crate) fn hear(&mut self, line: &str) -> Heard {
        let word = line.trim().to_lowercase();
        match self.asked.kind {
            InquiryKind::InDoubt if self.typing => Heard::Reply(Reply::Text(line.to_owned())),
            InquiryKind::Question => self.hear_answer(line),
            InquiryKind::Permission => self.permission.hear(&word),
            InquiryKind::InDoubt => match word.as_str() {
                "r" | "run" => Heard::Reply(Reply::RunAgain),
                "d" | "done" => Heard::Reply(Reply::TreatAsDone),
                // Not to be run again, and nothing is known: that is what the model is told.
                "u" | "unknown" => Heard::Reply(Reply::Deny),
                "t" | "type" => {
                    self.typing = true;
                    Heard::Ask
                }
                _ => Heard::Unclear(type_one_of(&['r', 'd', 't', 'u'])),
            },
        }
    }

    /// A line that answers a tool. One that says nothing, where nothing is no answer, declines.
    fn hear_answer(&mut self, line: &str) -> Heard {
        if let Some(form) = &mut self.form {
            return match form.hear(line) {
                Filled::Whole(json) => Heard::Reply(Reply::Text(json)),
                Filled::Declined => Heard::Reply(Reply::Deny),
                Filled::InPart => Heard::Ask,
                Filled::Unclear(takes) => Heard::Unclear(takes),
            };
        }
        let Some(wants) = &self.asked.wants else {
            return Heard::Reply(Reply::Text(line.to_owned()));
        };
        let is_text = matches!(wants.shape, Shape::Text | Shape::Secret);
        if is_text && line.is_empty() && wants.default.is_none() {
            return Heard::Reply(Reply::Deny);
        }
        match wants.read(line) {
            Ok(words) if wants.shape == Shape::Secret => {
                Heard::Reply(Reply::Secret(Secret::new(words)))
            }
            Ok(words) => Heard::Reply(Reply::Text(words)),
            Err(takes) => Heard::Unclear(takes),
        }
    }
}

/// A question with what can be typed.
fn put(question: &str, wants: &Wants) -> String {
    let empty = match &wants.default {
        Some(default) => format!("empty line: {default}"),
        None => "empty line: no answer".into(),
    };
    let default =
        wants.default.as_ref().map(|it| format!(", empty line: {it}")).unwrap_or_default();
    match &wants.shape {
        Shape::Text | Shape::Form { .. } => format!("{question} ({empty}) "),
        Shape::Secret => format!("{question} (not shown; {empty}) "),
        Shape::Confirm => format!("{question} (y) yes, (n) no{default}: "),
        Shape::Choice { options } => {
            let numbered = have_numbers(options);
            let mark = |place: usize| if numbered { (place + 1).to_string() } else { "-".into() };
            let lines = options.iter().enumerate();
            let lines: Vec<_> =
                lines.map(|(place, option)| format!("  {}  {option}\n", mark(place))).collect();
            let words = if numbered { "number or words" } else { "one of them" };
            format!("{question}\n{}{words}{default}: ", lines.concat())
        }
    }
}

/// What to do with an incomplete turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Finish it, then send the new message.
    Resume,
    /// Discard it, then send the new message.
    Discard,
    /// Discard it, and type its message anew.
    Edit,
    /// Leave everything as it is.
    Quit,
}

/// What can be done with the message of an incomplete turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Editing {
    /// Nothing was done yet, so it can be replaced.
    Possible,
    /// Work hangs on it.
    Impossible,
}

/// What the menu for an incomplete turn understands.
pub(crate) fn menu_takes(editing: Editing) -> String {
    type_one_of(match editing {
        Editing::Possible => &['r', 'd', 'e', 'q'],
        Editing::Impossible => &['r', 'd', 'q'],
    })
}

/// The menu for an incomplete turn.
pub(crate) fn menu(editing: Editing) -> &'static str {
    match editing {
        Editing::Possible => "(r) resume it, (d) discard it, (e) edit its message, (q) quit: ",
        Editing::Impossible => "(r) resume it, (d) discard it, (q) quit: ",
    }
}

/// What a line typed at the menu means.
pub(crate) fn choose(line: &str, editing: Editing) -> Option<Choice> {
    match (line.trim().to_lowercase().as_str(), editing) {
        ("r" | "resume", _) => Some(Choice::Resume),
        ("d" | "discard", _) => Some(Choice::Discard),
        ("e" | "edit", Editing::Possible) => Some(Choice::Edit),
        ("q" | "quit", _) => Some(Choice::Quit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use piton::Standing;
    use piton_core::view::RuleScope;
    use serde_json::{Value, json};

    use super::*;

    /// A question as a view brings it.
    fn question(kind: InquiryKind, heading: &str, wants: Value) -> QuestionView {
        let asked = json!({
            "id": "1", "kind": kind, "call": "1.1.0", "tool": "pay", "heading": heading,
            "open": true, "wants": wants, "at": 0,
        });
        serde_json::from_value(asked).unwrap()
    }

    /// Types lines until one is an answer.
    fn check(kind: InquiryKind, lines: &[&str], expected: Option<Reply>) {
        check_question(question(kind, "Run it?", Value::Null), lines, expected);
    }

    fn check_question(asked: QuestionView, lines: &[&str], expected: Option<Reply>) {
        let standing = Standing { effect: RuleEffect::Allow, scope: RuleScope::Conversation };
        let offer = Offer { standing, rules: vec![], workspace: "/w".into(), file: None };
        let mut prompt = Prompt::new(asked, vec![offer]);
        let heard = lines.iter().find_map(|line| prompt.hear(line).reply());
        assert_eq!(heard, expected, "{lines:?}");
    }

    // D39
    #[test]
    fn permission_is_given_once_always_or_not() {
        check(InquiryKind::Permission, &["y"], Some(Reply::Allow));
        let (effect, scope) = (RuleEffect::Allow, RuleScope::Conversation);
        let always = Reply::Always(Standing { effect, scope });
        check(InquiryKind::Permission, &[" A "], Some(always));
        check(InquiryKind::Permission, &["no"], Some(Reply::Deny));
    }

    #[test]
    fn permission_is_never_guessed() {
        check(InquiryKind::Permission, &["", "yy", "perhaps", "r"], None);
        check(InquiryKind::Permission, &["", "n"], Some(Reply::Deny));
    }

    #[test]
    fn a_call_in_doubt_is_run_again_taken_for_done_given_a_result_or_left_unknown() {
        check(InquiryKind::InDoubt, &["U"], Some(Reply::Deny));
        check(InquiryKind::InDoubt, &["r"], Some(Reply::RunAgain));
        check(InquiryKind::InDoubt, &["x", "d"], Some(Reply::TreatAsDone));
        check(InquiryKind::InDoubt, &["t", " 3 rows "], Some(Reply::Text(" 3 rows ".into())));
        check(InquiryKind::InDoubt, &["y", ""], None);
    }

    #[test]
    fn a_question_takes_the_line_as_it_is() {
        check(InquiryKind::Question, &["y"], Some(Reply::Text("y".into())));
    }

    /// What a tool wants to know.
    fn wants(shape: &Shape, default: Option<&str>) -> QuestionView {
        let wants = json!({"name": "q", "shape": shape, "default": default});
        question(InquiryKind::Question, "Which?", wants)
    }

    fn check_answer(shape: &Shape, lines: &[&str], expected: Option<Reply>) {
        check_question(wants(shape, None), lines, expected);
    }

    // J15
    #[test]
    fn an_answer_fits_its_question_or_it_is_asked_again() {
        let text = |text: &str| Some(Reply::Text(text.into()));
        check_answer(&Shape::Text, &[" so "], text(" so "));
        check_answer(&Shape::Text, &[""], Some(Reply::Deny));
        check_answer(&Shape::Confirm, &["", "perhaps", "Y"], text("yes"));
        let options = || Shape::Choice { options: vec!["red".into(), "blue".into()] };
        check_answer(&options(), &["green", "3", "2"], text("blue"));
        check_answer(&Shape::Secret, &["x"], Some(Reply::Secret(Secret::new("x"))));
    }

    #[test]
    fn a_question_says_what_can_be_typed() {
        let shown = |shape: &Shape, default: Option<&str>| {
            Prompt::new(wants(shape, default), Vec::new()).text()
        };
        assert_eq!(shown(&Shape::Text, None), "Which? (empty line: no answer) ");
        let options = Shape::Choice { options: vec!["red".into(), "blue".into()] };
        assert_eq!(
            shown(&options, Some("red")),
            "Which?\n  1  red\n  2  blue\nnumber or words, empty line: red: "
        );
        let options = Shape::Choice { options: vec!["2".into(), "1".into()] };
        assert_eq!(shown(&options, None), "Which?\n  -  2\n  -  1\none of them: ");
    }

    // J24
    #[test]
    fn the_menu_offers_to_edit_only_when_nothing_was_done() {
        assert_eq!(choose("e", Editing::Possible), Some(Choice::Edit));
        assert_eq!(choose("e", Editing::Impossible), None);
        assert_eq!(choose("R", Editing::Impossible), Some(Choice::Resume));
        assert_eq!(choose("discard", Editing::Impossible), Some(Choice::Discard));
        assert_eq!(choose("q", Editing::Possible), Some(Choice::Quit));
        assert_eq!(choose("", Editing::Possible), None);
        assert_eq!(menu_takes(Editing::Possible), "type r, d, e or q");
        assert_eq!(menu_takes(Editing::Impossible), "type r, d or q");
        assert!(!menu(Editing::Impossible).contains("edit"));
    }
}
