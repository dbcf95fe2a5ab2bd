//! From what a file says to turns that every provider takes.
//!
//! Calls and results are paired over the whole file, not by their places. What is left over is told, and
//! nothing is made up: a call without a result stays a call of which nobody knows what became.

use std::collections::BTreeMap;
use std::sync::Arc;

use piton_core::event::ModelRef;
use piton_core::history::{
    PastAnswer, PastAnswerPart, PastCall, PastEnd, PastItem, PastPart, PastResult, PastTurn,
    Speaker,
};

use crate::arguments::{Arguments, raw};
use crate::record::{Joins, Piece, Record, Stand, Story, What};

/// Longest text of one record, in bytes. Six times as much, the most that JSON makes of it, fits into an
/// entry of a journal.
const RECORD_BYTES_MAX: usize = 1024 * 1024;

/// Longest text of a failure, in bytes. The remark and the original say the rest.
const FAILURE_BYTES_MAX: usize = 4_000;

const NO_BEGINNING: &str =
    "[The beginning of this conversation is missing in the file that it was taken from.]";
const WENT_ON: &str = "[The agent went on here without a new message.]";
const SUMMED_UP: &str = "[A summary of what was said before this file begins.]";

/// Makes turns of what a file says. Adds to its remarks.
pub(crate) fn weave(story: &mut Story) -> Vec<PastTurn> {
    let records = std::mem::take(&mut story.records);
    let mut pairs = pair(&records, story);
    let mut loom = Loom {
        story,
        turns: Vec::new(),
        open: None,
        reasoning: Vec::new(),
        failure: None,
        may_join: false,
    };
    let mut calls = 0;
    for Record { stand, what } in records {
        match what {
            What::Said(parts) => loom.said(parts, Speaker::Person, stand),
            What::Answer { pieces, model, joins } => {
                let calls_before = calls;
                let parts = loom.parts(pieces, &mut pairs, &mut calls, stand);
                // Of a call without a name it was said that it is left out.
                if !parts.is_empty() || calls == calls_before {
                    loom.answer(parts, model, joins, stand);
                }
            }
            What::Result { .. } => loom.may_join = false,
            What::Failed { message, model } => loom.failed(message, model, stand),
            What::Summary(text) => loom.summary(text, stand),
        }
    }
    loom.close(Place::End);
    loom.turns
}

/// What became of a call.
#[derive(Debug, Default)]
struct Paired {
    id: Option<String>,
    tool: String,
    /// Which record it stands in.
    record: usize,
    stand: Stand,
    result: Option<PastResult>,
    /// What the agent made up in the place of a result.
    made_up: Option<Arc<str>>,
    results: u32,
    /// Whether one of them says something else than the first.
    differs: bool,
}

/// Pairs calls and results, in the order of the calls.
fn pair(records: &[Record], story: &mut Story) -> Vec<Paired> {
    let mut calls = Vec::new();
    for (place, record) in records.iter().enumerate() {
        let What::Answer { pieces, .. } = &record.what else { continue };
        for piece in pieces {
            if let Piece::Call { id, tool, line, .. } = piece {
                let (id, tool) = (id.clone(), tool.clone());
                let line = if *line == 0 { record.stand.line } else { *line };
                let stand = Stand { line, ..record.stand };
                calls.push(Paired { id, tool, record: place, stand, ..Paired::default() });
            }
        }
    }
    let mut by_id: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, call) in calls.iter().enumerate() {
        if let Some(id) = &call.id {
            by_id.entry(id.clone()).or_default().push(place);
        }
    }
    for (place, record) in records.iter().enumerate() {
        let What::Result { id, tool, result, is_made_up } = &record.what else { continue };
        let found = match id {
            Some(id) => of_id(&calls, by_id.get(id), place),
            None => in_order(&calls, tool.as_deref(), place),
        };
        if let Some(call) = found.and_then(|found| calls.get_mut(found)) {
            give(call, result, *is_made_up);
        } else {
            let name = id.as_deref().or(tool.as_deref()).unwrap_or("no name");
            let text = format!("{name}: {}", result.text);
            story.remark("result_without_call", record.stand, &text);
        }
    }
    for call in calls.iter().filter(|call| !call.tool.is_empty()) {
        tell(call, story);
    }
    calls
}

/// The last call of this name in front of its result; else the first behind it. Of several in one answer, the
/// first that has no result yet.
fn of_id(calls: &[Paired], named: Option<&Vec<usize>>, place: usize) -> Option<usize> {
    let is_before = |call: &&usize| calls.get(**call).is_some_and(|call| call.record < place);
    let named = named?;
    let last = *named.iter().rev().find(is_before).or_else(|| named.first())?;
    let record = calls.get(last)?.record;
    let is_left = |call: &&usize| {
        calls.get(**call).is_some_and(|call| call.record == record && call.results == 0)
    };
    Some(named.iter().find(is_left).copied().unwrap_or(last))
}

/// Of the nearest answer in front of a result without a name: its first call that has no result yet. Both stand
/// side by side, so an older call is not meant.
fn in_order(calls: &[Paired], tool: Option<&str>, place: usize) -> Option<usize> {
    let before = calls.partition_point(|call| call.record < place);
    let nameless = |call: &&Paired| call.id.is_none();
    let record = calls.get(..before)?.iter().rev().find(nameless)?.record;
    let begin = calls.partition_point(|call| call.record < record);
    let of_answer = calls.get(begin..before)?.iter().take_while(|call| call.record == record);
    let found = of_answer.into_iter().position(|call| {
        let is_of_tool = tool.is_none_or(|tool| tool == call.tool);
        call.id.is_none() && is_of_tool && call.results == 0
    });
    found.map(|found| begin + found)
}

/// The first real result counts.
fn give(call: &mut Paired, result: &PastResult, is_made_up: bool) {
    call.results += 1;
    if is_made_up {
        call.made_up.get_or_insert_with(|| result.text.clone());
        return;
    }
    match &call.result {
        None => call.result = Some(result.clone()),
        Some(first) => call.differs |= first.text != result.text,
    }
}

fn tell(call: &Paired, story: &mut Story) {
    let name = match &call.id {
        Some(id) => format!("{} {id}", call.tool),
        None => call.tool.clone(),
    };
    match (&call.result, &call.made_up) {
        (None, Some(words)) => {
            story.remark("synthetic_result", call.stand, &format!("{name}: {words}"));
        }
        (None, None) => story.remark("call_without_result", call.stand, &name),
        (Some(_), _) if 1 < call.results => {
            let how = if call.differs { ", not the same; the first one counts" } else { "" };
            let text = format!("{name}: {} results{how}", call.results);
            story.remark("duplicate_result", call.stand, &text);
        }
        (Some(_), _) => {}
    }
}

/// Where a turn is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Something follows.
    Between,
    /// The file ends.
    End,
}

/// Turns in the making.
struct Loom<'a> {
    story: &'a mut Story,
    turns: Vec<PastTurn>,
    open: Option<PastTurn>,
    /// Reasoning whose answer has not come yet.
    reasoning: Vec<PastAnswerPart>,
    /// The failure behind the last answer.
    failure: Option<String>,
    /// Whether the next piece may belong to the last answer.
    may_join: bool,
}

impl Loom<'_> {
    fn said(&mut self, parts: Vec<PastPart>, by: Speaker, stand: Stand) {
        let has_work = self.open.as_ref().is_some_and(|turn| {
            turn.items.iter().any(|item| !matches!(item, PastItem::Said { .. }))
        });
        if has_work {
            self.close(Place::Between);
        }
        self.may_join = false;
        let room = RECORD_BYTES_MAX / parts.len().max(1);
        let parts = parts.into_iter().map(|part| match part {
            PastPart::Text(text) => PastPart::Text(bounded(text, room, stand, self.story)),
            PastPart::File(file) => PastPart::File(file),
        });
        let item = PastItem::Said { parts: parts.collect(), by, at: stand.at };
        self.open.get_or_insert_default().items.push(item);
    }

    /// The parts of an answer, with what became of its calls.
    fn parts(
        &mut self,
        pieces: Vec<Piece>,
        pairs: &mut [Paired],
        calls: &mut usize,
        stand: Stand,
    ) -> Vec<PastAnswerPart> {
        let room = RECORD_BYTES_MAX / pieces.len().max(1);
        let mut parts = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) if !text.trim().is_empty() => {
                    parts.push(PastAnswerPart::Text(bounded(text, room, stand, self.story)));
                }
                Piece::Reasoning(text) if !text.trim().is_empty() => {
                    parts.push(PastAnswerPart::Reasoning(bounded(text, room, stand, self.story)));
                }
                Piece::Text(_) | Piece::Reasoning(_) => {}
                Piece::Call { id, tool, arguments, line } => {
                    let Arguments { text: arguments, is_mended } = arguments;
                    let paired = pairs.get_mut(*calls).map(std::mem::take).unwrap_or_default();
                    *calls += 1;
                    if tool.trim().is_empty() {
                        let text = format!("{} {arguments}", id.unwrap_or_default());
                        self.story.remark("call_without_name", stand, text.trim());
                        continue;
                    }
                    if is_mended {
                        let line = if line == 0 { stand.line } else { line };
                        let text = format!("{tool} {arguments}");
                        self.story.remark("mended_arguments", Stand::line(line), &text);
                    }
                    let arguments = if room < arguments.len() {
                        raw(&bounded(arguments, room / 2, stand, self.story)).text
                    } else {
                        arguments
                    };
                    let result = paired.result.map(|result| PastResult {
                        text: bounded(result.text, RECORD_BYTES_MAX, stand, self.story),
                        ..result
                    });
                    parts.push(PastAnswerPart::Call(PastCall { id, tool, arguments, result }));
                }
            }
        }
        parts
    }

    fn answer(
        &mut self,
        mut parts: Vec<PastAnswerPart>,
        model: Option<ModelRef>,
        joins: Joins,
        stand: Stand,
    ) {
        if parts.is_empty() {
            self.story.remark("empty_assistant_message", stand, "nothing in it that can be sent");
            return;
        }
        let only_thinks = parts.iter().all(|part| matches!(part, PastAnswerPart::Reasoning(_)));
        let open = self.open.as_mut();
        let last = open.and_then(|turn| turn.items.last_mut());
        let joins = joins == Joins::TheOneBefore && self.may_join;
        match last {
            Some(PastItem::Answer(answer)) if joins || answer.calls().next().is_none() => {
                answer.parts.append(&mut self.reasoning);
                answer.parts.append(&mut parts);
            }
            // An answer that only thinks has not come to its end.
            _ if only_thinks => {
                self.reasoning.append(&mut parts);
                return;
            }
            last => {
                if last.is_none() {
                    let words = if self.turns.is_empty() { NO_BEGINNING } else { WENT_ON };
                    if self.turns.is_empty() {
                        self.story.remark("missing_beginning", stand, "an answer to nobody");
                    }
                    self.said(vec![PastPart::Text(words.into())], Speaker::Reader, stand);
                }
                let mut all = std::mem::take(&mut self.reasoning);
                all.append(&mut parts);
                let answer = PastAnswer { parts: all, model, at: stand.at };
                self.open.get_or_insert_default().items.push(PastItem::Answer(answer));
            }
        }
        self.may_join = true;
        self.failure = None;
    }

    fn failed(&mut self, message: String, model: Option<ModelRef>, stand: Stand) {
        self.may_join = false;
        let message = clipped(&message, FAILURE_BYTES_MAX).to_owned();
        let Some(turn) = &mut self.open else { return };
        // Behind an answer that asks for nothing more, nobody can be asked.
        if !turn.is_answered() {
            let message = message.clone();
            turn.items.push(PastItem::Failed { message, model, at: stand.at });
        }
        self.failure = Some(message);
    }

    fn summary(&mut self, text: Arc<str>, stand: Stand) {
        self.story.remark("compaction", stand, &text);
        self.close(Place::Between);
        let text = bounded(text, RECORD_BYTES_MAX, stand, self.story);
        if let Some(turn) = self.turns.last_mut() {
            turn.summary = Some(text);
        } else {
            let words = format!("{SUMMED_UP}\n\n{text}").into();
            self.said(vec![PastPart::Text(words)], Speaker::Reader, stand);
        }
    }

    fn close(&mut self, place: Place) {
        self.may_join = false;
        self.reasoning.clear();
        let failure = self.failure.take();
        let Some(mut turn) = self.open.take() else { return };
        turn.end = match place {
            _ if turn.is_answered() && failure.is_none() => PastEnd::Completed,
            Place::Between => PastEnd::Left,
            Place::End => PastEnd::Open { why: failure },
        };
        self.turns.push(turn);
    }
}

/// A text that fits. The original keeps the rest.
fn bounded(text: Arc<str>, bytes_max: usize, stand: Stand, story: &mut Story) -> Arc<str> {
    if text.len() <= bytes_max {
        return text;
    }
    let kept = clipped(&text, bytes_max);
    let left_out = text.len() - kept.len();
    story.remark("cut_text", stand, &format!("{left_out} of {} bytes were left out", text.len()));
    format!("{kept}\n[{left_out} bytes were left out when this was imported]").into()
}

/// The beginning of a text.
fn clipped(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
