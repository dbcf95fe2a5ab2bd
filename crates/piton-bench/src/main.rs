//! Measures piton against the floor of the machine it runs on, in the same run.
//!
//! Every row is a ratio: what piton needs over what the same work costs without it. Times of
//! different machines or different runs are not comparable; ratios are.

mod appends;
mod crowd;
mod deciding;
mod entries;
mod finding;
mod folding;
mod following;
mod furnished;
mod listing;
mod long;
mod measure;
mod report;
mod serving;
mod sleepers;
mod start;
mod steps;
mod supervised;
mod turn;
mod wire;

use std::path::PathBuf;

use crate::measure::{Bench, Outcome};
use crate::report::Row;

fn main() -> Outcome<()> {
    let only: Vec<String> = std::env::args().skip(1).collect();
    if let [part, dir, count] = only.as_slice() {
        match part.as_str() {
            supervised::COMMANDS_ONLY => {
                return supervised::commands_only(dir.as_ref(), count.parse()?);
            }
            following::FOLLOW_ONLY => return following::follow_only(dir.as_ref(), count.parse()?),
            serving::BARE_ONLY => return serving::bare_only(dir.as_ref(), count.parse()?),
            crowd::IDLE_ONLY => return crowd::idle_only(dir.as_ref(), count.parse()?),
            crowd::TURNS_ONLY => return crowd::turns_only(dir.as_ref(), count.parse()?),
            _ => {}
        }
    }
    if let [long::COMMAND_ONLY, home, piton, arguments @ ..] =
        only.iter().map(String::as_str).collect::<Vec<_>>().as_slice()
    {
        return long::command_only(home, piton, arguments);
    }
    if let Some(unknown) =
        only.iter().find(|only| !MEASURES.iter().any(|it| it.0.contains(&***only)))
    {
        let names: Vec<_> = MEASURES.iter().map(|(name, _)| *name).collect();
        return Err(format!("nothing is called {unknown}; there are: {}", names.join(", ")).into());
    }
    let bin = std::env::current_exe()?.parent().map(PathBuf::from).unwrap_or_default();
    let near = bin.join("piton-bench-data");
    std::fs::create_dir_all(&near)?;
    let bench = Bench { dir: tempfile::tempdir_in(near)?, bin };
    let wanted = |name: &str| only.is_empty() || only.iter().any(|only| name.contains(only));
    let mut rows = Vec::new();
    for (name, measure) in MEASURES {
        if wanted(name) {
            report::progress(&format!("measuring {name} …"));
            rows.extend(measure(&bench)?);
        }
    }
    report::print(&rows);
    let missed = rows.iter().filter(|row| !row.holds()).count();
    report::progress(&format!("{} figures, {missed} miss their target", rows.len()));
    Ok(())
}

type Measure = fn(&Bench) -> Outcome<Vec<Row>>;

const MEASURES: [(&str, Measure); 21] = [
    ("append", appends::one),
    ("group", appends::many),
    ("at-once", crowd::turns),
    ("start", start::first_request),
    ("furnished", furnished::turn),
    ("step", steps::shell_true),
    ("supervised", supervised::shell),
    ("sandbox", supervised::sandbox),
    ("syncs", supervised::syncs),
    ("decide", deciding::call),
    ("sleepers", sleepers::held),
    ("turn", turn::long_turn),
    ("ls", listing::ls),
    ("fold", folding::open),
    ("view", folding::view),
    ("find", finding::all),
    ("long", long::commands),
    ("follow", following::both),
    ("serve", serving::all),
    // Deletes 10,000 files. On ext4 without a journal, files are slow to create for a minute behind
    // that, so what creates files is measured before.
    ("idle", crowd::idle),
    ("wire", wire::all),
];
