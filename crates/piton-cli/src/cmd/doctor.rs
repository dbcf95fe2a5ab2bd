//! `piton doctor`: what holds on this machine, found out by trying, and what to do about the rest.
//!
//! Changes nothing and asks nobody on the network.

mod entries;
mod home;
mod machine;

use piton_agent::Settings;

use crate::flags::Doctor;
use crate::output::Output;
use crate::render::lines::Line;
use crate::report::Report;

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// As it should be.
    Ok,
    /// Not there; piton does without, and says how well.
    Lacks,
    /// Not as it should be; something will not work.
    Broken,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Lacks => "lacks",
            Self::Broken => "broken",
        }
    }
}

/// One line of what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    about: &'static str,
    verdict: Verdict,
    said: String,
    /// What to do about it.
    advice: Option<String>,
}

impl Finding {
    fn ok(about: &'static str, said: impl Into<String>) -> Self {
        Self { about, verdict: Verdict::Ok, said: said.into(), advice: None }
    }

    fn lacks(about: &'static str, said: impl Into<String>, advice: impl Into<String>) -> Self {
        let advice = Some(advice.into());
        Self { about, verdict: Verdict::Lacks, said: said.into(), advice }
    }

    fn broken(about: &'static str, said: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { verdict: Verdict::Broken, ..Self::lacks(about, said, advice) }
    }
}

/// Looks at everything. Exits with 1 if something is broken.
pub(crate) fn run(doctor: &Doctor, settings: &Settings, output: &mut Output) -> Report {
    let findings = [machine::look(settings), home::look(settings, output)].concat();
    for Finding { about, verdict, said, advice } in &findings {
        let (verdict, advice) = (verdict.word(), advice.as_deref());
        if doctor.json {
            output.json(&Line::Finding { about, verdict, said, advice });
            continue;
        }
        output.data(&format!("{verdict:<6}  {about:<15}  {said}\n"));
        if let Some(advice) = advice {
            output.data(&format!("{:25}{advice}\n", ""));
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
