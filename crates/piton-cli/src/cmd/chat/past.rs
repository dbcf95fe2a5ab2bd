//! Going on with a conversation that is there: which one, and how it was left.

use piton::clock::{Clock as _, SystemClock};
use piton_agent::typed;
use piton_core::id::ConversationId;
use piton_core::summary::shorten;
use piton_core::view::{Status, View};
use piton_store::Journal;

use super::{OFFER, Sitting};
use crate::ask::keys::{AGAIN, DISCARD, FORK, Menu, OTHER, YES};
use crate::cmd::ls::{forked_from, titled};
use crate::cmd::query::plan::Wish;
use crate::cmd::query::stage::Stage;
use crate::flags::{Chat, Mode};
use crate::render::age::age;
use crate::render::incomplete::{Newest, waits_for};
use crate::render::turn;
use crate::report::Fault;
use crate::target;

/// Conversations that are offered.
const OFFERED_MAX: usize = 10;
/// Longest text that is shown of a message or a title, in letters.
const SHOWN_LETTERS_MAX: usize = 200;

impl Sitting {
    /// Picks up the conversation that the flags name. Without any, an incomplete turn is offered.
    pub(super) async fn pick_up(
        &mut self,
        flags: &Chat,
        stage: &mut Stage<'_>,
    ) -> Result<(), Fault> {
        let no_other = "There is no conversation here yet; your first message begins one.";
        if !self.settings().has_database()? {
            if flags.go_on {
                stage.output.talk(no_other);
            }
            return Ok(());
        }
        let journal = self.journal(stage)?;
        if let Some(typed) = &flags.id {
            let id = target::by_prefix(&*journal, typed, self.settings()).await?;
            return self.enter(id, stage).await;
        }
        let Some(id) = target::newest(&*journal, self.settings()).await? else {
            if flags.go_on {
                stage.output.talk(no_other);
            }
            return Ok(());
        };
        if flags.go_on {
            return self.enter(id, stage).await;
        }
        let Some(listed) = journal.status(&id).await? else { return Ok(()) };
        let is_left = listed.holder.is_none() && !matches!(listed.row.status, Status::Idle);
        if is_left { self.offer(id, stage).await } else { Ok(()) }
    }

    // X1: it is offered before anything else is said.
    async fn offer(&mut self, id: ConversationId, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let view = self.engine(stage)?.view(&id).await?;
        let Some(newest) = Newest::of(&view) else { return Ok(()) };
        let number = newest.turn().head.id.0.to_string();
        stage.output.talk(&format!(
            "The last conversation here, {id}, has an incomplete turn.\n> {}\n{}",
            last_words(&view),
            waits_for(&newest)
        ));
        tell_waiting(&view, stage);
        let menu = Menu::of(&[
            (YES, "go on with it", "the turn is resumed where it was left"),
            (AGAIN, "retry it", "its message has a new attempt, from scratch"),
            (DISCARD, "discard it", "it stays in the journal, hidden"),
            (FORK, "fork it", "the turn stays as it is, and you go on in a fork in front of it"),
            (OTHER, "begin another conversation", "the turn stays as it is"),
        ]);
        let key = stage.choose(&menu).await?;
        if key == OTHER {
            stage.output.talk(&format!("It stays as it is; to go on with it later: /resume {id}"));
            return Ok(());
        }
        self.conversation = Some(id);
        match key {
            AGAIN => self.retry("", stage).await,
            DISCARD => self.say(None, Wish::Discard, stage).await,
            FORK => self.fork(&number, stage).await,
            _ => self.say(None, Wish::Continue, stage).await,
        }
    }

    /// Goes on with another conversation.
    pub(super) async fn resume(&mut self, words: &str, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let journal = self.journal(stage)?;
        let typed = match words {
            "" => match self.choose(&*journal, stage).await? {
                Some(chosen) => chosen.to_string(),
                None => return Ok(()),
            },
            typed => typed.to_owned(),
        };
        let id = target::by_prefix(&*journal, &typed, self.settings()).await?;
        self.enter(id, stage).await
    }

    /// Asks which conversation is meant.
    async fn choose(
        &self,
        journal: &dyn Journal,
        stage: &mut Stage<'_>,
    ) -> Result<Option<ConversationId>, Fault> {
        let rows = target::newest_ones(journal, self.settings(), OFFERED_MAX).await?;
        if rows.is_empty() {
            stage.output.talk("There is no other conversation here.");
            return Ok(None);
        }
        let now = SystemClock.now();
        for (place, listed) in rows.iter().enumerate() {
            let origin = forked_from(journal, &listed.conversation).await;
            let title = shorten(&titled(listed, origin.as_ref()), SHOWN_LETTERS_MAX);
            let (id, when) = (&listed.conversation, age(listed.row.touched, now));
            let status = &listed.row.status;
            let is_idle = matches!(status, Status::Idle);
            let state = if is_idle { String::new() } else { format!("[{status}] ") };
            stage.output.talk(&format!("  {}  {id}  {when}  {state}{title}", place + 1));
        }
        let line = stage.ask("which one (a number, or nothing): ").await?;
        let place = line.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let chosen = place.and_then(|place| rows.get(place));
        if chosen.is_none() && !line.trim().is_empty() {
            stage.output.talk("There is no such number.");
        }
        Ok(chosen.map(|listed| listed.conversation.clone()))
    }

    /// Sits down at a conversation, and says how it was left.
    async fn enter(&mut self, id: ConversationId, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let engine = self.engine(stage)?;
        let view = engine.view(&id).await?;
        let holder = engine.journal().status(&id).await?.and_then(|listed| listed.holder);
        self.drop_attached(stage);
        let model = view.head.model.as_ref().map(|model| format!(", model {}", typed(model)));
        let mode = Mode::from(view.head.mode).typed();
        let model = model.unwrap_or_default();
        stage.output.talk(&format!("conversation {id}{model}, permissions {mode}"));
        stage.output.talk(&format!("> {}", last_words(&view)));
        if let Some(step) = view.turns.last().and_then(|turn| turn.steps().next_back()) {
            stage.output.answer(&turn::text(step));
            stage.output.end_line();
        }
        if let Some(holder) = holder {
            let pid = holder.pid;
            stage.output.talk(&format!(
                "Process {pid} works on it now; a message can be left for it, or its turn looked at."
            ));
        } else if matches!(view.head.status, Status::WaitingForInput { .. }) {
            self.conversation = Some(id);
            return self.say(None, Wish::Continue, stage).await;
        } else if let Some(newest) = view.head.open.and_then(|_| Newest::of(&view)) {
            stage.output.talk(&format!("The turn is incomplete. {}\n{OFFER}", waits_for(&newest)));
        }
        tell_waiting(&view, stage);
        self.conversation = Some(id);
        Ok(())
    }
}

/// Says how many messages wait in a conversation.
fn tell_waiting(view: &View, stage: &mut Stage<'_>) {
    match view.queue.len() {
        0 => {}
        1 => stage.output.talk("1 message waits; /queue shows it."),
        count => stage.output.talk(&format!("{count} messages wait; /queue shows them.")),
    }
}

/// What was said last, on one line.
fn last_words(view: &View) -> String {
    let said = view.turns.last().and_then(|turn| {
        turn.items.iter().rev().find_map(|item| match item {
            piton_core::view::ItemView::Message(message) => Some(turn::said(&message.parts)),
            piton_core::view::ItemView::Step(_) | _ => None,
        })
    });
    shorten(&said.unwrap_or_default().replace('\n', " "), SHOWN_LETTERS_MAX)
}
