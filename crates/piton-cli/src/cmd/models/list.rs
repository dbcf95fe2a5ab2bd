//! The models of providers, with what is known of them.

use futures_util::future::join_all;
use piton_agent::known::{KNOWN, KnownModel, Price};
use piton_agent::listed::{ListSource, ListedModel, ModelList};
use piton_agent::{Agent, Provider};
use piton_core::id::Timestamp;

use crate::flags::Models;
use crate::output::Output;
use crate::render;
use crate::render::count::short;
use crate::render::lines::Line;
use crate::render::table::table;
use crate::render::visible::visible_name;

/// Shows the models of the providers that can be asked; where there are none, those that are known.
pub(super) async fn show(
    agent: &Agent,
    client: &reqwest::Client,
    (providers, flags): (&[(&String, &Provider)], &Models),
    output: &mut Output,
) {
    let quiet = |(_, provider): &&(&String, &Provider)| {
        flags.provider.is_some() || provider.lists_quietly()
    };
    let providers: Vec<_> = providers.iter().filter(quiet).collect();
    let lists = providers
        .iter()
        .map(|(name, provider)| agent.list_models(client, name, provider, flags.refresh));
    let lists = join_all(lists).await;
    let mut rows = Vec::new();
    for ((name, _), ModelList { models, source }) in providers.iter().zip(lists) {
        output.talk(&format!("models of {name}: {}", told(&source)));
        rows.extend(models.iter().map(|model| Row::listed(name, model)));
    }
    if rows.is_empty() {
        let wanted = |known: &&KnownModel| {
            flags.provider.as_deref().is_none_or(|only| only == known.provider)
        };
        rows.extend(KNOWN.iter().filter(wanted).map(Row::known));
        if !rows.is_empty() {
            output.talk("no provider could be asked for its models; these are known to this build");
        }
    }
    if flags.json {
        for row in rows {
            output.json(&row.line());
        }
    } else if !rows.is_empty() {
        let head =
            ["MODEL", "WINDOW", "ANSWER", "DOLLARS PER MILLION, IN/OUT"].map(ToOwned::to_owned);
        let rows: Vec<_> = std::iter::once(head).chain(rows.iter().map(Row::cells)).collect();
        output.data(&format!("\n{}", table(&rows, output.page())));
    }
}

fn told(source: &ListSource) -> String {
    match source {
        ListSource::Asked => "asked just now".into(),
        ListSource::Kept(age) => {
            let ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            let ago = render::age::age(Timestamp(0), Timestamp(ms));
            format!("as listed {ago}; --refresh asks again")
        }
        ListSource::Table(why) => format!("known to this build; {why}"),
    }
}

struct Row {
    model: String,
    window: Option<u64>,
    output_max: Option<u64>,
    price: Option<Price>,
}

impl Row {
    fn known(known: &KnownModel) -> Self {
        let (window, output_max) = (Some(known.window), Some(known.output_max));
        Self { model: known.typed(), window, output_max, price: known.price }
    }

    /// What the provider says; the table fills in what it does not say.
    fn listed(provider: &str, listed: &ListedModel) -> Self {
        let model = format!("{provider}/{}", listed.model);
        let known = KNOWN.iter().find(|known| known.typed() == model);
        Self {
            window: listed.window.or(known.map(|known| known.window)),
            output_max: listed.output_max.or(known.map(|known| known.output_max)),
            price: known.and_then(|known| known.price),
            model,
        }
    }

    fn cells(&self) -> [String; 4] {
        let tokens = |count: Option<u64>| count.map_or("-".to_owned(), short);
        let price = self.price.map_or("-".to_owned(), |Price { input, output }| {
            format!("{:.2}/{:.2}", dollars(input), dollars(output))
        });
        [
            visible_name(&self.model).into_owned(),
            tokens(self.window),
            tokens(self.output_max),
            price,
        ]
    }

    fn line(self) -> Line<'static> {
        let Self { model, window, output_max, price } = self;
        let price_input = price.map(|price| dollars(price.input));
        let price_output = price.map(|price| dollars(price.output));
        Line::Model { model, window, output_max, price_input, price_output }
    }
}

fn dollars(thousandths: u32) -> f64 {
    f64::from(thousandths) / 1_000.0
}
