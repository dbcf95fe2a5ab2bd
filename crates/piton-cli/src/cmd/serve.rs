//! `piton serve`: conversations over HTTP, for browsers and programs. One engine over the same store as
//! every other piton: commands of the terminal beside it work as without it.

mod address;
mod background;
mod encrypt;
pub(crate) mod place;
mod unit;

use std::sync::Arc;
use std::time::Duration;

use piton::Engine;
use piton::clock::{Clock as _, SystemClock};
use piton_agent::{Agent, AgentProfiles, AgentTools, Catalogue, EngineParts, Overrides, Settings};
use piton_server::{Bearer, Opened, Parts, Server, Tls, TokenError, Tokens};
use tokio::net::TcpListener;

use self::place::{Place, Record};
use super::query::notes;
use super::query::open::SUPERVISOR;
use crate::flags::{Serve, ServeWish, TokenFlags};
use crate::output::Output;
use crate::render::age::age;
use crate::render::table::table;
use crate::report::{Fault, Report};
use crate::signals::Signals;
use crate::store;

/// How long turns that run may go on when the server is told to stop. What is not at rest by then is left
/// as a crash leaves it, and can be resumed.
const STOP_WAIT: Duration = Duration::from_secs(1);
/// How often it is looked what a person should hear of settings and tools.
const NOTES_EVERY: Duration = Duration::from_secs(1);

/// How often it is looked whether a server is gone.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Longest wait for a server that was told to stop.
const GONE_WAIT: Duration = Duration::from_secs(10);

/// Serves until it is told to stop.
pub(crate) async fn run(
    flags: &Serve,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let place = Place::of(&settings.home);
    match &flags.wish {
        Some(ServeWish::Token(flags)) => return token(flags, settings, output),
        Some(ServeWish::Status) => return status(&place, settings, output),
        Some(ServeWish::Stop) => return stop(&place, output).await,
        Some(ServeWish::Unit(flags)) => return unit::print(flags, settings, output),
        None => {}
    }
    let tls = match encrypt::find(flags, settings)? {
        Ok(tls) => tls,
        Err(report) => return Ok(report),
    };
    if !flags.listen.ip().is_loopback() && !flags.unencrypted && tls.is_none() {
        return Ok(Report::misuse(&format!(
            "error: {} can be reached by others, and nothing is encrypted\n\
             hint: to encrypt: --cert FILE --key FILE; or forward a port of 127.0.0.1 instead\n\
             hint: to serve without encryption all the same: --unencrypted",
            flags.listen.ip()
        )));
    }
    let opened = match opened(flags, settings)? {
        Ok(opened) => opened,
        Err(report) => return Ok(report),
    };
    settings.make_home()?;
    let Some(held) = place.take().await.map_err(Fault::Runtime)? else {
        return Ok(taken(&place));
    };
    if flags.background {
        drop(held);
        let begun = match background::start(&place, &settings.environment).await? {
            Ok(Record { url, .. }) => url,
            Err(said) => return Ok(Report::misuse(&said)),
        };
        address::tell(&begun, flags.json, output);
        address::ways_in(&begun, settings, output)?;
        output.talk("To end it: piton serve stop. Its turns can be resumed.");
        return Ok(Report::ok("done"));
    }
    // From here on, being told to stop is a way to end, not an accident.
    let mut signals = Signals::listen()?;
    let mut work = Work::begin(settings, opened, output)?;
    let listener = match TcpListener::bind(flags.listen).await {
        Ok(listener) => listener,
        Err(error) => {
            let text = format!("error: cannot listen on {}: {error}", flags.listen);
            return Ok(Report::misuse(&format!("{text}\nhint: port 0 takes one that is free")));
        }
    };
    let scheme = if tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}", listener.local_addr().map_err(Fault::Runtime)?);
    held.tell(&Record { pid: std::process::id(), url: url.clone() }).map_err(Fault::Runtime)?;
    address::tell(&url, flags.json, output);
    if !flags.in_background {
        address::ways_in(&url, settings, output)?;
        output.talk("Ctrl-C ends it; its turns can be resumed.");
    }
    if work.agent.serve_resumes() {
        let count = work.server.resume_turns().await.map_err(served)?;
        output.talk(&format!("Turns that go on: {count}"));
    }
    work.serve((listener, tls), &mut signals, output).await;
    output.talk("Stopped. Turns that were running can be resumed.");
    Ok(Report::ok("done"))
}

/// A server, and what it works with.
struct Work {
    server: Server,
    engine: Engine,
    agent: Arc<Agent>,
    tools: Arc<AgentTools>,
    profiles: Arc<AgentProfiles>,
}

impl Work {
    fn begin(settings: &Settings, opened: Opened, output: &mut Output) -> Result<Self, Fault> {
        let agent = Arc::new(Agent::load(settings.clone())?.watched());
        let (journal, scratch) = (store::open(settings, output)?, settings.scratch()?);
        let overrides = Overrides::default();
        let commands = agent.supervised_commands(SUPERVISOR.into(), &overrides);
        let models = Arc::new(Catalogue::new(settings.environment.clone()));
        let tools = Arc::new(AgentTools::new(agent.clone(), &commands, &overrides));
        if let Some(loaded) = agent.default_model().ok().and_then(|it| agent.load_model(&it).ok()) {
            tools.bring(loaded.tools);
        }
        let profiles = Arc::new(AgentProfiles::new(agent.clone(), models.clone(), overrides));
        let parts = EngineParts { journal, models, scratch, lock_wait: Duration::ZERO };
        let engine = agent.engine(parts, tools.clone(), profiles.clone());
        let server = Server::new(Parts {
            engine: engine.clone(),
            agent: agent.clone(),
            tokens: Tokens::of(&settings.home),
            opened,
            names: agent.serve_names().to_vec(),
            clock: Arc::new(SystemClock),
        });
        Ok(Self { server, engine, agent, tools, profiles })
    }

    /// Answers until somebody wants it to end.
    async fn serve(
        &mut self,
        (listener, tls): (TcpListener, Option<Tls>),
        signals: &mut Signals,
        output: &mut Output,
    ) {
        let (server, own) = (self.server.clone(), tls.clone());
        let mut serving = tokio::spawn(async move {
            match own {
                Some(tls) => server.serve_encrypted(listener, tls).await,
                None => server.serve(listener).await,
            }
        });
        loop {
            tokio::select! {
                biased;
                _ = signals.next() => break,
                _ = &mut serving => return,
                () = tokio::time::sleep(NOTES_EVERY) => {
                    notes::tell(&self.tools, &self.profiles, output);
                    encrypt::renew(tls.as_ref(), output);
                }
            }
        }
        self.server.stop();
        self.engine.shutdown(STOP_WAIT).await;
        // Its own waits are bounded; one that panicked has ended too.
        drop(serving.await);
        self.tools.close().await;
    }
}

/// The directories that conversations may work in, or what is wrong with them.
fn opened(flags: &Serve, settings: &Settings) -> Result<Result<Opened, Report>, Fault> {
    let mut directories = flags.open.clone();
    if directories.is_empty() {
        directories.push(settings.workspace()?.to_owned());
    }
    let here = settings.directory()?;
    let named = directories.iter().map(|directory| here.join(directory));
    Ok(Opened::new(named).map_err(|error| {
        let names: Vec<_> = directories.iter().map(|it| it.display().to_string()).collect();
        Report::misuse(&format!("error: cannot open {}: {error}", names.join(", ")))
    }))
}

fn taken(place: &Place) -> Report {
    let url = place.running().map(|record| format!(" on {}", record.url)).unwrap_or_default();
    let text = format!("error: a server of this home runs already{url}");
    Report::misuse(&format!("{text}\nhint: to end it: piton serve stop"))
}

/// Says where the server is reached.
fn status(place: &Place, settings: &Settings, output: &mut Output) -> Result<Report, Fault> {
    let Some(Record { pid, url }) = place.running() else {
        return Ok(Report::not_found("No server of this home runs."));
    };
    output.data(&format!("{url}\n"));
    address::ways_in(&url, settings, output)?;
    output.talk(&format!("Process {pid} serves. To end it: piton serve stop"));
    Ok(Report::ok("done"))
}

/// Ends the server, and waits until it is gone.
async fn stop(place: &Place, output: &mut Output) -> Result<Report, Fault> {
    let Some(Record { pid, .. }) = place.running() else {
        return Ok(Report::not_found("No server of this home runs."));
    };
    let process = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(process) = process {
        // One that has just ended needs no word.
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap_or_default();
    }
    let gone = async {
        while place.running().is_some() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    if tokio::time::timeout(GONE_WAIT, gone).await.is_err() {
        return Ok(Report::misuse(&format!("error: process {pid} does not end")));
    }
    output.talk("Stopped. Turns that were running can be resumed.");
    Ok(Report::ok("done"))
}

fn served(fault: piton_server::Fault) -> Fault {
    Fault::Runtime(std::io::Error::other(fault))
}

/// Makes, lists or revokes tokens.
fn token(flags: &TokenFlags, settings: &Settings, output: &mut Output) -> Result<Report, Fault> {
    settings.make_home()?;
    let (tokens, now) = (Tokens::of(&settings.home), SystemClock.now());
    let misuse = |error: TokenError| Report::misuse(&format!("error: {error}"));
    if let Some(name) = &flags.revoke {
        return Ok(match tokens.revoke(name) {
            Ok(true) => {
                output.talk(&format!("The token {name} counts no more."));
                Report::ok("done")
            }
            Ok(false) => Report::misuse(&format!("error: there is no token {name}")),
            Err(error) => misuse(error),
        });
    }
    if let Some(name) = &flags.name {
        return Ok(match tokens.add(name, Bearer::Program, now) {
            Ok(secret) => {
                output.data(&format!("{secret}\n"));
                output.talk("Send it as: Authorization: Bearer TOKEN. It is not shown again.");
                Report::ok("done")
            }
            Err(error) => misuse(error),
        });
    }
    let rows = match tokens.all() {
        Ok(rows) => rows,
        Err(error) => return Ok(misuse(error)),
    };
    let mut lines = vec![["NAME", "HELD BY", "MADE"].map(str::to_owned)];
    lines.extend(rows.into_iter().map(|row| {
        let bearer = match row.bearer {
            Bearer::Program => "program",
            Bearer::Browser => "browser",
            Bearer::Code => "nobody yet",
        };
        [row.name, bearer.to_owned(), age(row.made, now)]
    }));
    output.data(&table(&lines, output.page()));
    Ok(Report::ok("done"))
}
