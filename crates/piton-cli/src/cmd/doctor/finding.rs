//! What was found about one thing, and what to do about it.

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// As it should be.
    Ok,
    /// Not there; piton does without, and says how well.
    Lacks,
    /// Not as it should be; something will not work.
    Broken,
}

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Lacks => "lacks",
            Self::Broken => "broken",
        }
    }
}

/// One line of what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) about: &'static str,
    pub(super) verdict: Verdict,
    pub(super) said: String,
    /// What to do if it is not as it should be.
    pub(super) advice: Option<String>,
}

impl Finding {
    pub(super) fn ok(about: &'static str, said: impl Into<String>) -> Self {
        Self { about, verdict: Verdict::Ok, said: said.into(), advice: None }
    }

    pub(super) fn lacks(
        about: &'static str,
        said: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        let advice = Some(advice.into());
        Self { about, verdict: Verdict::Lacks, said: said.into(), advice }
    }

    pub(super) fn broken(
        about: &'static str,
        said: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { verdict: Verdict::Broken, ..Self::lacks(about, said, advice) }
    }
}
