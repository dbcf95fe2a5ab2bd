//! Any journal that the core can make, times every dialect, times a switch of the model anywhere:
//! what is sent breaks no rule (K14, K49, K53, K54, J57, J58, J59, X8, X22).
//!
//! `PITON_CASES` says how many journals (few by default), `PITON_SEED` which ones, and
//! `PITON_BODIES` names a folder that keeps the bodies for a validator of someone else.

mod beginnings;
mod imported;
mod kept;
mod luck;
mod mutants;
mod oddities;
mod speech;
mod story;
pub(crate) mod voices;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;

use piton_core::event::Native;
use piton_core::id::TurnId;
use piton_core::integrity;
use piton_core::state::State;
use piton_core::transcript::{Message, Transcript};
use piton_wire::cache::Cache;
use piton_wire::{Ask, Effort};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use serde_json::Value;

use self::beginnings::Beginnings;
use self::kept::Shelf;
use self::luck::Luck;
use self::story::{Watch, tell};
use self::voices::{VOICES, Voice};

/// Journals that are tried where nobody asks for more.
const CASES: u32 = 192;
/// Longest tape, in things that happen.
const HAPPENINGS_MAX: usize = 90;

/// What was tried.
#[derive(Debug, Default)]
struct Tally {
    journals: u64,
    requests: u64,
    bodies: u64,
    switches: u64,
    switches_within_turns: u64,
    foreign_sidecars: u64,
    own_sidecars: u64,
    beginnings: u64,
    by_file: BTreeMap<String, Bodies>,
}

/// Bodies of one file.
#[derive(Clone, Copy, Debug, Default)]
struct Bodies {
    checked: u64,
    /// In how many a model met its own signatures again.
    signed: u64,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.journals += other.journals;
        self.requests += other.requests;
        self.bodies += other.bodies;
        self.switches += other.switches;
        self.switches_within_turns += other.switches_within_turns;
        self.foreign_sidecars += other.foreign_sidecars;
        self.own_sidecars += other.own_sidecars;
        self.beginnings += other.beginnings;
        for (file, bodies) in other.by_file {
            let total = self.by_file.entry(file).or_default();
            total.checked += bodies.checked;
            total.signed += bodies.signed;
        }
    }
}

/// Holds every request of a journal against the rules.
#[derive(Debug)]
struct Checker<'a> {
    caches: Vec<Cache>,
    before: Option<(Voice, TurnId)>,
    beginnings: Beginnings,
    tally: Tally,
    shelf: &'a Shelf,
}

impl<'a> Checker<'a> {
    fn new(shelf: &'a Shelf) -> Self {
        let caches = VOICES.iter().map(|_| Cache::default()).collect();
        let (beginnings, tally) = (Beginnings::default(), Tally::default());
        Self { caches, before: None, beginnings, tally, shelf }
    }

    fn body(&mut self, transcript: &Transcript, place: usize, ask: &Ask) {
        let (voice, dialect) = (VOICES[place], VOICES[place].dialect());
        let body = dialect.encode(transcript, ask, &mut Cache::default());
        // The same bytes with and without what was kept from requests before.
        let warm = dialect.encode(transcript, ask, &mut self.caches[place]);
        assert_eq!(warm, body, "{voice:?}");
        let text = String::from_utf8(body).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let found = voice.violations(&value);
        assert_eq!(found, [""; 0], "{voice:?} {text}");
        check_signatures(voice, &text);
        self.tally.bodies += 1;
        let bodies = self.tally.by_file.entry(voice.file()).or_default();
        bodies.checked += 1;
        bodies.signed += u64::from(text.contains(&voice.signature()));
        for native in natives(transcript) {
            let own = (&*native.provider, &*native.model) == (voice.provider, voice.model);
            self.tally.own_sidecars += u64::from(own);
            self.tally.foreign_sidecars += u64::from(!own);
        }
        self.shelf.keep(voice, &text);
    }
}

fn natives(transcript: &Transcript) -> impl Iterator<Item = &Native> {
    transcript.messages().iter().filter_map(|message| match message {
        Message::Assistant(assistant) => assistant.native.as_ref(),
        Message::User(_) | Message::Results(_) => None,
    })
}

/// What was signed for one model is sent to no other.
fn check_signatures(voice: Voice, text: &str) {
    for other in VOICES.into_iter().filter(|other| !other.is_at_home_with(voice)) {
        let signature = other.signature();
        assert!(!text.contains(&signature), "{voice:?} was sent {signature} of {other:?}: {text}");
    }
}

impl Watch for Checker<'_> {
    fn request(&mut self, state: &State, voice: Voice, luck: &mut Luck) {
        let transcript = Transcript::from(state).with_files(oddities::files());
        assert_eq!(integrity::violations(&transcript), []);
        let turn = state.open_turn().expect("a request has an open turn").id;
        if let Some((before, in_turn)) = self.before.replace((voice, turn)) {
            let switched = before != voice;
            self.tally.switches += u64::from(switched);
            self.tally.switches_within_turns += u64::from(switched && in_turn == turn);
        }
        self.tally.requests += 1;
        let ask = Ask { effort: Some(Effort::Medium), ..voice.ask() };
        let body = voice.dialect().encode(&transcript, &ask, &mut Cache::default());
        self.beginnings.ask(state, voice, &String::from_utf8(body).unwrap());
        let all = luck.once_in(4);
        for (place, other) in VOICES.into_iter().enumerate() {
            // The one that is asked, and now and then all the others: a switch at this very point.
            if all || other == voice {
                let ask = other.any_ask(luck);
                self.body(&transcript, place, &ask);
            }
        }
    }
}

fn number(name: &str, default: u32) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Runs a share of the cases. A failing case shrinks to a short tape.
fn run(cases: u32, seed: u64, shelf: &Shelf) -> Result<Tally, String> {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let total = RefCell::new(Tally::default());
    let tape = proptest::collection::vec(proptest::num::u64::ANY, 1..HAPPENINGS_MAX);
    let result = TestRunner::new_with_rng(config, rng).run(&tape, |tape| {
        let mut checker = Checker::new(shelf);
        let told = AssertUnwindSafe(|| tell(&tape, &mut checker));
        std::panic::catch_unwind(told).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            TestCaseError::fail(text)
        })?;
        checker.tally.journals = 1;
        checker.tally.beginnings = checker.beginnings.compared;
        total.borrow_mut().add(checker.tally);
        Ok(())
    });
    result.map(|()| total.into_inner()).map_err(|error| error.to_string())
}

/// The name of the threads that try cases. What panics there is told once, when it has shrunk.
const WORKER: &str = "journals";

fn hush_workers() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(WORKER) {
            report(panic);
        }
    }));
}

/// Shares the cases among the processors. The same seed and processors give the same cases.
fn run_all() -> Result<Tally, String> {
    let (cases, seed) = (number("PITON_CASES", CASES), u64::from(number("PITON_SEED", 1)));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let share = cases.div_ceil(u32::try_from(workers).unwrap());
    let shelf = Shelf::from_env();
    std::thread::scope(|scope| {
        let start = |worker: usize| {
            let (seed, shelf) = (seed << 16 | worker as u64, &shelf);
            let thread = std::thread::Builder::new().name(WORKER.into());
            thread.spawn_scoped(scope, move || run(share, seed, shelf)).unwrap()
        };
        let workers: Vec<_> = (0..workers).map(start).collect();
        let mut total = Tally::default();
        for worker in workers {
            total.add(worker.join().unwrap()?);
        }
        Ok(total)
    })
}

#[test]
fn no_journal_makes_a_body_that_breaks_a_rule() {
    hush_workers();
    let total = run_all().unwrap_or_else(|error| panic!("{error}"));
    let Tally { journals, requests, bodies, switches, switches_within_turns, .. } = total;
    println!(
        "{journals} journals, {requests} requests, {bodies} bodies, {switches} switches, \
         {switches_within_turns} of them within a turn; sidecars in them: {} own, {} of others; \
         {} pairs of answered requests that begin alike",
        total.own_sidecars, total.foreign_sidecars, total.beginnings
    );
    for (file, Bodies { checked, signed }) in &total.by_file {
        println!("  {file}: {checked} bodies, {signed} with signatures of their own");
    }
    // Whoever asks for less than is usual may miss something.
    if journals < u64::from(CASES) {
        return;
    }
    assert!(0 < switches_within_turns && 0 < total.own_sidecars && 0 < total.foreign_sidecars);
    assert!(journals / 4 < total.beginnings, "hardly any requests could be compared");
    for voice in VOICES {
        assert_eq!(0 < total.by_file[&voice.file()].signed, voice.signs(), "{voice:?}");
    }
}
