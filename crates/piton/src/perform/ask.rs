//! Questions of tools: raised before anybody is asked, durable before the tool hears an answer.
//!
//! So a call whose question is open has heard nothing, even if its driver dies.

use std::collections::BTreeMap;

use piton_core::action::Wish;
use piton_core::event::{BY_POLICY, Event, Inquiry, InquiryAnswer, InquiryKind};
use piton_core::id::{CallId, InquiryId};
use piton_core::permit::grants::wants_more;
use piton_core::permit::is_for_a_person;
use piton_core::question::{Question, Secret};
use piton_core::state::{Call, Raised, Turn};
use piton_tools::{Ask, Refusal, Response, Responses, Track, Word, refuse_unfit};
use serde::de::IgnoredAny;

use crate::driver::Driver;
use crate::flight::ask::Asking;
use crate::secrets::remember;
use crate::unattended::Attendance;
use crate::veil::Veil;

/// Questions of one call; a tool that asks more gets no further.
const QUESTIONS_MAX: usize = 100;
/// In whose name questions are closed that nobody needs any more.
const ENGINE: &str = "piton";

impl Driver<'_> {
    /// Asks a person. Not about a call whose arguments do not fit: no answer could make it run.
    pub(crate) fn ask_person(&mut self, inquiries: Vec<Inquiry>) {
        for inquiry in inquiries {
            let is_permission = inquiry.kind == InquiryKind::Permission;
            match is_permission.then(|| self.why_unfit(inquiry.call)).flatten() {
                Some(Refusal(text)) => self.fail(inquiry.call, text),
                None => self.log.push(Event::InquiryRaised { inquiry }),
            }
        }
    }

    /// Why the arguments of a call do not fit what its tool takes.
    fn why_unfit(&self, call: CallId) -> Option<Refusal> {
        let call = self.log.state().open_turn()?.call(call)?;
        let tool = self.log.state().config.tool(&call.name)?;
        let arguments = serde_json::from_str(&call.arguments).ok()?;
        // What cannot be read says nothing of what fits.
        serde_json::from_str::<IgnoredAny>(&tool.parameters).ok()?;
        refuse_unfit(&tool.parameters, &arguments).err()
    }

    /// A running tool says something.
    pub(crate) fn hear(&mut self, word: Word) {
        match word {
            Word::Ask(ask) => self.take_ask(ask),
            Word::Track(Track { call, handle, done }) => {
                // A call that has ended needs nothing to settle it.
                if self.running().contains(&call) {
                    self.log.push(Event::CallTracked { call, handle });
                    self.acknowledgements.push(done);
                }
            }
        }
    }

    /// A running tool asks.
    fn take_ask(&mut self, ask: Ask) {
        let Ask { call, mut questions, reply } = ask;
        if !self.running().contains(&call) {
            // It has ended, and does not wait any more.
            return;
        }
        let veil = self.veil();
        for question in &mut questions {
            veil.question(question);
        }
        self.raise(call, &questions);
        let deferred = self.attendance() == Attendance::Unattended;
        if deferred {
            self.answer_unattended();
        }
        let names = questions.into_iter().map(|question| question.wants.name).collect();
        self.asks.waiting.push(Asking { call, names, reply, deferred });
    }

    /// A tool does not wait any more for what it asked: nobody needs to answer that.
    pub(crate) fn withdraw_taken_back(&mut self) {
        let waiting = std::mem::take(&mut self.asks.waiting);
        let (gone, waiting) = waiting.into_iter().partition(|asking| asking.reply.is_closed());
        self.asks.waiting = waiting;
        let gone: Vec<Asking> = gone;
        for Asking { call, names, .. } in gone {
            let turn = self.log.state().open_turn();
            let raised = |name: &String| turn?.question(call, name);
            let open = names.iter().filter_map(raised).filter(|raised| raised.answer.is_none());
            let open: Vec<InquiryId> = open.map(|raised| raised.inquiry.id.clone()).collect();
            self.withdraw(open, "the tool does not want to know any more");
        }
    }

    /// Everything is durable: tools whose questions are answered may hear so.
    pub(crate) fn tell_askers(&mut self) {
        for asking in std::mem::take(&mut self.asks.waiting) {
            let turn = self.log.state().open_turn();
            let responses: Vec<_> =
                asking.names.iter().map(|name| self.response(turn, asking.call, name)).collect();
            if asking.deferred || responses.iter().all(Option::is_some) {
                let deferred = |it: Option<Response>| it.unwrap_or(Response::Deferred);
                // A tool that does not wait any more need not know.
                drop(asking.reply.send(responses.into_iter().map(deferred).collect()));
            } else if !asking.reply.is_closed() {
                self.asks.waiting.push(asking);
            }
        }
    }

    /// A call cannot go on without answers: it waits, and runs again when it has them.
    pub(crate) fn suspend(&mut self, call: CallId, mut questions: Vec<Question>) {
        let veil = self.veil();
        for question in &mut questions {
            veil.question(question);
        }
        self.raise(call, &questions);
        let turn = self.log.state().open_turn();
        let open = |raised: &Raised| raised.answer.is_none();
        let asks = turn.is_some_and(|turn| turn.questions(call).any(open));
        // An interrupt may have come between a question and its answer.
        if asks || self.controls.wish() == Wish::Interrupt {
            self.settled.extend(self.to_forget(call));
            self.log.push(Event::ToolSuspended { call });
        } else {
            let asked = self.log.state().open_turn().map_or(0, |turn| turn.questions(call).count());
            let text = if asked < QUESTIONS_MAX {
                "The tool asks for answers that it has already, and does not go on.".to_owned()
            } else {
                format!(
                    "The tool has asked {QUESTIONS_MAX} questions in this call, and may not ask more."
                )
            };
            self.fail(call, text);
        }
    }

    /// All that a call was told so far.
    pub(crate) fn responses(&self, call: CallId) -> Responses {
        let Some(turn) = self.log.state().open_turn() else { return Responses::new() };
        let names = turn.questions(call).filter_map(|raised| raised.inquiry.wants.as_ref());
        let named = names.filter_map(|wants| {
            let response = self.response(Some(turn), call, &wants.name)?;
            Some((wants.name.clone(), response))
        });
        named.collect()
    }

    /// Answers what the policy answers while nobody is there; says whether there was anything.
    pub(crate) fn answer_unattended(&mut self) -> bool {
        let open = self.log.state().open_turn().into_iter().flat_map(Turn::pending_inquiries);
        let answered = |asked: &Inquiry| {
            let mut answer = self.unattended.answer(asked)?;
            if answer == InquiryAnswer::Allow && self.wants_more(asked.call) {
                // The wall stays as it is until a person opens it.
                answer = InquiryAnswer::DENY;
            }
            if answer == InquiryAnswer::Allow && self.is_for_a_person(asked.call) {
                return None;
            }
            let (inquiry, by) = (asked.id.clone(), BY_POLICY.into());
            Some(Event::InquiryAnswered { inquiry, answer, by, letter: None, by_rule: false })
        };
        let events: Vec<Event> = open.filter_map(answered).collect();
        let any = !events.is_empty();
        for event in events {
            self.log.push(event);
        }
        any
    }

    /// Whether a call asks for openings in the wall that nobody has given.
    fn wants_more(&self, call: CallId) -> bool {
        let state = self.log.state();
        let call = state.open_turn().and_then(|turn| turn.call(call));
        let tool = |call: &Call| state.config.tool(&call.name);
        call.and_then(|call| Some((call, tool(call)?))).is_some_and(|(call, tool)| {
            wants_more(&state.config.permissions, state.workspace(), tool, &call.arguments)
        })
    }

    /// Whether a deny could hide in a call. A policy that goes on without a person is no reason to
    /// open what that person has forbidden.
    fn is_for_a_person(&self, call: CallId) -> bool {
        let state = self.log.state();
        let call = state.open_turn().and_then(|turn| turn.call(call));
        let tool = |call: &Call| state.config.tool(&call.name);
        call.and_then(|call| Some((call, tool(call)?))).is_none_or(|(call, tool)| {
            is_for_a_person(&state.config.permissions, state.workspace(), tool, &call.arguments)
        })
    }

    /// A call that ends needs no answers any more.
    pub(crate) fn withdraw_questions(&mut self, call: CallId) {
        let turn = self.log.state().open_turn();
        let open = turn.into_iter().flat_map(|turn| turn.questions(call));
        let open = open.filter(|raised| raised.answer.is_none());
        let open: Vec<InquiryId> = open.map(|raised| raised.inquiry.id.clone()).collect();
        self.withdraw(open, "the call has ended");
    }

    fn withdraw(&mut self, open: Vec<InquiryId>, reason: &str) {
        for inquiry in open {
            let answer = InquiryAnswer::Cancelled { reason: reason.into() };
            let by = ENGINE.into();
            self.log.push(Event::InquiryAnswered {
                inquiry,
                answer,
                by,
                letter: None,
                by_rule: false,
            });
        }
    }

    /// Covers what tools were told in secret, before anything that they say is written down.
    pub(crate) fn veil(&self) -> Veil {
        self.secrets.values().map(Secret::reveal).for_each(remember);
        Veil::over(self.secrets.values())
    }

    /// What a call was told in secret by processes that are gone, as it was asked.
    pub(crate) fn forgotten(&self, call: CallId) -> Vec<Question> {
        let turn = self.log.state().open_turn();
        let questions = turn.into_iter().flat_map(|turn| turn.questions(call));
        let forgotten = questions.filter(|raised| self.is_forgotten(raised)).filter_map(|raised| {
            let Inquiry { question, wants, .. } = &raised.inquiry;
            Some(Question { text: question.clone(), wants: wants.clone()? })
        });
        let by_name = forgotten.map(|question| (question.wants.name.clone(), question));
        by_name.collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// Whether everything that the newest run of a call was told in secret is known here.
    pub(crate) fn knows_secrets_of(&self, call: CallId) -> bool {
        let turn = self.log.state().turns.iter().find(|turn| turn.id == call.turn);
        let told = turn.into_iter().flat_map(|turn| turn.questions(call));
        let told = told.filter(|raised| raised.answer == Some(InquiryAnswer::Redacted));
        let newest: BTreeMap<_, _> = told
            .filter_map(|raised| Some((&raised.inquiry.wants.as_ref()?.name, raised)))
            .collect();
        // With no secret in the state, nothing is known about the secrets of the call.
        !newest.is_empty() && !newest.into_values().any(|raised| self.is_forgotten(raised))
    }

    fn is_forgotten(&self, raised: &Raised) -> bool {
        raised.answer == Some(InquiryAnswer::Redacted)
            && !self.secrets.contains_key(&raised.inquiry.id)
    }

    /// Records the questions that were not asked yet. A secret that this process does not know
    /// is asked again, under another name.
    fn raise(&mut self, call: CallId, questions: &[Question]) {
        for question in questions {
            let Some(turn) = self.log.state().open_turn() else { return };
            let name = &question.wants.name;
            let is_new = turn.question(call, name).is_none_or(|raised| self.is_forgotten(raised));
            let named = |raised: &&Raised| {
                raised.inquiry.wants.as_ref().is_some_and(|wants| wants.name == *name)
            };
            let attempt = turn.questions(call).filter(named).count() + 1;
            if is_new && turn.questions(call).count() < QUESTIONS_MAX {
                let inquiry = question.inquiry(call, attempt);
                self.log.push(Event::InquiryRaised { inquiry });
            }
        }
    }

    /// What came of a question; none while it is open.
    fn response(&self, turn: Option<&Turn>, call: CallId, name: &str) -> Option<Response> {
        let Some(raised) = turn.and_then(|turn| turn.question(call, name)) else {
            let why = format!("a call may ask {QUESTIONS_MAX} questions at most");
            return Some(Response::Withdrawn(why));
        };
        debug_assert_eq!(raised.inquiry.kind, InquiryKind::Question);
        match raised.answer.as_ref()? {
            InquiryAnswer::Text { text } => Some(Response::Given(text.to_string())),
            InquiryAnswer::Redacted => {
                self.secrets.get(&raised.inquiry.id).cloned().map(Response::Secret)
            }
            InquiryAnswer::Deny { .. } => Some(Response::Declined),
            InquiryAnswer::Cancelled { reason } => Some(Response::Withdrawn(reason.clone())),
            // The fold takes none of these for an answer to a question.
            InquiryAnswer::Allow
            | InquiryAnswer::Changed { .. }
            | InquiryAnswer::Applied
            | InquiryAnswer::RunAgain
            | InquiryAnswer::LookAgain
            | InquiryAnswer::TreatAsDone => None,
        }
    }
}
