//! Summaries in the making: what a model has written of which part, what it is asked for, and how often that
//! went wrong.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::State;
use super::overlay::Overlay;
use crate::event::{Cut, Event, Range, SummaryFault, Usage, Window, WindowSource};
use crate::id::{Timestamp, TurnId};

/// Tries of one summary: the second asks for less, and then the journal alone tells.
pub(crate) const TRIES_MAX: u32 = 2;

/// What is known of summaries by models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summing {
    /// What a model wrote, part behind part, from the beginning on.
    pub pieces: Vec<Piece>,
    /// The request that is on its way.
    pub asked: Option<AskedPiece>,
    /// Tries in a row that came to nothing, since the last piece or summary.
    pub tries: u32,
    /// Whether the provider said of the last one that it was too large.
    pub overflowed: bool,
    /// Why the last one came to nothing, until a piece or a summary comes.
    pub fault: Option<SummaryFault>,
    /// Summaries in a row for which the model was of no use.
    pub failures: u32,
    /// Estimated size of a request when that happened last, in tokens.
    pub failed_at: Option<u64>,
    /// What a person wants.
    pub wanted: Option<Wanted>,
    /// Windows that providers told when they refused a request, in tokens, by the model's name.
    pub windows: BTreeMap<String, u64>,
}

/// A part, and what a model wrote of it. It was made from the entries, never from another summary (J94).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The part.
    pub range: Range,
    /// The text.
    pub text: Arc<str>,
}

/// A part that a model is summing up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedPiece {
    /// The part.
    pub range: Range,
    /// Estimated size of the request for which room is made, in tokens.
    pub tokens_before: u64,
    /// When it was asked for.
    pub at: Timestamp,
}

/// A person wants a summary now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// What it should tell above all.
    pub focus: Option<Arc<str>>,
}

impl Summing {
    /// What a conversation takes over that shares what was said.
    pub(super) fn kept(self) -> Self {
        let Self { pieces, windows, .. } = self;
        Self { pieces, windows, ..Self::default() }
    }

    /// Whoever was asked will not be heard.
    pub(super) fn lose_the_request(&mut self) {
        self.asked = None;
    }

    /// A turn begins: what a person wanted before it is over.
    pub(super) fn begin_turn(&mut self) {
        self.wanted = None;
        self.asked = None;
    }

    /// What was written of this turn and of later ones tells of something that is given up.
    pub(super) fn forget_from(&mut self, turn: TurnId) {
        self.pieces.retain(|piece| piece.range.through.last_turn() < turn);
        self.asked = None;
    }

    /// A summary is laid, behind which requests have so many tokens.
    pub(super) fn laid(&mut self, tokens_after: Option<u64>) {
        self.tries = 0;
        self.overflowed = false;
        self.wanted = None;
        if let (Some(failed_at), Some(after)) = (&mut self.failed_at, tokens_after) {
            *failed_at = after;
        }
    }

    /// Takes in what happened on the way to a summary; says whether it fits, and what it cost.
    fn take(&mut self, event: &Event, at: Timestamp) -> (bool, Usage) {
        if let Event::SummaryAsked { range, tokens_before, .. } = event {
            let (range, tokens_before) = (*range, *tokens_before);
            return (self.ask(AskedPiece { range, tokens_before, at }), Usage::default());
        }
        if let Event::SummaryAnswered { text, usage } = event {
            return (self.answer(text), *usage);
        }
        if let Event::SummaryFailed { why, usage, .. } = event {
            return (self.fail(*why), *usage);
        }
        let Event::SummaryWanted { focus } = event else { return (false, Usage::default()) };
        (self.want(focus.as_ref()), Usage::default())
    }

    fn ask(&mut self, asked: AskedPiece) -> bool {
        let Range { after, through } = asked.range;
        let follows =
            after == Cut::default() || self.pieces.iter().any(|piece| piece.range.through == after);
        let fits = self.asked.is_none() && follows && after < through;
        if fits {
            self.asked = Some(asked);
        }
        fits
    }

    fn answer(&mut self, text: &Arc<str>) -> bool {
        let Some(AskedPiece { range, .. }) = self.asked.take() else { return false };
        let Range { after, through } = range;
        let behind = self.pieces.iter().position(|piece| piece.range.after == through);
        let behind = behind.map(|place| self.pieces.split_off(place)).unwrap_or_default();
        self.pieces.retain(|piece| piece.range.through <= after);
        self.pieces.push(Piece { range, text: text.clone() });
        self.pieces.extend(behind);
        (self.tries, self.overflowed, self.fault) = (0, false, None);
        (self.failures, self.failed_at) = (0, None);
        true
    }

    fn fail(&mut self, why: SummaryFault) -> bool {
        let Some(asked) = self.asked.take() else { return false };
        let stopped = why == SummaryFault::Stopped;
        self.overflowed = why == SummaryFault::Overflow;
        self.fault = Some(why);
        self.tries = if stopped { TRIES_MAX } else { self.tries.saturating_add(1) };
        if TRIES_MAX <= self.tries {
            self.failures = self.failures.saturating_add(u32::from(!stopped));
            self.failed_at = Some(asked.tokens_before);
        }
        if stopped && self.wanted.take().is_some() {
            // Whoever wanted a summary does not want it any more, in whatever form.
            self.tries = 0;
        }
        true
    }

    fn want(&mut self, focus: Option<&Arc<str>>) -> bool {
        if focus.is_some() {
            // What was written before had another aim.
            self.pieces.clear();
        }
        (self.tries, self.failures, self.failed_at) = (0, 0, None);
        self.wanted = Some(Wanted { focus: focus.cloned() });
        true
    }
}

impl State {
    /// What a model wrote of what a cut covers, part behind part from the beginning on.
    pub(crate) fn pieces_within(&self, cut: Cut) -> &[Piece] {
        let pieces = &self.summing.pieces;
        let within = pieces.iter().take_while(|piece| piece.range.through <= cut).count();
        pieces.get(..within).unwrap_or_default()
    }

    /// How much the model takes at once, where that is known: what is configured, or what its provider said
    /// when it refused a request, if that is less.
    pub fn window(&self) -> Option<Window> {
        let known = self.config.limits.window;
        let name = self.config.model.as_ref().map(ToString::to_string);
        let learned = name.and_then(|name| self.summing.windows.get(&name).copied());
        match (known, learned) {
            (known, None) => known,
            (Some(known), Some(tokens)) if known.tokens <= tokens => Some(known),
            (known, Some(tokens)) => {
                let answer_tokens_max = known.map_or(0, |known| known.answer_tokens_max);
                Some(Window { tokens, answer_tokens_max, from: WindowSource::Learned })
            }
        }
    }

    /// Takes in what happened to summaries.
    pub(super) fn take_of_summary(&mut self, event: &Event, at: Timestamp) -> bool {
        if let Some(overlay) = Overlay::of(event, at) {
            return self.cover(overlay);
        }
        if *event == Event::SummaryLifted {
            return self.overlay.take().is_some();
        }
        if let Event::WindowLearned { model, tokens } = event {
            self.summing.windows.insert(model.to_string(), *tokens);
            return true;
        }
        let (fits, usage) = self.summing.take(event, at);
        fits && self.spend(usage)
    }

    /// Tokens that a summary cost belong to the turn for which room is made.
    fn spend(&mut self, usage: Usage) -> bool {
        let model = self.config.model.clone();
        self.count_for(model, usage);
        if let Some(turn) = self.open_turn_mut() {
            turn.spent = turn.spent.plus(usage);
            turn.usage = turn.usage.plus(usage);
        }
        true
    }
}
