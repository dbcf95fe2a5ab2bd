//! A whole conversation as text: the complete turns, then the incomplete one.

use anstyle::Style as Look;
use piton_core::command::QueuePlace;
use piton_core::view::{
    CallState, CallView, ItemView, QueuedView, Status, TurnEnd, TurnView, View,
};

use super::attempt::{Tried, attempts, compared};
use super::changed::{Extent, changed};
use super::paint::{Line, Page, Span, UNBOUND, expand_tabs};
use super::tasks::listed;
use super::thought::thought;
use super::tool::{input, is_left_running, mark, word};
use super::turn;
use super::wrap::break_letters;

/// What stands in front of what calls gave.
const INDENT: &str = "  ";

/// Whether somebody is at work on the conversation while it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// Nobody is.
    Still,
    /// A process is.
    Running {
        /// Which one.
        pid: u32,
    },
}

/// How much of the calls is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Nothing, and nothing that the model said.
    Messages,
    /// Nothing.
    Answers,
    /// That they were, and how they ended.
    CallLines,
    /// And what they changed.
    Calls,
    /// What they gave, too.
    Outputs,
}

/// Which attempts of messages are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempts {
    /// Those that count.
    Present,
    /// All, and what each of them did.
    All,
}

impl Attempts {
    /// The turns that are shown: discarded ones are attempts too.
    pub(crate) fn turns(self, view: &View) -> impl Iterator<Item = &TurnView> {
        let is_shown =
            move |turn: &&TurnView| self == Self::All || turn.head.end != Some(TurnEnd::Discarded);
        view.turns.iter().filter(is_shown)
    }
}

/// How a conversation is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looks {
    /// None, if nobody watches.
    pub(crate) page: Option<Page>,
    pub(crate) detail: Detail,
    pub(crate) attempts: Attempts,
}

/// What a conversation is made of when it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A line.
    Line(String),
    /// What a model wrote, without its last line end.
    Answer(String),
    /// Lines with looks.
    Painted(Vec<Line>),
}

/// The conversation as text; with a page, as much as a person wants to see on it.
pub(crate) fn conversation(view: &View, life: Life, looks: Looks) -> Vec<Piece> {
    let page = looks.page;
    let mut pieces = Vec::new();
    for turn in looks.attempts.turns(view) {
        if !pieces.is_empty() {
            line(&mut pieces, "");
        }
        if page.is_some() {
            // Commands that go back to a turn take its number. Plain text stays as it is.
            let number = format!("— turn {} —", turn.head.id.0);
            paint(&mut pieces, vec![vec![Span::new(&number, Look::new().dimmed())]]);
        }
        if turn.head.end.is_none() {
            let state = state(&view.head.status, life);
            line(&mut pieces, &format!("⏳ Incomplete turn ({state})"));
        }
        for (place, item) in turn.items.iter().enumerate() {
            show(&mut pieces, item, life, looks);
            if looks.attempts == Attempts::All {
                earlier(&mut pieces, &attempts(turn, place), life, looks);
            }
        }
        if let Some(halt) = &turn.head.halt {
            line(&mut pieces, &format!("[{}]", halt.message));
        }
        match turn.head.end {
            Some(TurnEnd::Stopped) => line(&mut pieces, "[stopped]"),
            Some(TurnEnd::Discarded) => line(&mut pieces, "[discarded]"),
            Some(TurnEnd::Completed) | None => {}
        }
        if looks.attempts == Attempts::All {
            compare(&mut pieces, turn);
        }
    }
    waiting(&mut pieces, &view.queue);
    if !view.tasks().is_empty() && !matches!(looks.detail, Detail::Messages | Detail::Answers) {
        line(&mut pieces, "");
        paint(&mut pieces, listed(view.tasks(), page.unwrap_or(UNBOUND)));
    }
    pieces
}

/// Whether calls gave something that is not shown.
pub(crate) fn leaves_out(view: &View, detail: Detail) -> bool {
    let has_more = |call: &CallView| {
        let result = call.result.as_ref();
        result.is_some_and(|result| {
            changed(call, Extent::Whole, UNBOUND).is_empty() && !result.text.trim().is_empty()
        })
    };
    detail == Detail::Calls && view.shown().flat_map(TurnView::calls).any(has_more)
}

/// What a call gave, each line behind blanks, so that none looks like a line of ours.
fn gave(pieces: &mut Vec<Piece>, call: &CallView, page: Option<Page>) {
    let Some(result) = &call.result else { return };
    for written in result.text.lines() {
        match page {
            None => line(pieces, format!("{INDENT}{written}").trim_end()),
            Some(page) => {
                let (text, room) =
                    (expand_tabs(written), page.columns.saturating_sub(INDENT.len()));
                let broken = break_letters(&[Span::plain(&text)], room);
                let indented = |line: Line| [Span::plain(INDENT)].into_iter().chain(line).collect();
                paint(pieces, broken.into_iter().map(indented).collect());
            }
        }
    }
}

/// Messages that wait for a turn of their own.
fn waiting(pieces: &mut Vec<Piece>, queue: &[QueuedView]) {
    for queued in queue {
        if !pieces.is_empty() {
            line(pieces, "");
        }
        line(
            pieces,
            match queued.place {
                QueuePlace::Steer => "⏳ Waiting message (goes into the open turn)",
                QueuePlace::Next => "⏳ Waiting message",
            },
        );
        quote(pieces, &turn::said(&queued.parts));
    }
}

/// Messages that were left for the process at work, or for the next one, and that none has taken yet.
pub(crate) fn untaken(messages: &[String], life: Life) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let head = match life {
        Life::Running { pid } => format!("⏳ Message left for process {pid}, not taken yet"),
        Life::Still => "⏳ Message left for the next process, not taken yet".into(),
    };
    for said in messages {
        line(&mut pieces, "");
        line(&mut pieces, &head);
        quote(&mut pieces, said);
    }
    pieces
}

fn quote(pieces: &mut Vec<Piece>, said: &str) {
    for said in said.lines() {
        line(pieces, format!("> {said}").trim_end());
    }
}

/// The attempts of a message before the present one, each with what came of it.
fn earlier(pieces: &mut Vec<Piece>, tried: &[Tried<'_>], life: Life, looks: Looks) {
    for attempt in tried {
        line(pieces, &attempt.line(tried.len()));
        if attempt.is_present {
            return;
        }
        for item in attempt.items {
            show(pieces, item, life, looks);
        }
    }
}

/// What the attempts of the messages of a turn did, against each other.
fn compare(pieces: &mut Vec<Piece>, turn: &TurnView) {
    for place in 0..turn.items.len() {
        let tried = attempts(turn, place);
        let Some(first) = tried.first().filter(|_| 1 < tried.len()) else { continue };
        let rows = compared(&tried);
        let id = &first.said.id;
        let head = if rows.is_empty() {
            format!("The attempts of message {id} changed nothing.")
        } else {
            format!("What the attempts of message {id} did stays done:")
        };
        line(pieces, &head);
        for row in &rows {
            line(pieces, row);
        }
    }
}

fn show(pieces: &mut Vec<Piece>, item: &ItemView, life: Life, looks: Looks) {
    let Looks { page, detail, .. } = looks;
    match item {
        ItemView::Message(said) => quote(pieces, &turn::said(&said.parts)),
        ItemView::Step(_) if detail == Detail::Messages => {}
        ItemView::Step(step) => {
            if let Some(page) = page.filter(|_| detail != Detail::Answers) {
                paint(pieces, thought(&turn::reasoning(step), page));
            }
            let said = turn::text(step);
            if !said.is_empty() {
                pieces.push(Piece::Answer(said.trim_end().to_owned()));
                if step.partial {
                    line(pieces, "[the answer broke off here]");
                }
            }
            for call in step.calls.iter().filter(|_| detail != Detail::Answers) {
                line(pieces, &call_line(call, life));
                if detail == Detail::CallLines {
                    continue;
                }
                let change = changed(call, Extent::Whole, page.unwrap_or(UNBOUND));
                if change.is_empty() && detail == Detail::Outputs {
                    gave(pieces, call, page);
                }
                paint(pieces, change);
            }
        }
        _ => {}
    }
}

fn paint(pieces: &mut Vec<Piece>, lines: Vec<Line>) {
    if !lines.is_empty() {
        pieces.push(Piece::Painted(lines));
    }
}

fn state(status: &Status, life: Life) -> String {
    match (life, status) {
        (Life::Running { pid }, _) => format!("running, pid {pid}"),
        (Life::Still, Status::WaitingForInput { .. }) => "waiting for input".into(),
        (Life::Still, Status::PendingTools) => "pending tool execution".into(),
        (Life::Still, Status::PendingFollowUp) => "pending follow-up".into(),
        (Life::Still, Status::PendingAnswer) => "pending LLM response".into(),
        (Life::Still, Status::Idle) => "idle".into(),
    }
}

/// A call in a line.
pub(crate) fn call_line(call: &CallView, life: Life) -> String {
    let line = tool_line(call, life);
    match &call.worker {
        Some(worker) => format!("{line} [worker: {worker}]"),
        None => line,
    }
}

fn tool_line(call: &CallView, life: Life) -> String {
    let input = input(call);
    if let Some(question) = turn::waiting_question(call) {
        return format!("⏸ {input} — waiting for input: \"{question}\"");
    }
    match (&call.state, life) {
        (CallState::Running, Life::Running { .. }) => format!("… {input} — running"),
        // Whoever ran it is gone, and nobody has looked since.
        (CallState::Running, Life::Still) | (CallState::InDoubt, _) => {
            format!("? {input} — interrupted, outcome unknown")
        }
        (CallState::Done { .. }, _) if is_left_running(call) => format!("… {input} — left running"),
        (CallState::Done { outcome, exit_code }, _) => {
            let mark = mark(*outcome, *exit_code);
            match exit_code {
                None | Some(0) => format!("{mark} {input} — {}", word(*outcome)),
                Some(code) => format!("{mark} {input} — exit code {code}"),
            }
        }
        _ => format!("… {input} — not started"),
    }
}

fn line(pieces: &mut Vec<Piece>, line: &str) {
    pieces.push(Piece::Line(line.to_owned()));
}
