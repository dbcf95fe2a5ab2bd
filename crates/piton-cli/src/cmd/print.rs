//! `piton print`: a conversation as text. Takes no lease, so it also shows one that is running.

use std::ops::ControlFlow;
use std::sync::Arc;

use piton::{Kept, WHOLE_OUTPUT, reader};
use piton_agent::Settings;
use piton_core::id::{ConversationId, Seq};
use piton_core::view::{ItemView, Usage, View};
use piton_store::Journal;

use crate::flags::Print;
use crate::output::Output;
use crate::render::lines::Line;
use crate::render::paint::{Painted, Style};
use crate::render::print::{Detail, Life, Piece, conversation, leaves_out, untaken};
use crate::render::turn::said_in;
use crate::render::{markdown, origin};
use crate::report::{Fault, Report};
use crate::{store, target};

/// Shows it.
pub(crate) async fn run(
    print: &Print,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let nothing = Fault::NoConversation { aside: settings.set_aside() };
    let typed = print.id.as_ref().or(print.id_flag.as_ref());
    if !settings.has_database()? && typed.is_none() {
        return Err(nothing);
    }
    let journal: Arc<dyn Journal> = store::open(settings, output)?;
    let id = match typed {
        Some(typed) => target::by_prefix(&*journal, typed, settings).await?,
        None => target::newest(&*journal, settings).await?.ok_or(nothing)?,
    };
    if print.raw {
        entries(&*journal, &id, output).await?;
        return Ok(Report::ok("done").kept_in(id));
    }
    // Asked before reading: a writer that leaves in between is shown as running, which it was.
    let holder = journal.status(&id).await?.and_then(|listed| listed.holder);
    let life = holder.map_or(Life::Still, |holder| Life::Running { pid: holder.pid });
    // The same for a message that is taken in between: it is shown once, as what was read last.
    let kept = Kept::of(&*journal, &id).await?;
    let state = reader::state(&*journal, &id).await?;
    if print.json {
        output.json(&Line::view(id.as_str(), View::from(&state)));
        return Ok(Report::ok("done").kept_in(id));
    }
    output
        .talk(&format!("conversation {id}{}", counted(state.usage, state.calibration.permille())));
    let mut view = View::from(&state);
    for line in origin::told(&view.head) {
        output.talk(&line);
    }
    let detail = if print.full { Detail::Outputs } else { Detail::Calls };
    fill_in(&*journal, &mut view, detail).await;
    show(&conversation(&view, life, (output.page(), detail)), output);
    let commands = kept.iter().map(|kept| &kept.envelope);
    let untaken_ones = commands.filter(|it| !state.commands.contains_key(&it.id));
    let messages: Vec<_> = untaken_ones.filter_map(|it| said_in(&it.command)).collect();
    show(&untaken(&messages, life), output);
    if output.is_watched() && leaves_out(&view, detail) {
        output.talk(&format!("hint: with all that calls gave: piton print --full {id}"));
    }
    Ok(Report::ok("done").kept_in(id))
}

/// Puts what is kept whole in the place of the extracts that the model saw: differences of changes, and what
/// calls gave if that is wanted. Where one cannot be read, the extract stays.
async fn fill_in(journal: &dyn Journal, view: &mut View, detail: Detail) {
    let items = view.turns.iter_mut().flat_map(|turn| &mut turn.items);
    for item in items {
        let ItemView::Step(step) = item else { continue };
        for call in &mut step.calls {
            let is_change = call.change.is_some();
            let Some(result) =
                call.result.as_mut().filter(|_| is_change || detail == Detail::Outputs)
            else {
                continue;
            };
            let Some(blob) = &result.blob else { continue };
            if let Ok(whole) = journal.blob(&blob.digest).await {
                let notes = if is_change { "" } else { result.split().1 };
                // How to read on is for the model, and here is all of it.
                let notes = notes.split_inclusive('\n').filter(|it| !it.starts_with(WHOLE_OUTPUT));
                let whole = String::from_utf8_lossy(&whole);
                result.text = format!("{whole}{}", notes.collect::<String>()).into();
            }
        }
    }
}

/// Shows what the conversation is made of: laid out for a person who watches, and else as it is.
fn show(pieces: &[Piece], output: &mut Output) {
    let page = output.page();
    for piece in pieces {
        match (piece, page) {
            (Piece::Line(line), _) => output.data(&format!("{line}\n")),
            (Piece::Answer(text), Some(page)) => output.paint(&markdown::whole(text, page)),
            (Piece::Answer(text), None) => output.data(&format!("{text}\n")),
            (Piece::Painted(lines), page) => {
                let style = page.map_or(Style::Plain, |page| page.style);
                output.paint(&Painted::lines(lines, style));
            }
        }
    }
}

/// What it cost, and how far estimates were from that, where providers count.
fn counted(usage: Usage, permille: Option<u64>) -> String {
    let Usage { input, output, .. } = usage;
    if input == 0 && output == 0 {
        return String::new();
    }
    let per_estimated = permille.map(|permille| {
        let hundredths = permille.div_ceil(10);
        format!(", {}.{:02} for each estimated", hundredths / 100, hundredths % 100)
    });
    format!(": {input} tokens in{}, {output} out", per_estimated.unwrap_or_default())
}

/// Shows the entries as stored, also those that this build does not know.
async fn entries(
    journal: &dyn Journal,
    id: &ConversationId,
    output: &mut Output,
) -> Result<(), Fault> {
    reader::each_record(journal, id, Seq::default(), |record| {
        output.json(&Line::record(record));
        ControlFlow::Continue(())
    })
    .await?;
    Ok(())
}
