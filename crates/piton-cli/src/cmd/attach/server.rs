//! Which server and which conversation of it is meant, and the token for it.

use std::fs;
use std::path::{Path, PathBuf};

use piton::clock::{Clock as _, SystemClock};
use piton_agent::Settings;
use piton_core::id::{ConversationId, Timestamp};
use piton_core::summary::shorten;
use piton_core::view::Status;
use piton_server::{Bearer, TokenError, Tokens};
use reqwest::Url;

use crate::cmd::query::stage::Stage;
use crate::cmd::serve::place::Place;
use crate::flags::Attach;
use crate::remote::{Remote, address};
use crate::render::age::age;
use crate::report::{Fault, InputFault, ServerFault};

/// The variable that has a token.
const VARIABLE: &str = "PITON_TOKEN";
/// What tokens of terminals on the server's own machine are called, before the number of the process.
const OWN_NAME: &str = "terminal-";
/// Conversations that are offered.
const OFFERED_MAX: usize = 20;
/// Longest title that is shown, in letters.
const TITLE_LETTERS_MAX: usize = 60;

/// Where a server is, and how it is spoken to.
#[derive(Debug)]
pub(super) struct At {
    pub(super) url: Url,
    pub(super) token: String,
    /// The home whose server it is, if it is one of this machine.
    pub(super) home: Option<Place>,
}

impl At {
    pub(super) fn remote(&self) -> Result<Remote, ServerFault> {
        Remote::new(self.url.clone(), self.token.clone(), self.home.clone())
    }
}

/// A token for this process, at a server over the same home. It counts no more when this is dropped.
#[derive(Debug)]
pub(super) struct OwnToken {
    tokens: Tokens,
    name: String,
    secret: String,
}

impl Drop for OwnToken {
    fn drop(&mut self) {
        // One that stays is taken away by the next terminal that attaches.
        self.tokens.revoke(&self.name).unwrap_or_default();
    }
}

impl OwnToken {
    /// Makes one. Tokens of terminals that were killed are taken away.
    pub(super) fn make(home: &Path) -> Result<Self, Fault> {
        let (tokens, name) = (Tokens::of(home), format!("{OWN_NAME}{}", std::process::id()));
        let made = (|| {
            for row in tokens.all()? {
                let pid = row.name.strip_prefix(OWN_NAME).and_then(|pid| pid.parse::<u32>().ok());
                let is_left = |pid: u32| !PathBuf::from(format!("/proc/{pid}")).exists();
                if row.name == name || pid.is_some_and(is_left) {
                    tokens.revoke(&row.name)?;
                }
            }
            tokens.add(&name, Bearer::Program, SystemClock.now())
        })();
        let secret = made.map_err(unmade)?;
        Ok(Self { tokens, name, secret })
    }

    pub(super) fn secret(&self) -> &str {
        &self.secret
    }
}

fn unmade(error: TokenError) -> Fault {
    Fault::Runtime(std::io::Error::other(error))
}

/// The server at an address that was typed, and the conversation, if one is named. At the server of this home a
/// token is made, which counts as long as it is kept.
pub(super) fn find(
    typed: &str,
    flags: &Attach,
    settings: &Settings,
) -> Result<(At, Option<ConversationId>, Option<OwnToken>), Fault> {
    let (url, named) = address(typed)?;
    let id = named.or_else(|| flags.id.clone()).map(ConversationId::new);
    let place = Place::of(&settings.home);
    let own = place.running().and_then(|record| record.reached()).filter(|own| *own == url);
    let home = own.map(|_| place);
    let given = match &flags.token_file {
        Some(path) => {
            let read = fs::read_to_string(path);
            Some(read.map_err(|source| ServerFault::TokenFile { path: path.clone(), source })?)
        }
        None => settings.environment.text(VARIABLE),
    };
    let given = given.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
    Ok(match (given, home) {
        (Some(token), home) => (At { url, token, home }, id, None),
        (None, Some(home)) => {
            let own = OwnToken::make(&settings.home)?;
            let token = own.secret().to_owned();
            (At { url, token, home: Some(home) }, id, Some(own))
        }
        (None, None) => return Err(ServerFault::NoToken { at: ServerFault::host(&url) }.into()),
    })
}

/// Asks which conversation is meant; the only one is not asked about.
pub(super) async fn choose(at: &At, stage: &mut Stage<'_>) -> Result<ConversationId, Fault> {
    let listing = at.remote()?;
    let rows = tokio::select! {
        biased;
        _ = stage.signals.next() => return Err(Fault::Interrupted),
        rows = listing.list(OFFERED_MAX) => rows?,
    };
    let host = ServerFault::host(&at.url);
    match rows.as_slice() {
        [] => return Err(ServerFault::Empty { at: host }.into()),
        [only] => return Ok(ConversationId::new(only.conversation.as_str())),
        _ if stage.terminal.is_none() => return Err(ServerFault::NotChosen { at: host }.into()),
        _ => {}
    }
    let now = SystemClock.now();
    for (number, row) in (1..).zip(&rows) {
        let (id, when) = (&row.conversation, age(Timestamp(row.touched), now));
        let is_idle = row.status == Status::Idle;
        let state = if is_idle { String::new() } else { format!("[{}] ", row.status) };
        let title = shorten(&row.title, TITLE_LETTERS_MAX);
        stage.output.talk(&format!("{number:>3}  {id}  {when}  {state}{title}"));
    }
    loop {
        let line = stage.ask("which one (a number, or the beginning of an id): ").await?;
        let typed = line.trim();
        let by_number = typed.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let by_number = by_number.and_then(|place| rows.get(place));
        let mut by_id = rows.iter().filter(|row| row.conversation.starts_with(typed));
        let by_id = by_id.next().filter(|_| by_id.next().is_none());
        if typed.is_empty() {
            return Err(InputFault::NoText.into());
        }
        if let Some(row) = by_number.or(by_id) {
            return Ok(ConversationId::new(row.conversation.as_str()));
        }
        stage.output.talk("There is no such number, and no id or several begin so.");
    }
}
