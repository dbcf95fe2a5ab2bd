//! Laws that hold for every command line, whatever rules there are: held against lines of every kind.
//!
//! `PITON_CASES` says how many lines (few by default), `PITON_SEED` which ones. `dev/permit-fuzz` tries a
//! million.

mod case;
mod lines;
mod shell;
mod table;
mod tape;

use std::cell::RefCell;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use self::case::Case;
use self::table::LAWS;
use crate::RuleEffect;

/// Lines that the tests try.
const CASES: u32 = 2_000;
/// Numbers that a case is made from.
const NUMBERS_MAX: usize = 80;

/// What became of the lines.
#[derive(Clone, Debug, Default)]
struct Tally {
    lines: u64,
    plain: u64,
    unclear: u64,
    wild: u64,
    allowed: u64,
    asked: u64,
    denied: u64,
    free: u64,
    looks: u64,
    /// How long each decision took.
    took: Took,
}

/// Times of decisions, of which the middle is shown, and what 99 of 100 keep to.
#[derive(Clone, Default)]
struct Took(Vec<Duration>);

impl fmt::Debug for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut times = self.0.clone();
        times.sort_unstable();
        let at = |percent: usize| times.get(times.len() * percent / 100);
        write!(f, "{:?} (50 of 100), {:?} (99 of 100)", at(50), at(99))
    }
}

impl Tally {
    fn count(&mut self, case: &Case) {
        let permissions = case.permissions();
        self.lines += 1;
        match case.made.known().next() {
            Some(_) if case.made.commands.is_some() => self.plain += 1,
            Some(_) => self.unclear += 1,
            None => self.wild += 1,
        }
        let start = Instant::now();
        let verdict = case.verdict(&permissions);
        let (is_free, is_look) = (case.is_free(&permissions), case.is_look(&permissions));
        self.took.0.push(start.elapsed());
        match verdict {
            RuleEffect::Allow => self.allowed += 1,
            RuleEffect::Ask => self.asked += 1,
            RuleEffect::Deny => self.denied += 1,
        }
        self.free += u64::from(is_free);
        self.looks += u64::from(is_look);
    }

    fn add(&mut self, other: Self) {
        let pairs = [
            (&mut self.lines, other.lines),
            (&mut self.plain, other.plain),
            (&mut self.unclear, other.unclear),
            (&mut self.wild, other.wild),
            (&mut self.allowed, other.allowed),
            (&mut self.asked, other.asked),
            (&mut self.denied, other.denied),
            (&mut self.free, other.free),
            (&mut self.looks, other.looks),
        ];
        for (sum, more) in pairs {
            *sum += more;
        }
        self.took.0.extend(other.took.0);
    }
}

fn number(name: &str, default: u32) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn judged(numbers: &[u64], total: &RefCell<Tally>) -> Result<(), String> {
    let case = Case::new(numbers);
    for (law, check) in LAWS {
        check(&case).map_err(|why| format!("{law}: {why}\n{case:?}"))?;
    }
    total.borrow_mut().count(&case);
    Ok(())
}

/// Tries a share of the lines. One that breaks a law, or the reader, shrinks.
fn run(cases: u32, seed: u64) -> Result<Tally, String> {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let total = RefCell::new(Tally::default());
    let tape = proptest::collection::vec(proptest::num::u64::ANY, 1..NUMBERS_MAX);
    let result = TestRunner::new_with_rng(config, rng).run(&tape, |tape| {
        let judged = std::panic::catch_unwind(AssertUnwindSafe(|| judged(&tape, &total)));
        judged
            .map_err(|_| TestCaseError::fail(format!("panics: {:?}", Case::new(&tape))))?
            .map_err(TestCaseError::fail)
    });
    result.map(|()| total.into_inner()).map_err(|error| error.to_string())
}

// D43, D44: no line, and no set of rules, lets more happen than the laws say.
#[test]
fn no_line_breaks_a_law() {
    let (cases, seed) = (number("PITON_CASES", CASES), u64::from(number("PITON_SEED", 1)));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let share = cases.div_ceil(u32::try_from(workers).unwrap());
    let total = std::thread::scope(|scope| {
        let start = |worker: usize| scope.spawn(move || run(share, seed << 16 | worker as u64));
        let workers: Vec<_> = (0..workers).map(start).collect();
        let mut total = Tally::default();
        for worker in workers {
            total.add(worker.join().unwrap().unwrap_or_else(|error| panic!("{error}")));
        }
        total
    });
    println!("{} laws, {total:?}", LAWS.len());
    if total.lines < u64::from(CASES) {
        return;
    }
    // Lines of which nothing comes would break no law either.
    let some = [total.plain, total.unclear, total.wild, total.allowed, total.asked, total.denied];
    assert!(some.iter().all(|count| total.lines / 20 < *count), "{total:?}");
    assert!(total.lines / 100 < total.free && 0 < total.looks, "{total:?}");
}
