//! Conversations by chance: entries that could follow each other, and what is live in between.

use piton_core::event::{
    AnswerPart, Entry, Event, FinishReason, PartialKind, QueuePlace, Usage, UserPart,
};
use piton_core::id::{CallId, MessageId};
use piton_core::state::{Exchange, Item, Progress, State, Turn};
use piton_core::view::{Live, LiveCall, LiveStep};

use crate::script::Journal;

/// Pieces of answers.
const PIECES: [&str; 16] = [
    "Some words ",
    "and **bold",
    "** ones.\n\n",
    "- item\n",
    "- [x] done\n",
    "1. first\n2. second\n",
    "```rust\nlet x = 1;\n",
    "```\n\n",
    "| a | b |\n|---|---|\n",
    "| 1 | `2` |\n",
    "> quote\n\n",
    "# Heading\n\n",
    "[l]: https://e.test\n\n",
    "see [l] ",
    "<script>",
    "\u{202e}x\n",
];

/// One thing that happens.
#[derive(Clone, Debug)]
pub(crate) enum Move {
    Entry(Box<Entry>),
    Live(Live),
}

pub(crate) struct Walk {
    pub(crate) journal: Journal,
    live: Live,
    /// The try that is asked, and what the model has said in it: the journal has the beginning of it.
    saying: Option<LiveStep>,
    calls: usize,
    pub(crate) moves: Vec<Move>,
}

impl Walk {
    pub(crate) fn new(tape: &[usize]) -> Self {
        let mut walk = Self {
            journal: Journal::new(),
            live: Live::default(),
            saying: None,
            calls: 0,
            moves: vec![],
        };
        let taken = 0;
        if tape.first().is_some_and(|it| it.is_multiple_of(2)) {
            walk.journal.play("mode:ask");
        }
        walk.catch_up(taken);
        for choice in tape {
            let taken = walk.journal.entries.len();
            if choice % 3 == 0 {
                walk.live(choice / 3);
            } else {
                walk.entry(choice / 3);
            }
            walk.catch_up(taken);
        }
        walk
    }

    fn catch_up(&mut self, taken: usize) {
        let new = self.journal.entries.iter().skip(taken).cloned();
        self.moves.extend(new.map(Box::new).map(Move::Entry));
    }

    fn state(&self) -> &State {
        &self.journal.state
    }

    /// The try that is asked, with what has come of it.
    fn saying(&mut self) -> Option<&mut LiveStep> {
        let turn = self.journal.state.open_turn()?;
        let Some(Item::Step(step)) = turn.items.last() else { return None };
        if step.exchange != Exchange::Asked {
            return None;
        }
        let now = LiveStep::new(turn.id, step.number, step.attempt);
        let place = |it: &LiveStep| (it.turn, it.step, it.attempt);
        if self.saying.as_ref().map(place) != Some(place(&now)) {
            self.saying = Some(now);
        }
        self.saying.as_mut()
    }

    fn live(&mut self, choice: usize) {
        self.live.driven = !choice.is_multiple_of(7);
        if let Some(saying) = self.saying() {
            saying.text.push_str(PIECES[choice % PIECES.len()]);
            if choice.is_multiple_of(5) {
                saying.reasoning.push_str(" hm");
            }
            if choice.is_multiple_of(6) {
                saying.calls = vec!["shell".into()];
            }
        }
        self.live.step = self.saying().cloned();
        let turn = self.journal.state.open_turn();
        let running = turn.into_iter().flat_map(Turn::steps).flat_map(|step| &step.calls);
        let running = running.filter(|call| matches!(call.progress, Progress::Running(_)));
        let tail = |id: CallId| {
            let mut live = LiveCall::new(id);
            live.tail = "line\n".repeat(choice % 300);
            live.progress = choice.is_multiple_of(2).then(|| "half".to_owned());
            live
        };
        self.live.calls = running.map(|call| tail(call.id)).collect();
        self.moves.push(Move::Live(self.live.clone()));
    }

    fn entry(&mut self, choice: usize) {
        let Some(turn) = self.state().open_turn() else { return self.between(choice) };
        let turn_has_message = turn.said().next().is_some();
        let pending = turn.pending_inquiries().next().map(|inquiry| inquiry.call);
        let (last, is_step) = match turn.items.last() {
            Some(Item::Step(step)) => (Some(step), true),
            Some(Item::User(_)) | None => (None, false),
        };
        let unfinished = last.and_then(|step| step.calls.iter().find(|call| !call.is_done()));
        let is_asked = last.is_some_and(|step| step.exchange == Exchange::Asked);
        if !turn_has_message {
            return self.journal.play("user");
        }
        if let Some(call) = pending {
            let name = self.journal.name(call);
            return self
                .journal
                .play(&format!("{}:{name}", ["allow", "deny", "driver"][choice % 3]));
        }
        if is_asked {
            return self.streaming(choice);
        }
        if let Some(call) = unfinished {
            let (id, is_running) = (call.id, matches!(call.progress, Progress::Running(_)));
            return self.call(choice, id, is_running);
        }
        let word = match choice % 12 {
            0 => "break:api_error",
            1 => "break:interrupted",
            2 => "end:stopped",
            3 => "end:discarded",
            4 => "resume",
            5 => "driver",
            6 => "retry",
            7 => return self.queue(choice),
            8 if is_step => "end:completed",
            9 => "inject",
            _ => "ask",
        };
        self.journal.play(word);
    }

    fn between(&mut self, choice: usize) {
        match choice % 8 {
            0 => self.queue(choice),
            1 if self.state().turns.iter().any(|turn| turn.said().next().is_some()) => {
                self.journal.play("retry");
            }
            2 => self.journal.play("model:demo/two"),
            3 if 2 < self.state().turns.len() => self.journal.play("sum:1"),
            _ => self.journal.play("turn user"),
        }
    }

    fn queue(&mut self, choice: usize) {
        let message = MessageId::new(format!("w{}", self.journal.entries.len()));
        let place = if choice.is_multiple_of(2) { QueuePlace::Next } else { QueuePlace::Steer };
        self.journal.push(Event::MessageQueued {
            message,
            parts: vec![UserPart::text("wait <b>")],
            place,
        });
    }

    /// The journal takes in what has come, or some more.
    fn partial(&mut self, choice: usize) {
        let saying = self.saying().cloned();
        let Some(saying) = saying else { return };
        let step = self.state().open_turn().and_then(|turn| turn.steps().next_back());
        let is_first = step.is_none_or(|step| !saying.text.starts_with(&step.streamed.text));
        let kept = step.filter(|_| !is_first).map_or(0, |step| step.streamed.text.len());
        let mut new = saying.text[kept..].to_owned();
        if new.is_empty() {
            new = PIECES[choice / 16 % PIECES.len()].to_owned();
            if let Some(saying) = self.saying() {
                saying.text.push_str(&new);
            }
        }
        self.journal.push(Event::ModelPartial { kind: PartialKind::Text, text: new.into() });
    }

    fn streaming(&mut self, choice: usize) {
        match choice % 16 {
            0..=8 => self.partial(choice),
            9 => {
                if let Some(saying) = self.saying() {
                    saying.reasoning.push_str("so ");
                    let text = saying.reasoning.as_str().into();
                    let is_new = self.state().open_turn().is_none_or(|turn| {
                        turn.steps()
                            .next_back()
                            .is_none_or(|step| step.streamed.reasoning.is_empty())
                    });
                    if is_new {
                        self.journal
                            .push(Event::ModelPartial { kind: PartialKind::Reasoning, text });
                    }
                }
            }
            10 => self.journal.play("fail:overloaded"),
            11 => self.journal.play("driver"),
            12 => self.journal.play("break:interrupted"),
            13 => {
                self.calls += 2;
                let calls = format!("calls(th:why t:now o:c{} r:c{})", self.calls - 1, self.calls);
                self.journal.play(&calls);
            }
            _ => self.answer(),
        }
    }

    /// The answer that has come so far, whole.
    fn answer(&mut self) {
        let turn = self.state().open_turn();
        let streamed =
            turn.and_then(|turn| turn.steps().next_back()).map(|step| step.streamed.clone());
        let streamed = streamed.unwrap_or_default();
        let mut parts = vec![];
        if !streamed.reasoning.is_empty() {
            parts.push(AnswerPart::Reasoning { text: streamed.reasoning.as_str().into() });
        }
        parts.push(AnswerPart::Text { text: (streamed.text + "The end.").as_str().into() });
        let (finish, usage) = (FinishReason::Stop, Usage { input: 100, output: 10, cached: 50 });
        self.journal.push(Event::ModelAnswered {
            parts,
            finish,
            usage,
            dropped: vec![],
            native: None,
        });
    }

    fn call(&mut self, choice: usize, id: CallId, is_running: bool) {
        let name = self.journal.name(id);
        let verb = match (choice % 8, is_running) {
            (0, _) => "driver",
            (1, _) => "break:interrupted",
            (2, false) => "raise:permission",
            (2 | 3, true) => "failed",
            (3, false) => "denied",
            (_, true) => "finish",
            (_, false) => "start",
        };
        match verb {
            "driver" | "break:interrupted" => self.journal.play(verb),
            verb => self.journal.play(&format!("{verb}:{name}")),
        }
    }
}
