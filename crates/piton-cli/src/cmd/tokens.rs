//! `piton tokens`: how large the next request of a conversation is, and how much the model takes.

use piton::reader;
use piton_agent::known::KnownModel;
use piton_agent::{Settings, typed};
use piton_core::tokens::Tokens;
use piton_core::transcript::Parts;
use piton_core::view::{Usage, View};

use crate::flags::TokensFlags;
use crate::output::Output;
use crate::render::cost::{InAll, dollars};
use crate::render::lines::Line;
use crate::render::table::table;
use crate::render::tokens;
use crate::report::{Fault, Report};
use crate::target;

/// Shows it.
pub(crate) async fn run(
    flags: &TokensFlags,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let (journal, id) = target::find(flags.id.as_deref(), settings, output).await?;
    let state = reader::state(&*journal, &id).await?;
    let (tokens, view) = (Tokens::from(&state), View::from(&state));
    let model = tokens.model.as_ref().map(typed).unwrap_or_default();
    let known = KnownModel::find(&model);
    let next = Usage { input: tokens.expected, ..Usage::default() };
    let next = known.and_then(|known| known.cost(next));
    let price_step = known.and_then(|known| known.price_step);
    if flags.json {
        output.json(&Line::Tokens {
            conversation: id.as_str(),
            tokens: &tokens,
            price_step,
            next_microdollars: next,
            in_all: InAll::of(&view),
        });
        return Ok(Report::ok("done").kept_in(id));
    }
    output.talk(&format!("conversation {id}"));
    let mut rows = rows(&model, &tokens, next);
    let dearer = |step: u64| ["price".into(), format!("more for each token above {step}")];
    rows.extend(price_step.map(dearer));
    rows.extend(tokens::last_turn(&view).map(|told| ["last turn".into(), told]));
    rows.extend(tokens::in_all(&view).map(|told| ["in all".into(), told]));
    output.data(&table(&rows, output.page()));
    Ok(Report::ok("done").kept_in(id))
}

fn rows(model: &str, tokens: &Tokens, next: Option<u64>) -> Vec<[String; 2]> {
    let Parts { prompt, tools, instructions, summary, outputs, rest } = tokens.parts;
    let window = match tokens.window {
        Some(window) => format!("{window} ({})", tokens.window_from),
        None => "not known".into(),
    };
    let counted = tokens.counted_permille.map_or("not yet".into(), |permille| {
        let hundredths = permille.div_ceil(10);
        format!("{}.{:02} for each estimated", hundredths / 100, hundredths % 100)
    });
    let price = next.map(|paid| format!(" ({} to send, if nothing is cached)", dollars(paid)));
    let price = price.unwrap_or_default();
    let mut rows = vec![
        ["model", model].map(str::to_owned),
        ["window".into(), window],
        ["budget".into(), format!("{}; room is made above {}", tokens.budget, tokens.trigger)],
        ["next request".into(), format!("{}{price}", tokens.expected)],
    ];
    let parts = [
        ("prompt", prompt),
        ("tools", tools),
        ("instructions", instructions),
        ("summary", summary),
        ("outputs", outputs),
        ("rest", rest),
    ];
    rows.extend(parts.map(|(name, size)| [format!("  {name}"), size.to_string()]));
    rows.push(["counted".into(), counted]);
    rows
}
