//! How much to try, from the words of the command line.

use crate::outcome::Outcome;

/// Rounds with random deaths, unless told otherwise.
const ROUNDS: u32 = 1_000;

/// The words that a plan is made of.
pub(crate) const USAGE: &str = "rounds=N, step=N, seed=N, only=NAME";

/// How much to try.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Rounds with random deaths.
    pub(crate) rounds: u32,
    /// Every how many-th system call is tried.
    pub(crate) step: usize,
    pub(crate) seed: u64,
    /// Which experiments, by a part of their names.
    pub(crate) only: Option<String>,
}

impl Plan {
    pub(crate) fn parse(words: &[String]) -> Outcome<Self> {
        let seed = u64::from(std::process::id());
        let mut plan = Self { rounds: ROUNDS, step: 1, seed, only: None };
        for word in words {
            match word.split_once('=') {
                Some(("rounds", count)) => plan.rounds = count.parse()?,
                Some(("step", step)) => plan.step = step.parse::<usize>()?.max(1),
                Some(("seed", seed)) => plan.seed = seed.parse()?,
                Some(("only", name)) => plan.only = Some(name.to_owned()),
                _ => return Err(format!("{word}: not one of {USAGE}").into()),
            }
        }
        Ok(plan)
    }
}
