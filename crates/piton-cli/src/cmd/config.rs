//! `piton config`: every setting with its value and its origin; sets one, or takes one out.

use piton_agent::config::{self, ConfigError, Origin, Setting};
use piton_agent::{Agent, Settings};
use serde_json::Value;

use crate::flags::{Config, ConfigWish};
use crate::output::Output;
use crate::render::lines::Line;
use crate::render::table::table;
use crate::render::visible::visible;
use crate::report::{Fault, Report};

/// How it is called, where that was not clear.
const USAGE: &str = "error: it is not clear which setting is meant\n\
    hint: to show one: piton config KEY\n\
    hint: to set one: piton config KEY VALUE\n\
    hint: to take one out: piton config --unset KEY";

/// Shows or changes settings.
pub(crate) fn run(
    flags: &Config,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    if flags.schema {
        // A value made of strings and numbers can always be written.
        let text = serde_json::to_string_pretty(&config::schema()).unwrap_or_default();
        output.data(&format!("{text}\n"));
        return Ok(Report::ok("done"));
    }
    let file = || settings.file.as_deref().ok_or(ConfigError::NoFile);
    if flags.path {
        output.data(&format!("{}\n", file()?.display()));
        return Ok(Report::ok("done"));
    }
    let key = match flags.wish() {
        ConfigWish::All => {
            show(&config::all(settings, &flags.given())?, flags.json, output);
            return Ok(Report::ok("done"));
        }
        ConfigWish::Unclear => return Ok(Report::misuse(USAGE)),
        ConfigWish::Unset(key) => {
            let was_there = config::unset(settings, key)?;
            let file = file()?.display();
            let said =
                if was_there { "Taken out" } else { "Not set there, so nothing was changed" };
            output.talk(&format!("{said}: {key}, in {file}"));
            tell_what_counts(flags, key, settings, output);
            return Ok(Report::ok("done"));
        }
        ConfigWish::Set(key, value) => {
            if key == "model" {
                // What is written here answers every new conversation: a wrong name would be found too late.
                Agent::load(settings.clone())?.parse_model(value)?;
            }
            config::set(settings, key, value)?;
            output.talk(&format!("Set: {key}, in {}", file()?.display()));
            tell_what_counts(flags, key, settings, output);
            return Ok(Report::ok("done"));
        }
        ConfigWish::Show(key) => key,
    };
    let found = config::one(settings, &flags.given(), key)?;
    let wanted = config::spelled(key)?;
    match found.as_slice() {
        [Setting { key: only, value, origin }] if *only == wanted && !flags.json => {
            if let Some(value) = value {
                output.data(&format!("{}\n", visible(&bare(value))));
            }
            output.talk(&match value {
                Some(_) => told(origin),
                None => "not set".into(),
            });
        }
        found => show(found, flags.json, output),
    }
    Ok(Report::ok("done"))
}

/// Says what counts now, and so if that is not what the file says.
fn tell_what_counts(flags: &Config, key: &str, settings: &Settings, output: &mut Output) {
    // A key that was taken out may be one that nobody knows.
    let found = config::one(settings, &flags.given(), key).unwrap_or_default();
    for Setting { key, value, origin } in found {
        if let Origin::Variable(name) = &origin {
            output.talk(&format!("warning: {name} is set and counts before the file for {key}"));
        }
        output.talk(&match value {
            Some(value) => format!("{key} is now {value} ({})", told(&origin)),
            None => format!("{key} is not set now"),
        });
    }
}

fn show(settings: &[Setting], json: bool, output: &mut Output) {
    if json {
        for setting in settings {
            output.json(&Line::setting(setting));
        }
        return;
    }
    let rows: Vec<_> = settings.iter().map(row).collect();
    output.data(&table(&rows, output.page()));
}

fn row(Setting { key, value, origin }: &Setting) -> [String; 3] {
    let value = value.as_ref().map_or_else(|| "-".into(), Value::to_string);
    [visible(key).into_owned(), visible(&value).into_owned(), told(origin)]
}

/// A text without quotes, for scripts.
fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn told(origin: &Origin) -> String {
    match origin {
        Origin::Default => "default".into(),
        Origin::File { path, line } => format!("{}, line {line}", path.display()),
        Origin::Variable(name) => format!("variable {name}"),
        Origin::Flag(flag) => format!("flag {flag}"),
    }
}
