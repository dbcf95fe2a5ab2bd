//! How the lines are made of what there is to tell.

use piton::Shelf;
use piton::search::Hit;
use piton_agent::config::{Origin, Setting};
use piton_core::id::{ConversationId, TurnId};
use piton_core::permit::review::Remark;
use piton_core::view::{
    CallView, Live, PermissionRule, QuestionView, QueuedView, View, ViewChange,
};
use piton_sim::serve::Seen;
use piton_store::{Listed, Record};
use piton_tools::supervise::{Kept, KeptState, Status};
use serde::Serialize;
use serde_json::value::RawValue;

use super::super::attempt::Tried;
use super::super::cost::InAll;
use super::super::moves::Move;
use super::{EffectLine, Line, WorkerName};

impl<'a> Line<'a> {
    /// An attempt of a message of a turn.
    pub(crate) fn attempt(conversation: &'a str, turn: TurnId, tried: &Tried<'a>) -> Self {
        let (ended, why) = tried.ended();
        let effect = |call: &'a CallView| EffectLine {
            call: call.id.to_string(),
            tool: &call.tool,
            arguments: &call.arguments,
            state: &call.state,
        };
        Self::Attempt {
            conversation,
            turn: turn.0,
            message: tried.said.id.as_str(),
            attempt: tried.said.attempt.0,
            present: tried.is_present,
            models: tried.models(),
            ended,
            why,
            steps: tried.answers(),
            usage: tried.usage(),
            cost_microdollars: tried.cost(),
            effects: tried.effects().map(effect).collect(),
        }
    }

    /// What a worker did; none if it is nothing that is told. `view` is the worker's behind it.
    pub(crate) fn worker(
        conversation: &'a ConversationId,
        happened: &'a Move,
        view: &View,
    ) -> Option<Self> {
        let (did, call, at) = match happened {
            Move::Started(call) => ("started", Some(call), call.started),
            Move::Ended(call) => ("ended", Some(call), call.ended),
            Move::Raised(call, asked) => ("asked", Some(call), Some(asked.at)),
            Move::Settled(call, asked) => {
                ("was_answered", Some(call), asked.answer.as_ref().map(|answer| answer.at))
            }
            Move::SummedUp(_) | Move::Shortened(_) => ("made_room", None, None),
            Move::TurnBegan(_)
            | Move::SummingUp(_)
            | Move::Said(_)
            | Move::Asked
            | Move::Answered(_)
            | Move::Planned(_)
            | Move::Failed(_)
            | Move::Broke
            | Move::Suspended(_)
            | Move::Repaired => return None,
        };
        let works_for = conversation.as_worker().map(|(_, call)| call.to_string());
        Some(Self::Worker {
            worker: WorkerName {
                call: works_for.unwrap_or_default(),
                conversation: conversation.as_str(),
            },
            at: at.unwrap_or(view.head.touched).0,
            did,
            tool: call.map(|call| &*call.tool),
            arguments: call.map(|call| &*call.arguments),
        })
    }

    /// All there is to show of a conversation.
    pub(crate) fn view(conversation: &'a str, view: View) -> Self {
        Self::View { conversation, turn: None, view: Box::new(view) }
    }

    /// What there is to show of the turns that a query moves: its own, and the last one before it,
    /// which a change may touch.
    pub(crate) fn view_of_turn(conversation: &'a str, turn: TurnId, mut view: View) -> Self {
        let last = view.turns.last().map(|last| last.head.id);
        view.turns.retain(|it| turn <= it.head.id || last == Some(it.head.id));
        view.superseded.clear();
        Self::View { conversation, turn: Some(turn.0), view: Box::new(view) }
    }

    pub(crate) fn change(change: &'a ViewChange) -> Self {
        Self::ViewChange { change }
    }

    /// An entry that need not be understood to be shown.
    pub(crate) fn record(record: Record) -> Self {
        let event = RawValue::from_string(record.body).ok();
        Self::Entry { conversation: None, seq: record.seq.0, at: record.at.0, event }
    }

    /// An entry of a conversation that the one that is shown was forked from.
    pub(crate) fn shared(of: &'a str, record: Record) -> Self {
        let event = RawValue::from_string(record.body).ok();
        Self::Entry { conversation: Some(of), seq: record.seq.0, at: record.at.0, event }
    }

    pub(crate) fn hit(hit: &'a Hit) -> Self {
        Self::Hit {
            conversation: hit.conversation.as_str(),
            turn: hit.turn,
            seq: hit.seq.0,
            scope: &hit.scope,
            kind: &hit.kind,
            hidden: &hit.hidden,
            line: hit.number,
            text: &hit.line,
            before: &hit.before,
            after: &hit.after,
        }
    }

    pub(crate) fn live(live: &'a Live) -> Self {
        Self::Live { live }
    }

    /// A value that is one word in these lines.
    pub(crate) fn word(value: &impl Serialize) -> String {
        let word = serde_json::to_value(value).ok();
        word.and_then(|word| Some(word.as_str()?.to_owned())).unwrap_or_default()
    }

    pub(crate) fn serving(url: &'a str, variables: &'a [(&'static str, String)]) -> Self {
        let variables = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Self::Serving { url, variables }
    }

    pub(crate) fn request(seen: &'a Seen) -> Self {
        Self::Request {
            dialect: seen.dialect,
            method: &seen.method,
            path: &seen.path,
            step: seen.step.map(|step| step + 1),
            status: seen.status,
            note: &seen.note,
            bytes: seen.body.len(),
            sha256: &seen.sha256,
        }
    }

    pub(crate) fn listed(
        listed: &'a Listed,
        (kept, untaken): (usize, usize),
        (origin, in_all): (Option<&'a ConversationId>, Option<InAll>),
    ) -> Self {
        let Listed { conversation, row, holder, .. } = listed;
        Self::Listed {
            conversation: conversation.as_str(),
            title: &row.title,
            workspace: &row.workspace,
            turns: row.turns,
            status: row.status.to_string(),
            running_pid: holder.as_ref().map(|holder| holder.pid),
            kept_answers: (0 < kept).then_some(kept),
            waiting_messages: Some(row.waiting).filter(|waiting| 0 < *waiting),
            untaken_messages: (0 < untaken).then_some(untaken),
            touched: row.touched.0,
            shelf: Some(row.shelf).filter(|shelf| *shelf != Shelf::Listed),
            parent: conversation.as_worker().map(|(parent, _)| parent.as_str().to_owned()),
            origin: origin.map(ConversationId::as_str),
            in_all,
        }
    }

    /// A message that waits, with its number.
    pub(crate) fn queued(conversation: &'a str, number: usize, queued: &'a QueuedView) -> Self {
        let QueuedView { id, parts, place, at, .. } = queued;
        let (message, place, at) = (id.as_str(), *place, at.0);
        Self::Queued { conversation, number, message, place, parts, at }
    }

    pub(crate) fn setting(setting: &'a Setting) -> Self {
        let (origin, place, name) = match &setting.origin {
            Origin::Default => ("default", None, None),
            Origin::File { path, line } => ("file", Some((path, *line)), None),
            Origin::Variable(name) => ("variable", None, Some(name.as_str())),
            Origin::Flag(name) => ("flag", None, Some(name.as_str())),
        };
        Self::Setting {
            key: &setting.key,
            value: setting.value.as_ref(),
            origin,
            file: place.map(|(path, _)| path.display().to_string()),
            line: place.map(|(_, line)| line),
            name,
        }
    }

    pub(crate) fn rule(
        number: usize,
        rule: &'a PermissionRule,
        remarks: &'a [Remark],
        from: &'a str,
    ) -> Self {
        Self::Rule { number, from, rule, scope: rule.scope, remarks }
    }

    pub(crate) fn question(
        conversation: &'a str,
        asked: &'a QuestionView,
        answers: &'a [&'a str],
        kept: Option<&'a str>,
    ) -> Self {
        let arguments = asked.arguments.as_deref();
        Self::Question {
            conversation,
            id: asked.id.as_str(),
            question: &asked.heading,
            answers,
            kind: asked.kind,
            call: asked.call.to_string(),
            wants: asked.wants.as_ref(),
            arguments: arguments.and_then(|arguments| serde_json::from_str(arguments).ok()),
            found: asked.found.as_ref(),
            opens: &asked.opens,
            frees: asked.frees,
            kept,
        }
    }

    pub(crate) fn command(kept: &'a Kept) -> Self {
        let Kept { conversation, intent, state, .. } = kept;
        let code = |status: &Status| match status {
            Status::Exit(code) => Some(*code),
            Status::Signal(signal) => Some(128 + signal),
        };
        let (state, exit_code) = match state {
            KeptState::Running => ("running", None),
            KeptState::LeftRunning(status) => ("left_running", code(status)),
            KeptState::Ended(status) => ("ended", code(status)),
            KeptState::NeverRan => ("never_ran", None),
            KeptState::InDoubt => ("in_doubt", None),
        };
        Self::Command {
            conversation: conversation.as_str(),
            call: intent.call.to_string(),
            command: &intent.command,
            state,
            exit_code,
            keep: intent.keep,
            input: intent.input,
            terminal: intent.terminal,
            at: intent.at_ms,
        }
    }
}
