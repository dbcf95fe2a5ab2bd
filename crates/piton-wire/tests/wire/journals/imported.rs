//! Histories of other programs, taken over as they are: calls without results, results without
//! calls, results twice, the same role in a row, answers to nobody.

use std::sync::Arc;

use piton_core::event::{
    AnswerPart, Event, FinishReason, Native, Outcome, ToolOutput, TurnEnd, Usage,
};
use piton_core::id::{Attempt, CallId, TurnId};

use super::luck::Luck;
use super::speech::{self, End};
use super::story::Story;
use super::{oddities, voices};

/// Most messages of a history.
const MESSAGES_MAX: usize = 12;

/// Writes a history into a journal, message by message, whether it fits or not.
pub(crate) fn history(story: &mut Story, luck: &mut Luck) {
    for _ in 0..luck.below(MESSAGES_MAX) {
        match luck.below(8) {
            0 | 1 => user(story, luck),
            2 | 3 => assistant(story, luck),
            4 | 5 => result(story, luck),
            6 => story.switch(luck),
            _ => end(story, luck),
        }
    }
    if luck.once_in(2) {
        end(story, luck);
    }
}

fn turn(story: &Story) -> TurnId {
    story.state.turns.last().map_or(TurnId(1), |turn| turn.id)
}

fn end(story: &mut Story, luck: &mut Luck) {
    let end = luck.pick(&[TurnEnd::Completed, TurnEnd::Stopped, TurnEnd::Discarded]);
    let turn = turn(story);
    story.push(Event::TurnEnded { turn, end });
}

/// A message, which begins a turn, or is one more in the open turn, or belongs to none.
fn user(story: &mut Story, luck: &mut Luck) {
    if !luck.once_in(3) {
        let turn = story.state.next_turn();
        story.push(Event::TurnStarted { turn, agent: None });
    }
    let message = story.next_message();
    let parts = oddities::user_parts(luck);
    story.push(Event::UserMessage { message, parts, attempt: Attempt::FIRST });
}

/// An answer, with or without a request before it.
fn assistant(story: &mut Story, luck: &mut Luck) {
    let turn = turn(story);
    let open = story.state.open_turn();
    let step = open.map_or(1, piton_core::state::Turn::next_step);
    if !luck.once_in(6) {
        story.ask(step, Attempt::FIRST);
    }
    let (pieces, tools) = (speech::pieces(luck), &story.state.config.tools);
    let heard = speech::say(story.voice(), tools, &pieces, End::Whole, (turn, step));
    match heard {
        Some(answer) if !luck.once_in(3) => story.answered(answer, luck),
        heard => invented(story, (turn, step), heard.and_then(|answer| answer.native), luck),
    }
}

/// An answer that no decoder made: call names repeat or belong elsewhere, texts are blank.
fn invented(
    story: &mut Story,
    (turn, step): (TurnId, u32),
    native: Option<Native>,
    luck: &mut Luck,
) {
    let mut parts = Vec::new();
    for index in 0..u32::try_from(luck.below(4)).unwrap() {
        let index = if luck.once_in(4) { 0 } else { index };
        let step = if luck.once_in(8) { step + 1 } else { step };
        parts.push(match luck.below(4) {
            0 => AnswerPart::Text { text: oddities::text(luck).into() },
            1 => AnswerPart::Reasoning { text: oddities::text(luck).into() },
            _ => AnswerPart::Call {
                call: CallId { turn, step, index },
                provider_id: Some(oddities::id(luck)),
                name: oddities::name(luck),
                arguments: Arc::from(oddities::arguments(luck)),
            },
        });
    }
    let finish = luck.pick(&[
        FinishReason::Stop,
        FinishReason::ToolCalls,
        FinishReason::ToolCalls,
        FinishReason::Length,
        FinishReason::Refused,
    ]);
    let dropped = if luck.once_in(6) { vec![oddities::name(luck)] } else { Vec::new() };
    let native = native.or_else(|| {
        let voice = luck.pick(&voices::VOICES).ask();
        let (provider, host, model) = (voice.provider, voice.host, voice.model);
        Some(oddities::damaged(Native { provider, host, model, raw: "[]".into() }, luck))
    });
    story.push(Event::ModelAnswered { parts, finish, usage: Usage::default(), dropped, native });
}

/// The result of some call: of this turn, of another one, of none.
fn result(story: &mut Story, luck: &mut Luck) {
    let number = |luck: &mut Luck| u32::try_from(luck.below(3)).unwrap();
    let turn = if luck.once_in(8) { TurnId(number(luck)) } else { turn(story) };
    let call = CallId { turn, step: 1 + number(luck), index: number(luck) };
    let outcome = luck.pick(&[Outcome::Ok, Outcome::Failed, Outcome::Denied, Outcome::Unknown]);
    let output = ToolOutput::text(oddities::text(luck));
    story.push(Event::ToolFinished { call, outcome, output });
}
