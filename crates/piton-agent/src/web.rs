//! `web_fetch`: the text of a web page, for the model.
//!
//! Only addresses that the whole world can reach are connected to. Otherwise a page could send the
//! model to a service of this machine or of the network around it, which trusts whoever is near.
//! `reach` knows which addresses those are, `fetch` gets bytes, `page` makes text of them, `foreign`
//! marks that text as something that nobody here has written.
//!
//! The class is read-only: getting a page changes nothing here, HTTP calls it safe, and a call that
//! was lost is made again. It asks all the same, because its address is one (`ArgumentRole::Address`).

mod fetch;
mod foreign;
mod markdown;
mod page;
mod reach;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use piton_core::event::{ArgumentRole, EffectClass, Permissions, RuleEffect, ToolSpec};
use piton_core::id::CallId;
use piton_tools::{Arguments, Finished, Job, Prepared, Refusal, Site, Tool, parse_arguments};
use reqwest::Url;
use serde::Deserialize;

use self::fetch::{Fetcher, Got, Redirects};
use self::foreign::Boundary;
pub(crate) use self::reach::{PrivateHosts, WrittenWeb};

const NAME: &str = "web_fetch";
/// Longest time of a call.
const WAIT: Duration = Duration::from_secs(30);

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "url": {"type": "string", "description": "The address, with http:// or https://."},
        "offset": {"type": "integer", "minimum": 0, "description": "Characters of the text to skip, to read on."}
    },
    "required": ["url"],
    "additionalProperties": false
}"#;

/// The tool.
#[derive(Debug)]
pub(crate) struct WebFetch {
    fetcher: Arc<Fetcher>,
}

#[derive(Debug, Deserialize)]
struct Wanted {
    url: String,
    #[serde(default)]
    offset: usize,
}

impl WebFetch {
    /// A tool that may reach these private hosts.
    pub(crate) fn new(private: Arc<PrivateHosts>) -> Self {
        Self { fetcher: Arc::new(Fetcher::new(private)) }
    }

    async fn give(&self, job: &Job) -> Result<Finished, Refusal> {
        let (wanted, url) = look(&job.arguments)?;
        let redirects = redirects(&job.site.permissions);
        let got =
            self.fetcher.get(url, redirects).await.map_err(|fault| Refusal(fault.to_string()))?;
        let answer = match got {
            Got::Page(answer) => answer,
            Got::Elsewhere { from, to } => {
                return Err(Refusal(format!(
                    "{from} leads to {to}, which was not followed. If you want it, fetch that address."
                )));
            }
        };
        let boundary = Boundary::of(job);
        // Making text of a page can take a while, and must not hold up other calls.
        let made =
            tokio::task::spawn_blocking(move || page::text(&answer).map(|text| (answer, text)));
        let made = made.await.map_err(|_| Refusal("the page could not be read".into()))?;
        let (answer, text) = made.map_err(Refusal)?;
        foreign::marked(&text, &answer.url, wanted.offset, &boundary)
    }
}

#[async_trait]
impl Tool for WebFetch {
    fn spec(&self) -> ToolSpec {
        let description = "Gets a web page and gives its text: HTML as Markdown, other text as it is. Not for \
                           files of the workspace, not for addresses of a private network, and it runs no script. \
                           A long text is cut, and says how to read on.";
        ToolSpec::new(NAME, description, SCHEMA, EffectClass::ReadOnly)
            .with_roles([("url", ArgumentRole::Address), ("offset", ArgumentRole::Value)])
    }

    async fn prepare(
        &self,
        _: &Site,
        _: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        look(arguments)?;
        Ok(Prepared::default())
    }

    async fn run(&self, job: Job) -> Finished {
        tokio::select! {
            biased;
            () = job.cancel.cancelled() => Finished::cancelled("stopped; nothing was changed"),
            given = tokio::time::timeout(WAIT, self.give(&job)) => match given {
                Ok(given) => given.unwrap_or_else(Finished::from),
                Err(_) => Finished::failed(format!(
                    "the page did not come within {} seconds. Try again later, or another address.",
                    WAIT.as_secs()
                )),
            },
        }
    }
}

/// The arguments, as far as they can be judged without asking anybody.
fn look(arguments: &Arguments) -> Result<(Wanted, Url), Refusal> {
    let wanted: Wanted = parse_arguments(SCHEMA, arguments)?;
    let url = Url::parse(&wanted.url)
        .map_err(|error| Refusal(format!("`{}` is no address: {error}", wanted.url)))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Refusal(format!("only http and https are fetched, not {}", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Refusal(
            "an address with a user name in it is not fetched: leave that out".into(),
        ));
    }
    Ok((wanted, url))
}

/// A person allows a host, so its own redirects are followed. Where a rule looks closer and might
/// forbid what comes behind one, the model names the new address, and it is judged like any other.
fn redirects(permissions: &Permissions) -> Redirects {
    let mut rules = permissions.rules.iter();
    let looks_closer = rules
        .any(|rule| rule.effect != RuleEffect::Allow && (rule.tool == NAME || rule.tool == "*"));
    if looks_closer { Redirects::Tell } else { Redirects::SameHost }
}

#[cfg(test)]
mod tests;
