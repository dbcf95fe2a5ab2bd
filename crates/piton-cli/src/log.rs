//! The log: what went wrong and what was tried again, for whoever asks later.
//!
//! The file is opened with the first record, so a run without trouble touches nothing. `PITON_LOG`
//! says what is recorded. No secret is written, and a log that cannot be written stops nobody.

mod file;

use std::fmt;
use std::io;
use std::path::PathBuf;

use piton::secrets;
use piton_agent::{Environment, Settings, near};
use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{self as layout, MakeWriter};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use self::file::LogFile;
use crate::report::{Fault, chain};

/// The variable that says what is recorded.
pub(crate) const VARIABLE: &str = "PITON_LOG";
/// What our own crates call themselves.
const OURS: &str = "piton";
/// How much can be recorded, the least first.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
/// Parts of the names of variables that hold secrets.
const TELLING: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];

/// Where the log is, if anything is recorded.
pub(crate) fn place(settings: &Settings) -> Option<PathBuf> {
    Some(settings.log.as_ref()?.join(file::NAME))
}

/// Records from now on. Returns what makes no sense in `PITON_LOG`; warnings are recorded then.
pub(crate) fn start(settings: &Settings) -> Option<String> {
    let said = settings.environment.text(VARIABLE).unwrap_or_default();
    let (filter, complaint) = match chosen(&said) {
        Ok(filter) => (filter, None),
        Err(why) => (warnings(), Some(format!("{VARIABLE} cannot be {said}: {why}"))),
    };
    let place = place(settings)?;
    let inside = Some(settings.home.clone()).filter(|home| place.starts_with(home));
    let log = Log { file: LogFile::new(place, inside), environment: settings.environment.clone() };
    let layer = layout::layer().with_writer(log).with_timer(Stamp).with_ansi(false);
    // One that is there already is somebody's who embeds us.
    tracing_subscriber::registry().with(layer).with(filter).try_init().unwrap_or_default();
    complaint
}

/// Notes why a command could not do its work, unless what was typed is at fault.
pub(crate) fn note(fault: &Fault) {
    if fault.is_worth_a_record() {
        let why = chain(fault);
        tracing::warn!(why, "a command failed");
    }
}

/// What is recorded: a level for piton, and `NAME=LEVEL` for its parts and for libraries.
fn chosen(said: &str) -> Result<Targets, String> {
    let mut filter = warnings();
    for part in said.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, level) = part.split_once('=').unwrap_or((OURS, part));
        let level = level.trim().to_lowercase();
        let known = LEVELS.contains(&level.as_str());
        let Some(level) = level.parse::<LevelFilter>().ok().filter(|_| known) else {
            let meant = near(&level, LEVELS).first().map(|near| format!("; did you mean {near}?"));
            let levels = LEVELS.join(", ");
            return Err(format!("a level is one of {levels}{}", meant.unwrap_or_default()));
        };
        if name == OURS && level == LevelFilter::OFF {
            filter = filter.with_default(LevelFilter::OFF);
        }
        filter = filter.with_target(name.trim(), level);
    }
    Ok(filter)
}

fn warnings() -> Targets {
    Targets::new().with_default(Level::WARN)
}

/// When, and by which process.
struct Stamp;

impl FormatTime for Stamp {
    fn format_time(&self, text: &mut Writer<'_>) -> fmt::Result {
        SystemTime.format_time(text)?;
        write!(text, " {}", std::process::id())
    }
}

/// Where records go.
struct Log {
    file: LogFile,
    /// Variables may hold secrets.
    environment: Environment,
}

/// Takes one record.
struct Record<'a>(&'a Log);

impl<'a> MakeWriter<'a> for Log {
    type Writer = Record<'a>;

    fn make_writer(&'a self) -> Record<'a> {
        Record(self)
    }
}

impl io::Write for Record<'_> {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        let Log { file, environment } = self.0;
        for name in environment.names().filter(|name| is_telling(name)) {
            environment.text(name).as_deref().map(secrets::remember).unwrap_or_default();
        }
        file.append(&secrets::covered(&String::from_utf8_lossy(record)));
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_telling(name: &str) -> bool {
    let name = name.to_uppercase();
    TELLING.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(said: &str, target: &str, level: Level) -> bool {
        chosen(said).unwrap().would_enable(target, &level)
    }

    #[test]
    fn a_level_is_for_piton_and_a_name_is_for_others() {
        assert!(records("", "piton::noted", Level::WARN) && records("", "hyper", Level::WARN));
        assert!(!records("", "piton::noted", Level::INFO));
        assert!(records("debug", "piton_agent", Level::DEBUG));
        assert!(!records("debug", "hyper", Level::DEBUG));
        assert!(records("debug, hyper=trace", "hyper::proto", Level::TRACE));
        assert!(!records("off", "piton", Level::ERROR) && !records("off", "hyper", Level::ERROR));
        assert!(records("INFO", "piton", Level::INFO));
    }

    #[test]
    fn a_level_that_there_is_not_is_told_with_a_near_one() {
        let why = chosen("dbug").unwrap_err();
        let levels = "a level is one of off, error, warn, info, debug, trace";
        assert_eq!(why, format!("{levels}; did you mean debug?"));
        assert_eq!(chosen("hyper=7").unwrap_err(), levels);
    }
}
