//! What the model reads in place of what a summary covers: what the journal knows, and what a model wrote.
//!
//! It is made from the entries themselves and never from an earlier summary (J94), so that nothing fades
//! with every round. Everything in it is fixed by the event that holds it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::budget::{letters, measure, part};
use crate::event::{FinishReason, Inquiry, Outcome, PermissionMode, TurnEnd};
use crate::id::{CallId, Digest};
use crate::recall::RECALL;
use crate::state::{Call, Cut, Ended, Piece, Progress, Said, State, Step, Turn};
use crate::summarise::pieces_text;
use crate::summary::{input_summary, output_summary, shorten};
use crate::tasks::{Task, TaskStatus, written_by};
use crate::transcript::typed;
use crate::view::answer_text;

/// Of the budget, how much the text may take.
const TEXT_PERCENT: u64 = 5;
/// Least letters of the text that are always allowed: the frame alone takes several hundred.
const TEXT_LETTERS_MIN: u64 = 1_500;
/// Shares of the text, in percent. What one part leaves goes to what was done.
const ASKED_PERCENT: u64 = 35;
/// Share of what was asked where even the shortest extracts need more: a rule of a user stands there.
const ASKED_SHORT_PERCENT: u64 = 80;
const FILES_PERCENT: u64 = 20;
const PLAN_PERCENT: u64 = 20;
/// Share of each kind of what is not over, in percent.
const OPEN_PERCENT: u64 = 10;
/// Longest extract of a message, in characters.
const ASKED_CHARS_MAX: usize = 300;
/// Longest extract of an older one, if there are many.
const ASKED_OLD_CHARS_MAX: usize = 80;
/// Longest extract of an answer, in characters.
const ANSWER_CHARS_MAX: usize = 200;
/// Longest line about a command that still runs, in characters.
const RUNNING_CHARS_MAX: usize = 160;
/// The tool that reads files.
const READ_FILE: &str = "read_file";

/// What stands in front of what a model wrote.
pub const PIECES_HEAD: &str = "What a model wrote of it, from the entries themselves:";

/// How the line begins that says how many answers the summary stands for. The simulator reads it.
pub const ANSWERS_HEAD: &str = "Answers of the model in it: ";

/// What was found when the world was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// What files hold now; none if there is no such file. What is absent was not looked at.
    pub files: BTreeMap<String, Option<Digest>>,
    /// Commands of the conversation that still run, one line each.
    pub running: Vec<String>,
    /// The git branch of the workspace, if it has one.
    pub branch: Option<String>,
}

/// The files that a summary names as written, for whoever looks whether they are as they were. The newest
/// ones are the last.
pub fn files_written(state: &State, cut: Cut) -> Vec<String> {
    let mut files: Vec<_> = written(state, cut).into_iter().collect();
    files.sort_by_key(|(_, (call, _))| *call);
    files.into_iter().map(|(path, _)| path).collect()
}

/// The text from the journal alone. It has a bound, and says how much it leaves out.
pub fn text(state: &State, cut: Cut, look: &Look) -> String {
    made(state, cut, look, &[])
}

/// The same with what a model wrote, as far as it wrote something.
pub fn with_pieces(state: &State, cut: Cut, look: &Look) -> String {
    made(state, cut, look, state.pieces_within(cut))
}

fn made(state: &State, cut: Cut, look: &Look, pieces: &[Piece]) -> String {
    let divisor = state.config.limits.divisor();
    let most = part(measure(state), TEXT_PERCENT).saturating_mul(divisor).max(TEXT_LETTERS_MIN);
    let mut text = opening(state, cut, look);
    let running = look.running.iter().map(|line| shorten(line, RUNNING_CHARS_MAX)).collect();
    add(&mut text, "Commands that still run", running);
    add(&mut text, "Calls without an end", bounded(open_calls(state), part(most, OPEN_PERCENT)));
    add(&mut text, "Questions that wait", bounded(questions(state), part(most, OPEN_PERCENT)));
    add(&mut text, "Workers", bounded(workers(state, cut), part(most, OPEN_PERCENT)));
    let asked = asked(state, cut, most);
    add(&mut text, "Asked so far (history, not requests)", asked);
    let files = bounded(files(state, cut, look), part(most, FILES_PERCENT));
    add(&mut text, "Files written", files);
    let read = bounded(files_read(state, cut), part(most, FILES_PERCENT) / 2);
    add(&mut text, "Files read and not written since", read);
    add(&mut text, "Plan", bounded_end(plan(state), part(most, PLAN_PERCENT)));
    let left = most.saturating_sub(letters(&text));
    if !pieces.is_empty() {
        // Writing to a string cannot fail.
        writeln!(text, "\n{PIECES_HEAD}\n{}", pieces_text(pieces)).unwrap_or_default();
    }
    let known = pieces.last().map(|piece| piece.range.through).unwrap_or_default();
    add(&mut text, "Done in this turn", bounded(done(state, (known, cut)), left));
    text.trim_end().to_owned()
}

fn opening(state: &State, cut: Cut, look: &Look) -> String {
    let mut range = Vec::new();
    let first = state.turns.first().map_or(1, |turn| turn.id.0);
    match cut.through.0 {
        0 => {}
        last if last == first => range.push(format!("turn {last}")),
        last => range.push(format!("turns {first} to {last}")),
    }
    range.extend(cut.within.map(|last| match last.step {
        1 => format!("step 1 of turn {}", last.turn.0),
        steps => format!("steps 1 to {steps} of turn {}", last.turn.0),
    }));
    let mode = match state.config.permissions.mode {
        PermissionMode::Ask => "ask",
        PermissionMode::AcceptEdits => "accept-edits",
        PermissionMode::Auto => "auto",
        PermissionMode::ReadOnly => "read-only",
        PermissionMode::Plan => "plan",
    };
    let branch = look.branch.as_deref().map(|branch| format!("Git branch: {}\n", one_line(branch)));
    let branch = branch.unwrap_or_default();
    let answers = covered(state, cut).filter(|(_, step)| is_sent(step)).count();
    let open = match cut.within {
        Some(_) => {
            " The present request stands behind it, word for word; go on with it from there."
        }
        None => "",
    };
    let more = match state.config.tool(RECALL) {
        Some(_) => format!(" The whole of it can be read with {RECALL}."),
        None => String::new(),
    };
    format!(
        "What follows was put together from the journal, to make room. It stands for {}. All of it has \
         happened; none of it is a request.{open}{more}\n{ANSWERS_HEAD}{answers}\nPermission mode: {mode}\n{branch}",
        range.join(" and "),
    )
}

/// Whether requests carried the answer of a step.
fn is_sent(step: &Step) -> bool {
    let says = answer_text(step).is_some_and(|text| !text.trim().is_empty());
    let is_answer = |finish| finish != FinishReason::Refused;
    step.answer.as_ref().is_some_and(|answer| is_answer(answer.finish))
        && (says || !step.calls.is_empty())
}

/// The steps that a cut covers, with their turns.
fn covered(state: &State, cut: Cut) -> impl DoubleEndedIterator<Item = (&Turn, &Step)> {
    let turns = state.turns.iter().filter(|turn| turn.end != Some(TurnEnd::Discarded));
    let steps = turns.flat_map(|turn| turn.steps().map(move |step| (turn, step)));
    steps.filter(move |(turn, step)| cut.has_step(turn.id, step.number))
}

fn calls(state: &State, cut: Cut) -> impl DoubleEndedIterator<Item = (&Call, &Ended)> {
    let calls = covered(state, cut).flat_map(|(_, step)| &step.calls);
    calls.filter_map(|call| match &call.progress {
        Progress::Done(ended) => Some((call, ended)),
        Progress::Waiting | Progress::Running(_) | Progress::InDoubt(_) | Progress::Parked(_) => {
            None
        }
    })
}

/// What was asked in turns that are over, and what came of it. Every message has a short extract before the
/// newest ones have long ones.
fn asked(state: &State, cut: Cut, text_letters_max: u64) -> Vec<String> {
    let turns: Vec<&Turn> = state.turns.iter().filter(|turn| cut.has_turn(turn.id)).collect();
    let short = turns.iter().map(|turn| asked_line(turn, ASKED_OLD_CHARS_MAX));
    let mut lines: Vec<String> = short.collect();
    let mut used: u64 = lines.iter().map(|line| line_letters(line)).sum();
    for (line, turn) in lines.iter_mut().zip(turns).rev() {
        let long = asked_line(turn, ASKED_CHARS_MAX);
        used = used.saturating_sub(line_letters(line)).saturating_add(line_letters(&long));
        if part(text_letters_max, ASKED_PERCENT) < used {
            break;
        }
        *line = long;
    }
    bounded(lines, part(text_letters_max, ASKED_SHORT_PERCENT))
}

fn asked_line(turn: &Turn, chars_max: usize) -> String {
    let end = match turn.end {
        Some(TurnEnd::Completed) => "done",
        Some(TurnEnd::Stopped) => "stopped",
        Some(TurnEnd::Discarded) => "discarded",
        None => "open",
    };
    let said: Vec<String> = turn.said().map(said_text).collect();
    let mut line = format!("turn {} ({end}): {}", turn.id.0, shorten(&said.join(" / "), chars_max));
    let answer = turn.steps().next_back().filter(|_| turn.end == Some(TurnEnd::Completed));
    if let Some(answer) = answer.and_then(answer_text).filter(|_| ASKED_OLD_CHARS_MAX < chars_max) {
        // Writing to a string cannot fail.
        write!(line, " => {}", shorten(&one_line(&answer), ANSWER_CHARS_MAX)).unwrap_or_default();
    }
    line
}

fn said_text(said: &Said) -> String {
    let texts: Vec<String> = said.parts.iter().filter_map(typed).map(one_line).collect();
    if texts.is_empty() { "[files]".into() } else { texts.join(" ") }
}

/// The last change of each file, in the order of the changes.
fn written(state: &State, cut: Cut) -> BTreeMap<String, (CallId, Option<Digest>)> {
    let mut found = BTreeMap::new();
    for (call, ended) in calls(state, cut) {
        if matches!(ended.outcome, Outcome::Ok | Outcome::Unknown) {
            let edits = call.edits.iter();
            found.extend(edits.map(|edit| (edit.path.to_string(), (call.id, edit.after.clone()))));
        }
    }
    found
}

fn files(state: &State, cut: Cut, look: &Look) -> Vec<String> {
    let mut files: Vec<_> = written(state, cut).into_iter().collect();
    files.sort_by_key(|(_, (call, _))| *call);
    let line = |(path, (call, after)): (String, (CallId, Option<Digest>))| {
        let now = match (look.files.get(&path), &after) {
            (None, _) => "",
            (Some(None), None) => ": removed, and still gone",
            (Some(None), Some(_)) => ": gone now",
            (Some(Some(now)), Some(after)) if now == after => ": still as written",
            (Some(Some(_)), Some(_)) => ": changed by somebody since, read it again",
            (Some(Some(_)), None) => ": removed, and there again",
        };
        format!("{path} (last by call {call}){now}")
    };
    files.into_iter().map(line).collect()
}

fn files_read(state: &State, cut: Cut) -> Vec<String> {
    let changed = written(state, cut);
    let mut found: BTreeMap<String, CallId> = BTreeMap::new();
    for (call, ended) in calls(state, cut) {
        let path = || {
            let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
            Some(arguments.get("path")?.as_str()?.to_owned())
        };
        if let Some(path) =
            (&*call.name == READ_FILE && ended.outcome == Outcome::Ok).then(path).flatten()
        {
            found.insert(path, call.id);
        }
    }
    found.retain(|path, read| changed.get(path).is_none_or(|(written, _)| written < read));
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, call)| *call);
    found.into_iter().map(|(path, call)| format!("{path} (call {call})")).collect()
}

/// The newest plan, wherever it was made.
fn plan(state: &State) -> Vec<String> {
    let turns = state.turns.iter().filter(|turn| turn.end != Some(TurnEnd::Discarded));
    let calls = turns.flat_map(Turn::steps).flat_map(|step| &step.calls);
    let ok =
        |call: &&Call| matches!(&call.progress, Progress::Done(it) if it.outcome == Outcome::Ok);
    let mut plans = calls.filter(ok).filter_map(|call| written_by(&call.name, &call.arguments));
    let Some(newest) = plans.next_back() else { return Vec::new() };
    let line = |Task { step, status }: &Task| {
        let status = match status {
            TaskStatus::Pending => "to do",
            TaskStatus::InProgress => "in progress",
            TaskStatus::Done => "done",
        };
        format!("[{status}] {}", one_line(step))
    };
    newest.iter().map(line).collect()
}

/// Calls of the open turn that were begun and have no end.
fn open_calls(state: &State) -> Vec<String> {
    let calls = state.open_turn().into_iter().flat_map(Turn::steps).flat_map(|step| &step.calls);
    let line = |call: &Call| {
        let state = match &call.progress {
            Progress::Waiting | Progress::Done(_) => return None,
            Progress::Running(_) => "runs",
            Progress::InDoubt(_) => "in doubt: it was begun, and nobody knows what became of it",
            Progress::Parked(_) => "waits for the user",
        };
        Some(format!("call {} {}: {state}", call.id, input_summary(&call.name, &call.arguments)))
    };
    calls.filter_map(line).collect()
}

/// Questions to the user that have no answer.
fn questions(state: &State) -> Vec<String> {
    let open = state.open_turn().into_iter().flat_map(Turn::pending_inquiries);
    let line = |inquiry: &Inquiry| {
        let question = shorten(&one_line(&inquiry.question), ANSWER_CHARS_MAX);
        format!("call {}: {question}", inquiry.call)
    };
    open.map(line).collect()
}

/// The conversations that tasks were handed to, and what became of them.
fn workers(state: &State, cut: Cut) -> Vec<String> {
    let calls = covered(state, cut).flat_map(|(_, step)| &step.calls);
    let line = |call: &Call| {
        let worker = call.worker.as_ref()?;
        let end = match &call.progress {
            Progress::Done(ended) => outcome(ended.outcome),
            Progress::Parked(_) => "waits for the user",
            Progress::Running(_) | Progress::InDoubt(_) | Progress::Waiting => "not ended",
        };
        let task = input_summary(&call.name, &call.arguments);
        Some(format!("call {} {task}: {end} (conversation {worker})", call.id))
    };
    calls.filter_map(line).collect()
}

/// The steps of the open turn behind what a model wrote of: what was said, and each call with its end.
fn done(state: &State, (known, cut): (Cut, Cut)) -> Vec<String> {
    let Some(last) = cut.within else { return Vec::new() };
    let mut lines = Vec::new();
    let is_meant =
        |turn: &Turn, step: &Step| turn.id == last.turn && !known.has_step(turn.id, step.number);
    for (_, step) in covered(state, cut).filter(|(turn, step)| is_meant(turn, step)) {
        let said = answer_text(step).map(|text| one_line(&text)).filter(|text| !text.is_empty());
        lines.extend(said.map(|text| format!("you said: {}", shorten(&text, ANSWER_CHARS_MAX))));
        lines.extend(step.calls.iter().filter_map(call_line));
    }
    lines
}

fn call_line(call: &Call) -> Option<String> {
    let Progress::Done(ended) = &call.progress else { return None };
    let end = outcome(ended.outcome);
    let code = ended.output.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
    let what = input_summary(&call.name, &call.arguments);
    let gave = output_summary(&ended.output.text);
    Some(format!("call {} {what}: {end}{code}: {gave}", call.id))
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Failed => "failed",
        Outcome::Denied => "denied",
        Outcome::Cancelled => "cancelled",
        Outcome::Unknown => "outcome unknown",
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The newest lines that fit, and how many there were before them.
fn bounded(lines: Vec<String>, letters_max: u64) -> Vec<String> {
    let kept = fitting(lines.iter().rev(), letters_max);
    let left_out = lines.len() - kept;
    let note = (0 < left_out).then(|| format!("({left_out} older ones are left out)"));
    note.into_iter().chain(lines.into_iter().skip(left_out)).collect()
}

/// The first lines that fit, and how many there are behind them.
fn bounded_end(lines: Vec<String>, letters_max: u64) -> Vec<String> {
    let kept = fitting(lines.iter(), letters_max);
    let left_out = lines.len() - kept;
    let note = (0 < left_out).then(|| format!("({left_out} more)"));
    lines.into_iter().take(kept).chain(note).collect()
}

fn fitting<'a>(lines: impl Iterator<Item = &'a String>, letters_max: u64) -> usize {
    let mut used = 0_u64;
    let fits = |line: &&String| {
        used = used.saturating_add(line_letters(line));
        used <= letters_max
    };
    lines.take_while(fits).count()
}

/// Letters of a line with what stands around it in a list.
fn line_letters(line: &str) -> u64 {
    letters(line).saturating_add(3)
}

fn add(text: &mut String, heading: &str, lines: Vec<String>) {
    if lines.is_empty() {
        return;
    }
    // Writing to a string cannot fail.
    writeln!(text, "\n{heading}:").unwrap_or_default();
    for line in lines {
        writeln!(text, "- {line}").unwrap_or_default();
    }
}
