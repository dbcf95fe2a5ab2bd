//! Between a running turn and a person: questions one at a time, in order, and the interrupt.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, pending};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Instant;

use piton::{Controller, Reply, Subscription, Update, WorkerNews};
use piton_core::event::{Event, Inquiry, InquiryKind, PermissionRule, Permissions, RuleEffect};
use piton_core::id::InquiryId;
use piton_core::permit::{permit, with};
use piton_core::state::{State, Turn};

use super::face::Face;
use super::interrupt::{self, Asked, Chosen, Escalation, Next};
use crate::ask::{Heard, Offer, Prompt, not_understood};
use crate::output::Output;
use crate::render::question::shown;
use crate::render::rule::told_all;
use crate::report::Report;
use crate::signals::Push;
use crate::terminal::{Echo, Terminal, Typed};

/// Whether the question was open, once that is known.
type Answering = Option<Pin<Box<dyn Future<Output = bool>>>>;

/// Waits until the driver has taken in the answer that is on its way.
pub(super) async fn answered(answering: &mut Answering) -> bool {
    match answering {
        Some(answering) => answering.await,
        None => pending().await,
    }
}

/// Watches a turn for a person.
pub(super) struct Watch {
    face: Face,
    controller: Controller,
    /// Questions, the one that is being asked first.
    prompts: VecDeque<Prompt>,
    asking: bool,
    /// An answer that the driver has not taken in yet. It cannot be waited for in place: the driver
    /// runs in the same task.
    pub(super) answering: Answering,
    /// What happens while a question is on the screen and nothing is shown.
    pub(super) lookout: Option<Subscription>,
    /// The menu that is open.
    menu: Option<interrupt::Scope>,
    escalation: Escalation,
    /// What was chosen from a menu, to be done when the turn has stopped.
    chosen: Option<Chosen>,
    rules: Rules,
    /// Whether the answer that is being typed is for all calls that ask.
    for_all: bool,
    /// What stands as soon as the answers to questions are taken in.
    standing: Vec<Standing>,
}

/// How permissions are asked for.
#[derive(Debug)]
pub(super) struct Rules {
    /// The settings file, where standing rules are kept.
    pub(super) file: Option<PathBuf>,
    /// Whether one answer is for all calls of an answer that need one.
    pub(super) batch: bool,
}

/// What is answered to one question.
struct Answered {
    prompt: Prompt,
    reply: Reply,
    offer: Option<Offer>,
}

/// What an answer makes stand.
struct Standing {
    inquiry: InquiryId,
    told: String,
    /// Whether it stands whoever's answer counts.
    written: bool,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("prompts", &self.prompts).finish_non_exhaustive()
    }
}

impl Watch {
    pub(super) fn new(face: Face, controller: Controller, rules: Rules) -> Self {
        Self {
            face,
            controller,
            prompts: VecDeque::new(),
            asking: false,
            answering: None,
            lookout: None,
            menu: None,
            escalation: Escalation::default(),
            chosen: None,
            rules,
            for_all: false,
            standing: Vec::new(),
        }
    }

    /// What has been shown.
    pub(super) fn state(&self) -> &State {
        &self.face.state
    }

    /// Questions of a turn that goes on, unless a rule answers them by now.
    pub(super) fn find_open_questions(&mut self, state: &State) {
        let open = state.open_turn().into_iter().flat_map(Turn::pending_inquiries);
        let asked = open.filter(|inquiry| needs_person(state, &state.config.permissions, inquiry));
        self.prompts.extend(asked.cloned().map(Prompt::new));
    }

    /// Shows an update; a question that it raises is asked when its turn comes.
    pub(super) fn show(&mut self, update: &Update, output: &mut Output) {
        self.prompts.retain(|prompt| !answers(update, prompt));
        if let Update::Entry(entry) = update
            && let Event::InquiryAnswered { inquiry, letter, .. } = &entry.event
        {
            for standing in self.standing.extract_if(.., |it| it.inquiry == *inquiry) {
                if letter.is_none() || standing.written {
                    output.talk(&format!("From now on: {}", standing.told));
                }
            }
        }
        if let Some(prompt) = self.face.take(update, output)
            && !self.escalation.is_stopping()
        {
            self.prompts.push_back(prompt);
        }
        if let Update::Entry(entry) = update
            && let Event::ConfigChanged { .. } = &entry.event
        {
            // A rule that somebody else made may answer what is still to be asked.
            let (state, permissions) = (&self.face.state, &self.face.state.config.permissions);
            self.prompts.retain(|prompt| {
                prompt.worker.is_some() || needs_person(state, permissions, &prompt.inquiry)
            });
        }
    }

    /// Looks at what happens while a question is on the screen. One that is answered from elsewhere is
    /// taken down, with what was typed for it: that must not answer the next one.
    pub(super) fn look(&mut self, update: &Update, terminal: &mut Option<Terminal>) {
        if !self.asking || !self.prompts.front().is_some_and(|prompt| answers(update, prompt)) {
            return;
        }
        self.prompts.pop_front();
        (self.asking, self.for_all, self.lookout) = (false, false, None);
        if let (None, Some(terminal)) = (&self.menu, terminal) {
            terminal.echo(Echo::On);
            terminal.forget_typed();
            terminal.show("\n");
        }
    }

    /// Turns the spinner while something is waited for that is no person.
    pub(super) fn spin(&self, output: &mut Output) {
        if !self.is_asking()
            && let Some(label) = self.face.label()
        {
            output.spin(&label);
        }
    }

    /// A person gets a menu first. Else the first push stops the turn and keeps everything;
    /// somebody's next one breaks us off.
    pub(super) fn interrupt(
        &mut self,
        push: Push,
        terminal: &mut Option<Terminal>,
        output: &mut Output,
    ) -> ControlFlow<()> {
        let asked = match terminal {
            Some(_) if self.is_asking() => Asked::Something,
            Some(terminal) if terminal.is_ours() => Asked::Nothing,
            Some(_) | None => Asked::Nobody,
        };
        let next = self.escalation.push(push, asked, Instant::now());
        match (next, terminal) {
            (Next::Menu, Some(terminal)) => {
                output.rest();
                let scope = interrupt::Scope::of(self.face.runs_tools());
                terminal.want_keys();
                terminal.show(scope.menu());
                self.menu = Some(scope);
            }
            (Next::Menu | Next::Stop, terminal) => self.stop(terminal),
            (Next::Leave, terminal) => {
                self.close_menu(terminal);
                return ControlFlow::Break(());
            }
            (Next::Nothing, _) => {}
        }
        ControlFlow::Continue(())
    }

    fn stop(&mut self, terminal: &mut Option<Terminal>) {
        self.close_menu(terminal);
        if let (true, Some(terminal)) = (self.asking, terminal) {
            // The question stays unanswered on its line.
            terminal.echo(Echo::On);
            terminal.show("\n");
        }
        self.prompts.clear();
        self.asking = false;
        self.escalation.stop();
        self.controller.interrupt();
    }

    /// Lines count again, below the menu.
    fn close_menu(&mut self, terminal: &mut Option<Terminal>) {
        if let (Some(_), Some(terminal)) = (self.menu.take(), terminal) {
            terminal.want_lines();
            terminal.show("\n");
        }
    }

    /// Takes in what was typed. A terminal that is gone cannot be asked: the turn is interrupted, and
    /// a question stays open.
    pub(super) fn take_in(
        &mut self,
        typed: Typed,
        terminal: &mut Option<Terminal>,
        output: &mut Output,
    ) -> ControlFlow<()> {
        match typed {
            Typed::Key(key) => self.press(&key, terminal),
            // A terminal without single keys.
            Typed::Line(line) if self.menu.is_some() => {
                self.press(line.trim().as_bytes(), terminal);
            }
            Typed::Line(line) => {
                self.asking = false;
                if let (Some(terminal), true) =
                    (&mut *terminal, self.prompts.front().is_some_and(Prompt::is_secret))
                {
                    // The return was not shown either.
                    terminal.echo(Echo::On);
                    terminal.show("\n");
                }
                if let (Err(takes), Some(terminal)) = (self.understand(&line, output), terminal) {
                    terminal.show(&not_understood(&takes));
                }
            }
            Typed::Nothing => return self.interrupt(Push::HangUp, terminal, output),
        }
        ControlFlow::Continue(())
    }

    fn press(&mut self, key: &[u8], terminal: &mut Option<Terminal>) {
        let Some(chosen) = self.menu.and_then(|scope| scope.choose(key)) else { return };
        if let Some(terminal) = terminal {
            terminal.show(chosen.word());
        }
        match chosen {
            Chosen::Continue => {
                self.close_menu(terminal);
                self.escalation.reset();
            }
            Chosen::Reply | Chosen::Stop | Chosen::Abort | Chosen::Exit | Chosen::Restart => {
                self.chosen = Some(chosen);
                self.stop(terminal);
            }
        }
    }

    /// The turn is not running any more: a menu about it has no meaning. Says what was chosen.
    pub(super) fn stopped(&mut self, terminal: &mut Option<Terminal>) -> Option<Chosen> {
        self.close_menu(terminal);
        self.chosen.take()
    }

    /// Nothing more will be shown.
    pub(super) fn end(&mut self, output: &mut Output) {
        self.face.give_up_answer(output);
    }

    /// Whether a person is being asked, so that nothing may be shown in between.
    pub(super) fn is_asking(&self) -> bool {
        self.asking || self.menu.is_some()
    }

    /// Whether there is a question to ask and nothing in its way.
    pub(super) fn may_ask(&self) -> bool {
        !self.is_asking() && self.answering.is_none() && !self.prompts.is_empty()
    }

    /// Asks the first question.
    pub(super) fn ask(
        &mut self,
        terminal: &mut Option<Terminal>,
        output: &mut Output,
        updates: Subscription,
    ) {
        let together = self.together();
        let (Some(prompt), Some(terminal)) = (self.prompts.front_mut(), terminal) else { return };
        output.rest();
        if prompt.is_news() {
            terminal.forget_typed();
        }
        // What it would mean for a worker is known in the worker's conversation.
        if prompt.worker.is_none() {
            let offers = Offer::all(&self.face.state, &prompt.inquiry, self.rules.file.as_deref());
            let allows = |offer: &&Offer| offer.standing.effect == RuleEffect::Allow;
            if let Some(offer) = offers.iter().find(allows).filter(|_| !prompt.is_choosing()) {
                let told = told_all(&offer.rules);
                terminal.show(&format!("always would mean: {told}\n"));
            }
            prompt.offer(offers);
        }
        if 1 < together && !prompt.is_choosing() {
            let others = self.prompts.iter().skip(1).filter(|prompt| is_own_permission(prompt));
            let others: Vec<_> = others
                .map(|it| {
                    format!("also: {}\n", shown(&it.inquiry.question, it.inquiry.about.as_deref()))
                })
                .collect();
            terminal.show(&if self.rules.batch {
                format!("{}one answer is for all {together} calls\n", others.concat())
            } else {
                format!("{together} calls ask; for all of them: yes all, no all\n")
            });
        }
        let Some(prompt) = self.prompts.front() else { return };
        if prompt.is_secret() {
            terminal.echo(Echo::Off);
        }
        terminal.show(&prompt.text());
        self.asking = true;
        self.lookout = Some(updates);
    }

    /// How many calls ask for permission, if the first question is one of them.
    fn together(&self) -> usize {
        let first = self.prompts.front().is_some_and(is_own_permission);
        if first {
            self.prompts.iter().filter(|prompt| is_own_permission(prompt)).count()
        } else {
            0
        }
    }

    /// Takes in a line; an error says what would be understood.
    fn understand(&mut self, line: &str, output: &mut Output) -> Result<(), String> {
        let several = 1 < self.together();
        let for_all = line.trim_end().strip_suffix(" all").filter(|_| several);
        self.for_all |= several && (self.rules.batch || for_all.is_some());
        let Some(prompt) = self.prompts.front_mut() else { return Ok(()) };
        let heard = prompt.hear(for_all.unwrap_or(line));
        let Heard::Reply(reply) = heard else {
            self.for_all &= prompt.is_choosing();
            return match heard {
                Heard::Unclear(takes) => Err(takes),
                Heard::Reply(_) | Heard::Ask => Ok(()),
            };
        };
        let answered = self.answered(&reply);
        // Written before it is answered: what is lost between the two is asked again, and then a
        // rule answers.
        let written = Offer::write_all(answered.iter().filter_map(|it| it.offer.as_ref()));
        if let Err(fault) = written {
            Report::from(&fault.into()).tell(output);
            return Ok(());
        }
        let is_answered = |prompt: &Prompt| answered.iter().any(|it| it.prompt.is_same_as(prompt));
        self.prompts.retain(|prompt| !is_answered(prompt));
        for Answered { prompt, offer, .. } in &answered {
            let Some(offer) = offer else { continue };
            self.forget_permissions_like(&offer.rules);
            let (inquiry, told) = (prompt.inquiry.id.clone(), offer.told());
            self.standing.push(Standing { inquiry, told, written: offer.file.is_some() });
        }
        self.answering = Some(Box::pin(send(self.controller.clone(), answered)));
        Ok(())
    }

    /// What a reply to the first question means for it, and for the others if it is for all.
    fn answered(&mut self, reply: &Reply) -> Vec<Answered> {
        let for_all = std::mem::take(&mut self.for_all);
        let mut all = Vec::new();
        for (place, prompt) in self.prompts.iter().enumerate() {
            if place == 0 {
                let offer = prompt.offered(reply).filter(|_| prompt.worker.is_none()).cloned();
                all.push(Answered { prompt: prompt.clone(), reply: reply.clone(), offer });
            } else if for_all && is_own_permission(prompt) {
                let file = self.rules.file.as_deref();
                let offers = Offer::all(&self.face.state, &prompt.inquiry, file);
                let offer = offers.into_iter().find(|it| *reply == Reply::Always(it.standing));
                let mut reply = reply.clone();
                if let (Reply::Always(standing), None) = (&reply, &offer) {
                    // No rule can say it of this call; for this once it counts all the same.
                    let allowed = standing.effect == RuleEffect::Allow;
                    reply = if allowed { Reply::Allow } else { Reply::Deny };
                }
                all.push(Answered { prompt: prompt.clone(), reply, offer });
            }
        }
        all
    }

    pub(super) fn settle(&mut self, known: bool, output: &mut Output) {
        self.answering = None;
        if !known {
            output.talk("That question was settled in the meantime.");
        }
    }

    /// Rules now answer what else was to be asked about the same.
    fn forget_permissions_like(&mut self, rules: &[PermissionRule]) {
        let state = &self.face.state;
        let permissions = with(&state.config.permissions, rules);
        self.prompts.retain(|prompt| {
            prompt.worker.is_some() || needs_person(state, &permissions, &prompt.inquiry)
        });
    }
}

/// Gives the answers one after the other; says whether any of the questions was open. A rule of one may
/// answer the next.
async fn send(controller: Controller, answered: Vec<Answered>) -> bool {
    let mut known = false;
    for Answered { prompt: Prompt { inquiry, worker, .. }, reply, .. } in answered {
        known |= match worker {
            None => controller.answer(inquiry.id, reply).await,
            Some(worker) => controller.answer_worker(&worker.conversation, inquiry.id, reply).await,
        };
    }
    known
}

fn is_own_permission(prompt: &Prompt) -> bool {
    prompt.worker.is_none() && prompt.inquiry.kind == InquiryKind::Permission
}

/// Whether an update says that the question is answered.
fn answers(update: &Update, prompt: &Prompt) -> bool {
    let (event, worker) = match update {
        Update::Entry(entry) => (&entry.event, None),
        Update::Worker { worker, news: WorkerNews::Entry { entry, .. } } => {
            (&entry.event, Some(worker))
        }
        Update::Worker { .. } | Update::Live { .. } | Update::Progress { .. } => return false,
    };
    let Event::InquiryAnswered { inquiry, .. } = event else { return false };
    *inquiry == prompt.inquiry.id && worker == prompt.worker.as_ref()
}

/// Whether no rule answers the question.
fn needs_person(state: &State, permissions: &Permissions, inquiry: &Inquiry) -> bool {
    match inquiry.kind {
        InquiryKind::Question | InquiryKind::InDoubt => true,
        InquiryKind::Permission => {
            let turn = state.open_turn();
            let call = turn.and_then(|turn| turn.call(inquiry.call));
            let tool = call.and_then(|call| state.config.tool(&call.name));
            let asks = |tool, arguments: &str| {
                permit(permissions, state.workspace(), tool, arguments) == RuleEffect::Ask
            };
            call.zip(tool).is_none_or(|(call, tool)| asks(tool, &call.arguments))
        }
    }
}
