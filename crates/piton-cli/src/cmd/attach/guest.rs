//! A person or a program beside a turn that somebody else performs: shows it, asks, and hands commands on.

use std::collections::VecDeque;
use std::future::{pending, ready};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use anstyle::Style as Look;
use futures_util::future::{BoxFuture, FutureExt as _};
use piton::News;
use piton_agent::{Agent, Environment, Notify, typed as named};
use piton_core::id::{ConversationId, Timestamp, TurnId};
use piton_core::view::View;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use super::meaning::{Meaning, Order, Performer, Turn, What, meaning};
use super::source::{Heard, Source};
use super::standing;
use crate::cmd::query::beside;
use crate::cmd::query::feed::Told;
use crate::cmd::query::link::{Link, Sent};
use crate::cmd::query::rewritten;
use crate::cmd::query::stage::Stage;
use crate::cmd::query::watch::{Rules, Watch, answered};
use crate::flags::Mode;
use crate::output::Form;
use crate::render::answer::Pace;
use crate::render::incomplete::{Newest, waits_for};
use crate::render::lines::Line;
use crate::render::paint::{Painted, Span};
use crate::render::status::status;
use crate::render::wrap::wrap;
use crate::report::{Fault, Report};
use crate::terminal::Typed;
use crate::typing::Pressed;

/// How often it is shown what is waited for.
const SPIN_EVERY: Duration = Duration::from_millis(120);
/// How often it is looked whether somebody works on the conversation.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long nobody works on an open turn before it counts as left. A server looks once a second.
const LEFT_AFTER: Duration = Duration::from_secs(3);
/// What ends the typing, as the terminal sends it.
const CTRL_D: u8 = 0x04;

const OFFER: &str = "/continue goes on with it, /retry begins it anew, /discard drops it; a message is added to it.";

/// Where a guest sits.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) id: ConversationId,
    /// Where commands go.
    pub(super) link: Link,
    /// The settings file, where standing rules are kept.
    pub(super) file: Option<PathBuf>,
    /// Whether one answer is for all calls of an answer that need one.
    pub(super) batch: bool,
    /// Has the editor of the person.
    pub(super) environment: Environment,
    /// How a person is called who looks elsewhere.
    pub(super) notify: (Notify, Duration),
    /// Who works on the conversation, for people.
    pub(super) at: String,
}

/// Why a guest has left the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// The person wanted to.
    Quit,
    /// Nobody sits here, and the turn is over or waits for a person.
    Rests,
    /// Nobody works on the conversation of this home any more.
    Free,
}

/// A guest.
pub(super) struct Guest {
    seat: Seat,
    source: Source,
    watch: Watch,
    /// What was typed and is not sent yet.
    orders: VecDeque<Order>,
    /// What is on its way.
    sending: Option<BoxFuture<'static, (Order, Result<Sent, Fault>)>>,
    /// Whether somebody works on the conversation, and since when nobody does.
    driven: Result<(), Instant>,
    /// Whether news can come.
    is_connected: bool,
    /// The turn that was open when it was looked last.
    open: Option<TurnId>,
    /// What was said last of a turn that does not go on: when it broke, or that its process is gone.
    told: Option<(TurnId, Option<Timestamp>)>,
    look: Interval,
}

impl Guest {
    /// Sits down: shows what was said last, and what happened since.
    pub(super) async fn begin(
        seat: Seat,
        mut source: Source,
        stage: &mut Stage<'_>,
    ) -> Result<Self, Fault> {
        if let Some(terminal) = &mut stage.terminal {
            // Before anything is shown: what is typed as soon as something is must not be lost.
            terminal.want_keys();
        }
        let view = loop {
            let heard = tokio::select! {
                biased;
                _ = stage.signals.next() => return Err(Fault::Interrupted),
                heard = source.next() => heard?,
            };
            if let Heard::Told((None, News::Snapshot(view))) = heard {
                break *view;
            }
        };
        announce(&view, &seat, stage);
        let watch = watch(view, &seat, stage);
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        stage.output.begin_waiting(seat.notify);
        let mut guest = Self {
            seat,
            source,
            watch,
            orders: VecDeque::new(),
            sending: None,
            driven: Err(Instant::now()),
            is_connected: true,
            open: None,
            told: None,
            look,
        };
        guest.open = guest.watch.view().head.open;
        for worker in guest.watch.workers() {
            guest.source.join(&worker)?;
        }
        guest.tell_standing(stage);
        Ok(guest)
    }

    /// Shows what happens and hands on what is typed, until there is no more reason to.
    pub(super) async fn sit(&mut self, stage: &mut Stage<'_>) -> Result<Left, Fault> {
        loop {
            if let Some(left) = self.is_over(stage) {
                return Ok(left);
            }
            if let (Some(terminal), false) = (&mut stage.terminal, self.watch.is_asking()) {
                terminal.want_keys();
            }
            self.send_next();
            let is_waited_for = self.turn() == Turn::Runs && self.driven.is_ok();
            if !is_waited_for {
                stage.output.wait_for_nothing();
            }
            let spins = is_waited_for && stage.output.can_tell();
            tokio::select! {
                biased;
                _ = stage.signals.next() => return Ok(Left::Quit),
                heard = self.source.next() => self.hear(heard?, stage)?,
                typed = beside::typed(&mut stage.terminal) => {
                    stage.output.heard();
                    if self.take_in(typed, stage).is_break() {
                        return Ok(Left::Quit);
                    }
                    self.catch_up(stage)?;
                }
                settled = answered(&mut self.watch.answering) => {
                    self.watch.settle(settled, stage.output);
                }
                (order, sent) = done(&mut self.sending) => {
                    self.sending = None;
                    tell_sent(order, sent, stage);
                }
                () = ready(()), if self.watch.may_ask() && stage.terminal.is_some() => {
                    self.ask(stage).await?;
                }
                _ = self.look.tick() => {
                    if let Some(left) = self.look(stage).await? {
                        return Ok(left);
                    }
                }
                () = tokio::time::sleep(SPIN_EVERY), if spins => {
                    self.watch.tell_waiting(stage.output);
                }
            }
        }
    }

    /// Says that nothing was stopped, and how to come back.
    pub(super) fn leave(&mut self, back: &str, stage: &mut Stage<'_>) -> Report {
        if let Some(terminal) = &mut stage.terminal {
            terminal.want_lines();
        }
        stage.output.wait_for_nothing();
        stage.output.tell_typed("");
        self.watch.end(stage.output);
        stage.output.end_line();
        stage.output.rest();
        if stage.terminal.is_none() {
            return Report::from(&Fault::Interrupted);
        }
        stage.output.talk(&match self.turn() {
            Turn::Runs => format!("The turn goes on. piton attach {back} comes back."),
            Turn::Rests | Turn::None => {
                format!("Nothing was changed by leaving. piton attach {back} comes back.")
            }
        });
        Report::ok("left").about(&self.seat.id, None)
    }

    /// Says how the turn was left, with its exit code.
    pub(super) fn report(&mut self, agent: &Agent, stage: &mut Stage<'_>) -> Report {
        self.watch.end(stage.output);
        standing::of_turn(self.watch.view(), &self.seat.id, agent)
    }

    /// How the turn stands.
    fn turn(&self) -> Turn {
        let view = self.watch.view();
        let Some(turn) = view.open_turn() else { return Turn::None };
        let is_asked = view.open_questions().next().is_some();
        let is_left = self.driven.is_err_and(|since| LEFT_AFTER <= since.elapsed());
        if turn.head.halt.is_some() || is_left && !is_asked { Turn::Rests } else { Turn::Runs }
    }

    /// Whether nobody sits here and nothing more is to be waited for.
    fn is_over(&self, stage: &Stage<'_>) -> Option<Left> {
        if stage.terminal.is_some() || !self.is_connected {
            return None;
        }
        let view = self.watch.view();
        let is_asked = view.open_questions().next().is_some();
        let rests = match self.turn() {
            // A message that waits begins the next turn.
            Turn::None => view.queue.is_empty(),
            Turn::Rests => true,
            Turn::Runs => is_asked,
        };
        rests.then_some(Left::Rests)
    }

    /// Takes in what came.
    fn hear(&mut self, heard: Heard, stage: &mut Stage<'_>) -> Result<(), Fault> {
        match heard {
            Heard::Told(told) => self.show(told, stage)?,
            Heard::Gone(why) => {
                self.is_connected = false;
                self.driven = Err(Instant::now());
                stage.output.talk(&format!("The server is gone ({why}). Looking for it …"));
            }
            Heard::Back => {
                self.is_connected = true;
                self.driven = Err(Instant::now());
                stage.output.talk("The server is back.");
            }
        }
        Ok(())
    }

    /// Shows news.
    fn show(&mut self, told: Told, stage: &mut Stage<'_>) -> Result<(), Fault> {
        match told {
            (None, News::Snapshot(view)) => {
                // The same as before, after a break; or more than a server tells one by one.
                if view.cursor != self.watch.view().cursor {
                    stage.output.talk("More has happened than can be told. This is how it stands:");
                    self.watch = watch(*view, &self.seat, stage);
                }
            }
            (worker, news) => {
                if let (None, News::Live(live)) = (&worker, &news) {
                    self.is_driven(live.driven);
                }
                self.watch.take((worker, news), &mut stage.terminal, stage.output);
            }
        }
        self.join_workers()?;
        self.tell_standing(stage);
        Ok(())
    }

    fn join_workers(&mut self) -> Result<(), Fault> {
        for worker in self.watch.workers_begun() {
            self.source.join(&worker)?;
        }
        Ok(())
    }

    fn is_driven(&mut self, driven: bool) {
        self.driven = match (driven, self.driven) {
            (true, _) => Ok(()),
            (false, Err(since)) => Err(since),
            (false, Ok(())) => Err(Instant::now()),
        };
    }

    /// What came while a question was on the screen.
    fn catch_up(&mut self, stage: &mut Stage<'_>) -> Result<(), Fault> {
        self.watch.show_backlog(stage.output);
        self.join_workers()?;
        if !self.watch.is_asking() {
            self.tell_standing(stage);
        }
        Ok(())
    }

    /// Says once that a turn is over, or does not go on by itself.
    fn tell_standing(&mut self, stage: &mut Stage<'_>) {
        if stage.terminal.is_none() || self.watch.is_asking() {
            return;
        }
        let view = self.watch.view();
        let was_open = std::mem::replace(&mut self.open, view.head.open);
        let last = view.turns.last();
        if let Some(turn) = last.filter(|turn| was_open == Some(turn.head.id))
            && self.open != was_open
        {
            let model = view.head.model.as_ref().map(named).unwrap_or_default();
            let ms = turn.head.closed.map_or(0, |closed| closed.ms_since(turn.head.began));
            let line = status(view, turn, &model, ms);
            if let Some(page) = stage.output.talk_page() {
                let line = wrap(&[Span::new(&line, Look::new().dimmed())], page.columns);
                stage.output.talk_painted(&Painted::lines(&line, page.style));
            }
            stage.output.call_back("the turn is over");
        }
        if self.turn() != Turn::Rests {
            return;
        }
        let Some(turn) = self.watch.view().open_turn() else { return };
        let why = (turn.head.id, turn.head.halt.as_ref().map(|halt| halt.at));
        if self.told != Some(why) && self.seat.link.is_server() {
            self.told = Some(why);
            let said = Newest::of(self.watch.view()).map(|newest| waits_for(&newest));
            let said = said.unwrap_or_default();
            stage.output.talk(&format!("The turn is incomplete. {said}\n{OFFER}"));
        }
    }

    /// Looks who works on the conversation.
    async fn look(&mut self, stage: &mut Stage<'_>) -> Result<Option<Left>, Fault> {
        if let Some(held) = self.source.is_held(&self.seat.id).await? {
            if !held {
                // What it wrote before it left is shown first.
                while let Some(heard) = self.source.next_now().await? {
                    self.hear(heard, stage)?;
                }
                let left = if stage.terminal.is_some() { Left::Free } else { Left::Rests };
                return Ok(self.sending.is_none().then_some(left));
            }
            self.is_driven(true);
        }
        self.tell_standing(stage);
        Ok(None)
    }

    /// Asks the first question, unless what is there by now settles it.
    async fn ask(&mut self, stage: &mut Stage<'_>) -> Result<(), Fault> {
        if let Some(terminal) = &mut stage.terminal {
            terminal.want_lines();
        }
        if let Some(content) = self.watch.content() {
            match rewritten(&content, &self.seat.environment, stage).await {
                Ok(Some(arguments)) => self.watch.rewrite(arguments, stage.output),
                Ok(None) => stage.output.talk("Nothing was changed."),
                Err(Fault::Interrupted) => return Err(Fault::Interrupted),
                Err(fault) => Report::from(&fault).tell(stage.output),
            }
            return Ok(());
        }
        while let Some(heard) = self.source.next_now().await? {
            self.hear(heard, stage)?;
        }
        if self.watch.may_ask() {
            self.watch.ask(&mut stage.terminal, stage.output);
            stage.output.call_back("a question waits for you");
        }
        Ok(())
    }

    /// Takes in what was typed; whether the person leaves.
    fn take_in(&mut self, typed: Typed, stage: &mut Stage<'_>) -> ControlFlow<()> {
        if matches!(typed, Typed::Nothing) {
            return ControlFlow::Break(());
        }
        if self.watch.is_asking() {
            return self.watch.take_in(typed, &mut stage.terminal, stage.output);
        }
        let keys = match typed {
            Typed::Key(keys) => keys,
            // A terminal without single keys.
            Typed::Line(line) => format!("{line}\n").into_bytes(),
            Typed::Nothing => Vec::new(),
        };
        let Some(beside) = &mut stage.beside else { return ControlFlow::Continue(()) };
        if keys.contains(&CTRL_D) && beside.typing.text().is_empty() {
            return ControlFlow::Break(());
        }
        let pressed = beside.typing.take(&keys);
        stage.output.tell_typed(&beside.typing.text());
        for pressed in pressed {
            let Pressed::Line(line) = pressed else { continue };
            let is_server = self.seat.link.is_server();
            let performer = if is_server { Performer::Server } else { Performer::Process };
            match meaning(&line, self.watch.view(), self.turn(), performer) {
                Meaning::Quit => return ControlFlow::Break(()),
                Meaning::Told(told) => stage.output.talk(&told),
                Meaning::Order(order) => self.orders.push_back(order),
            }
        }
        ControlFlow::Continue(())
    }

    /// Sends what was typed, one after the other.
    fn send_next(&mut self) {
        if self.sending.is_some() {
            return;
        }
        let Some(order) = self.orders.pop_front() else { return };
        let (link, id) = (self.seat.link.clone(), self.seat.id.clone());
        self.sending = Some(
            async move {
                let sent = send(&link, &id, &order.what).await;
                (order, sent)
            }
            .boxed(),
        );
    }
}

async fn send(link: &Link, id: &ConversationId, what: &What) -> Result<Sent, Fault> {
    match what {
        What::Retry(model) => link.retry(id, model.as_deref()).await,
        What::Commands(commands) => {
            for command in commands {
                let sent = link.send(id, command.clone()).await?;
                if sent != Sent::Taken {
                    return Ok(sent);
                }
            }
            Ok(Sent::Taken)
        }
    }
}

/// Waits until what is on its way has arrived.
async fn done(
    sending: &mut Option<BoxFuture<'static, (Order, Result<Sent, Fault>)>>,
) -> (Order, Result<Sent, Fault>) {
    match sending {
        Some(sending) => sending.await,
        None => pending().await,
    }
}

/// Says what became of a line. One that was not taken can be sent again with one key.
fn tell_sent(order: Order, sent: Result<Sent, Fault>, stage: &mut Stage<'_>) {
    match sent {
        Ok(Sent::Taken) if order.told.is_empty() => return,
        Ok(Sent::Taken) => return stage.output.talk(&order.told),
        Ok(Sent::Refused(why)) => stage.output.talk(&format!("Not done: {why}.")),
        Err(fault) => Report::from(&fault).tell(stage.output),
    }
    if let Some(beside) = stage.beside.as_mut().filter(|it| it.typing.text().is_empty()) {
        beside.typing.take(order.line.as_bytes());
        stage.output.tell_typed(&beside.typing.text());
    }
}

/// What watches the conversation from here on.
fn watch(view: View, seat: &Seat, stage: &mut Stage<'_>) -> Watch {
    let pace = if stage.output.is_watched() { Pace::Streamed } else { Pace::Whole };
    if stage.form == Form::Json {
        let turn = view.turns.last().map(|turn| turn.head.id).unwrap_or_default();
        stage.output.json(&Line::view_of_turn(seat.id.as_str(), turn, view.clone()));
    }
    let rules = Rules { file: seat.file.clone(), batch: seat.batch };
    let (link, id) = (seat.link.clone(), seat.id.clone());
    Watch::of_guest((view, stage.form, pace), link, id, rules, stage.output)
}

/// Says which conversation it is.
fn announce(view: &View, seat: &Seat, stage: &mut Stage<'_>) {
    let model = view.head.model.as_ref().map(|model| format!(", model {}", named(model)));
    let (id, model) = (&seat.id, model.unwrap_or_default());
    let mode = Mode::from(view.head.mode).typed();
    stage.output.talk(&format!("conversation {id}{model}, permissions {mode}; {}", seat.at));
    if stage.terminal.is_some() {
        stage.output.talk("/help lists the commands; Ctrl-C and Ctrl-D leave and stop nothing.");
    }
}
