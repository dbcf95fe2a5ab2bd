//! The lines of `--json`: one object each, documented in `docs/json.md`.
//!
//! Types of their own, and views; only `print --json --raw` shows what is stored, exactly.

mod made;

use std::collections::BTreeMap;

use piton::Shelf;
use piton_core::command::QueuePlace;
use piton_core::permit::Grants;
use piton_core::permit::review::Remark;
use piton_core::tokens::Tokens;
use piton_core::view::{
    CallState, EffectClass, Found, ImportRemark, ImportSource, InquiryKind, Live, MessagePart,
    PermissionRule, RuleEffect, RuleScope, Usage, View, ViewChange, Wants,
};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::cost::InAll;

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
        /// What the next request costs without its answer if nothing is cached, in millionths of a dollar.
        #[serde(skip_serializing_if = "Option::is_none")]
        next_microdollars: Option<u64>,
        /// What the conversation has used until now.
        in_all: InAll,
    },
    /// A rule that says what may run.
    Rule {
        number: usize,
        from: &'a str,
        rule: &'a PermissionRule,
        scope: RuleScope,
        #[serde(skip_serializing_if = "<[Remark]>::is_empty")]
        remarks: &'a [Remark],
    },
    /// What would become of a command.
    Tried {
        effect: RuleEffect,
        /// What would stand around it: `sandbox`, `looks`, `none` or `missing`.
        wall: &'a str,
        /// The number of the rule that decides.
        #[serde(skip_serializing_if = "Option::is_none")]
        rule: Option<usize>,
        #[serde(skip_serializing_if = "Grants::is_empty")]
        grants: &'a Grants,
        why: String,
    },
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
    /// What is trusted of a workspace.
    Trust {
        workspace: &'a str,
        trusted: bool,
        by: Option<&'a str>,
        at: Option<u64>,
        /// Files that start programs and were approved by their exact bytes.
        approved: Vec<&'a str>,
    },
    /// Something that a workspace brings along for an agent.
    Brought {
        kind: &'a str,
        name: &'a str,
        path: &'a str,
        opens: &'a [String],
        /// Files that are approved by their exact bytes before it counts.
        files: Vec<&'a str>,
        state: &'a str,
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
        /// What it asks to be opened in the sandbox, in words.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        opens: &'a [String],
        /// Whether a yes lets it run outside the sandbox.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        frees: bool,
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
        /// What `piton import` takes for it.
        number: usize,
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

impl Line<'_> {
    /// The line as text, without its end.
    pub(crate) fn text(&self) -> String {
        // Strings and numbers cannot fail to serialise.
        let body = serde_json::to_string(self).unwrap_or_default();
        // The version comes first, so that a reader knows what it reads.
        format!("{{\"v\":{VERSION},{}", body.strip_prefix('{').unwrap_or_default())
    }
}
