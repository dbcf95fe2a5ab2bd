//! A tiny language for journals: one word, one fact.
//!
//! `turn user ask calls(o:a r:b) start:a finish:a driver` is a turn whose driver died between two
//! calls. Time passes a second per entry and names are counted, so a script always means the same.
//!
//! Tools are named by the letter of their effect class: `r`ead-only, `i`dempotent, `d`igested,
//! `s`upervised, `c`hild, `o`nce. Every script begins with a conversation that offers all six and
//! runs them without asking.

use std::collections::BTreeMap;

use piton_core::action::{Action, PieceAsk, Wish};
use piton_core::coordinate::COORDINATOR;
use piton_core::decide::calls::doubt_elsewhere;
use piton_core::decide::decide;
use piton_core::event::{
    AnswerPart, BreakReason, Choice, ConfigChange, ContextItem, EffectClass, Entry, Event,
    FailureClass, FinishReason, ForkOrigin, Found, Handle, InDoubtPolicy, Inquiry, InquiryAnswer,
    InquiryKind, Limits, Native, Outcome, PartialKind, PermissionMode, PermissionRule, Permissions,
    PlannedCall, QueueChange, QueuePlace, Rejected, RuleEffect, ShortOutput, ToolOutput, ToolSpec,
    TurnEnd, UnknownEvent, Usage, UserPart,
};
use piton_core::event::{CostLimit, Price, Window, WindowSource};
use piton_core::id::{
    Attempt, CallId, ConversationId, Digest, DriverId, Epoch, InquiryId, MessageId, Seq, StepId,
    Timestamp, TurnId,
};
use piton_core::question::Question;
use piton_core::state::{Item, State, Turn};
use piton_core::summarise;
use piton_core::transcript::Transcript;

/// The tools of every script: letter and effect class.
pub(crate) const TOOLS: [(&str, EffectClass); 6] = [
    ("r", EffectClass::ReadOnly),
    ("i", EffectClass::Idempotent),
    ("d", EffectClass::Digested),
    ("s", EffectClass::Supervised),
    ("c", EffectClass::Child),
    ("o", EffectClass::Once),
];

/// A journal in the making, with what it means so far.
pub(crate) struct Journal {
    pub(crate) entries: Vec<Entry>,
    pub(crate) state: State,
    calls: BTreeMap<String, CallId>,
    messages: u32,
}

/// Folds a script.
pub(crate) fn fold(script: &str) -> State {
    Journal::of(script).state
}

/// The fact that a model is asked for a part.
fn asked(state: &State, ask: &PieceAsk) -> Event {
    let request = summarise::request(state, ask);
    Event::SummaryAsked {
        range: ask.range,
        model: request.model().unwrap().clone(),
        digest: Digest::new("00"),
        tokens_estimated: request.tokens_estimated(),
        tokens_before: Transcript::from(state).tokens_estimated(),
    }
}

/// The tools as a model is offered them.
pub(crate) fn tool_specs() -> Vec<ToolSpec> {
    TOOLS.iter().map(|(name, effect)| ToolSpec::new(*name, "", "{}", *effect)).collect()
}

impl Journal {
    /// A conversation before its first turn.
    pub(crate) fn new() -> Self {
        let mut journal =
            Self { entries: vec![], state: State::default(), calls: BTreeMap::new(), messages: 0 };
        journal.push(Event::ConversationOpened {
            workspace: "/w".into(),
            title: None,
            origin: None,
            parent: None,
        });
        let permissions =
            Permissions { mode: PermissionMode::Auto, rules: vec![], ..Permissions::default() };
        journal.configure(ConfigChange {
            model: Some("demo/one".parse().unwrap()),
            tools: Some(tool_specs()),
            permissions: Some(permissions),
            ..ConfigChange::default()
        });
        journal
    }

    /// A person's fork of it, with its first entry.
    pub(crate) fn branched(&self) -> Self {
        let origin = ForkOrigin { conversation: ConversationId::new("o"), through: self.state.end };
        let (calls, messages) = (self.calls.clone(), self.messages);
        let state = self.state.clone().branched(&origin);
        let mut branch = Self { entries: vec![], state, calls, messages };
        let (workspace, origin) = ("/w".into(), Some(origin));
        branch.push(Event::ConversationOpened { workspace, title: None, origin, parent: None });
        branch
    }

    /// Plays a whole script. Behind `fork` it goes on in a fork.
    pub(crate) fn of(script: &str) -> Self {
        let mut journal = Self::new();
        for (place, part) in script.split(" fork").enumerate() {
            if 0 < place {
                journal = journal.branched();
            }
            journal.play(part);
        }
        journal
    }

    /// Appends an event, and takes it in.
    pub(crate) fn push(&mut self, event: Event) {
        let seq = self.state.end.next();
        let entry = Entry { seq, at: Timestamp(seq.0 * 1_000), event };
        self.state.apply(&entry);
        self.entries.push(entry);
    }

    fn configure(&mut self, change: ConfigChange) {
        self.push(Event::ConfigChanged { change });
    }

    /// Our id of a call that a script named.
    pub(crate) fn call(&self, name: &str) -> CallId {
        *self.calls.get(name).unwrap_or_else(|| panic!("no call is named {name}"))
    }

    /// What a script calls a call.
    pub(crate) fn name(&self, call: CallId) -> String {
        let name = self.calls.iter().find(|(_, id)| **id == call);
        name.map_or_else(|| call.to_string(), |(name, _)| name.clone())
    }

    /// Plays the words of a script.
    pub(crate) fn play(&mut self, script: &str) {
        for word in words(script) {
            let event = if let Some((verb, items)) = word.split_once('(') {
                self.answer(verb, items.trim_end_matches(')'))
            } else {
                let (verb, rest) = word.split_once(':').unwrap_or((&word, ""));
                self.fact(verb, rest)
            };
            self.push(event);
        }
    }

    fn fact(&mut self, verb: &str, rest: &str) -> Event {
        match verb {
            "driver" => Event::DriverStarted {
                driver: DriverId::new(format!("d{}", self.entries.len())),
                epoch: Epoch(self.entries.len() as u64),
                host: "h".into(),
                boot: "b".into(),
                pid: 1,
            },
            "alien" => Event::Unknown(UnknownEvent { kind: rest.into(), raw: "{}".into() }),
            "turn" => Event::TurnStarted { turn: self.state.next_turn(), agent: None },
            "coordinate" => {
                let agent = Some(COORDINATOR.into());
                Event::TurnStarted { turn: self.state.next_turn(), agent }
            }
            "context" => {
                let (name, text) = rest.split_once(':').unwrap_or((rest, ""));
                let text = (!text.is_empty()).then(|| text.into());
                let digest = Digest::new(text.as_deref().unwrap_or("prompted"));
                let items = vec![ContextItem { name: name.into(), digest, text }];
                Event::ContextAdded { turn: self.turn(), items }
            }
            "plan" => self.plan(rest),
            "park" => {
                let (name, text) = rest.split_once(':').unwrap_or((rest, "Run it?"));
                Event::CallParked { call: self.call(name), question: text.into() }
            }
            "locate" => {
                let (name, path) = rest.split_once(':').unwrap_or((rest, ""));
                let path = (!path.is_empty()).then(|| path.to_owned());
                let found = Found { path, ..Found::default() };
                Event::CallLocated { call: self.call(name), found }
            }
            "resume" => Event::TurnResumed { turn: self.turn() },
            "end" => Event::TurnEnded { turn: self.turn(), end: read(rest) },
            "break" => Event::TurnBroke {
                turn: self.turn(),
                reason: read::<BreakReason>(rest),
                message: rest.into(),
            },
            "rewrite" | "place" | "before" | "last" => self.message(verb, rest),
            "compact" | "sum" | "want" | "summing" | "summed" | "unsummed" | "lift" | "learn" => {
                self.summing(verb, rest)
            }
            "user" | "inject" | "say" | "queue" | "unqueue" | "retry" | "resend" => {
                self.message(verb, rest)
            }
            "ask" | "partial" | "think" | "fail" | "reject" | "repair" => self.model(verb, rest),
            "answer" | "length" | "refused" => {
                let text = if rest.is_empty() { "done" } else { rest };
                self.answer(verb, &format!("t:{text}"))
            }
            "short" => {
                let (name, text) = rest.split_once(':').unwrap_or((rest, "-"));
                let outputs = vec![ShortOutput { call: self.call(name), text: text.into() }];
                Event::OutputsShortened { outputs }
            }
            "long" => {
                let (name, bytes) = rest.split_once(':').unwrap();
                let output =
                    ToolOutput::text("0123456789".repeat(bytes.parse::<usize>().unwrap() / 10));
                let (call, outcome) = (self.call(name), Outcome::Ok);
                Event::ToolFinished { call, outcome, output }
            }
            "start" | "track" | "round" | "untrack" | "suspend" | "finish" | "failed"
            | "denied" | "cancelled" | "lost" => self.tool(verb, rest),
            "raise" | "allow" | "deny" | "change" | "rerun" | "asdone" | "look" | "tell"
            | "redact" | "withdraw" => self.inquiry(verb, rest),
            _ => Event::ConfigChanged { change: self.change(verb, rest) },
        }
    }

    /// Calls of `c` with names joined by `+`, made of the last answer.
    fn plan(&mut self, names: &str) -> Event {
        let (turn, open) = (self.turn(), self.state.turns.last());
        let step = open.and_then(|turn| turn.steps().next_back()).map_or(1, |step| step.number);
        let mut calls = vec![];
        for (index, name) in (0..).zip(names.split('+')) {
            let call = CallId { turn, step, index };
            self.calls.insert(name.into(), call);
            let arguments = format!(r#"{{"task":"{name}"}}"#).into();
            calls.push(PlannedCall { call, name: "c".into(), arguments });
        }
        Event::CallsPlanned { step, calls }
    }

    /// `sum:2` covers turns, `sum:2:3.4` also steps of the turn behind them.
    fn sum(rest: &str) -> Event {
        let (through, within) = rest.split_once(':').unwrap_or((rest, ""));
        let step = |text: &str| {
            let (turn, step) = text.split_once('.')?;
            Some(StepId { turn: TurnId(turn.parse().unwrap()), step: step.parse().unwrap() })
        };
        let through = TurnId(through.parse().unwrap());
        let (within, summary) = (step(within), "so far".into());
        let (tokens_before, tokens_after, pieces) = (9, 5, 0);
        Event::SummaryLaid { summary, through, within, tokens_before, tokens_after, pieces }
    }

    /// `summing` asks for the part that is decided, `summed:TEXT` answers, `unsummed:WHY` does not.
    fn summing(&self, verb: &str, rest: &str) -> Event {
        let usage = Usage { input: 50, output: 5, cached: 0 };
        match verb {
            "compact" => Event::Compacted {
                summary: "so far".into(),
                through: TurnId(rest.parse().unwrap()),
            },
            "sum" => Self::sum(rest),
            "want" => Event::SummaryWanted { focus: (!rest.is_empty()).then(|| rest.into()) },
            "summing" => {
                let action = decide(&self.state, Wish::Proceed);
                let Action::SumUp(ask) = action else { panic!("{action:?}") };
                asked(&self.state, &ask)
            }
            "summed" => Event::SummaryAnswered { text: rest.into(), usage },
            "unsummed" => {
                let why = serde_json::from_value(rest.into()).unwrap();
                Event::SummaryFailed { why, message: String::new(), usage }
            }
            "learn" => {
                let model = self.state.config.model.clone().unwrap();
                Event::WindowLearned { model, tokens: rest.parse().unwrap() }
            }
            _ => Event::SummaryLifted,
        }
    }

    fn turn(&self) -> TurnId {
        self.state.turns.last().map_or(TurnId(1), |turn| turn.id)
    }

    fn message(&mut self, verb: &str, rest: &str) -> Event {
        let (id, text) = rest.split_once(':').unwrap_or((rest, rest));
        let last = format!("m{}", self.messages);
        let known = |id: &str| {
            let id = MessageId::new(if id.is_empty() { last.clone() } else { id.into() });
            let said = self.state.turns.iter().flat_map(Turn::said);
            let attempt = said.filter(|said| said.message == id).map(|said| said.attempt).last();
            (id, attempt.unwrap_or(Attempt::FIRST))
        };
        match verb {
            "retry" => {
                let (message, attempt) = known(id);
                Event::MessageRetried { message, attempt: attempt.next() }
            }
            "resend" => {
                let (message, attempt) = known(id);
                Event::UserMessage { message, parts: vec![UserPart::text(text)], attempt }
            }
            "queue" => Event::MessageQueued {
                message: MessageId::new(id),
                parts: vec![UserPart::text(text)],
                place: QueuePlace::Next,
            },
            "steer" => Event::MessageQueued {
                message: MessageId::new(id),
                parts: vec![UserPart::text(text)],
                place: QueuePlace::Steer,
            },
            "rewrite" => {
                let parts = vec![UserPart::text(text)];
                requeued(id, QueueChange::Parts { parts })
            }
            "place" => requeued(id, QueueChange::Place { place: read(text) }),
            "before" => requeued(id, QueueChange::Before { before: MessageId::new(text) }),
            "last" => requeued(id, QueueChange::Last),
            "unqueue" => Event::MessageUnqueued { message: MessageId::new(id) },
            "say" => said(id, text),
            _ => {
                self.messages += 1;
                let id = format!("m{}", self.messages);
                said(&id, if rest.is_empty() { &id } else { rest })
            }
        }
    }

    fn model(&self, verb: &str, rest: &str) -> Event {
        match verb {
            "ask" => {
                let open = self.state.turns.last().unwrap();
                let attempt = match open.items.last() {
                    Some(Item::Step(step)) if step.answer.is_none() => step.attempt.next(),
                    _ => Attempt::FIRST,
                };
                Event::ModelAsked {
                    step: rest.parse().unwrap_or(open.next_step()),
                    attempt,
                    model: "demo/one".parse().unwrap(),
                    digest: Digest::new("00"),
                    tokens_estimated: Transcript::from(&self.state).tokens_estimated(),
                }
            }
            "partial" => Event::ModelPartial { kind: PartialKind::Text, text: rest.into() },
            "think" => Event::ModelPartial { kind: PartialKind::Reasoning, text: rest.into() },
            "reject" => Event::ModelFailed {
                class: FailureClass::InvalidRequest,
                message: "bad signature".into(),
                retry_after_ms: None,
                bytes_received: 0,
                jitter_permille: 0,
                rejected: Some(match rest {
                    "latest" => Rejected::LatestMessage,
                    "turn" => Rejected::OpenTurn,
                    excerpt => Rejected::Named { excerpt: excerpt.into() },
                }),
                outage_ms_max: None,
                detail: None,
            },
            "fail" if rest.starts_with("off:") => Event::ModelFailed {
                class: FailureClass::Network,
                message: "unreachable".into(),
                retry_after_ms: None,
                bytes_received: 0,
                jitter_permille: 0,
                rejected: None,
                outage_ms_max: rest.strip_prefix("off:").and_then(|ms| ms.parse().ok()),
                detail: Some("os error 101".into()),
            },
            "repair" => Event::HistoryRepaired {
                steps: rest
                    .split('+')
                    .map(|step| {
                        let (turn, step) = step.split_once('.').unwrap();
                        StepId { turn: TurnId(turn.parse().unwrap()), step: step.parse().unwrap() }
                    })
                    .collect(),
            },
            _ => {
                let (class, wait) = rest.split_once(':').unwrap_or((rest, ""));
                Event::ModelFailed {
                    class: read::<FailureClass>(class),
                    message: class.into(),
                    retry_after_ms: wait.parse().ok(),
                    bytes_received: 0,
                    jitter_permille: 0,
                    rejected: None,
                    outage_ms_max: None,
                    detail: None,
                }
            }
        }
    }

    /// An answer: `t:text`, `th:reasoning`, `x:tool` cut off, `n:native`, else a call `tool:name`; the tool `bad`
    /// is `r` with arguments that are not JSON, and `list` is `r` with a list of them.
    fn answer(&mut self, verb: &str, items: &str) -> Event {
        let turn = self.turn();
        let step = self.state.turns.last().and_then(|turn| turn.steps().next_back());
        let step = step.map_or(1, |step| step.number);
        let (mut parts, mut dropped, mut index, mut native) = (vec![], vec![], 0, None);
        for item in items.split_whitespace() {
            let (kind, rest) = item.split_once(':').unwrap();
            let (tool, arguments) = match kind {
                "t" => {
                    parts.push(AnswerPart::Text { text: rest.into() });
                    continue;
                }
                "th" => {
                    parts.push(AnswerPart::Reasoning { text: rest.into() });
                    continue;
                }
                "n" => {
                    let (host, model) = ("h".into(), "one".into());
                    native =
                        Some(Native { provider: "demo".into(), host, model, raw: rest.into() });
                    continue;
                }
                "x" => {
                    dropped.push(rest.into());
                    continue;
                }
                "bad" => ("r", "not json"),
                "list" => ("r", "[1]"),
                tool => (tool, "{}"),
            };
            let call = CallId { turn, step, index };
            index += 1;
            self.calls.insert(rest.into(), call);
            let (provider_id, name) = (Some(rest.into()), tool.into());
            parts.push(AnswerPart::Call { call, provider_id, name, arguments: arguments.into() });
        }
        let finish = match verb {
            "length" => FinishReason::Length,
            "refused" => FinishReason::Refused,
            "calls" => FinishReason::ToolCalls,
            _ => FinishReason::Stop,
        };
        // A provider that counts as we estimate, and small requests as a hundred tokens.
        let input = self.state.context_estimated.max(100);
        let usage = Usage { input, output: 10, cached: 0 };
        Event::ModelAnswered { parts, finish, usage, dropped, native }
    }

    fn tool(&self, verb: &str, rest: &str) -> Event {
        let (name, text) = rest.split_once(':').unwrap_or((rest, rest));
        let call = self.call(name);
        let outcome = match verb {
            "start" => {
                let known = self.state.turns.last().and_then(|turn| turn.call(call));
                let tool = known.and_then(|call| self.state.config.tool(&call.name));
                let effect = tool.map_or(EffectClass::Once, |tool| tool.effect);
                return Event::ToolStarted { call, effect, handle: Handle::None };
            }
            "track" | "round" | "untrack" => {
                let handle = match verb {
                    "track" => Handle::Task { id: "t1".into(), since: "then".into() },
                    "round" => Handle::Round { number: 1, state: None, asked: "{}".into() },
                    _ => Handle::None,
                };
                return Event::CallTracked { call, handle };
            }
            "suspend" => return Event::ToolSuspended { call },
            "finish" => Outcome::Ok,
            "failed" => Outcome::Failed,
            "denied" => Outcome::Denied,
            "cancelled" => Outcome::Cancelled,
            _ => Outcome::Unknown,
        };
        Event::ToolFinished { call, outcome, output: ToolOutput::text(text) }
    }

    fn inquiry(&self, verb: &str, rest: &str) -> Event {
        let (first, second) = rest.split_once(':').unwrap_or((rest, ""));
        let turn = self.state.turns.last().unwrap();
        if verb == "raise" {
            let call = self.call(second);
            let starts = turn.call(call).map_or(0, |call| call.starts);
            // `question` says nothing of what was done before it, `first` says that nothing was.
            if let "question" | "first" = first {
                let mut question = Question::new(format!("q{}", self.entries.len()), "What?");
                question.wants.before_acting = first == "first";
                return Event::InquiryRaised { inquiry: question.inquiry(call, 1) };
            }
            if first == "elsewhere" {
                let inquiry =
                    doubt_elsewhere(turn, turn.call(call).unwrap(), &ConversationId::new("o"));
                return Event::InquiryRaised { inquiry };
            }
            let (kind, id) = match first {
                "permission" => (InquiryKind::Permission, format!("{call}.permission.1")),
                _ => (InquiryKind::InDoubt, format!("{call}.in-doubt.{starts}")),
            };
            let (id, choices) = (InquiryId::new(id), vec![Choice::Allow, Choice::Deny]);
            let question = format!("{second}?");
            let inquiry = Inquiry { id, kind, call, question, choices, wants: None, about: None };
            return Event::InquiryRaised { inquiry };
        }
        let call = self.call(first);
        let newest = turn.inquiries.iter().rev().find(|raised| raised.inquiry.call == call);
        let answer = match verb {
            "allow" => InquiryAnswer::Allow,
            "deny" if second.is_empty() => InquiryAnswer::DENY,
            "deny" => InquiryAnswer::Deny { reason: Some(second.into()) },
            "change" => InquiryAnswer::Changed { arguments: second.into() },
            "rerun" => InquiryAnswer::RunAgain,
            "asdone" => InquiryAnswer::TreatAsDone,
            "look" => InquiryAnswer::LookAgain,
            "applied" => InquiryAnswer::Applied,
            "redact" => InquiryAnswer::Redacted,
            "withdraw" => InquiryAnswer::Cancelled { reason: "gone".into() },
            _ => InquiryAnswer::Text { text: second.into() },
        };
        let inquiry = newest.unwrap().inquiry.id.clone();
        let (by, letter, by_rule) = ("somebody".into(), None, false);
        Event::InquiryAnswered { inquiry, answer, by, letter, by_rule }
    }

    fn change(&self, verb: &str, rest: &str) -> ConfigChange {
        let mut change = ConfigChange::default();
        let mut limits = self.state.config.limits;
        let mut permissions = self.state.config.permissions.clone();
        match verb {
            "model" => change.model = Some(rest.parse().unwrap()),
            "system" => change.system = Some(rest.into()),
            "in_doubt" => change.in_doubt = Some(read::<InDoubtPolicy>(rest)),
            "mode" => permissions.mode = read::<PermissionMode>(rest),
            "rule" => {
                let (tool, effect) = rest.split_once(':').unwrap();
                let effect = read::<RuleEffect>(effect);
                permissions.rules.push(PermissionRule::of_tool(tool, effect));
            }
            limit => set_limit(&mut limits, limit, rest.parse().unwrap()),
        }
        change.limits = (limits != self.state.config.limits).then_some(limits);
        change.permissions = (permissions != self.state.config.permissions).then_some(permissions);
        change
    }
}

fn set_limit(limits: &mut Limits, name: &str, value: u32) {
    match name {
        "steps_max" => limits.steps_max = value,
        "failures_max" => limits.failures_max = value,
        "attempts_max" => limits.attempts_max = value,
        "tokens_max" => limits.tokens_max = value.into(),
        // A model that costs a tenth of a cent for a thousand tokens.
        "microdollars_max" => {
            let price = Price { input: 1_000, output: 1_000 };
            limits.cost = Some(CostLimit { microdollars_max: value.into(), price });
        }
        "context_max" => limits.context_tokens_max = value.into(),
        "window" => {
            let (tokens, from) = (value.into(), WindowSource::Table);
            limits.window = Some(Window { tokens, answer_tokens_max: 0, from });
        }
        "divisor" => limits.letters_per_token = value,
        word => panic!("the script language has no word {word}"),
    }
}

fn said(id: &str, text: &str) -> Event {
    let parts = vec![UserPart::text(text)];
    Event::UserMessage { message: MessageId::new(id), parts, attempt: Attempt::FIRST }
}

/// Reads a value as it is stored: the script uses the journal's own words.
fn read<T: serde::de::DeserializeOwned>(word: &str) -> T {
    serde_json::from_str(&format!("\"{word}\"")).unwrap_or_else(|_| panic!("what is {word}?"))
}

/// Splits at blanks outside parentheses.
fn words(script: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut depth = 0;
    for letter in script.chars() {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        if letter.is_whitespace() && depth == 0 {
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(letter);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// An entry at a place, a second per place.
pub(crate) fn entry(seq: u64, event: Event) -> Entry {
    Entry { seq: Seq(seq), at: Timestamp(seq.wrapping_mul(1_000)), event }
}

/// All ways to close a turn.
pub(crate) const ENDS: [TurnEnd; 3] = [TurnEnd::Completed, TurnEnd::Stopped, TurnEnd::Discarded];

fn requeued(message: &str, change: QueueChange) -> Event {
    Event::MessageRequeued { message: MessageId::new(message), change }
}
