//! `piton print`: a conversation as text. Takes no lease, so it also shows one that is running.

use std::ops::ControlFlow;

use piton::model::Transcript;
use piton::tail::{self, Read};
use piton::{Kept, WHOLE_OUTPUT, reader};
use piton_agent::Settings;
use piton_core::id::{ConversationId, Seq};
use piton_core::view::{ItemView, TurnEnd, TurnView, Usage, View};
use piton_store::Journal;

use crate::flags::{Print, PrintStyle, Turns};
use crate::output::Output;
use crate::render::attempt;
use crate::render::cost;
use crate::render::imported;
use crate::render::lines::Line;
use crate::render::paint::{Painted, Style};
use crate::render::print::{
    Attempts, Detail, Life, Looks, Piece, conversation, leaves_out, untaken,
};
use crate::render::sent::sent;
use crate::render::turn::said_in;
use crate::render::{markdown, origin};
use crate::report::{Fault, Report};
use crate::{pager, target};

/// Shows it.
pub(crate) async fn run(
    print: &Print,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let typed = print.id.as_deref().or(print.id_flag.as_deref());
    let (journal, id) = target::find(typed, settings, output).await?;
    if print.raw && !print.json {
        output.leave_raw();
    } else if print.raw {
        entries(&*journal, &id, output).await?;
        return Ok(Report::ok("done").kept_in(id));
    }
    // Asked before reading: a writer that leaves in between is shown as running, which it was.
    let holder = journal.status(&id).await?.and_then(|listed| listed.holder);
    let life = holder.map_or(Life::Still, |holder| Life::Running { pid: holder.pid });
    // The same for a message that is taken in between: it is shown once, as what was read last.
    let kept = Kept::of(&*journal, &id).await?;
    // Programs are told of the beginning, too.
    let last = print.turns().and_then(Turns::at_end).filter(|_| !print.json);
    let Read { state, is_whole, damage } = tail::read(&*journal, &id, last).await?;
    let is_damaged = damage.is_some();
    // What is shown is told apart from what cannot be.
    let done = move |id| match damage {
        Some(damage) => Err(Fault::Store(damage)),
        None => Ok(Report::ok("done").kept_in(id)),
    };
    if print.compacted {
        output.data(&sent(&Transcript::from(&state)));
        return done(id);
    }
    let mut view = View::from(&state);
    let attempts = if print.attempts { Attempts::All } else { Attempts::Present };
    if let Some(turns) = print.turns()
        && let Err(missing) = only((&id, &mut view), turns, attempts)
    {
        return Ok(missing);
    }
    if print.json && print.attempts {
        tried(&id, &view, output);
        return done(id);
    }
    if print.json {
        output.json(&Line::view(id.as_str(), view));
        return done(id);
    }
    // What all of it cost is not said at its end.
    let cost = if is_whole { counted(&view, state.calibration.permille()) } else { String::new() };
    output.talk(&format!("conversation {id}{cost}"));
    for line in beginning(&id, &view, state.strays) {
        output.talk(&line);
    }
    let detail = detail(print);
    fill_in(&*journal, &mut view, detail).await;
    let page = pager::begin(print.no_pager, settings, output);
    let looks = Looks { page: output.page(), detail, attempts };
    show(&conversation(&view, life, looks), output);
    let commands = kept.iter().map(|kept| &kept.envelope);
    let untaken_ones = commands.filter(|it| !state.commands.contains_key(&it.id));
    let messages: Vec<_> = untaken_ones.filter_map(|it| said_in(&it.command)).collect();
    show(&untaken(&messages, life), output);
    pager::end(page, output).await;
    hint(&id, &view, looks, output);
    if is_damaged {
        output.talk("Here it breaks off: the next entry cannot be read.");
    }
    done(id)
}

/// Says how to see what is not shown.
fn hint(id: &ConversationId, view: &View, looks: Looks, output: &mut Output) {
    if looks.attempts == Attempts::Present
        && let Some(said) = discarded(id, view)
    {
        output.talk(&said);
    }
    if looks.attempts == Attempts::Present
        && let Some(count) = most_attempts(view)
    {
        let said = format!("hint: {count} attempts; to see them all: piton print --attempts {id}");
        output.talk(&said);
    }
    if output.is_watched() && leaves_out(view, looks.detail) {
        output.talk(&format!("hint: with all that calls gave: piton print --full {id}"));
    }
}

/// How many turns are discarded, and how to see them; none if none is.
pub(super) fn discarded(id: &ConversationId, view: &View) -> Option<String> {
    let is_discarded = |turn: &&TurnView| turn.head.end == Some(TurnEnd::Discarded);
    let (said, them) = match view.turns.iter().filter(is_discarded).count() {
        0 => return None,
        1 => ("1 turn is discarded".to_owned(), "it"),
        count => (format!("{count} turns are discarded"), "them"),
    };
    Some(format!("hint: {said}; to see {them}: piton print --attempts {id}"))
}

/// How often the message was tried that was tried most, if that is more than once.
fn most_attempts(view: &View) -> Option<usize> {
    let counts = view
        .shown()
        .flat_map(|turn| (0..turn.items.len()).map(|place| attempt::attempts(turn, place).len()));
    counts.max().filter(|count| 1 < *count)
}

/// What is said of where a conversation comes from.
fn beginning(id: &ConversationId, view: &View, strays: u64) -> Vec<String> {
    let mut lines = origin::told(&view.head);
    if view.head.origin_gone && 0 < strays {
        lines.push(format!(
            "Some of its own entries belong to a turn that is gone: piton print --json --raw {id}"
        ));
    }
    if let Some(from) = &view.head.imported {
        lines.push(imported::source(&from.source));
        lines.extend(imported::remarks(&from.remarks, from.more));
    }
    lines
}

/// Leaves some turns in a view; says so if there are none of them.
fn only(
    (id, view): (&ConversationId, &mut View),
    turns: Turns,
    attempts: Attempts,
) -> Result<(), Report> {
    let discarded = discarded(id, view).filter(|_| attempts == Attempts::Present);
    let numbers: Vec<_> = attempts.turns(view).map(|turn| turn.head.id.0).collect();
    let (from, to) = turns.within(&numbers);
    view.turns.retain(|turn| (from..=to).contains(&turn.head.id.0));
    let last = numbers.last().copied().unwrap_or(0);
    if attempts.turns(view).next().is_none() {
        let there = match (last, &discarded) {
            (0, None) => "the conversation has no turns yet".to_owned(),
            (0, Some(_)) => "none is shown".to_owned(),
            (last, _) => format!("the last turn is {last}"),
        };
        let hint = discarded.map(|said| format!("\n{said}")).unwrap_or_default();
        return Err(Report::misuse(&format!("error: there are no such turns; {there}{hint}")));
    }
    if to < last {
        // What waits comes behind the last turn.
        view.queue.clear();
    }
    Ok(())
}

fn detail(print: &Print) -> Detail {
    match print.style {
        Some(PrintStyle::User) => Detail::Messages,
        Some(PrintStyle::Chat) => Detail::Answers,
        Some(PrintStyle::Brief) => Detail::CallLines,
        Some(PrintStyle::Full) => Detail::Outputs,
        None if print.full => Detail::Outputs,
        None => Detail::Calls,
    }
}

/// Shows the attempts of all messages as data.
fn tried(id: &ConversationId, view: &View, output: &mut Output) {
    for turn in &view.turns {
        for place in 0..turn.items.len() {
            let tried = attempt::attempts(turn, place);
            for attempt in &tried {
                output.json(&Line::attempt(id.as_str(), turn.head.id, attempt));
            }
        }
    }
}

/// Puts what is kept whole in the place of the extracts that the model saw: differences of changes, and what
/// calls gave if that is wanted. Where one cannot be read, the extract stays.
pub(super) async fn fill_in(journal: &dyn Journal, view: &mut View, detail: Detail) {
    let items = view.turns.iter_mut().flat_map(|turn| {
        let old = turn.attempts.iter_mut().flat_map(|old| &mut old.items);
        turn.items.iter_mut().chain(old)
    });
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
            (Piece::Line(line), _) => output.lines(line),
            (Piece::Answer(text), Some(page)) => output.paint(&markdown::whole(text, page)),
            (Piece::Answer(text), None) => output.data(&format!("{text}\n")),
            (Piece::Painted(lines), page) => {
                let style = page.map_or(Style::Plain, |page| page.style);
                output.paint(&Painted::lines(lines, style));
            }
        }
    }
}

/// What it used and cost, and how far estimates were from that, where providers count.
fn counted(view: &View, permille: Option<u64>) -> String {
    let Usage { input, output, .. } = view.head.usage;
    if input == 0 && output == 0 {
        return String::new();
    }
    let cached = cost::cached_share(view.head.usage).map(|share| format!(" ({share} cached)"));
    let per_estimated = permille.map(|permille| {
        let hundredths = permille.div_ceil(10);
        format!(" ({}.{:02} counted for each estimated)", hundredths / 100, hundredths % 100)
    });
    let paid = cost::of_conversation(view).map(|paid| format!(", {}", cost::dollars(paid)));
    let [cached, per_estimated, paid] =
        [cached, per_estimated, paid].map(Option::unwrap_or_default);
    format!(": {input} tokens in{cached}, {output} out{paid}{per_estimated}")
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
    if let Some(origin) = reader::origin_of(journal, id).await? {
        output.talk(&format!(
            "These are its own entries. What it shares is in conversation {}, through entry {}; all of it \
             together: piton export {id} --format jsonl",
            origin.conversation, origin.through
        ));
    }
    Ok(())
}
