//! What the figures say, in two tables: what was remembered, and what it cost.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fmt::Write as _;

use piton_core::event::Event;
use piton_core::outcome::Ending;
use piton_core::state::{State, Turn};

use super::facts::{Class, Fact};
use super::reader::{Answer, THEN};
use super::stage::{Played, Spec};

/// How often facts of a class were answered in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Score {
    pub(crate) context: usize,
    pub(crate) recall: usize,
    pub(crate) wrong: usize,
    pub(crate) unknown: usize,
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { context, recall, wrong, unknown } = self;
        if self.asked() == 0 {
            f.write_str("-")
        } else {
            write!(f, "{context} / {recall} / {wrong} / {unknown}")
        }
    }
}

impl Score {
    pub(crate) fn asked(self) -> usize {
        self.context + self.recall + self.wrong + self.unknown
    }
}

/// Numbers of summaries behind which answers are counted together.
const ROUNDS: [usize; 3] = [1, 3, 10];

/// What is measured of one conversation.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    pub(crate) scores: BTreeMap<Class, Score>,
    /// Of what the journal alone does not tell: by the least number of summaries before.
    pub(crate) rounds: BTreeMap<usize, Score>,
    pub(crate) done: bool,
    pub(crate) summaries: usize,
    pub(crate) shortenings: usize,
    /// Parts that a model was asked to sum up, and those that were of use.
    pub(crate) asked: usize,
    pub(crate) taken: usize,
    pub(crate) largest: u64,
    /// The same with what the answer may have, as far as requests say so.
    pub(crate) largest_with_answer: u64,
    pub(crate) refused: usize,
    pub(crate) violations: usize,
    pub(crate) unbound: usize,
    pub(crate) requests: usize,
    pub(crate) sent: u64,
    pub(crate) sent_for_summaries: u64,
    /// Tokens, where what the provider has read before costs a tenth.
    pub(crate) price: u64,
    pub(crate) breaks: usize,
    pub(crate) repeated: usize,
    /// Summaries that a model had a part in.
    pub(crate) by_model: usize,
    /// Whether a stranger's wish is told as a rule of the user.
    pub(crate) obeyed: bool,
}

impl Figures {
    pub(crate) fn of(played: &Played) -> Self {
        let Played { endings, seen, state, entries, unbound } = played;
        let mut scores: BTreeMap<Class, Score> = BTreeMap::new();
        let mut rounds: BTreeMap<usize, Score> = BTreeMap::new();
        for (summaries, answer) in &seen.answers {
            let class = answer.fact.class;
            count(scores.entry(class).or_default(), answer, state);
            let round = ROUNDS.into_iter().rfind(|round| round <= summaries);
            if let Some(round) = round.filter(|_| !class.is_of_journal()) {
                count(rounds.entry(round).or_default(), answer, state);
            }
        }
        let events = |wanted: fn(&Event) -> bool| {
            entries.iter().filter(|entry| wanted(&entry.event)).count()
        };
        let price = |sent: &super::model::Sent| sent.tokens - sent.cached * 9 / 10;
        let with_answer = seen.sent.iter().map(|sent| sent.with_answer);
        let for_summaries = seen.sent.iter().filter(|sent| sent.is_summary);
        Self {
            scores,
            rounds,
            done: endings.iter().all(|ending| *ending == Ending::Done),
            summaries: events(|event| matches!(event, Event::SummaryLaid { .. })),
            shortenings: events(|event| matches!(event, Event::OutputsShortened { .. })),
            asked: events(|event| matches!(event, Event::SummaryAsked { .. })),
            taken: events(|event| matches!(event, Event::SummaryAnswered { .. })),
            largest: seen.sent.iter().map(|sent| sent.tokens).max().unwrap_or_default(),
            largest_with_answer: with_answer.max().unwrap_or_default(),
            refused: seen.refused.len(),
            violations: seen.violations.len(),
            unbound: unbound.len(),
            requests: seen.sent.len(),
            sent: seen.sent.iter().map(|sent| sent.tokens).sum(),
            sent_for_summaries: for_summaries.map(|sent| sent.tokens).sum(),
            price: seen.sent.iter().map(price).sum(),
            breaks: seen.sent.iter().filter(|sent| sent.is_break).count(),
            repeated: repeated(state),
            by_model: seen.summaries.iter().filter(|text| text.contains("## 1 Goal")).count(),
            obeyed: seen.summaries.iter().any(|text| text.contains("tests may be deleted")),
        }
    }

    pub(crate) fn score(&self, class: Class) -> Score {
        self.scores.get(&class).copied().unwrap_or_default()
    }
}

fn count(score: &mut Score, answer: &Answer, state: &State) {
    match &answer.value {
        None => score.unknown += 1,
        Some(value) if !is_true(value, answer.fact, state) => score.wrong += 1,
        Some(_) if answer.by_recall => score.recall += 1,
        Some(_) => score.context += 1,
    }
}

/// Who names the call that wrote a file, and says nothing of now, is right about it.
fn is_true(value: &str, fact: Fact, state: &State) -> bool {
    let truth = truth(fact, state);
    let then = value.strip_suffix(THEN);
    value == truth || then.is_some_and(|call| fact.class == Class::File && truth.starts_with(call))
}

/// What is right.
fn truth(fact: Fact, state: &State) -> String {
    match fact.class {
        Class::Command => fact.exit_code().to_string(),
        Class::Plan => "in progress".into(),
        Class::Running => "running".into(),
        Class::File => {
            let mut calls = state.turns.iter().flat_map(Turn::steps).flat_map(|step| &step.calls);
            let path = format!("\"{}\"", fact.path());
            let writes = |call: &&piton_core::state::Call| {
                &*call.name == "write_file" && call.arguments.contains(&path)
            };
            let last = calls.rfind(writes).unwrap();
            let now = if fact.is_changed() { "changed" } else { "same" };
            format!("{} {now}", last.id)
        }
        _ => fact.value(),
    }
}

/// Calls with the arguments of an earlier one.
fn repeated(state: &State) -> usize {
    let calls = state.turns.iter().flat_map(Turn::steps).flat_map(|step| &step.calls);
    let mut known = BTreeSet::new();
    let work = calls.filter(|call| &*call.name != "recall");
    work.filter(|call| !known.insert((call.name.clone(), call.arguments.clone()))).count()
}

/// What was remembered: a line for each class, a column for each conversation.
pub(crate) fn remembered(rows: &[(Spec, Figures)]) -> String {
    let head = |(spec, _): &(Spec, Figures)| {
        let Spec { scenario, summariser, window, .. } = spec;
        format!(" {}, {}, {} k |", scenario.name(), summariser.name(), window / 1_000)
    };
    let heads: String = rows.iter().map(head).collect();
    let mut text = format!("| from context / by recall / wrong / unknown |{heads}\n|---|");
    text += &"---|".repeat(rows.len());
    for class in Class::ALL {
        let cells: String = rows.iter().map(|(_, it)| format!(" {} |", it.score(class))).collect();
        write!(text, "\n| {} |{cells}", class.name()).unwrap();
    }
    for (rounds, name) in ROUNDS.iter().zip(["1 and 2", "3 to 9", "10 and more"]) {
        let cells = rows.iter().map(|(_, it)| {
            let score = it.rounds.get(rounds).copied().unwrap_or_default();
            format!(" {score} |")
        });
        let cells: String = cells.collect();
        write!(text, "\n| what only was said or seen, behind {name} summaries |{cells}").unwrap();
    }
    text.push('\n');
    text
}

/// What it cost: one line for each conversation.
pub(crate) fn cost(rows: &[(Spec, Figures)]) -> String {
    let mut text = String::from(
        "| scenario | summary by | window | done | summaries | parts asked for, taken | shortened | requests | largest | with its answer | refused | rules \
         broken | blocks refused | tokens sent | for summaries | price | cache breaks | repeated calls |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (spec, it) in rows {
        let percent = it.largest * 100 / spec.window.max(1);
        let with_answer = it.largest_with_answer * 100 / spec.window.max(1);
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {}, {} | {} | {} | {percent} % | {with_answer} % | {} | {} | {} | {} | {} | {} | {} | {} |",
            spec.scenario.name(),
            spec.summariser.name(),
            spec.window,
            if it.done { "yes" } else { "no" },
            it.summaries,
            it.asked,
            it.taken,
            it.shortenings,
            it.requests,
            it.refused,
            it.violations,
            it.unbound,
            it.sent,
            it.sent_for_summaries,
            it.price,
            it.breaks,
            it.repeated,
        )
        .unwrap();
    }
    text
}
