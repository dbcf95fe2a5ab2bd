//! A part of a conversation as text, for a model that sums it up.

use std::fmt::Write as _;

use crate::budget::letters;
use crate::event::{Cut, Outcome, Range, TurnEnd, UserPart};
use crate::id::{StepId, TurnId};
use crate::state::{Call, Item, Progress, Said, State, Step, Turn};
use crate::summary::without_middle;
use crate::transcript::without_context;
use crate::view::answer_text;

/// Most letters of a message that are shown.
const MESSAGE_CHARS_MAX: usize = 8_000;
/// Most letters of what the model said.
const ANSWER_CHARS_MAX: usize = 8_000;
/// Most letters of an output, and of the arguments of a call: the first that lets the text fit counts.
const OUTPUT_CHARS: [usize; 4] = [2_000, 600, 150, 0];

/// What stands between two places where a part may end.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// Where it ends.
    pub(super) end: Cut,
    text: String,
}

impl Section {
    pub(super) fn letters(&self) -> u64 {
        letters(&self.text)
    }
}

/// The text of a part, within so many letters: outputs are shortened first, then the middle is left out.
pub(super) fn text(state: &State, range: Range, letters_max: u64) -> String {
    let mut made = String::new();
    for output_chars in OUTPUT_CHARS {
        let sections = with_outputs(state, range, output_chars);
        made = sections.into_iter().map(|section| section.text).collect();
        if letters(&made) <= letters_max {
            return made;
        }
    }
    without_middle(&made, usize::try_from(letters_max).unwrap_or(usize::MAX))
}

/// The sections of a part, with outputs as long as they may be.
pub(super) fn sections(state: &State, range: Range) -> Vec<Section> {
    let [output_chars, ..] = OUTPUT_CHARS;
    with_outputs(state, range, output_chars)
}

fn with_outputs(state: &State, range: Range, output_chars: usize) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut before = TurnId(0);
    for turn in &state.turns {
        let is_touched = !range.after.has_turn(turn.id) && turn.id <= range.through.last_turn();
        if is_touched {
            let place = Place { turn, before, output_chars };
            place.add(range, &mut sections);
        }
        before = turn.id;
    }
    sections
}

/// A turn, and the name of the one before it.
struct Place<'a> {
    turn: &'a Turn,
    before: TurnId,
    output_chars: usize,
}

impl Place<'_> {
    fn add(&self, range: Range, sections: &mut Vec<Section>) {
        let Self { turn, before, output_chars } = *self;
        if turn.end == Some(TurnEnd::Discarded) {
            return;
        }
        let mut text = String::new();
        let is_known = |item: &Item| matches!(item, Item::Step(step) if range.after.has_step(turn.id, step.number));
        let known = turn.items.iter().rposition(is_known);
        for (number, item) in turn.items.iter().enumerate() {
            match item {
                // The request itself goes along, also where the part before this one has had it.
                Item::User(said) if number == 0 || known < Some(number) => {
                    add_said(&mut text, turn, said);
                }
                Item::Step(_) if Some(number) <= known => {}
                Item::Step(step) if range.through.has_step(turn.id, step.number) => {
                    add_step(&mut text, turn, step, output_chars);
                    let within = Some(StepId { turn: turn.id, step: step.number });
                    let end = Cut { through: before, within };
                    sections.push(Section { end, text: std::mem::take(&mut text) });
                }
                Item::User(_) | Item::Step(_) => {}
            }
        }
        if range.through.has_turn(turn.id) {
            let end = match turn.end {
                Some(TurnEnd::Completed) => "ended: done",
                Some(TurnEnd::Stopped) => "ended: stopped by the user",
                Some(TurnEnd::Discarded) | None => "ended",
            };
            add_line(&mut text, &format!("[turn {}] {end}", turn.id.0));
            // What is behind the last step goes along with it.
            let is_of_turn = |section: &Section| section.end.last_turn() == turn.id;
            let last = sections.pop_if(|section| is_of_turn(section));
            let text = last.map(|last| last.text).unwrap_or_default() + &text;
            sections.push(Section { end: Cut { through: turn.id, within: None }, text });
        }
    }
}

fn add_said(text: &mut String, turn: &Turn, said: &Said) {
    let parts: Vec<String> = said.parts.iter().map(part_text).collect();
    let parts = without_middle(&parts.join("\n"), MESSAGE_CHARS_MAX);
    let open = if turn.end.is_none() { " (still being worked on)" } else { "" };
    add_line(text, &format!("[turn {}] user{open}: {parts}", turn.id.0));
}

fn part_text(part: &UserPart) -> String {
    match part {
        UserPart::Text { text } => without_context(text).to_owned(),
        UserPart::File { name, .. } => format!("[file {name}]"),
        UserPart::InlinedFile { name, text, .. } => format!("[file {name}]\n{text}"),
    }
}

fn add_step(text: &mut String, turn: &Turn, step: &Step, output_chars: usize) {
    let place = format!("[turn {}, step {}]", turn.id.0, step.number);
    if let Some(said) = answer_text(step).filter(|said| !said.trim().is_empty()) {
        let said = without_middle(said.trim(), ANSWER_CHARS_MAX);
        add_line(text, &format!("{place} model: {said}"));
    }
    for call in &step.calls {
        add_call(text, &place, call, output_chars);
    }
}

fn add_call(text: &mut String, place: &str, call: &Call, output_chars: usize) {
    let arguments = without_middle(&call.arguments, output_chars);
    add_line(text, &format!("{place} call {} {}: {arguments}", call.id, call.name));
    let Progress::Done(ended) = &call.progress else { return };
    let outcome = match ended.outcome {
        Outcome::Ok => "ok",
        Outcome::Failed => "failed",
        Outcome::Denied => "denied by the user",
        Outcome::Cancelled => "cancelled",
        Outcome::Unknown => "outcome unknown",
    };
    let code = ended.output.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
    let output = without_middle(ended.output.text.trim(), output_chars);
    add_line(text, &format!("{place} result of {} ({outcome}{code}): {output}", call.id));
}

fn add_line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    writeln!(text, "{line}").unwrap_or_default();
}
