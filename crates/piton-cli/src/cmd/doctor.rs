//! `piton doctor`: what holds on this machine, found out by trying, and what to do about the rest.
//!
//! Changes nothing and asks nobody on the network; only `--salvage` writes.

mod entries;
mod finding;
mod home;
mod machine;
mod salvage;

use piton_agent::Settings;

use self::finding::{Finding, Verdict};
use crate::flags::Doctor;
use crate::output::Output;
use crate::render::lines::Line;
use crate::report::{Fault, Report};

/// Looks at everything. Exits with 1 if something is broken.
pub(crate) async fn run(
    doctor: &Doctor,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    match &doctor.salvage {
        Some(file) => salvage::run(file.as_deref(), doctor.json, settings, output).await,
        None => Ok(look(doctor, settings, output)),
    }
}

fn look(doctor: &Doctor, settings: &Settings, output: &mut Output) -> Report {
    let findings = [machine::look(settings), home::look(settings, output)].concat();
    for Finding { about, verdict, said, advice } in &findings {
        let (verdict, advice) = (verdict.word(), advice.as_deref());
        if doctor.json {
            output.json(&Line::Finding { about, verdict, said, advice });
            continue;
        }
        output.lines(&format!("{verdict:<6}  {about:<15}  {said}"));
        if let Some(advice) = advice {
            output.lines(&format!("{:25}{advice}", ""));
        }
    }
    let count = |wanted| findings.iter().filter(|finding| finding.verdict == wanted).count();
    match (count(Verdict::Broken), count(Verdict::Lacks)) {
        (0, 0) => Report::nothing("All is well."),
        (0, lacking) => Report::nothing(&format!("Usable. Lacking: {lacking}.")),
        (broken, lacking) => {
            Report::broken(&format!("Not usable as it is. Broken: {broken}, lacking: {lacking}."))
        }
    }
}
