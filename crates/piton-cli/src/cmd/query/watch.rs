//! Between a running turn and a person: questions one at a time, in order, and the interrupt.

mod answering;
mod editing;
mod paging;
mod settled;
mod together;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use piton::clock::{Clock as _, SystemClock};
use piton::{Command, News};
use piton_core::id::{ConversationId, InquiryId, MessageId, Timestamp};
use piton_core::view::{InquiryKind, QuestionView, TurnView, View, ViewChange};

use self::settled::{Answering, closes};
pub(in crate::cmd) use self::settled::{Settled, answered};
use self::together::{Together, Understood};
use super::face::Face;
use super::feed::Told;
use super::interrupt::{self, Asked, Chosen, Escalation, Next};
use super::link::Link;
use crate::ask::{LineEdit, Offer, Pager, Prompt};
use crate::output::{Form, Output};
use crate::render::answer::Pace;
use crate::render::moves::{self, Move};
use crate::render::rule::told_all;
use crate::render::running::Waiting;
use crate::report::Report;
use crate::signals::Push;
use crate::terminal::{Echo, Terminal, Typed};

/// Watches a turn for a person.
pub(in crate::cmd) struct Watch {
    face: Face,
    /// The conversations that work for this one, as they were shown.
    workers: BTreeMap<ConversationId, View>,
    /// Those of them that have just begun.
    begun: Vec<ConversationId>,
    /// Where commands go.
    link: Link,
    conversation: ConversationId,
    /// Questions, the one that is being asked first.
    prompts: VecDeque<Prompt>,
    asking: bool,
    /// The question that is being read, if it is longer than the screen.
    pager: Option<Pager>,
    /// Whether the question is to be read once more.
    reads_again: bool,
    /// A text that is being changed, and what stands in front of it.
    editor: Option<(&'static str, LineEdit)>,
    /// Whether what a call writes is to be changed in an editor.
    writes: bool,
    /// An answer that the driver has not taken in yet.
    pub(in crate::cmd) answering: Answering,
    /// What came while a question was on the screen and nothing was shown.
    backlog: VecDeque<Told>,
    /// The menu that is open.
    menu: Option<interrupt::Scope>,
    escalation: Escalation,
    /// The summary that is not waited for: since when it was made.
    left: Option<Timestamp>,
    /// What was chosen from a menu, to be done when the turn has stopped.
    chosen: Option<Chosen>,
    rules: Rules,
    /// What is answered together.
    all: Together,
    /// What stands as soon as the answers to questions are taken in.
    standing: Vec<Standing>,
}

/// How permissions are asked for.
#[derive(Debug)]
pub(in crate::cmd) struct Rules {
    /// The settings file, where standing rules are kept.
    pub(in crate::cmd) file: Option<PathBuf>,
    /// Whether one answer is for all calls of an answer that need one.
    pub(in crate::cmd) batch: bool,
}

/// What an answer makes stand.
struct Standing {
    inquiry: InquiryId,
    told: String,
    /// Whether it stands whichever answer counts.
    written: bool,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("prompts", &self.prompts).finish_non_exhaustive()
    }
}

impl Watch {
    pub(super) fn new(face: Face, link: Link, conversation: ConversationId, rules: Rules) -> Self {
        Self {
            face,
            workers: BTreeMap::new(),
            begun: Vec::new(),
            link,
            conversation,
            prompts: VecDeque::new(),
            asking: false,
            pager: None,
            reads_again: false,
            editor: None,
            writes: false,
            answering: None,
            backlog: VecDeque::new(),
            menu: None,
            escalation: Escalation::default(),
            left: None,
            chosen: None,
            rules,
            all: Together::default(),
            standing: Vec::new(),
        }
    }

    /// What watches a turn that another process performs. What happened in it until now is shown.
    pub(in crate::cmd) fn of_guest(
        (view, form, pace): (View, Form, Pace),
        link: Link,
        conversation: ConversationId,
        rules: Rules,
        output: &mut Output,
    ) -> Self {
        let announced = view.turns.last().map(|turn| turn.head.id).unwrap_or_default();
        let mut face = Face::new(view, form, pace, announced);
        face.look_on();
        if form == Form::Text {
            face.recount(output);
        }
        let mut watch = Self::new(face, link, conversation, rules);
        watch.find_questions();
        watch
    }

    /// The first Ctrl-C stops the turn.
    pub(super) fn without_menu(&mut self) {
        self.escalation = Escalation::at_once();
    }

    /// What has been shown.
    pub(in crate::cmd) fn view(&self) -> &View {
        &self.face.view
    }

    /// Conversations that work for this one: those whose calls have not ended.
    pub(in crate::cmd) fn workers(&self) -> Vec<ConversationId> {
        let calls = self.view().turns.last().into_iter().flat_map(TurnView::calls);
        let open = calls.filter(|call| call.ended.is_none());
        open.filter_map(|call| call.worker.clone()).collect()
    }

    /// The person has typed this message.
    pub(super) fn know(&mut self, own: Option<MessageId>) {
        self.face.know(own);
    }

    /// Workers that were shown to begin since this was asked last.
    pub(in crate::cmd) fn workers_begun(&mut self) -> Vec<ConversationId> {
        std::mem::take(&mut self.begun)
    }

    /// Takes in news: shows them, or keeps them while somebody types. A question that is answered from
    /// elsewhere is taken down, with what was typed for it: that must not answer the next one.
    pub(in crate::cmd) fn take(
        &mut self,
        told: Told,
        terminal: &mut Option<Terminal>,
        output: &mut Output,
    ) {
        let is_settled = self.asking && self.prompts.front().is_some_and(|it| closes(&told, it));
        self.backlog.push_back(told);
        if is_settled {
            self.prompts.pop_front();
            (self.asking, self.all) = (false, Together::default());
            self.close_pager(terminal);
            self.close_editor(terminal);
            if let (None, Some(terminal)) = (&self.menu, terminal) {
                terminal.echo(Echo::On);
                terminal.forget_typed();
                terminal.show("\n");
            }
        }
        self.show_backlog(output);
    }

    /// What came while a question was on the screen.
    pub(in crate::cmd) fn show_backlog(&mut self, output: &mut Output) {
        while !self.is_asking()
            && let Some(told) = self.backlog.pop_front()
        {
            self.show(told, output);
        }
    }

    /// Shows news; a question that they raise is asked when its turn comes.
    fn show(&mut self, (worker, news): Told, output: &mut Output) {
        match (worker, news) {
            (None, News::Snapshot(view)) => self.face.view = *view,
            (None, News::Change(change)) => {
                for happened in self.face.change(&change, output) {
                    self.stand(&happened, output);
                    if let Move::Started(call) = happened {
                        self.begun.extend(call.worker);
                    }
                }
            }
            (None, News::Live(live)) => self.face.live(*live, SystemClock.now(), output),
            (Some(worker), News::Snapshot(view)) => {
                self.workers.insert(worker, *view);
            }
            (Some(worker), News::Change(change)) => self.show_worker(&worker, &change, output),
            (_, _) => {}
        }
        self.find_questions();
    }

    fn show_worker(&mut self, worker: &ConversationId, change: &ViewChange, output: &mut Output) {
        let Some(view) = self.workers.get_mut(worker) else { return };
        for happened in moves::apply(view, change).unwrap_or_default() {
            self.face.worker(worker, &happened, view, output);
        }
    }

    /// Says what stands from now on, once the answer that says so counts.
    fn stand(&mut self, happened: &Move, output: &mut Output) {
        let Move::Settled(_, asked) = happened else { return };
        let is_ours = self.face.is_ours(asked);
        for standing in self.standing.extract_if(.., |it| it.inquiry == asked.id) {
            if is_ours || standing.written {
                output.talk(&format!("From now on: {}", standing.told));
            }
        }
    }

    /// Takes up questions that were raised, and forgets those that are answered by now.
    fn find_questions(&mut self) {
        let own = self.face.view.open_questions().map(|asked| (None, &self.face.view, asked));
        let workers = self
            .workers
            .iter()
            .flat_map(|(id, view)| view.open_questions().map(move |asked| (Some(id), view, asked)));
        let is_left = |asked: &QuestionView| !self.face.has_answered(&asked.id);
        let open: Vec<_> = own.chain(workers).filter(|(.., asked)| is_left(asked)).collect();
        let is_open = |prompt: &Prompt| {
            open.iter().any(|(worker, _, asked)| is_about(prompt, *worker, &asked.id))
        };
        self.prompts.retain(is_open);
        if self.escalation.is_stopping() {
            return;
        }
        for (worker, view, asked) in open {
            if self.prompts.iter().any(|prompt| is_about(prompt, worker, &asked.id)) {
                continue;
            }
            let (workspace, asked) = (&view.head.workspace, asked.clone());
            self.prompts.push_back(match worker {
                None => {
                    let offers = Offer::all(&asked, workspace, self.rules.file.as_deref());
                    Prompt::new(asked, offers)
                }
                Some(worker) => {
                    let offers = Offer::of_worker(&asked, workspace);
                    Prompt::of_worker(worker.clone(), asked, offers)
                }
            });
        }
    }

    /// Shows what is waited for, unless it is a person: the last words of an answer that comes, or a call
    /// and what it prints.
    pub(in crate::cmd) fn tell_waiting(&self, output: &mut Output) {
        if self.is_asking() {
            return;
        }
        let now = SystemClock.now();
        if !output.tell_answer(self.face.quiet(now))
            && let Some(Waiting { label, below }) = self.face.waiting(now)
        {
            output.tell_waiting(&label, &below);
        }
    }

    /// What is being waited for.
    pub(super) fn waits_for(&self, now: Timestamp) -> Option<String> {
        self.face.waiting(now).map(|waiting| waiting.label)
    }

    /// A person gets a menu first. Else the first push stops the turn and keeps everything;
    /// somebody's next one breaks us off.
    pub(super) fn interrupt(
        &mut self,
        push: Push,
        terminal: &mut Option<Terminal>,
        output: &mut Output,
    ) -> ControlFlow<()> {
        if push == Push::Interrupt && self.leave_text(terminal) {
            return ControlFlow::Continue(());
        }
        if push == Push::Interrupt && self.stop_compacting(output) {
            return ControlFlow::Continue(());
        }
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
                self.close_pager(terminal);
                self.close_editor(terminal);
                return ControlFlow::Break(());
            }
            (Next::Nothing, _) => {}
        }
        ControlFlow::Continue(())
    }

    /// Ctrl-C while a model sums up stops only that. Says whether it did.
    fn stop_compacting(&mut self, output: &mut Output) -> bool {
        let since = self.view().head.summing_up.map(|summing| summing.since);
        if since.is_none() || self.left == since {
            return false;
        }
        self.left = since;
        output.rest();
        output
            .talk("The summary is not waited for; the turn goes on. Ctrl-C again stops the turn.");
        let (link, id) = (self.link.clone(), self.conversation.clone());
        // One that is there by then refuses.
        tokio::spawn(async move { drop(link.send(&id, Command::StopCompacting).await) });
        true
    }

    /// Ctrl-C where a text belongs to a question leads back to the question, and takes a form down. Says
    /// whether it did.
    fn leave_text(&mut self, terminal: &mut Option<Terminal>) -> bool {
        if !self.asking || self.menu.is_some() {
            return false;
        }
        let Some(prompt) = self.prompts.front_mut() else { return false };
        let is_left = if prompt.is_form() { self.cancel() } else { prompt.go_back() };
        if is_left {
            // What is typed next is for one question again.
            (self.asking, self.all.is_answered) = (false, false);
            self.close_pager(terminal);
            self.close_editor(terminal);
            if let Some(terminal) = terminal {
                terminal.show("\n");
            }
        }
        is_left
    }

    fn stop(&mut self, terminal: &mut Option<Terminal>) {
        self.close_menu(terminal);
        self.close_pager(terminal);
        self.close_editor(terminal);
        if let (true, Some(terminal)) = (self.asking, terminal) {
            // The question stays unanswered on its line.
            terminal.echo(Echo::On);
            terminal.show("\n");
        }
        self.prompts.clear();
        self.asking = false;
        self.escalation.stop();
        let (link, id) = (self.link.clone(), self.conversation.clone());
        // Beside everything else: the turn is shown until it has stopped. One that is over by then
        // refuses.
        tokio::spawn(async move { drop(link.send(&id, Command::Interrupt).await) });
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
    pub(in crate::cmd) fn take_in(
        &mut self,
        typed: Typed,
        terminal: &mut Option<Terminal>,
        output: &mut Output,
    ) -> ControlFlow<()> {
        match typed {
            Typed::Key(key) if self.menu.is_none() && self.editor.is_some() => {
                if let Some(line) = self.edit(&key, terminal) {
                    return self.hear(&line, terminal, output);
                }
            }
            Typed::Key(key) if self.menu.is_none() => self.turn_pages(&key, terminal),
            Typed::Key(key) => self.press(&key, terminal),
            // A terminal without single keys.
            Typed::Line(line) if self.menu.is_some() => {
                self.press(line.trim().as_bytes(), terminal);
            }
            Typed::Line(line) if self.pager.is_some() => {
                let first = line.trim().chars().next().map(String::from).unwrap_or_default();
                self.turn_pages(first.as_bytes(), terminal);
            }
            // It is asked again.
            Typed::Line(line) if self.wants_more(&line) => self.asking = false,
            Typed::Line(line) => {
                if let (Some(terminal), true) =
                    (&mut *terminal, self.prompts.front().is_some_and(Prompt::is_secret))
                {
                    // The return was not shown either.
                    terminal.echo(Echo::On);
                    terminal.show("\n");
                }
                return self.hear(&line, terminal, output);
            }
            Typed::Nothing => return self.interrupt(Push::HangUp, terminal, output),
        }
        ControlFlow::Continue(())
    }

    /// Takes in a line that may answer the first question.
    fn hear(
        &mut self,
        line: &str,
        terminal: &mut Option<Terminal>,
        output: &mut Output,
    ) -> ControlFlow<()> {
        let understood = self.understand(line, output);
        if understood == Understood::Leave {
            if self.face.looks_on() {
                // Somebody else performs the turn, and it goes on.
                return ControlFlow::Break(());
            }
            self.stop(terminal);
            return ControlFlow::Continue(());
        }
        (self.asking, self.writes) = (false, understood == Understood::Write);
        if let (Understood::Told(told), Some(terminal)) = (understood, terminal) {
            terminal.show(&told);
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

    /// The turn is not running any more: a menu or a question about it has no meaning. Says what was
    /// chosen.
    pub(super) fn stopped(&mut self, terminal: &mut Option<Terminal>) -> Option<Chosen> {
        self.close_menu(terminal);
        self.close_pager(terminal);
        self.close_editor(terminal);
        self.asking = false;
        self.chosen.take()
    }

    /// Nothing more will be shown.
    pub(in crate::cmd) fn end(&mut self, output: &mut Output) {
        self.face.give_up_answer(output);
    }

    /// Whether a person is being asked, so that nothing may be shown in between.
    pub(in crate::cmd) fn is_asking(&self) -> bool {
        self.asking || self.menu.is_some()
    }

    /// Whether there is a question to ask and nothing in its way.
    pub(in crate::cmd) fn may_ask(&self) -> bool {
        !self.is_asking() && self.answering.is_none() && !self.prompts.is_empty()
    }

    /// Asks the first question.
    pub(in crate::cmd) fn ask(&mut self, terminal: &mut Option<Terminal>, output: &mut Output) {
        let together = self.together();
        let (Some(prompt), Some(terminal)) = (self.prompts.front_mut(), terminal) else { return };
        output.rest();
        if prompt.is_news() {
            terminal.forget_typed();
        }
        if let Some(offer) = prompt.allowing().filter(|_| prompt.worker.is_none()) {
            let told = told_all(&offer.rules);
            terminal.show(&format!("always would mean: {told}\n"));
        }
        if let Some(why) = prompt.no_rule() {
            terminal.show(&format!("no rule can be kept: {why}\n"));
        }
        if 1 < together && !prompt.is_choosing() {
            terminal.show(&if self.rules.batch {
                format!("one answer is for all {together} calls\n")
            } else {
                format!("{together} calls ask; for all of them: yes all, no all\n")
            });
        }
        let shown = if self.all.is_shown || self.rules.batch { usize::MAX } else { 1 };
        let shown = self.prompts.iter().filter(|it| is_own_permission(it)).take(shown);
        self.all.on_screen = shown.map(|prompt| prompt.asked.id.clone()).collect();
        let Some(prompt) = self.prompts.front() else { return };
        if prompt.is_secret() {
            terminal.echo(Echo::Off);
        }
        self.asking = true;
        self.put_question(terminal);
    }

    /// How many calls ask for permission, if the first question is one of them.
    fn together(&self) -> usize {
        let first = self.prompts.front().is_some_and(is_own_permission);
        if first { self.own_permissions().count() } else { 0 }
    }

    fn own_permissions(&self) -> impl Iterator<Item = &Prompt> {
        self.prompts.iter().filter(|prompt| is_own_permission(prompt))
    }

    /// The answer is taken in. What it says is in the journal by now, and is shown before anything else
    /// is asked.
    pub(in crate::cmd) fn settle(&mut self, settled: Settled, output: &mut Output) {
        self.answering = None;
        match settled {
            Settled::Known => {}
            Settled::Late => output.talk("That question was settled in the meantime."),
            Settled::Failed(questions, fault) => {
                Report::from(&*fault).tell(output);
                for asked in &questions {
                    self.face.forget_answered(asked);
                }
            }
        }
        self.find_questions();
    }
}

fn is_own_permission(prompt: &Prompt) -> bool {
    prompt.worker.is_none() && prompt.asked.kind == InquiryKind::Permission
}

fn is_about(prompt: &Prompt, worker: Option<&ConversationId>, asked: &InquiryId) -> bool {
    prompt.worker.as_ref() == worker && prompt.asked.id == *asked
}
