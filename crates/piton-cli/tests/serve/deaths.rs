//! The server is killed at random moments with turns and readers on it. `PITON_SEED` chooses the moments,
//! `PITON_DEATHS` how many; `dev/serve-kills` runs many.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use piton::SqliteJournal;
use piton::chance::{Chance as _, SeededChance};
use piton_proof::client::{Client, Known};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::judge::{Count, Judge};
use crate::person::{Person, Said, asks_first};
use crate::place::{LEDGER, Place, begin};
use crate::reader::{Care, Notes, Reader};

/// Conversations, each with a turn at every moment.
const CONVERSATIONS: usize = 100;
/// Readers of each conversation. One comes back at once; the other stays away from some servers.
const READERS: usize = 2;
/// Deaths of a test run.
const DEATHS: u64 = 20;
/// Longest life of a server, in milliseconds from its start.
const LIFE_MS_MAX: u64 = 2_000;
/// Longest wait for all turns to end, and for all readers to know it.
const END_WAIT: Duration = Duration::from_mins(5);

/// What is tried.
struct Trial {
    conversations: usize,
    deaths: u64,
    seed: u64,
    sabotage: Sabotage,
}

/// What is made to go wrong, so that a check that finds nothing can be seen to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sabotage {
    Nothing,
    /// A reader passes over one change.
    ReaderSkips,
    /// A line of a ledger is there twice.
    EffectTwice,
}

/// What came of it.
struct Outcome {
    wrong: Vec<String>,
    count: Count,
    /// Deaths before the server had said where it is.
    early: u64,
    /// Calls that a person was told to have allowed.
    allowed: u64,
    /// Calls in doubt of which a person was told to have said that they must not run again.
    settled: u64,
    taken: u64,
    took: Duration,
}

/// The conversations, their readers and their people.
struct Scene {
    place: Place,
    chance: Arc<SeededChance>,
    up: watch::Sender<Option<Client>>,
    enough: watch::Sender<bool>,
    present: watch::Sender<usize>,
    wrong: Notes,
    readers: Vec<Reader>,
    said: Vec<watch::Receiver<Said>>,
    judges: Vec<Judge>,
    people: JoinSet<()>,
    reading: JoinSet<()>,
}

impl Scene {
    /// Begins the conversations, on a server that ends politely enough: nothing runs yet.
    async fn set(trial: &Trial) -> Self {
        let place = Place::new();
        let mut scene = Self {
            place,
            chance: Arc::new(SeededChance::new(trial.seed)),
            up: watch::Sender::default(),
            enough: watch::Sender::default(),
            present: watch::Sender::default(),
            wrong: Notes::default(),
            readers: Vec::new(),
            said: Vec::new(),
            judges: Vec::new(),
            people: JoinSet::new(),
            reading: JoinSet::new(),
        };
        let mut server = scene.place.start();
        let client = scene.client(server.address().await.unwrap());
        for number in 0..trial.conversations {
            let workspace = scene.place.workspace(&format!("c{number}"));
            let id = begin(&client, &workspace).await;
            scene.judges.push(Judge::new(&id, workspace));
            let skips = trial.sabotage == Sabotage::ReaderSkips && number == 0;
            scene.people_of(&id, if skips { Care::SkipsOne } else { Care::Careful });
        }
        server.kill_9();
        scene
    }

    /// The readers and the person of a conversation.
    fn people_of(&mut self, id: &str, care: Care) {
        for place in 0..READERS {
            // The first one is who the person sees with.
            let care = if place == 0 { Care::Careful } else { care };
            let reader = Reader::new(id, &self.present, &self.wrong, care);
            let (chance, enough) = (self.chance.clone(), self.enough.subscribe());
            let comes = move || place == 0 || *enough.borrow() || !chance.next().is_multiple_of(3);
            self.reading.spawn(reader.clone().run(self.up.subscribe(), comes));
            self.readers.push(reader);
        }
        let first = &self.readers[self.readers.len() - READERS];
        let (said, told) = watch::channel(Said::default());
        let person = Person {
            conversation: id.to_owned(),
            up: self.up.subscribe(),
            seen: first.seen(),
            enough: self.enough.subscribe(),
            wrong: self.wrong.clone(),
        };
        self.people.spawn(person.run(said));
        self.said.push(told);
    }

    fn client(&self, address: String) -> Client {
        Client { address, token: self.place.token.clone() }
    }

    /// One life of the server, of this length from its start; whether it had said where it is.
    async fn live(&self, life: Duration) -> bool {
        let mut server = self.place.start();
        let death = tokio::time::Instant::now() + life;
        let address = tokio::time::timeout_at(death, server.address()).await;
        let address = address.ok().flatten();
        let was_up = address.is_some();
        if let Some(address) = address {
            self.up.send_replace(Some(self.client(address)));
            // wait: the instant of death is the experiment, nothing is synchronised by it
            tokio::time::sleep_until(death).await;
        }
        self.up.send_replace(None);
        server.kill_9();
        // What was on its way is read to its end.
        self.present.subscribe().wait_for(|count| *count == 0).await.unwrap();
        was_up
    }

    fn known(&self, conversation: usize) -> Vec<Known> {
        let readers = self.readers.iter().skip(conversation * READERS).take(READERS);
        readers.map(|reader| reader.known().clone()).collect()
    }

    /// Holds everything against the journals, while no server runs. Looks at a copy: what a death left is
    /// for the next server to mend.
    async fn look(&mut self) {
        let copy = self.place.copy();
        let (journal, _) = SqliteJournal::open(copy.path()).unwrap();
        for place in 0..self.judges.len() {
            let (known, said) = (self.known(place), self.said[place].borrow().clone());
            for line in self.judges[place].look(&journal, &known, &said).await {
                self.wrong.add(line);
            }
        }
    }

    /// Lets all turns end, and all readers know it, on a server that is not killed.
    async fn end(&mut self) {
        let mut server = self.place.start();
        let address = server.address().await.unwrap();
        self.enough.send_replace(true);
        self.up.send_replace(Some(self.client(address)));
        let ended = async {
            while self.people.join_next().await.is_some() {}
            for pair in self.readers.chunks(READERS) {
                let end = pair[0].seen().borrow().entry;
                for reader in pair.iter().filter(|reader| reader.care == Care::Careful) {
                    reader.seen().wait_for(|seen| end <= seen.entry).await.unwrap();
                }
            }
        };
        if tokio::time::timeout(END_WAIT, ended).await.is_err() {
            let seen: Vec<_> = self.readers.iter().map(|it| it.seen().borrow().clone()).collect();
            self.wrong.add(format!("not all turns ended: {seen:?}\n{}", self.place.said()));
        }
        self.up.send_replace(None);
    }
}

async fn run(trial: &Trial) -> Outcome {
    let start = Instant::now();
    let mut scene = Scene::set(trial).await;
    let mut early = 0;
    for death in 1..=trial.deaths {
        let life = Duration::from_millis(scene.chance.next() % LIFE_MS_MAX);
        early += u64::from(!scene.live(life).await);
        scene.look().await;
        if death.is_multiple_of(DEATHS) {
            eprintln!("{death} of {} deaths", trial.deaths);
        }
    }
    scene.end().await;
    if trial.sabotage == Sabotage::EffectTwice {
        let ledger = scene.place.workspace("c0").join(LEDGER);
        let text = fs::read_to_string(&ledger).unwrap();
        let first = text.lines().next().unwrap();
        fs::write(&ledger, format!("{text}{first}\n")).unwrap();
    }
    let (journal, _) = SqliteJournal::open(&scene.place.home()).unwrap();
    let (mut count, mut allowed, mut settled) = (Count::default(), 0, 0);
    for place in 0..scene.judges.len() {
        let (known, said) = (scene.known(place), scene.said[place].borrow().clone());
        let (wrong, counted) = scene.judges[place].conclude(&journal, &known, &said).await;
        for line in wrong {
            scene.wrong.add(line);
        }
        count.add(&counted);
        let asked_first = said.answers.iter().filter(|name| asks_first(name)).count();
        allowed += asked_first as u64;
        settled += (said.answers.len() - asked_first) as u64;
    }
    let taken = scene.readers.iter().map(|reader| reader.known().taken).sum();
    let wrong = scene.wrong.all();
    Outcome { wrong, count, early, allowed, settled, taken, took: start.elapsed() }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn print(trial: &Trial, outcome: &Outcome) {
    let Outcome { wrong, count, early, allowed, settled, taken, took } = outcome;
    let rows = [
        ("deaths of the server", trial.deaths),
        ("of these before it had said where it is", *early),
        ("conversations, each with a turn at every moment", trial.conversations as u64),
        ("readers", (trial.conversations * READERS) as u64),
        ("turns that were begun and ended", count.turns),
        ("entries of their journals", count.entries),
        ("changes and snapshots that readers took in", *taken),
        ("effects of tools", count.effects),
        ("calls that asked first, and that a person was told to have allowed", *allowed),
        ("calls in doubt that had taken effect, and were not run again", count.unknown_done),
        ("calls in doubt that had not", count.unknown_not_done),
        ("of these settled by a person", *settled),
        ("violations", wrong.len() as u64),
    ];
    println!("PITON_SEED={}, {:.0} s", trial.seed, took.as_secs_f64());
    println!("| what | count |\n|---|---|");
    for (what, count) in rows {
        println!("| {what} | {count} |");
    }
}

// J97, C30, D32, K22: must show 4.
#[tokio::test]
async fn crash_of_the_server_with_turns_and_readers_loses_and_doubles_nothing() {
    let deaths = number("PITON_DEATHS").unwrap_or(DEATHS);
    let seed = number("PITON_SEED").unwrap_or(14);
    let trial = Trial { conversations: CONVERSATIONS, deaths, seed, sabotage: Sabotage::Nothing };
    let outcome = run(&trial).await;
    print(&trial, &outcome);
    assert_eq!(outcome.wrong, Vec::<String>::new(), "PITON_SEED={seed}");
    assert!(CONVERSATIONS as u64 <= outcome.count.turns, "{:?}", outcome.count);
    assert!(outcome.early < deaths, "no server lived long enough");
    assert!(0 < outcome.allowed, "nobody was asked");
}

/// What a small trial finds that something is wrong with.
async fn found(sabotage: Sabotage) -> Vec<String> {
    let outcome = run(&Trial { conversations: 2, deaths: 2, seed: 3, sabotage }).await;
    outcome.wrong
}

// Without these the trial would prove nothing.
#[tokio::test]
async fn a_change_that_a_reader_misses_would_be_found() {
    let wrong = found(Sabotage::ReaderSkips).await;
    assert!(
        wrong.iter().any(|line| line.contains("a change that is not the next one")),
        "{wrong:?}"
    );
    assert!(wrong.iter().any(|line| line.contains("with another view")), "{wrong:?}");
}

#[tokio::test]
async fn an_effect_that_happens_twice_would_be_found() {
    let wrong = found(Sabotage::EffectTwice).await;
    assert!(wrong.iter().any(|line| line.contains("took effect 2 times")), "{wrong:?}");
    assert_eq!(wrong.len(), 1, "{wrong:?}");
}
