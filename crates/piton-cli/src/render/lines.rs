//! The lines of `--json`: one object each, documented in `docs/json.md`.
//!
//! Types of their own, and views; only `print --json --raw` shows what is stored, exactly.

use std::collections::BTreeMap;

use piton::Shelf;
use piton::search::Hit;
use piton_agent::config::{Origin, Setting};
use piton_core::command::QueuePlace;
use piton_core::id::{ConversationId, TurnId};
use piton_core::tokens::Tokens;
use piton_core::view::{
    CallState, CallView, EffectClass, Found, ImportRemark, ImportSource, InquiryKind, Live,
    MessagePart, PermissionRule, QuestionView, QueuedView, RuleScope, Usage, View, ViewChange,
    Wants,
};
use piton_sim::serve::Seen;
use piton_store::{Listed, Record};
use piton_tools::supervise::{Kept, KeptState, Status};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::attempt::Tried;
use super::cost::InAll;
use super::moves::Move;

/// Version of the lines. Fields may be added; a change of meaning is a new version.
const VERSION: u8 = 2;

/// One line.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Line<'a> {
    /// What is there, and which turn the rest is about.
    View {
        conversation: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        turn: Option<u32>,
        view: Box<View>,
    },
    /// How the view moves with the next entry.
    ViewChange { change: &'a ViewChange },
    /// A durable entry, as it is stored.
    Entry {
        /// Whose it is, where it is shared with a conversation that this one was forked from.
        #[serde(skip_serializing_if = "Option::is_none")]
        conversation: Option<&'a str>,
        seq: u64,
        at: u64,
        event: Option<Box<RawValue>>,
    },
    /// What a worker did, with the call that it is about.
    Worker {
        worker: WorkerName<'a>,
        at: u64,
        did: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<&'a str>,
    },
    /// What no entry holds yet; replaces the last one whole.
    Live { live: &'a Live },
    /// The turn goes on, at this moment.
    Heartbeat { turn: u32, at: u64 },
    /// How it went.
    Result {
        ending: &'a str,
        reason: Option<&'a str>,
        message: &'a str,
        exit_code: u8,
        /// What it is about, if that is a conversation.
        #[serde(skip_serializing_if = "Option::is_none")]
        conversation: Option<&'a str>,
        /// Its turn, if one was found or begun.
        #[serde(skip_serializing_if = "Option::is_none")]
        turn: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<&'a str>,
        /// The final answer, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
        /// Tokens of the turn.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// What they cost, in millionths of a dollar, as far as that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        cost_microdollars: Option<u64>,
        /// What the conversation has used.
        #[serde(skip_serializing_if = "Option::is_none")]
        in_all: Option<InAll>,
    },
    /// A turn that can be gone back to, with the message that began it.
    Turn { conversation: &'a str, turn: u32, message: Option<&'a str>, text: &'a str },
    /// What becomes of a file when changes are taken back, and whether that is done.
    File { path: &'a str, changes: usize, fate: &'a str, changed_again_in: Option<u32>, done: bool },
    /// A conversation that was put away, or is listed again.
    Shelved { conversation: &'a str, shelf: Shelf },
    /// Where a scripted model is served.
    Serving { url: &'a str, variables: BTreeMap<&'a str, &'a str> },
    /// A request that a served model got.
    Request {
        dialect: &'a str,
        method: &'a str,
        path: &'a str,
        step: Option<usize>,
        status: u16,
        note: &'a str,
        bytes: usize,
        sha256: &'a str,
    },
    /// A row of a list.
    Listed {
        conversation: &'a str,
        title: &'a str,
        workspace: &'a str,
        turns: u32,
        status: String,
        running_pid: Option<u32>,
        /// Answers that nobody has taken yet, if there are any.
        #[serde(skip_serializing_if = "Option::is_none")]
        kept_answers: Option<usize>,
        /// Messages that wait for a turn of their own, if there are any.
        #[serde(skip_serializing_if = "Option::is_none")]
        waiting_messages: Option<u32>,
        /// Messages that were left for a process and that none has taken yet, if there are any.
        #[serde(skip_serializing_if = "Option::is_none")]
        untaken_messages: Option<usize>,
        touched: u64,
        /// Where it is kept, if it was put away.
        #[serde(skip_serializing_if = "Option::is_none")]
        shelf: Option<Shelf>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<String>,
        /// What it was forked from.
        #[serde(skip_serializing_if = "Option::is_none")]
        origin: Option<&'a str>,
        /// What it has used, if that is asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        in_all: Option<InAll>,
    },
    /// A line of a conversation that was looked for.
    Hit {
        conversation: &'a str,
        turn: u32,
        seq: u64,
        scope: &'a str,
        kind: &'a str,
        /// Why it does not count any more.
        #[serde(skip_serializing_if = "str::is_empty")]
        hidden: &'a str,
        /// The number of the line in its text.
        line: usize,
        text: &'a str,
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        before: &'a [String],
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        after: &'a [String],
    },
    /// A conversation in which something was found, and how often.
    HitCount {
        conversation: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        hits: Option<usize>,
    },
    /// An attempt of a message.
    Attempt {
        conversation: &'a str,
        turn: u32,
        message: &'a str,
        attempt: u32,
        /// Whether it is the one that counts.
        present: bool,
        models: Vec<String>,
        ended: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<&'a str>,
        steps: usize,
        usage: Usage,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost_microdollars: Option<u64>,
        /// Calls whose effects stay, whatever becomes of the attempt.
        effects: Vec<EffectLine<'a>>,
    },
    /// A message that waits.
    Queued {
        conversation: &'a str,
        number: usize,
        message: &'a str,
        place: QueuePlace,
        parts: &'a [MessagePart],
        at: u64,
    },
    /// How large the next request of a conversation is.
    Tokens {
        conversation: &'a str,
        tokens: &'a Tokens,
        /// From how many tokens on each costs more, where that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        price_step: Option<u64>,
    },
    /// A rule that says what may run.
    Rule { number: usize, from: &'a str, rule: &'a PermissionRule, scope: RuleScope },
    /// A server of tools, and how it stands with it.
    McpServer {
        name: &'a str,
        from: &'a str,
        how: &'a str,
        trust: bool,
        state: &'a str,
        why: &'a str,
        tools: Option<usize>,
        server: Option<&'a str>,
        version: Option<&'a str>,
        protocol: Option<&'a str>,
    },
    /// A tool of such a server.
    McpTool {
        name: &'a str,
        server: &'a str,
        tool: &'a str,
        effect: EffectClass,
        description: &'a str,
    },
    /// A question that waits for an answer.
    Question {
        conversation: &'a str,
        id: &'a str,
        question: &'a str,
        answers: &'a [&'a str],
        kind: InquiryKind,
        call: String,
        wants: Option<&'a Wants>,
        /// What the call was asked to do, all of it.
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<Value>,
        /// What was found where the call leads, and what it would change.
        #[serde(skip_serializing_if = "Option::is_none")]
        found: Option<&'a Found>,
        /// An answer that nobody has taken yet.
        #[serde(skip_serializing_if = "Option::is_none")]
        kept: Option<&'a str>,
    },
    /// A provider of models.
    Provider {
        provider: &'a str,
        address: String,
        ready: bool,
        state: String,
        default_model: Option<String>,
    },
    /// A model of a provider.
    Model {
        model: String,
        window: Option<u64>,
        output_max: Option<u64>,
        /// Dollars for a million tokens of requests, and of answers.
        price_input: Option<f64>,
        price_output: Option<f64>,
    },
    /// What `piton doctor` found.
    Finding { about: &'a str, verdict: &'a str, said: &'a str, advice: Option<&'a str> },
    /// A conversation of a damaged database, and how much of it was brought back.
    Salvaged { conversation: &'a str, extent: &'a str, entries: usize },
    /// A setting, and where its value comes from.
    Setting {
        key: &'a str,
        value: Option<&'a Value>,
        origin: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<usize>,
        /// The variable or the flag.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
    },
    /// A change of a file that can be taken back.
    Change { number: usize, conversation: &'a str, path: &'a str, state: &'a str, at: u64 },
    /// A file as it was before a change.
    Version { number: usize, path: &'a str, text: &'a str },
    /// A session of another agent that was taken over.
    Imported {
        conversation: &'a str,
        /// Whether it had been taken over before.
        known: bool,
        source: &'a ImportSource,
        workspace: &'a str,
        turns: usize,
        /// Whether the last turn is over.
        complete: bool,
        /// How many remarks of each kind there are.
        counts: BTreeMap<&'a str, usize>,
        remarks: &'a [ImportRemark],
    },
    /// A session of another agent that could be taken over.
    Importable {
        path: String,
        tool: &'a str,
        format: &'a str,
        session: Option<&'a str>,
        title: &'a str,
        workspace: Option<&'a str>,
        touched: u64,
        /// The conversation that has it.
        conversation: Option<&'a str>,
    },
    /// A message that was not sent.
    Draft {
        name: &'a str,
        conversation: Option<&'a str>,
        text: &'a str,
        files: Vec<String>,
        at: u64,
    },
    /// A message that was not sent and cannot be read.
    UnreadableDraft { name: String, path: String },
    /// A command.
    Command {
        conversation: &'a str,
        call: String,
        command: &'a str,
        state: &'a str,
        exit_code: Option<i32>,
        keep: bool,
        /// Whether it can be written to as long as it runs.
        input: bool,
        terminal: bool,
        at: u64,
    },
}

/// Who a worker is: the call that it works for, and its conversation.
#[derive(Debug, Serialize)]
pub(crate) struct WorkerName<'a> {
    call: String,
    conversation: &'a str,
}

/// A call whose effect stays.
#[derive(Debug, Serialize)]
pub(crate) struct EffectLine<'a> {
    call: String,
    tool: &'a str,
    arguments: &'a str,
    state: &'a CallState,
}

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

    pub(crate) fn rule(number: usize, rule: &'a PermissionRule, from: &'a str) -> Self {
        Self::Rule { number, from, rule, scope: rule.scope }
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

    /// The line as text, without its end.
    pub(crate) fn text(&self) -> String {
        // Strings and numbers cannot fail to serialise.
        let body = serde_json::to_string(self).unwrap_or_default();
        // The version comes first, so that a reader knows what it reads.
        format!("{{\"v\":{VERSION},{}", body.strip_prefix('{').unwrap_or_default())
    }
}
