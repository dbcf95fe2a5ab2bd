//! The store, the settings, what is left running, the terminal.

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use piton_agent::rules::strangers::Strangers;
use piton_agent::{Agent, BroughtBack, KeyFrom, LoadError, Settings, SkillNote, typed};
use piton_store::{Health, StoreError, inspect};
use piton_tools::supervise::{KeptState, Shelf};

use super::entries::{self, SET_ASIDE};
use super::finding::{Finding, Verdict};
use crate::log;
use crate::output::Output;
use crate::render::rule;
use crate::report;
use crate::store::EMPTIED;

pub(super) fn look(settings: &Settings, output: &mut Output) -> Vec<Finding> {
    let store = match fs::metadata(&settings.home) {
        Ok(home) if !home.is_dir() => no_directory(settings),
        Ok(_) | Err(_) => read_only(settings).unwrap_or_else(|| store(settings)),
    };
    let is_readable = store.verdict != Verdict::Broken;
    let mut found = vec![store];
    if is_readable {
        found.extend(entries::look(settings, output));
    }
    found.extend(private(settings));
    found.extend(aside(settings));
    match Agent::load(settings.clone()) {
        Ok(agent) => {
            found.extend([file(settings), providers(&agent), model(&agent)]);
            found.extend(rules(&agent));
            found.extend(skills(&agent));
        }
        Err(error) => {
            let advice = if let LoadError::File(_) = &error {
                report::config::loading(&error)
            } else {
                "mend the file; piton help models has its form".into()
            };
            found.push(Finding::broken("settings", error.to_string(), advice));
        }
    }
    found.extend(log(settings));
    found.extend([commands(settings), terminal()]);
    found
}

/// A home in which nothing can be written takes no message. Tried, because modes and owners do not
/// tell of a file system that is mounted read-only.
fn read_only(settings: &Settings) -> Option<Finding> {
    let mut places = settings.home.ancestors();
    let place = places.find(|place| place.is_dir())?;
    let error = try_to_write(place).err()?;
    let said = format!("nothing can be written in {}: {error}", place.display());
    let advice = "make it writable, or set PITON_HOME to a directory you can write to";
    Some(Finding::broken("store", said, advice))
}

/// Writes a file that goes again at once.
fn try_to_write(place: &Path) -> io::Result<()> {
    let path = place.join(format!(".piton-doctor-{}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&path)?;
    let written = file.write_all(b"piton doctor tries whether it can write here\n");
    fs::remove_file(&path).and(written)
}

fn store(settings: &Settings) -> Finding {
    let shown = settings.home.display();
    if let Some(told) = crate::store::emptied(settings) {
        return Finding::broken("store", told, EMPTIED.join("; or "));
    }
    match inspect(&settings.home) {
        Ok(None) => {
            Finding::ok("store", format!("none yet; {shown} is made with the first message"))
        }
        Ok(Some(Health { faults, .. })) if !faults.is_empty() => Finding::broken(
            "store",
            format!("the database in {shown} is damaged: {}", faults.join("; ")),
            SET_ASIDE,
        ),
        Ok(Some(Health { journal_mode, syncs: true, .. })) if journal_mode == "wal" => {
            Finding::ok("store", format!("{shown}: checked; log ahead, every commit is synced"))
        }
        Ok(Some(Health { journal_mode, syncs, .. })) => Finding::lacks(
            "store",
            format!("{shown}: journal mode {journal_mode}, synced: {syncs}"),
            "put PITON_HOME on a local disk; a network file system has no shared memory",
        ),
        Err(error @ StoreError::Damaged { .. }) => {
            Finding::broken("store", report::chain(&error), SET_ASIDE)
        }
        Err(error) => Finding::broken(
            "store",
            report::chain(&error),
            "see to the file, or set PITON_HOME to another directory",
        ),
    }
}

fn no_directory(settings: &Settings) -> Finding {
    Finding::broken(
        "store",
        format!("{} is no directory", settings.home.display()),
        "set PITON_HOME to a directory, or to a path where one can be made",
    )
}

/// Conversations are nobody else's business.
fn private(settings: &Settings) -> Option<Finding> {
    let home = fs::metadata(&settings.home).ok().filter(fs::Metadata::is_dir)?;
    let mode = home.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then(|| {
        let home = settings.home.display();
        Finding::lacks(
            "privacy",
            format!("others can look into {home} (mode {mode:o})"),
            format!("chmod 700 {home}"),
        )
    })
}

fn aside(settings: &Settings) -> Vec<Finding> {
    let back = settings.brought_back();
    let mut found: Vec<_> = back.iter().map(|(path, how)| back_again(path, *how)).collect();
    let aside = settings.set_aside();
    if let Some(first) = aside.first().map(|first| first.display()) {
        let said = match aside.len() {
            1 => format!("a damaged database was set aside as {first}"),
            count => format!("{count} damaged databases were set aside, the first as {first}"),
        };
        let advice = format!("to bring back what can be read: piton doctor --salvage {first}");
        found.push(Finding::lacks("store", said, advice));
    }
    found
}

/// A database that was damaged, and is not needed any more, or may be.
fn back_again(path: &Path, how: BroughtBack) -> Finding {
    let shown = path.display();
    match how {
        BroughtBack::Whole => Finding::ok(
            "store",
            format!("all that was in {shown} was brought back; it may be removed: rm {shown}*"),
        ),
        BroughtBack::InPart => Finding::ok(
            "store",
            format!(
                "what can be read in {shown} was brought back; if nobody will look for the rest, it may be removed: rm {shown}*"
            ),
        ),
    }
}

fn file(settings: &Settings) -> Finding {
    match settings.file.as_ref().filter(|file| file.exists()) {
        Some(file) => Finding::ok("settings", format!("{} makes sense", file.display())),
        None => Finding::ok("settings", "no piton.toml; defaults count"),
    }
}

/// Where to look for what went wrong.
fn log(settings: &Settings) -> Option<Finding> {
    let place = log::place(settings)?;
    let shown = place.display();
    let what = settings.environment.text(log::VARIABLE).unwrap_or_else(|| "warnings".into());
    let size = fs::metadata(&place).map_or(0, |found| found.len());
    let said = match size {
        0 => format!("{shown}: nothing yet; records {what}"),
        bytes => format!("{shown}: {} kB; records {what}", bytes.div_ceil(1_000)),
    };
    Some(Finding::ok("log", said))
}

/// Rules for tools that there are not.
fn rules(agent: &Agent) -> Vec<Finding> {
    let Ok(workspace) = agent.settings().workspace() else { return Vec::new() };
    let strangers = Strangers::new(agent, workspace).among(&agent.standing_rules(workspace));
    let advice =
        "mend it; piton help permissions has its form, `piton permissions` lists the rules";
    strangers.iter().map(|it| Finding::lacks("rules", rule::stranger(it), advice)).collect()
}

/// Skills that the model is not told of.
fn skills(agent: &Agent) -> Vec<Finding> {
    let told = |SkillNote { path, why }: &SkillNote| {
        let said = format!("{} does not count: {why}", path.display());
        Finding::lacks("skills", said, "mend the file; piton help skills has its form")
    };
    let Ok(workspace) = agent.settings().workspace() else { return Vec::new() };
    agent.skill_notes(workspace).iter().map(told).collect()
}

fn providers(agent: &Agent) -> Finding {
    let environment = &agent.settings().environment;
    let has_key = |key: &KeyFrom| match key {
        KeyFrom::Variables(names) => names.iter().any(|name| environment.text(name).is_some()),
        KeyFrom::Command(_) => true,
        KeyFrom::Nowhere => false,
    };
    let ready = agent.providers().iter().filter(|(_, provider)| has_key(&provider.key));
    let ready: Vec<_> = ready.map(|(name, _)| name.as_str()).collect();
    if ready.is_empty() {
        return Finding::lacks(
            "providers",
            "none has a key",
            "set one, for example ANTHROPIC_API_KEY; `piton models` names them all",
        );
    }
    let said = format!("key for {}; not asked (`piton models` does)", ready.join(", "));
    Finding::ok("providers", said)
}

fn model(agent: &Agent) -> Finding {
    match agent.default_model() {
        Ok(model) => Finding::ok("model", format!("new conversations use {}", typed(&model))),
        Err(fault) => {
            Finding::broken("model", fault.to_string(), "set PITON_MODEL or `model` in piton.toml")
        }
    }
}

fn commands(settings: &Settings) -> Finding {
    let all = Shelf::new(settings.calls()).all();
    let running = all.iter().filter(|kept| kept.state.goes_on()).count();
    let in_doubt = all.iter().filter(|kept| kept.state == KeptState::InDoubt).count();
    let said = format!("{running} running, {in_doubt} with an unknown outcome");
    if running + in_doubt == 0 {
        return Finding::ok("commands", "none is running");
    }
    if in_doubt == 0 {
        return Finding::ok("commands", format!("{said} (`piton ps`)"));
    }
    Finding::lacks("commands", said, "`piton ps --all` names them; their turns tell the model")
}

fn terminal() -> Finding {
    let streams = [
        ("input", io::stdin().is_terminal()),
        ("output", io::stdout().is_terminal()),
        ("talk", io::stderr().is_terminal()),
    ];
    let on: Vec<_> = streams.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    if on.is_empty() {
        return Finding::ok("terminal", "none; nobody is asked, turns that need a person wait");
    }
    Finding::ok("terminal", on.join(", "))
}
