//! `piton models`: the models that can answer, and what keeps providers from answering.

mod list;

use std::time::Duration;

use futures_util::future::join_all;
use piton_agent::{
    Agent, Environment, KeyFrom, ModelError, Provider, Settings, http_client, typed,
};

use crate::flags::Models;
use crate::output::Output;
use crate::render::lines::Line;
use crate::render::table::table;
use crate::report::{Fault, Report};

/// Longest wait for a provider to show that it is there.
const REACH_WAIT: Duration = Duration::from_secs(3);

/// Shows them.
pub(crate) async fn run(
    flags: &Models,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let agent = Agent::load(settings.clone())?;
    let client = http_client().map_err(ModelError::from)?;
    let wanted = |name: &str| flags.provider.as_deref().is_none_or(|only| only == name);
    if let Some(only) =
        flags.provider.as_deref().filter(|only| !agent.providers().contains_key(*only))
    {
        // The name of a model, or of nobody: said as where a model is typed.
        agent.parse_model(only)?;
    }
    let providers: Vec<_> =
        agent.providers().iter().filter(|(name, _)| wanted(name.as_str())).collect();
    let states = providers.iter().map(|(_, it)| state(&client, it, &settings.environment));
    // All at once: one that does not answer must not hold up the others.
    let states = join_all(states).await;
    let default = agent.default_model();
    let built_in = State::ready("no key, no network, no language model");
    let mut rows = vec![["PROVIDER", "ADDRESS", "STATE"].map(ToOwned::to_owned)];
    let demo = wanted("demo").then(|| ("demo", "built in".to_owned(), &built_in));
    let others = providers.iter().zip(&states);
    let others = others.map(|((name, it), state)| (name.as_str(), it.shown_address(), state));
    for (name, address, State { ready, state }) in demo.into_iter().chain(others) {
        if flags.json {
            let model = default.as_ref().ok().filter(|model| model.provider == name);
            let (default_model, ready, state) = (model.map(typed), *ready, state.clone());
            output.json(&Line::Provider { provider: name, address, ready, state, default_model });
        } else {
            rows.push([name.to_owned(), address, state.clone()]);
        }
    }
    if !flags.json {
        output.data(&table(&rows, output.page()));
    }
    let ready = |(_, state): &(&(&String, &Provider), &State)| state.ready;
    let can_list: Vec<_> = providers.iter().zip(&states).filter(ready).map(|(it, _)| *it).collect();
    list::show(&agent, &client, (&can_list, flags), output).await;
    match default {
        Ok(model) => output.talk(&format!("new conversations use {}", typed(&model))),
        Err(fault) => output.talk(&format!("warning: for new conversations: {fault}")),
    }
    Ok(Report::ok("listed"))
}

/// Whether a provider can be asked, in a word for programs and in words for people.
struct State {
    ready: bool,
    state: String,
}

impl State {
    fn ready(how: &str) -> Self {
        Self { ready: true, state: format!("ready: {how}") }
    }

    fn not(state: String) -> Self {
        Self { ready: false, state }
    }
}

/// Whether it can be asked, and why not.
async fn state(client: &reqwest::Client, provider: &Provider, environment: &Environment) -> State {
    let key = match &provider.key {
        KeyFrom::Nowhere => "no key needed".into(),
        KeyFrom::Command(command) => {
            let program = command.first().map_or("", String::as_str);
            format!("key from the command {program}")
        }
        KeyFrom::Variables(names) => {
            match names.iter().find(|name| environment.text(name).is_some()) {
                Some(name) => format!("key from {name}"),
                None => return State::not(format!("no key: set {}", names.join(" or "))),
            }
        }
    };
    match reach(client, provider).await {
        None => State::ready(&key),
        Some(why) => State::not(format!("{why} ({key})")),
    }
}

/// Why nobody answers at its address, if nobody does. Sends no key and asks no model.
async fn reach(client: &reqwest::Client, provider: &Provider) -> Option<String> {
    let asked = client.head(&provider.base_url).timeout(REACH_WAIT).send().await;
    match asked {
        Ok(_) => None,
        Err(error) if error.is_timeout() => Some("no answer within 3 s".into()),
        Err(error) => {
            let error = error.without_url();
            let mut cause: &dyn std::error::Error = &error;
            while let Some(source) = cause.source() {
                cause = source;
            }
            Some(format!("not reachable: {cause}"))
        }
    }
}
