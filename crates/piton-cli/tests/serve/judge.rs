//! Says what must hold of a conversation after deaths: from its journal, its ledger and what its readers
//! and its person were told. Knows nothing that the server says of itself.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::ops::ControlFlow;
use std::path::PathBuf;

use piton::store::{Journal, Record};
use piton::view::Status;
use piton::{ConversationId, View, reader};
use piton_core::event::{Event, Outcome};
use piton_core::id::Seq;
use piton_core::state::State;
use piton_proof::client::Known;

use crate::person::Said;
use crate::place::LEDGER;

/// One conversation, as far as its journal was read.
pub(crate) struct Judge {
    id: ConversationId,
    workspace: PathBuf,
    state: State,
    end: Seq,
    /// A digest of all entries up to `end`.
    digest: DefaultHasher,
    /// Digests at the moments in which the journal was read before.
    digests: Vec<(Seq, u64)>,
    calls: BTreeMap<String, Call>,
    /// Names of commands that were taken.
    commands: Vec<String>,
    messages: u64,
}

/// A call with an effect.
#[derive(Default)]
struct Call {
    starts: u32,
    outcome: Option<Outcome>,
}

/// What was counted over all conversations.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) entries: u64,
    pub(crate) turns: u64,
    pub(crate) effects: u64,
    /// Calls whose outcome is unknown, and which took effect.
    pub(crate) unknown_done: u64,
    /// Calls whose outcome is unknown, and which did not.
    pub(crate) unknown_not_done: u64,
}

impl Count {
    pub(crate) fn add(&mut self, other: &Self) {
        let Self { entries, turns, effects, unknown_done, unknown_not_done } = other;
        self.entries += entries;
        self.turns += turns;
        self.effects += effects;
        self.unknown_done += unknown_done;
        self.unknown_not_done += unknown_not_done;
    }
}

impl Judge {
    pub(crate) fn new(conversation: &str, workspace: PathBuf) -> Self {
        Self {
            id: ConversationId::new(conversation),
            workspace,
            state: State::default(),
            end: Seq::default(),
            digest: DefaultHasher::new(),
            digests: Vec::new(),
            calls: BTreeMap::new(),
            commands: Vec::new(),
            messages: 0,
        }
    }

    /// Reads on while no server runs; what is wrong.
    pub(crate) async fn look(
        &mut self,
        journal: &dyn Journal,
        readers: &[Known],
        said: &Said,
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        let records = records(journal, &self.id, self.end).await;
        for record in &records {
            self.take(record);
            for known in readers.iter().filter(|known| known.view.cursor == record.seq) {
                if known.view != View::from(&self.state) {
                    wrong.push(format!("a reader's view at entry {} is not the fold", record.seq));
                }
            }
        }
        self.digests.push((self.end, self.digest.finish()));
        for known in readers.iter().filter(|known| self.end < known.view.cursor) {
            let cursor = known.view.cursor;
            wrong.push(format!(
                "a reader knows entry {cursor}, and the journal ends at {}",
                self.end
            ));
        }
        if self.end.0 < said.entry {
            wrong.push(format!(
                "entry {} was told, and the journal ends at {}",
                said.entry, self.end
            ));
        }
        wrong.extend(self.missing(said));
        wrong.extend(self.effects().1);
        self.named(wrong)
    }

    /// Looks at everything once more, when all turns are over; what is wrong, and what there was.
    pub(crate) async fn conclude(
        &mut self,
        journal: &dyn Journal,
        readers: &[Known],
        said: &Said,
    ) -> (Vec<String>, Count) {
        let mut wrong = self.look(journal, readers, said).await;
        let (view, mut count) = (View::from(&self.state), self.effects().0);
        let mut found = Vec::new();
        for known in readers.iter().filter(|known| known.view != view) {
            found.push(format!("a reader ends at entry {} with another view", known.view.cursor));
        }
        if view.head.status != Status::Idle || view.strays != 0 {
            found.push(format!("it ends as {:?} with {} strays", view.head.status, view.strays));
        }
        let (turns, taken) = (view.turns.len() as u64, said.taken.len() as u64);
        if turns != taken || self.messages != taken {
            let messages = self.messages;
            found.push(format!("{taken} messages were taken: {messages} stored, {turns} turns"));
        }
        for (name, _) in self.calls.iter().filter(|(_, call)| call.outcome.is_none()) {
            found.push(format!("call {name} has no end"));
        }
        found.extend(self.rewritten(journal).await);
        wrong.extend(self.named(found));
        (count.entries, count.turns) = (self.end.0, turns);
        (wrong, count)
    }

    fn named(&self, wrong: Vec<String>) -> Vec<String> {
        wrong.into_iter().map(|line| format!("{}: {line}", self.id)).collect()
    }

    fn take(&mut self, record: &Record) {
        let entry = reader::entry(record);
        self.state.apply(&entry);
        note(&mut self.digest, record);
        self.end = record.seq;
        if let Event::ToolStarted { call, .. } = &entry.event {
            self.calls.entry(call.to_string()).or_default().starts += 1;
        } else if let Event::ToolFinished { call, outcome, .. } = &entry.event {
            self.calls.entry(call.to_string()).or_default().outcome = Some(*outcome);
        } else if let Event::CommandTaken { command, .. } = &entry.event {
            self.commands.push(command.to_string());
        } else if let Event::UserMessage { .. } = &entry.event {
            self.messages += 1;
        }
    }

    /// Messages and answers that the person was told to be taken, and that are not there exactly once.
    fn missing(&self, said: &Said) -> Vec<String> {
        let times = |name: &String| self.commands.iter().filter(|it| *it == name).count();
        let wrong = said.taken.iter().chain(&said.answers).filter(|name| times(name) != 1);
        wrong.map(|name| format!("command {name} is there {} times", times(name))).collect()
    }

    /// Holds the ledger against the journal.
    fn effects(&self) -> (Count, Vec<String>) {
        let ledger = fs::read_to_string(self.workspace.join(LEDGER)).unwrap_or_default();
        let mut lines: BTreeMap<&str, u64> = BTreeMap::new();
        for line in ledger.lines() {
            *lines.entry(line).or_default() += 1;
        }
        let (mut count, mut wrong) = (Count::default(), Vec::new());
        for (line, times) in &lines {
            count.effects += times;
            if 1 < *times {
                wrong.push(format!("call {line} took effect {times} times"));
            }
            if !self.calls.contains_key(*line) {
                wrong.push(format!("call {line} took effect, and was never started"));
            }
        }
        for (name, call) in &self.calls {
            let done = lines.contains_key(name.as_str());
            if call.starts != 1 {
                wrong.push(format!("call {name} was started {} times", call.starts));
            }
            match call.outcome {
                None => {}
                Some(Outcome::Ok) if done => {}
                Some(Outcome::Unknown) if done => count.unknown_done += 1,
                Some(Outcome::Unknown) => count.unknown_not_done += 1,
                Some(outcome) => wrong.push(format!("call {name} is {outcome:?}, done: {done}")),
            }
        }
        (count, wrong)
    }

    /// Entries that are not what they were when they were first read.
    async fn rewritten(&self, journal: &dyn Journal) -> Vec<String> {
        let mut digest = DefaultHasher::new();
        let mut now = BTreeMap::from([(Seq::default(), digest.finish())]);
        for record in records(journal, &self.id, Seq::default()).await {
            note(&mut digest, &record);
            now.insert(record.seq, digest.finish());
        }
        let wrong = self.digests.iter().filter(|(at, then)| now.get(at) != Some(then));
        wrong.map(|(at, _)| format!("entries up to {at} are not what they were")).collect()
    }
}

fn note(digest: &mut DefaultHasher, record: &Record) {
    (record.seq.0, record.at.0, &record.body).hash(digest);
}

async fn records(journal: &dyn Journal, id: &ConversationId, after: Seq) -> Vec<Record> {
    let mut records = Vec::new();
    let read = reader::each_record(journal, id, after, |record| {
        records.push(record);
        ControlFlow::Continue(())
    });
    read.await.unwrap();
    records
}
