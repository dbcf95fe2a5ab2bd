//! What is asked of a person, and what a typed line means. Nothing is read or shown here.

pub(crate) mod approval;
mod choice;
mod content;
mod form;
mod heard;
pub(crate) mod held;
pub(crate) mod keys;
mod line_edit;
mod offer;
mod pager;
mod permission;

use piton::{Reply, Standing};
use piton_core::id::ConversationId;
use piton_core::question::Secret;
use piton_core::view::{self, InquiryKind, QuestionView, RuleEffect, Shape, Wants, Width};

use self::choice::ChoicePrompt;
pub(crate) use self::content::Content;
use self::form::Filled;
pub(crate) use self::form::FormPrompt;
pub(crate) use self::heard::{Heard, not_understood};
use self::keys::{Key, Menu, Pressed};
pub(crate) use self::line_edit::{Edited, LineEdit};
pub(crate) use self::offer::Offer;
pub(crate) use self::pager::{Pager, Sheet, Turned};
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
    /// Answers to choose from.
    choice: Option<ChoicePrompt>,
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
        let choice = asked.wants.as_ref().and_then(ChoicePrompt::of);
        let permission = Permission::new(offers, &asked);
        let (shown, read, typing, worker) = (false, false, false, None);
        Self { asked, shown, read, typing, form, choice, permission, worker }
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

    /// Why no such decision is possible, unless a text is being typed.
    pub(crate) fn no_rule(&self) -> Option<&str> {
        self.asked.no_rule.as_deref().filter(|_| !self.is_choosing())
    }

    /// It comes on the screen now. Whether nobody has seen it yet: then nothing that was typed before may
    /// answer it.
    pub(crate) fn is_news(&mut self) -> bool {
        !std::mem::replace(&mut self.shown, true)
    }

    /// It is too long for the screen, and is read page by page now.
    pub(crate) fn reads(&mut self) {
        self.read = true;
    }

    /// Whether somebody could read it page by page before.
    pub(crate) fn was_read(&self) -> bool {
        self.read
    }

    /// Whether the next line says how far a decision reaches, or changes a text.
    pub(crate) fn is_choosing(&self) -> bool {
        self.permission.is_choosing()
    }

    /// Back to the question, from a text or a rule that belongs to it. Says whether that was not where a
    /// person is already.
    pub(crate) fn go_back(&mut self) -> bool {
        let was_typing = std::mem::take(&mut self.typing);
        let was_choosing = self.choice.as_mut().is_some_and(ChoicePrompt::go_back);
        self.permission.go_back() || was_typing || was_choosing
    }

    /// Whether it is a form, which can be taken down without harm to its call.
    pub(crate) fn is_form(&self) -> bool {
        self.form.is_some()
    }

    /// A text that the next line changes, with what stands in front of it.
    pub(crate) fn edited(&self) -> Option<(&'static str, LineEdit)> {
        let text = self.permission.edited()?;
        Some((self.permission.label(), LineEdit::new(&text)))
    }

    /// The text that the call puts into a file, to be written anew in an editor.
    pub(crate) fn content(&self) -> Option<&Content> {
        self.permission.content.as_ref()
    }

    /// What a reply makes stand, if it does.
    pub(crate) fn offered(&self, reply: &Reply) -> Option<Offer> {
        self.permission.offered(reply)
    }

    /// The standing decision of another width than the usual one, if there is one.
    pub(crate) fn as_wide(&self, standing: Standing, width: Width) -> Option<Reply> {
        self.permission.as_wide(standing, width)
    }

    /// Whether it is laid out: all about a call, and what can be typed below that.
    pub(crate) fn is_laid_out(&self) -> bool {
        let typing = self.typing || self.is_choosing();
        self.asked.kind != InquiryKind::Question && !typing
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
        let (lines, choices) = if self.is_laid_out() {
            let choices = match self.asked.kind {
                InquiryKind::InDoubt => doubt_menu(&self.asked).line(),
                InquiryKind::Permission | InquiryKind::Question => self.permission.choices(),
            };
            (self.lines(page), choices)
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

    /// All that a question about a call says.
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
            InquiryKind::Question => match (&self.form, &self.choice, &self.asked.wants) {
                (Some(form), ..) => form.text(question),
                (None, Some(choice), _) => choice.text(question),
                (None, None, Some(wants)) => put(question, wants),
                (None, None, None) => format!("{question} "),
            },
            InquiryKind::InDoubt => format!("{question}\n{}", doubt_menu(&self.asked).line()),
        }
    }

    /// Takes in a typed line.
    pub(crate) fn hear(&mut self, line: &str) -> Heard {
        match self.asked.kind {
            InquiryKind::InDoubt if self.typing => Heard::Reply(Reply::Text(line.to_owned())),
            InquiryKind::Question => self.hear_answer(line),
            InquiryKind::Permission => self.permission.hear(line),
            InquiryKind::InDoubt => self.hear_doubt(line),
        }
    }

    fn hear_doubt(&mut self, line: &str) -> Heard {
        // A word of `piton answer`.
        let line = if line.trim() == "unknown" { "no" } else { line };
        match doubt_menu(&self.asked).hear(line) {
            Pressed::Key(keys::WAIT) => Heard::Reply(Reply::LookAgain),
            Pressed::Key(keys::RESUME) => Heard::Reply(Reply::RunAgain),
            Pressed::Key(keys::DONE) => Heard::Reply(Reply::TreatAsDone),
            // Not to be run again, and nothing is known: that is what the model is told.
            Pressed::Key(keys::NO) => Heard::Reply(Reply::Deny),
            Pressed::Key(keys::QUIT) => Heard::Leave,
            Pressed::Key(_) => {
                self.typing = true;
                Heard::Ask
            }
            Pressed::Told(told) => Heard::Told(told),
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
                Filled::Told(told) => Heard::Told(told),
                Filled::Left => Heard::Leave,
            };
        }
        if let Some(choice) = &mut self.choice {
            return choice.hear(line);
        }
        let Some(wants) = &self.asked.wants else {
            return Heard::Reply(Reply::Text(line.to_owned()));
        };
        let is_text = matches!(wants.shape, Shape::Text | Shape::Secret);
        if is_text && line.is_empty() && wants.default.is_none() {
            return Heard::Reply(Reply::Deny);
        }
        if let Some(told) = explained(&wants.shape).filter(|_| line.trim() == "?") {
            return Heard::Told(told);
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

/// What can be done about a call whose outcome nobody knows. One that another conversation has is waited
/// for, and not run here.
fn doubt_menu(asked: &QuestionView) -> Menu {
    let is_elsewhere = asked.choices.contains(&view::Choice::LookAgain);
    let first = if is_elsewhere {
        (keys::WAIT, "wait: look again", "whether the other conversation knows how it ended")
    } else {
        (keys::RESUME, "run it again", "even if it took effect")
    };
    Menu::of(&[
        first,
        (keys::DONE, "it is done", "the model is told that it took effect"),
        (keys::TYPE, "type its result", "the model takes that for its output"),
        (keys::NO, "nobody knows", "it is not run again, and the model is told so"),
        (keys::QUIT, "", "leave the question open, and the turn where it is"),
    ])
}

/// What `?` says of answers that are chosen. Where any text is an answer, `?` is one too.
fn explained(shape: &Shape) -> Option<String> {
    match shape {
        Shape::Confirm => Some("  y  yes\n  n  no\n".into()),
        Shape::Choice { .. } | Shape::Text | Shape::Secret | Shape::Form { .. } => None,
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
        Shape::Text | Shape::Choice { .. } | Shape::Form { .. } => format!("{question} ({empty}) "),
        Shape::Secret => format!("{question} (not shown; {empty}) "),
        Shape::Confirm => format!("{question} (y) yes, (n) no{default}: "),
    }
}

/// What to do with an incomplete turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Finish it, then send the new message.
    Resume,
    /// Try its message again, then send the new one.
    Retry,
    /// Discard it, then send the new message.
    Discard,
    /// Discard it, and type its message anew.
    Edit,
    /// Leave it, and send the new message in a fork in front of it.
    Fork,
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

/// The menu for an incomplete turn.
pub(crate) fn turn_menu(editing: Editing) -> Menu {
    let mut entries = vec![
        (keys::RESUME, "resume it", "then your message is sent"),
        (keys::AGAIN, "retry it", "its message has a new attempt; then your message is sent"),
        (keys::DISCARD, "discard it", "it stays in the journal, hidden; then your message is sent"),
        (keys::EDIT, "edit its message", "it is discarded, and you type its message anew"),
        (keys::FORK, "fork it", "it stays as it is; your message is sent in a fork in front of it"),
        (keys::QUIT, "quit", "nothing is changed, and your message is kept"),
    ];
    entries.retain(|(key, ..)| editing == Editing::Possible || *key != keys::EDIT);
    Menu::of(&entries)
}

/// What a key of that menu means.
pub(crate) fn choose(key: Key) -> Choice {
    match key {
        keys::RESUME => Choice::Resume,
        keys::AGAIN => Choice::Retry,
        keys::DISCARD => Choice::Discard,
        keys::EDIT => Choice::Edit,
        keys::FORK => Choice::Fork,
        _ => Choice::Quit,
    }
}

#[cfg(test)]
mod tests {
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
        let (width, workspace) = (Width::Tool, "/w".into());
        let offer = Offer { standing, width, rules: vec![], workspace, file: None };
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
        check(InquiryKind::InDoubt, &["N"], Some(Reply::Deny));
        check(InquiryKind::InDoubt, &["r"], Some(Reply::RunAgain));
        check(InquiryKind::InDoubt, &["unknown"], Some(Reply::Deny));
        check(InquiryKind::InDoubt, &["x", "m"], Some(Reply::TreatAsDone));
        check(InquiryKind::InDoubt, &["done"], Some(Reply::TreatAsDone));
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
        check_answer(&options(), &["green", "4", "2"], text("blue"));
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
            "Which?\n  1  red\n  2  blue\n  3  (n) no answer\nnumber or words, empty line: red: "
        );
    }

    // J24
    #[test]
    fn the_menu_offers_to_edit_only_when_nothing_was_done() {
        let chosen = |line: &str, editing| match turn_menu(editing).hear(line) {
            Pressed::Key(key) => Some(choose(key)),
            Pressed::Told(_) => None,
        };
        assert_eq!(chosen("e", Editing::Possible), Some(Choice::Edit));
        assert_eq!(chosen("e", Editing::Impossible), None);
        assert_eq!(chosen("R", Editing::Impossible), Some(Choice::Resume));
        assert_eq!(chosen("discard", Editing::Impossible), Some(Choice::Discard));
        assert_eq!(chosen("q", Editing::Possible), Some(Choice::Quit));
        assert_eq!(chosen("g", Editing::Impossible), Some(Choice::Retry));
        assert_eq!(chosen("retry", Editing::Impossible), Some(Choice::Retry));
        assert_eq!(chosen("k", Editing::Impossible), Some(Choice::Fork));
        assert_eq!(chosen("6", Editing::Possible), Some(Choice::Quit));
        assert_eq!(chosen("", Editing::Possible), None);
        assert_eq!(turn_menu(Editing::Possible).takes(), "type r, g, d, e, k or q");
        assert_eq!(turn_menu(Editing::Impossible).takes(), "type r, g, d, k or q");
        assert!(!turn_menu(Editing::Impossible).line().contains("edit"));
    }
}
