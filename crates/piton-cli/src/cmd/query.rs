//! `piton query`: one turn, from a message to its answer, or from where it was left.

mod again;
pub(super) mod anew;
mod approve;
mod asked;
pub(super) mod attach;
mod begin;
pub(super) mod beside;
mod editor;
mod errand;
mod face;
pub(super) mod feed;
mod heartbeat;
mod held;
mod input;
mod interrupt;
pub(super) mod link;
mod mail;
mod menu;
pub(super) mod notes;
pub(super) mod open;
mod opened;
mod perform;
pub(super) mod plan;
pub(super) mod requeue;
mod schema;
pub(super) mod shell;
pub(super) mod side;
pub(super) mod stage;
pub(super) mod stdin;
mod still_running;
mod text;
pub(super) mod trusting;
mod typed;
mod waiting;
pub(super) mod watch;
mod who;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use piton::{ForkAt, check_workspace, reader};
use piton_agent::{Agent, ModelError, Overrides, Settings};
use piton_core::id::ConversationId;
use piton_core::view::TurnEnd;

use self::anew::{Along, Anew, Change};
use self::asked::Asked;
use self::attach::Attached;
use self::begin::announce;
pub(crate) use self::editor::edited;
pub(in crate::cmd) use self::editor::rewritten;
use self::errand::Errand;
use self::held::{Followed, Way};
use self::input::Input;
use self::mail::Mail;
use self::menu::{Chosen, Decided, Menu};
use self::open::Wanted;
use self::opened::{Life, Opened};
use self::plan::{Plan, Situation, Source, Wish};
use self::schema::OutputSchema;
use self::stage::Stage;
use self::stdin::{Kind, Role};
use self::text::{decoded, sendable};
use self::typed::{Now, Runs};
use self::waiting::OfLeft;
use crate::ask::held::{Elsewhere, HeldChoice, Present, choose_held, held_menu, held_waits};
use crate::drafts::TEXT_BYTES_MAX;
use crate::flags::{Mode, Query, Retry, TurnFlags};
use crate::output::{Form, Output};
use crate::render::incomplete::Newest;
use crate::report::{Fault, InputFault, LetterFault, Report};
use crate::signals::Signals;
use crate::terminal::Terminal;

/// What is said when something waits on a standard input that this query does not read.
const NOT_READ: &str = "Standard input is not read, because no message goes with it; to send it: -";

/// Carries a query out.
pub(crate) async fn run(
    query: Box<Query>,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    if query.turn.raw {
        output.leave_raw();
    }
    run_with(query, Along::default(), settings, output).await
}

/// Carries a query out, with what goes along.
async fn run_with(
    mut query: Box<Query>,
    along: Along,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    if query.turn.plan {
        query.turn.permissions = Some(Mode::Plan);
    }
    let (wish, source) = plan::request(&query)?;
    let kind = Kind::look();
    let role = stdin::role(&query, &source, kind)?;
    let mut ready = Ready::of(&query, settings, output);
    if !matches!(source, Source::Words(_)) {
        // A wrong name is found before anything is read or written. What was typed is kept first.
        ready = Ok(ready?);
    }
    let mut signals = Signals::listen()?;
    if let Some(most) = time_max(&query, ready.as_ref().ok()) {
        signals.stop_after(most);
    }
    let may_ask = !query.turn.no_input && settings.environment.value("PITON_NO_INPUT").is_none();
    let terminal = may_ask.then(Terminal::open).and_then(Result::ok);
    let form = if query.turn.json { Form::Json } else { Form::Text };
    let mut stage = Stage { output, signals, terminal, form, conversation: None, beside: None };
    if !query.no_stdin && stdin::is_left(kind, role) {
        stage.output.talk(NOT_READ);
    }
    let is_typed =
        matches!(source, Source::Words(_) | Source::Unsaid) && role != Role::FoundMessage;
    let Some(mut input) = input::find(source, role, settings, &mut stage).await? else {
        return Ok(Report::nothing("Nothing was written, so nothing is sent."));
    };
    input.listings.extend(along.files);
    input.written = input.written.or(along.written);
    if let Ok(ready) = &ready
        && matches!(wish, Wish::Say | Wish::Continue | Wish::Retry)
    {
        // Before what is typed is looked at: a command of the workspace may be meant.
        trusting::ask(&ready.agent, &mut stage).await?;
    }
    if is_typed {
        let confining = ready.as_ref().ok().map(|ready| (&*ready.agent, &ready.overrides));
        let runs = Runs { settings, confining, now: Now::Idle };
        let brought = typed::understand(&mut input, runs, &mut stage).await?;
        query.files.extend(brought.files);
        ready = ready.and_then(|ready| ready.with_model(brought.model));
    }
    let Ready { agent, overrides, schema } = match ready {
        Ok(ready) => ready,
        Err(fault) => return keep(input, &query, &fault, settings, &mut stage).await,
    };
    let result_file = query.turn.result_file.clone();
    if let Some(schema) = &schema {
        input.listings.push(schema.attached());
        stage.output.hold_answers();
    }
    let asked = Asked { query, wish, overrides, schema, agent, settings };
    let report = asked.report(input, &mut stage).await?;
    Ok(match result_file {
        Some(path) => report.written_to(&path, stage.output),
        None => report,
    })
}

/// Tries a message again: a query that says nothing new.
pub(crate) async fn retry(
    Retry { message, fork, edit, turn }: Retry,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let mut query = Box::new(Query { turn, no_stdin: true, ..Query::default() });
    if !fork && edit.is_none() {
        query.retry = Some(message);
        return run(query, settings, output).await;
    }
    // A wrong name is found before anything is written or forked.
    Ready::of(&query, settings, output)?;
    let (message, id) = (message.as_deref(), query.turn.id.as_deref());
    if let Some(words) = edit {
        let text = match words.join(" ").as_str() {
            "" if words.is_empty() => None,
            "-" => {
                let bytes = stdin::read_alone(TEXT_BYTES_MAX, output).await?;
                Some(decoded(bytes, InputFault::Stdin)?)
            }
            text => Some(text.to_owned()),
        };
        let change = Change { message, text: text.as_deref() };
        let Anew { conversation, text, along } =
            match anew::prepare(change, id, settings, output).await? {
                Ok(anew) => anew,
                Err(nothing) => return Ok(nothing),
            };
        query.turn.id = Some(conversation.to_string());
        // Added to the turn that is open there, if the message did not begin one.
        query.resume = Some(Some(text));
        return run_with(query, along, settings, output).await;
    }
    let forked = again::fork(message, id, settings, output).await?;
    let id = match forked {
        Ok(id) => id,
        Err(nothing) => return Ok(nothing),
    };
    (query.turn.id, query.resume) = (Some(id.to_string()), Some(None));
    run(query, settings, output).await
}

/// How long the turn may take: as the flag says, else as the settings say.
fn time_max(query: &Query, ready: Option<&Ready>) -> Option<Duration> {
    let typed = query.turn.timeout.map(Duration::from_secs);
    let most = typed.or_else(|| ready?.agent.ceilings().time_max()).filter(|most| !most.is_zero());
    // Longer than anybody waits; a clock has an end.
    most.map(|most| most.min(Duration::from_secs(u32::MAX.into())))
}

/// What the flags name, found to be there.
#[derive(Debug)]
struct Ready {
    agent: Arc<Agent>,
    overrides: Overrides,
    schema: Option<OutputSchema>,
}

impl Ready {
    fn of(query: &Query, settings: &Settings, output: &Output) -> Result<Self, Fault> {
        let schema = query.output_schema.as_deref().map(OutputSchema::read).transpose()?;
        let agent = Agent::load(settings.clone())?;
        let agent = Arc::new(if output.talk_page().is_some() { agent.watched() } else { agent });
        let model =
            query.turn.model.as_deref().map(|typed| agent.parse_model(typed)).transpose()?;
        let directories = query.turn.add_dir.iter().map(|typed| settings.added_directory(typed));
        let mut overrides = query.turn.overrides(model, directories.collect::<Result<_, _>>()?);
        overrides.coordinate = query.coordinate;
        let removed = query.turn.remove_dir.iter().map(|typed| settings.removed_directory(typed));
        overrides.removed_directories = removed.collect::<Result<_, _>>()?;
        Ok(Self { agent, overrides, schema })
    }

    /// With the model that a command of the user names, unless a flag names another one.
    fn with_model(mut self, typed: Option<String>) -> Result<Self, Fault> {
        if let Some(typed) = typed.filter(|_| self.overrides.model.is_none()) {
            self.overrides.model = Some(self.agent.parse_model(&typed)?);
        }
        Ok(self)
    }
}

/// Keeps a message that cannot go yet, with all that goes along.
async fn keep(
    input: Input,
    query: &Query,
    fault: &Fault,
    settings: &Settings,
    stage: &mut Stage<'_>,
) -> Result<Report, Fault> {
    let mut mail = Mail::new(input, query, settings)?;
    // A file that cannot be read is named when the message is sent.
    mail.read_files(stage).await.unwrap_or_default();
    let report = Report::from(fault);
    Ok(if mail.is_kept() { report.with_kept_message() } else { report })
}

/// What a person says in a chat.
#[derive(Debug)]
pub(in crate::cmd) struct Said<'a> {
    /// Nothing, to go on without words.
    pub(in crate::cmd) text: Option<String>,
    /// What goes along.
    pub(in crate::cmd) attached: Vec<Attached>,
    pub(in crate::cmd) wish: Wish,
    /// The conversation; none begins one.
    pub(in crate::cmd) conversation: Option<&'a ConversationId>,
    pub(in crate::cmd) overrides: Overrides,
    pub(in crate::cmd) agent: &'a Arc<Agent>,
}

/// Carries out what a person says in a chat.
pub(in crate::cmd) async fn say(said: Said<'_>, stage: &mut Stage<'_>) -> Result<Report, Fault> {
    let Said { text, attached, wish, conversation, mut overrides, agent } = said;
    let settings = agent.settings();
    let text = text.map(sendable).transpose()?;
    // What starts programs may have changed since the last message.
    trusting::ask(agent, stage).await?;
    let mut input = Input { text, listings: attached, ..Input::default() };
    let runs = Runs { settings, confining: Some((agent, &overrides)), now: Now::Idle };
    let brought = typed::understand(&mut input, runs, stage).await?;
    if let Some(model) = brought.model {
        overrides.model = Some(agent.parse_model(&model)?);
    }
    let turn = TurnFlags {
        id: conversation.map(ToString::to_string),
        permissions: overrides.permissions.map(Mode::from),
        ..TurnFlags::default()
    };
    let query = Box::new(Query {
        new: conversation.is_none(),
        files: brought.files,
        turn,
        ..Query::default()
    });
    let (schema, agent) = (None, agent.clone());
    let asked = Asked { query, wish, overrides, schema, agent, settings };
    asked.report(input, stage).await
}

impl Asked<'_> {
    /// Carries it out, and says how it went. A message that was not sent is kept.
    async fn report(mut self, input: Input, stage: &mut Stage<'_>) -> Result<Report, Fault> {
        let mut mail = Mail::new(input, &self.query, self.settings)?;
        if stage.beside.is_some() {
            // At every line of a chat it would be too much.
            mail.tells_nothing();
        }
        // On the heap: the future of a turn is large, and its callers' futures would hold it.
        let report = match Box::pin(self.carry_out(&mut mail, stage)).await {
            Err(fault) if mail.is_kept() => Report::from(&fault).with_kept_message(),
            Err(fault) => Report::from(&fault),
            Ok(report) => report,
        };
        let report = report.in_conversation(stage.conversation.clone());
        Ok(if stage.signals.time_is_up() { report.out_of_time() } else { report })
    }

    /// Opens the conversation and does what was asked for. A person who has to choose is asked while
    /// nothing is held, so other processes can go on; then it is opened again.
    async fn carry_out(&mut self, mail: &mut Mail, stage: &mut Stage<'_>) -> Result<Report, Fault> {
        mail.read_files(stage).await?;
        let mut chosen = None;
        loop {
            let opened = match self.open(mail, stage).await? {
                Entered::Here(opened) => *opened,
                Entered::There(report) => return Ok(report),
            };
            stage.conversation = Some(opened.conversation.id().clone());
            // The files of a kept message are known only now.
            mail.read_files(stage).await?;
            let menu = match Box::pin(self.go_on(opened, chosen.take(), mail, stage)).await? {
                Step::Done(report) => return Ok(report),
                Step::Ask(menu) => menu,
            };
            self.query.turn.id = stage.conversation.as_ref().map(ToString::to_string);
            self.query.new = false;
            match menu.choose(mail, stage).await? {
                Decided::Here(here) => chosen = Some(here),
                Decided::InFork { id, at } => {
                    self.query.turn.id = Some(held::fork(self, (&id, &at), stage).await?);
                }
            }
        }
    }

    /// Does what was asked for, or says what a person has to choose first.
    async fn go_on(
        &mut self,
        mut opened: Opened,
        chosen: Option<Chosen>,
        mail: &mut Mail,
        stage: &mut Stage<'_>,
    ) -> Result<Step, Fault> {
        let moved = chosen.is_some_and(|chosen| chosen.seen != opened.view.cursor);
        let chosen = chosen.filter(|_| !moved);
        if moved {
            stage.output.talk("The conversation has moved on meanwhile.");
        }
        let bound = waiting::bind(&mut opened, self, stage).await?;
        self.query.workspace = None;
        if let Some(bound) = bound
            && !mail.has_content()
            && self.wish == Wish::Say
        {
            return Ok(Step::Done(bound));
        }
        match waiting::of_left(&opened, mail, stage)? {
            OfLeft::Errand(errand) => return self.perform(opened, errand, mail, stage).await,
            OfLeft::Done(report) => return Ok(Step::Done(report)),
            OfLeft::Nothing => {}
        }
        let incomplete = opened.view.head.open.is_some();
        let situation = Situation {
            incomplete,
            waiting: !incomplete && !opened.view.queue.is_empty(),
            text: mail.has_content(),
            // What is not recorded must not run half of a turn that is.
            person: stage.terminal.is_some() && !self.query.no_persist,
        };
        let errand = match plan::plan(self.wish, situation) {
            Plan::Send(on_incomplete) => Errand::Send(on_incomplete),
            Plan::Queue => {
                let left = waiting::leave(&opened, self, mail, stage).await;
                opened.close().await;
                return left.map(Step::Done);
            }
            Plan::Resume => Errand::Resume,
            Plan::Release => Errand::Release,
            Plan::Retry => match again::nothing(&opened, self.settings)? {
                None => Errand::Retry,
                Some(told) => return Ok(Step::Done(told)),
            },
            Plan::NothingToSteer => return Err(waiting::nothing_to_steer(&opened)),
            Plan::Discard => return self.discard(&opened, stage).await,
            Plan::NothingToContinue => return Ok(Step::Done(nothing_to_continue(&opened))),
            Plan::NothingToDiscard => {
                let told = Report::nothing("There is no incomplete turn to discard.");
                return Ok(Step::Done(told));
            }
            Plan::Refuse => return Err(refusal(&opened)),
            Plan::ChooseWaiting | Plan::Choose => {
                let Some(chosen) = chosen else {
                    opened.close().await;
                    return Ok(Step::Ask(Box::new(Menu::of(&opened))));
                };
                if chosen.drop_waiting {
                    waiting::take_back(&mut opened, self).await?;
                }
                chosen.errand
            }
        };
        self.perform(opened, errand, mail, stage).await
    }

    async fn perform(
        &mut self,
        mut opened: Opened,
        errand: Errand,
        mail: &mut Mail,
        stage: &mut Stage<'_>,
    ) -> Result<Step, Fault> {
        if opened.life == Life::Known {
            // Before anything is announced or started: there is nowhere to work.
            let here = check_workspace(Path::new(&opened.view.head.workspace));
            here.map_err(|error| waiting::nowhere(&opened).unwrap_or_else(|| error.into()))?;
        }
        self.tell_not_added(&opened, stage).await?;
        let done = perform::perform(&mut opened, errand, self, mail, stage).await;
        opened.close().await;
        done.map(Step::Done)
    }

    /// Names directories that are to be taken out and were never added: a wrong name would go unnoticed.
    async fn tell_not_added(&self, opened: &Opened, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let removed = &self.overrides.removed_directories;
        if removed.is_empty() {
            return Ok(());
        }
        let state = reader::state(&**opened.engine.journal(), opened.conversation.id()).await?;
        let present = &state.config.permissions.directories;
        for directory in removed.iter().filter(|directory| !present.contains(directory)) {
            stage.output.talk(&format!("warning: {directory} was not added to this conversation"));
        }
        Ok(())
    }

    async fn discard(&self, opened: &Opened, stage: &mut Stage<'_>) -> Result<Step, Fault> {
        let shown = &opened.view;
        announce(opened, Some(shown), shown.head.open.unwrap_or_default(), stage);
        let closed = perform::end_turn(opened, TurnEnd::Discarded, self, stage).await;
        opened.close().await;
        closed?;
        stage.output.talk("The incomplete turn is discarded. It stays in the journal, hidden.");
        Ok(Step::Done(Report::ok("closed").about(opened.conversation.id(), shown.open_turn())))
    }

    /// Opens the conversation. If another process holds it, a person says what to do.
    async fn open(&mut self, mail: &mut Mail, stage: &mut Stage<'_>) -> Result<Entered, Fault> {
        let present = if stage.terminal.is_some() { Present::Person } else { Present::Nobody };
        let (mut lock_wait, later) = held_waits(present, self.query.turn.lock_wait);
        let mut way = match self.wish {
            Wish::Queue | Wish::Leave => Some(Way::Queue),
            Wish::Steer => Some(Way::Steer),
            Wish::Say | Wish::Continue | Wish::Discard | Wish::Retry => None,
        };
        if way.is_some() {
            // The message goes to the process that holds the conversation, so nothing is waited for.
            lock_wait = Duration::ZERO;
        }
        loop {
            let (query, overrides, agent) = (&self.query, &self.overrides, &self.agent);
            let wanted = Wanted { query, overrides, agent, lock_wait };
            let opened = tokio::select! {
                biased;
                _ = stage.signals.next() => return Err(Fault::Interrupted),
                opened = open::open(&wanted, mail, stage.output) => opened,
            };
            let (fault, id) = match opened {
                Ok(opened) => return Ok(Entered::Here(Box::new(opened))),
                Err(Fault::Model(ModelError::Several(models))) if present == Present::Person => {
                    let chosen = who::choose(&models, self.settings, stage).await?;
                    self.overrides.model = Some(chosen);
                    continue;
                }
                Err(fault) => match fault.held().cloned() {
                    Some(id) if way.is_some() || present == Present::Person => (fault, id),
                    Some(conversation) if self.wish == Wish::Retry => {
                        let held = fault.to_string();
                        return Err(LetterFault::RetryHeld { held, conversation }.into());
                    }
                    Some(_) | None => return Err(fault),
                },
            };
            let chosen = match way.take() {
                Some(way) => Some(way),
                None => self.decide_about(&id, &fault, mail, stage).await?,
            };
            let Some(way) = chosen else {
                lock_wait = later;
                continue;
            };
            match held::leave(self, &id, way, mail, stage).await? {
                Followed::Done(report) => return Ok(Entered::There(report)),
                Followed::NobodyThere => {
                    // What waits there is taken in by the process that opens it next.
                    (self.query.turn.id, self.wish) = (Some(id.to_string()), Wish::Say);
                    lock_wait = later;
                }
            }
        }
    }

    /// Asks a person about a conversation that another process works on. A way to leave the message
    /// for it, or none if the conversation is to be opened once more.
    async fn decide_about(
        &mut self,
        id: &ConversationId,
        fault: &Fault,
        mail: &Mail,
        stage: &mut Stage<'_>,
    ) -> Result<Option<Way>, Fault> {
        stage.conversation = Some(id.clone());
        stage.output.talk(&format!("{fault}."));
        let elsewhere = match self.wish {
            Wish::Say | Wish::Queue | Wish::Leave | Wish::Steer => Elsewhere::Possible,
            // What is said to a turn can be said to it there.
            Wish::Continue if mail.has_content() => Elsewhere::Possible,
            Wish::Continue | Wish::Discard | Wish::Retry => Elsewhere::Impossible,
        };
        match choose_held(stage.choose(&held_menu(elsewhere)).await?) {
            HeldChoice::Queue => return Ok(Some(Way::Queue)),
            HeldChoice::Steer => return Ok(Some(Way::Steer)),
            HeldChoice::Watch => {
                let over = held::watch(self, id, stage).await?;
                stage.output.talk(over.said(mail.has_content()));
            }
            HeldChoice::Fork => {
                self.query.turn.id = Some(held::fork(self, (id, &ForkAt::End), stage).await?);
            }
            HeldChoice::New => (self.query.turn.id, self.query.new) = (None, true),
            HeldChoice::Wait => {}
            HeldChoice::Quit => return Err(Fault::Quit { conversation: id.clone() }),
        }
        Ok(None)
    }
}

/// What comes of a conversation that was opened.
#[derive(Debug)]
enum Step {
    /// This is how it went.
    Done(Report),
    /// A person chooses first. Nothing is held any more.
    Ask(Box<Menu>),
}

/// Where a query goes on.
#[derive(Debug)]
enum Entered {
    /// Here, with the writer's place.
    Here(Box<Opened>),
    /// In the process that works on the conversation; this is how it went.
    There(Report),
}

/// What is said where nothing is incomplete, and nothing was said either.
fn nothing_to_continue(opened: &Opened) -> Report {
    match opened.life {
        Life::Known => Report::nothing("There is no incomplete turn to continue.")
            .with_hint("to go on with the conversation: piton query -c TEXT".into()),
        Life::New | Life::Passing => Report::nothing("There is no conversation to continue.")
            .with_hint("to begin one: piton query TEXT".into()),
    }
}

fn refusal(opened: &Opened) -> Fault {
    match opened.view.head.open.and_then(|_| Newest::of(&opened.view)) {
        Some(turn) => {
            let conversation = opened.conversation.id().clone();
            Fault::Incomplete { conversation, turn: Box::new(turn) }
        }
        None => InputFault::NoText.into(),
    }
}
