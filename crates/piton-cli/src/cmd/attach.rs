//! `piton attach`: a terminal as one more face on a conversation that another process or a server works on.
//!
//! It performs nothing: it shows what happens and hands commands on. Where nobody works on the conversation, the
//! chat goes on with it.

mod guest;
mod meaning;
mod server;
mod source;
mod standing;

use std::sync::Arc;

use piton::{Engine, Sender};
use piton_agent::{Agent, Settings, engine_to_write};
use piton_core::id::ConversationId;

use self::guest::{Guest, Left, Seat};
use self::server::{At, OwnToken};
use self::source::Source;
use super::chat;
use super::query::feed::Feed;
use super::query::link::Link;
use super::query::stage::{Beside, Stage};
use super::serve::place::Place;
use crate::flags::{Attach, Chat};
use crate::output::{Form, Output};
use crate::report::{Fault, InputFault, Report};
use crate::signals::Signals;
use crate::target;
use crate::terminal::Terminal;

/// Attaches until the person leaves or, where nobody sits, until the turn is over.
pub(crate) async fn run(
    flags: &Attach,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let agent = Arc::new(Agent::load(settings.clone())?);
    let may_ask = settings.environment.value("PITON_NO_INPUT").is_none() && !flags.json;
    let is_person = may_ask && Terminal::is_sat_at() && output.is_watched();
    let target = flags.target.as_deref();
    let next = {
        let signals = Signals::listen()?;
        let terminal = is_person.then(Terminal::open).transpose();
        let terminal = terminal.map_err(InputFault::NoTerminal)?;
        let form = if flags.json { Form::Json } else { Form::Text };
        let beside = terminal.is_some().then(Beside::default);
        let mut stage = Stage { output, signals, terminal, form, conversation: None, beside };
        let visit = Visit { flags, settings, agent };
        match target.filter(|target| target.contains("://")) {
            Some(typed) => Next::Done(visit.at_server(typed, &mut stage).await?),
            None => visit.here(&mut stage).await?,
        }
    };
    match next {
        Next::Done(report) => Ok(report),
        Next::Chat(id) => {
            output.talk(&format!("Nobody works on conversation {id}: this terminal does now."));
            let flags = Chat { id: Some(id.to_string()), ..Chat::default() };
            chat::run(&flags, settings, output).await
        }
    }
}

/// What follows.
enum Next {
    /// Nothing.
    Done(Report),
    /// The chat goes on with a conversation that nobody works on.
    Chat(ConversationId),
}

/// What was asked for.
struct Visit<'a> {
    flags: &'a Attach,
    settings: &'a Settings,
    agent: Arc<Agent>,
}

impl Visit<'_> {
    /// A conversation of this home.
    async fn here(&self, stage: &mut Stage<'_>) -> Result<Next, Fault> {
        let typed = self.flags.target.as_deref().or(self.flags.id.as_deref());
        let (journal, id) = target::find(typed, self.settings, stage.output).await?;
        stage.conversation = Some(id.clone());
        let engine = engine_to_write(journal, self.settings)?;
        loop {
            let Some(pid) = source::holder(&engine, &id).await? else {
                if stage.terminal.is_some() {
                    return Ok(Next::Chat(id));
                }
                let view = engine.view(&id).await?;
                return Ok(Next::Done(standing::report(&view, &id, &self.agent, stage)));
            };
            let place = Place::of(&self.settings.home);
            let serving = place.running().filter(|record| record.pid == pid);
            if let Some(url) = serving.and_then(|record| record.reached()) {
                // Through the server, words are seen as they stream.
                let token = OwnToken::make(&self.settings.home)?;
                let at = At { url, token: token.secret().to_owned(), home: Some(place) };
                return Ok(Next::Done(self.sit_at(at, id, stage).await?));
            }
            let mut guest = self.beside(&engine, &id, pid, stage).await?;
            match guest.sit(stage).await? {
                Left::Quit => return Ok(Next::Done(guest.leave(&id.to_string(), stage))),
                Left::Rests => return Ok(Next::Done(guest.report(&self.agent, stage))),
                Left::Free => {}
            }
        }
    }

    /// A guest beside another process of this home.
    async fn beside(
        &self,
        engine: &Engine,
        id: &ConversationId,
        pid: u32,
        stage: &mut Stage<'_>,
    ) -> Result<Guest, Fault> {
        let directory = self.settings.directory()?.to_string_lossy().into_owned();
        let from = Sender { directory: Some(directory), ..Sender::default() };
        let link = Link::Letters { engine: engine.clone(), from };
        let feed = Feed::new(engine.clone(), &engine.conversation(id)).await?;
        let seat = Seat {
            id: id.clone(),
            link,
            file: self.settings.file.clone(),
            batch: self.agent.asks_in_batches(),
            environment: self.settings.environment.clone(),
            notify: self.agent.notify(),
            at: format!("process {pid} works on it"),
        };
        Guest::begin(seat, Source::Here { feed: Box::new(feed), engine: engine.clone() }, stage)
            .await
    }

    /// A conversation of a server.
    async fn at_server(&self, typed: &str, stage: &mut Stage<'_>) -> Result<Report, Fault> {
        let (at, id, _token) = server::find(typed, self.flags, self.settings)?;
        let id = match id {
            Some(id) => id,
            None => server::choose(&at, stage).await?,
        };
        self.sit_at(at, id, stage).await
    }

    async fn sit_at(
        &self,
        at: At,
        id: ConversationId,
        stage: &mut Stage<'_>,
    ) -> Result<Report, Fault> {
        stage.conversation = Some(id.clone());
        let back = match &at.home {
            Some(_) => id.to_string(),
            None => format!("{}c/{id}", at.url),
        };
        let remote = at.remote()?;
        let seat = Seat {
            id: id.clone(),
            link: Link::Server(remote.clone()),
            // Rules of a server are written where it runs.
            file: None,
            batch: self.agent.asks_in_batches(),
            environment: self.settings.environment.clone(),
            notify: self.agent.notify(),
            at: format!("served at {}", at.url.origin().ascii_serialization()),
        };
        let mut guest = Guest::begin(seat, Source::there(remote, id, stage), stage).await?;
        match guest.sit(stage).await? {
            Left::Quit => Ok(guest.leave(&back, stage)),
            Left::Rests | Left::Free => Ok(guest.report(&self.agent, stage)),
        }
    }
}
