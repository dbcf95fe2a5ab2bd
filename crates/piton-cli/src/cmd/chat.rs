//! `piton` alone on a terminal: a chat by lines. Each message is a turn, as with `piton query`.
//!
//! Nothing is held between two messages: other processes can work on the conversation meanwhile.

mod branch;
mod choose;
mod complete;
mod directories;
mod keep;
mod limit;
mod look;
mod past;
mod prompt;
mod shell;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use piton::{Command, Engine};
use piton_agent::{Agent, Overrides, Settings, custom_commands, engine_to_write, typed};
use piton_core::id::ConversationId;
use piton_core::view::{PermissionMode, Status, View};
use piton_store::Journal;

use self::prompt::{Prompt, Read};
use super::query::attach::Attached;
use super::query::beside::{is_answer, show_answer, tell_unknown};
use super::query::plan::Wish;
use super::query::side::Question;
use super::query::stage::{Beside, Stage};
use super::query::{self, Said, requeue};
use super::{compact, undo};
use crate::flags::{Chat, Mode, QueueWish, Undo, Which};
use crate::output::{Form, Output};
use crate::render::tokens;
use crate::report::{Fault, InputFault, Report};
use crate::signals::Signals;
use crate::slash::{self, Meaning, Slash};
use crate::store;
use crate::terminal::Terminal;

/// How often it is shown that a side question is being answered.
const SPIN_EVERY: Duration = Duration::from_millis(120);

/// How long another process has to take a change: of a message that waits, or by a summary.
const CHANGE_WAIT: Duration = Duration::from_secs(10);
/// What is said of a conversation that has no messages.
const NOTHING_TO_SUM_UP: &str = "This conversation has not begun: there is nothing to sum up.";

/// What is said of an incomplete turn.
const OFFER: &str = "/continue goes on with it, /retry begins it anew, /discard drops it; a message is added to it.";

/// What lasts from one message to the next.
#[derive(Debug)]
struct Sitting {
    agent: Arc<Agent>,
    /// What flags and commands have changed.
    overrides: Overrides,
    /// None until the first message begins one.
    conversation: Option<ConversationId>,
    /// What the next line begins with.
    begun: Option<String>,
    /// What goes along with the next message.
    attached: Vec<Attached>,
}

/// Chats until the person leaves.
pub(crate) async fn run(
    flags: &Chat,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let agent = Arc::new(Agent::load(settings.clone())?.watched());
    let model = flags.model.as_deref().map(|typed| agent.parse_model(typed)).transpose()?;
    let directories = flags.add_dir.iter().map(|typed| settings.added_directory(typed));
    let overrides = Overrides {
        model,
        permissions: flags.permissions.map(PermissionMode::from),
        directories: directories.collect::<Result<_, _>>()?,
        ..Overrides::default()
    };
    let signals = Signals::listen()?;
    let terminal = Some(Terminal::open().map_err(InputFault::NoTerminal)?);
    let (form, beside) = (Form::Text, Some(Beside::default()));
    let mut stage = Stage { output, signals, terminal, form, conversation: None, beside };
    settings.make_home()?;
    query::trusting::ask(&agent, &mut stage).await?;
    let (conversation, begun, attached) = (None, None, Vec::new());
    let mut sitting = Sitting { agent, overrides, conversation, begun, attached };
    let is_known = flags.go_on || flags.id.is_some();
    sitting.greet(is_known, &mut stage);
    sitting.pick_up(flags, &mut stage).await?;
    let mut prompt = Prompt::new(settings)?;
    loop {
        let typed = stage.beside.as_mut().map(|beside| beside.typing.take_text());
        let begun = sitting.begun.take().or(typed);
        match prompt.line(&begun.unwrap_or_default(), &mut stage).await? {
            Read::Line(line) if line.is_empty() => {}
            Read::Line(line) => {
                let done = sitting.obey(&line, &mut stage).await;
                if done.is_break() || stage.beside.as_ref().is_some_and(|it| it.leaves) {
                    break;
                }
            }
            Read::Nothing => stage.output.talk("Ctrl-D or /quit leaves."),
            Read::End => break,
            Read::Pushed => return Err(Fault::Interrupted),
        }
    }
    if let Some(id) = &sitting.conversation {
        stage.output.talk(&format!("Conversation {id} is kept; to go on with it: piton -c"));
    }
    Ok(Report::ok("done").in_conversation(sitting.conversation))
}

impl Sitting {
    fn settings(&self) -> &Settings {
        self.agent.settings()
    }

    /// Says where we are. Of a conversation that is there it is said below who answers.
    fn greet(&self, is_known: bool, stage: &mut Stage<'_>) {
        let directory = self.settings().workspace().map(|it| it.display().to_string());
        let model = self.agent.model(&self.overrides, None).map(|model| typed(&model));
        let mode = self.overrides.permissions.map(|mode| Mode::from(mode).typed());
        let mode = mode.map(|mode| format!("permissions {mode}"));
        let model = model.ok().filter(|_| !is_known);
        let parts = [directory.ok(), model, mode];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let version = env!("CARGO_PKG_VERSION");
        stage.output.talk(&format!("piton {version} · {}", parts.join(" · ")));
        stage.output.talk("/help lists the commands, Ctrl-D leaves.");
    }

    /// What waited to go along with the next message of a conversation does not go to another one.
    fn drop_attached(&mut self, stage: &mut Stage<'_>) {
        if !self.attached.is_empty() {
            self.attached.clear();
            stage.output.talk("The output of your command does not go along.");
        }
    }

    // K41
    fn begin_another(&mut self, stage: &mut Stage<'_>) {
        (self.conversation, stage.conversation) = (None, None);
        self.drop_attached(stage);
        stage.output.talk("The next message begins a conversation.");
    }

    /// Does what a line says. What goes wrong is told, and the chat goes on.
    async fn obey(&mut self, line: &str, stage: &mut Stage<'_>) -> ControlFlow<()> {
        let customs = custom_commands::all(self.settings());
        let done = match slash::meaning(line, |name| customs.contains_key(name)) {
            Meaning::Message(text) => self.message(text, stage).await.map(ControlFlow::Continue),
            Meaning::Shell(command) => {
                let output = shell::run(&command, self.settings(), stage).await;
                output.map(|output| {
                    self.attached.push(output);
                    ControlFlow::Continue(())
                })
            }
            Meaning::Command(command) => self.command(command, stage).await,
            Meaning::Unknown(name) => {
                tell_unknown(&name, self.settings(), stage);
                Ok(ControlFlow::Continue(()))
            }
        };
        done.unwrap_or_else(|fault| {
            let report = Report::from(&fault);
            report.tell_in_chat(self.conversation.as_ref(), stage.output);
            ControlFlow::Continue(())
        })
    }

    async fn command(
        &mut self,
        Slash { name, words }: Slash,
        stage: &mut Stage<'_>,
    ) -> Result<ControlFlow<()>, Fault> {
        match name {
            "new" => self.begin_another(stage),
            "resume" => self.resume(&words, stage).await?,
            "fork" => self.fork(&words, stage).await?,
            "rewind" => self.rewind(&words, stage).await?,
            "continue" => self.say(None, Wish::Continue, stage).await?,
            "retry" => self.retry(&words, stage).await?,
            "edit" => self.edit(&words, stage).await?,
            "discard" => self.say(None, Wish::Discard, stage).await?,
            "model" => self.choose_model(&words, stage).await?,
            "effort" => self.choose_effort(&words, stage).await?,
            "limit" => self.limit(&words, stage).await?,
            "mode" => self.choose_mode(&words, stage).await?,
            "permissions" => self.rules(&words, stage).await?,
            "dirs" => self.directories(&words, stage).await?,
            "mcp" => self.servers(&words, stage).await?,
            "print" | "attempts" => self.print(name, &words, stage).await?,
            "rename" => self.rename(words, stage).await?,
            "export" => self.export(&words, stage).await?,
            "archive" => self.archive(stage).await?,
            "status" => self.status(stage).await?,
            "diff" => self.difference(stage).await?,
            "undo" => self.undo(&words, stage).await?,
            "compact" => self.compact(words, stage).await?,
            "uncompact" => self.uncompact(stage).await?,
            "tokens" => {
                let view = self.view(stage).await?;
                stage.output.talk(&tokens::told(&view).join("\n"));
            }
            "queue" => self.queue(words, stage).await?,
            "steer" => stage.output.talk("No turn runs; just say it."),
            "btw" => self.side_question(words, stage).await?,
            "quit" => return Ok(ControlFlow::Break(())),
            _ => {
                stage.output.talk(&slash::help());
                for (is_own, whose) in [(true, "Your own commands"), (false, "Of this workspace")] {
                    let customs = custom_commands::all(self.settings()).into_values();
                    let customs = customs.filter(|command| command.of.is_none() == is_own);
                    let names: Vec<String> =
                        customs.map(|command| format!("/{}", command.name)).collect();
                    if !names.is_empty() {
                        stage.output.talk(&format!("  {whose}: {}", names.join(" ")));
                    }
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Sends a message. A lone letter beside an open question was meant for that, and would lose it.
    async fn message(&mut self, text: String, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let id = self.conversation.clone().filter(|_| is_answer(&text));
        if let Some(id) = id
            && self.asks(&id, stage).await?
        {
            stage.output.talk("Not sent: that looks like an answer. This is what is asked:");
            return self.say(None, Wish::Continue, stage).await;
        }
        self.say(Some(text), Wish::Continue, stage).await
    }

    /// Whether a conversation that nobody works on has an open question.
    async fn asks(&self, id: &ConversationId, stage: &mut Stage<'_>) -> Result<bool, Fault> {
        let listed = self.journal(stage)?.status(id).await?;
        Ok(listed.is_some_and(|listed| {
            listed.holder.is_none() && matches!(listed.row.status, Status::WaitingForInput { .. })
        }))
    }

    /// Says something, or goes on without words.
    async fn say(
        &mut self,
        text: Option<String>,
        wish: Wish,
        stage: &mut Stage<'_>,
    ) -> Result<(), Fault> {
        let said = Said {
            text: text.clone(),
            attached: std::mem::take(&mut self.attached),
            wish,
            conversation: self.conversation.as_ref(),
            overrides: self.overrides.clone(),
            agent: &self.agent,
        };
        let done = query::say(said, stage).await;
        stage.output.end_line();
        stage.output.tell_typed("");
        stage.output.rest();
        if let Some(id) = stage.conversation.clone()
            && self.journal(stage)?.status(&id).await?.is_some()
        {
            self.conversation = Some(id);
            // The conversation keeps its mode, also where a plan was approved and changed it.
            self.overrides.permissions = None;
        }
        let is_unsent = done.as_ref().map_or(true, Report::keeps_message);
        if let (Some(text), true, Some(beside)) = (text, is_unsent, &mut stage.beside) {
            // It can be sent again with one key.
            beside.typing.take(text.replace('\n', " ").as_bytes());
        }
        done?.tell_in_chat(self.conversation.as_ref(), stage.output);
        stage.output.talk("");
        Ok(())
    }

    /// Tries the last message again, from now on with the model that is named.
    async fn retry(&mut self, words: &str, stage: &mut Stage<'_>) -> Result<(), Fault> {
        if self.conversation.is_none() {
            stage.output.talk("This conversation has not begun: there is no message to try again.");
            return Ok(());
        }
        if !words.is_empty() {
            self.choose_model(words, stage).await?;
        }
        // What goes along with the next message is for the next one.
        let attached = std::mem::take(&mut self.attached);
        let done = self.say(None, Wish::Retry, stage).await;
        self.attached = attached;
        done
    }

    fn journal(&self, stage: &mut Stage<'_>) -> Result<Arc<dyn Journal>, Fault> {
        store::open(self.settings(), stage.output)
    }

    /// An engine that reads and writes things down, and performs nothing.
    fn engine(&self, stage: &mut Stage<'_>) -> Result<Engine, Fault> {
        Ok(engine_to_write(self.journal(stage)?, self.settings())?)
    }

    /// What there is to show of the conversation; nothing, if none has begun.
    async fn view(&self, stage: &mut Stage<'_>) -> Result<View, Fault> {
        match &self.conversation {
            Some(id) => Ok(self.engine(stage)?.view(id).await?),
            None => Ok(View::default()),
        }
    }

    async fn undo(&mut self, words: &str, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let number = words.parse().ok().map(Which::Number);
        let which = if words.is_empty() { None } else { number.or(Some(Which::List)) };
        let Some(id) = self.conversation.as_ref().map(ToString::to_string) else {
            stage
                .output
                .talk("This conversation has not begun; piton undo --list shows all changes.");
            return Ok(());
        };
        let flags = Undo { which, id: Some(id), ..Undo::default() };
        undo::run(&flags, self.settings(), stage.output).await?.tell(stage.output);
        Ok(())
    }

    async fn compact(&mut self, words: String, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let Some(id) = self.conversation.clone() else {
            stage.output.talk(NOTHING_TO_SUM_UP);
            return Ok(());
        };
        let focus = Some(words).filter(|words| !words.is_empty());
        let (agent, journal) = (self.agent.clone(), self.journal(stage)?);
        let errand = compact::Errand { agent, journal, id, focus };
        errand.perform(CHANGE_WAIT, stage).await?.tell(stage.output);
        Ok(())
    }

    async fn uncompact(&mut self, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let Some(id) = self.conversation.clone() else {
            stage.output.talk(NOTHING_TO_SUM_UP);
            return Ok(());
        };
        let journal = self.journal(stage)?;
        let (what, wait) = ((journal, &id), CHANGE_WAIT);
        let done = compact::take_off(what, wait, self.settings(), stage.output).await?;
        done.tell(stage.output);
        Ok(())
    }

    async fn queue(&mut self, words: String, stage: &mut Stage<'_>) -> Result<(), Fault> {
        if let (Some(wish), Some(id)) = (QueueWish::of(&words), &self.conversation) {
            let engine = self.engine(stage)?;
            let (of, parts) = (engine.conversation(id), (&engine, CHANGE_WAIT));
            let told = requeue::change(wish, &of, parts, self.settings(), stage.output).await;
            engine.shutdown(Duration::ZERO).await;
            stage.output.talk(&told?);
            return Ok(());
        }
        if let Some(instead) = QueueWish::mistaken(&words) {
            stage.output.talk(&requeue::no_message(instead));
            return Ok(());
        }
        if let Some(usage) = QueueWish::lacking(&words) {
            let view = self.view(stage).await?;
            stage.output.talk(&requeue::which(usage, &view));
            return Ok(());
        }
        let words = if words == "list" { String::new() } else { words };
        if !words.is_empty() && words != "drop" {
            return self.say(Some(words), Wish::Leave, stage).await;
        }
        let view = self.view(stage).await?;
        let Some(id) = self.conversation.as_ref().filter(|_| !view.queue.is_empty()) else {
            stage.output.talk("No message waits.");
            return Ok(());
        };
        if words.is_empty() {
            for row in requeue::rows(&view) {
                stage.output.talk(&row);
            }
            return Ok(());
        }
        let engine = self.engine(stage)?;
        for queued in view.queue {
            engine.conversation(id).send(Command::Unqueue { message: queued.id }).await?;
        }
        engine.shutdown(Duration::ZERO).await;
        stage.output.talk("The messages that waited are taken back.");
        Ok(())
    }

    async fn side_question(&mut self, text: String, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let view = self.view(stage).await?;
        let question = Question {
            text,
            agent: self.agent.clone(),
            overrides: self.overrides.clone(),
            journal: self.journal(stage)?,
            about: self.conversation.clone(),
            model: self.agent.model(&self.overrides, view.head.model.as_ref())?,
        };
        let mut answering = Box::pin(question.answer());
        let answer = loop {
            tokio::select! {
                biased;
                _ = stage.signals.next() => return Err(Fault::Interrupted),
                answer = &mut answering => break answer,
                () = tokio::time::sleep(SPIN_EVERY) => {
                    stage.output.tell_waiting("asked on the side", &[]);
                }
            }
        };
        show_answer(answer, stage);
        Ok(())
    }
}
