//! `piton models`: which providers there are, and what keeps them from answering.

use std::time::Duration;

use crate::models::{Shelf, environment};
use crate::output::Output;
use crate::providers::{self, KeyFrom, Provider};
use crate::report::{Fault, Report};
use crate::settings::Settings;

/// Longest wait for a provider to show that it is there.
const REACH_WAIT: Duration = Duration::from_secs(3);

/// Shows them.
pub(crate) async fn run(settings: &Settings, output: &mut Output) -> Result<Report, Fault> {
    let shelf = Shelf::read(settings.file.as_deref())?;
    let client = providers::client().map_err(crate::models::ModelFault::from)?;
    let mut lines = vec![row("PROVIDER", "ADDRESS", "STATE")];
    lines.push(row("demo", "built in", "ready: no key, no network, no language model"));
    for (name, provider) in &shelf.providers {
        let state = match lack(provider) {
            Some(lack) => lack,
            None => reach(&client, provider).await,
        };
        lines.push(row(name, &provider.base_url, &state));
    }
    output.data(&lines.concat());
    Ok(Report::ok("listed"))
}

fn row(name: &str, address: &str, state: &str) -> String {
    format!("{name:<12}  {address:<42}  {state}\n")
}

/// What has to be set before it can be asked.
fn lack(provider: &Provider) -> Option<String> {
    match &provider.key {
        KeyFrom::Variables(names) if !provider.has_key(&environment) => {
            Some(format!("no key: set {}", names.join(" or ")))
        }
        KeyFrom::Variables(_) | KeyFrom::Nowhere | KeyFrom::Command(_) => None,
    }
}

/// Whether anybody answers at its address. Sends no key and asks no model.
async fn reach(client: &reqwest::Client, provider: &Provider) -> String {
    let asked = client.head(&provider.base_url).timeout(REACH_WAIT).send().await;
    match asked {
        Ok(_) => "ready".into(),
        Err(error) if error.is_timeout() => "no answer within 3 s".into(),
        Err(error) => {
            let error = error.without_url();
            let mut cause: &dyn std::error::Error = &error;
            while let Some(source) = cause.source() {
                cause = source;
            }
            format!("not reachable: {cause}")
        }
    }
}
