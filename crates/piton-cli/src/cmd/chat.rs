//! `piton` alone on a terminal: a chat by lines. Each message is a turn, as with `piton query`.
//!
//! Nothing is held between two messages: other processes can work on the conversation meanwhile.

mod complete;
mod past;
mod prompt;
mod shell;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum as _;
use piton::{Command, Engine};
use piton_agent::{Agent, Overrides, Settings, custom_commands, engine_to_write, near, typed};
use piton_core::id::ConversationId;
use piton_core::view::{PermissionMode, View};
use piton_store::Journal;

use self::prompt::{Prompt, Read};
use super::query::attach::Attached;
use super::query::beside::show_answer;
use super::query::plan::Wish;
use super::query::side::Question;
use super::query::stage::{Beside, Stage};
use super::query::{self, Said};
use super::undo;
use crate::flags::{Chat, Mode, Undo};
use crate::output::{Form, Output};
use crate::render::tokens;
use crate::report::{Fault, InputFault, Report};
use crate::signals::Signals;
use crate::slash::{self, Meaning, Slash};
use crate::store;
use crate::terminal::Terminal;

/// How often it is shown that a side question is being answered.
const SPIN_EVERY: Duration = Duration::from_millis(120);
/// Models that are named when nobody is chosen by name.
const MODELS_NAMED_MAX: usize = 8;

/// What is said of an incomplete turn.
const OFFER: &str = "/continue goes on with it, /discard drops it; a message is added to it.";

/// What lasts from one message to the next.
#[derive(Debug)]
struct Sitting {
    agent: Arc<Agent>,
    /// What flags and commands have changed.
    overrides: Overrides,
    /// None until the first message begins one.
    conversation: Option<ConversationId>,
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
    let mut sitting = Sitting { agent, overrides, conversation: None, attached: Vec::new() };
    let is_known = flags.go_on || flags.id.is_some();
    sitting.greet(is_known, &mut stage);
    sitting.pick_up(flags, &mut stage).await?;
    let mut prompt = Prompt::new(settings)?;
    loop {
        let begun = stage.beside.as_mut().map(|beside| beside.typing.take_text());
        match prompt.line(&begun.unwrap_or_default(), &mut stage).await? {
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

    /// Does what a line says. What goes wrong is told, and the chat goes on.
    async fn obey(&mut self, line: &str, stage: &mut Stage<'_>) -> ControlFlow<()> {
        let customs = custom_commands::all(self.settings());
        let done = match slash::meaning(line, |name| customs.contains_key(name)) {
            Meaning::Message(text) => {
                let done = self.say(Some(text), Wish::Continue, stage).await;
                done.map(ControlFlow::Continue)
            }
            Meaning::Shell(command) => {
                let output = shell::run(&command, self.settings(), stage).await;
                output.map(|output| {
                    self.attached.push(output);
                    ControlFlow::Continue(())
                })
            }
            Meaning::Command(command) => self.command(command, stage).await,
            Meaning::Unknown(name) => {
                let own = slash::names().map(str::to_owned);
                let known: Vec<String> = own.chain(customs.into_keys()).collect();
                stage.output.talk(&unknown(&name, &known));
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
            "new" => {
                // K41
                (self.conversation, stage.conversation) = (None, None);
                self.drop_attached(stage);
                stage.output.talk("The next message begins a conversation.");
            }
            "resume" => self.resume(&words, stage).await?,
            "continue" => self.say(None, Wish::Continue, stage).await?,
            "discard" => self.say(None, Wish::Discard, stage).await?,
            "model" => self.choose_model(&words, stage).await?,
            "mode" => self.choose_mode(&words, stage).await?,
            "undo" => self.undo(&words, stage).await?,
            "tokens" => {
                let view = self.view(stage).await?;
                stage.output.talk(&tokens::told(&view));
            }
            "queue" => self.queue(words, stage).await?,
            "steer" => stage.output.talk("No turn runs; just say it."),
            "btw" => self.side_question(words, stage).await?,
            "quit" => return Ok(ControlFlow::Break(())),
            _ => {
                stage.output.talk(&slash::help());
                let customs = custom_commands::all(self.settings());
                if !customs.is_empty() {
                    let names: Vec<String> =
                        customs.keys().map(|name| format!("/{name}")).collect();
                    stage.output.talk(&format!("  Your own commands: {}", names.join(" ")));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
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
        let report = done?;
        report.tell_in_chat(self.conversation.as_ref(), stage.output);
        if let (Some(text), true, Some(beside)) = (text, report.keeps_message(), &mut stage.beside)
        {
            // It was not sent, and can be sent again with one key.
            beside.typing.take(text.replace('\n', " ").as_bytes());
        }
        Ok(())
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

    async fn choose_model(&mut self, words: &str, stage: &mut Stage<'_>) -> Result<(), Fault> {
        if !words.is_empty() {
            let model = self.agent.parse_model(words)?;
            self.agent.load_model(&model)?;
            stage.output.talk(&format!("{} answers from now on", typed(&model)));
            self.overrides.model = Some(model);
            return Ok(());
        }
        let view = self.view(stage).await?;
        let present = self.agent.model(&self.overrides, view.head.model.as_ref());
        match present {
            Ok(model) => stage.output.talk(&format!("{} answers", typed(&model))),
            Err(error) => stage.output.talk(&error.to_string()),
        }
        let others = self.agent.models_with_key().into_iter().take(MODELS_NAMED_MAX);
        let others: Vec<String> = others.map(|(model, _)| typed(&model)).collect();
        if !others.is_empty() {
            stage.output.talk(&format!("hint: there are keys for {}", others.join(", ")));
        }
        stage.output.talk("hint: to choose: /model MODEL; piton models lists them");
        Ok(())
    }

    async fn choose_mode(&mut self, words: &str, stage: &mut Stage<'_>) -> Result<(), Fault> {
        if let Ok(mode) = Mode::from_str(words, true) {
            self.overrides.permissions = Some(mode.into());
            stage.output.talk(&format!("permissions {} from now on", mode.typed()));
            return Ok(());
        }
        if !words.is_empty() {
            stage.output.talk(&format!("There is no mode {words}."));
        }
        let kept = self.view(stage).await?.head.mode;
        let kept = if self.conversation.is_some() { kept } else { self.agent.default_mode() };
        let present = Mode::from(self.overrides.permissions.unwrap_or(kept)).typed();
        let modes: Vec<String> = Mode::value_variants().iter().map(|mode| mode.typed()).collect();
        stage.output.talk(&format!("permissions {present}; to choose: /mode {}", modes.join("|")));
        Ok(())
    }

    async fn undo(&mut self, words: &str, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let number = words.parse().ok();
        let list = !words.is_empty() && number.is_none();
        let Some(id) = self.conversation.as_ref().map(ToString::to_string) else {
            stage
                .output
                .talk("This conversation has not begun; piton undo --list shows all changes.");
            return Ok(());
        };
        let flags = Undo { number, list, id: Some(id), ..Undo::default() };
        undo::run(&flags, self.settings(), stage.output).await?.tell(stage.output);
        Ok(())
    }

    async fn queue(&mut self, words: String, stage: &mut Stage<'_>) -> Result<(), Fault> {
        if !words.is_empty() && words != "drop" {
            return self.say(Some(words), Wish::Continue, stage).await;
        }
        let view = self.view(stage).await?;
        let Some(id) = self.conversation.as_ref().filter(|_| !view.queue.is_empty()) else {
            stage.output.talk("No message waits.");
            return Ok(());
        };
        if words.is_empty() {
            query::tell_queue(&view.queue, stage);
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

/// What is said of a name that no command has.
fn unknown(name: &str, known: &[String]) -> String {
    let near = near(name, known.iter().map(String::as_str));
    let meant = near.first().map(|near| format!("; did you mean /{near}?"));
    let hint = "/help lists the commands. To send it as a message, begin with a blank.";
    format!("There is no command /{name}{}\nhint: {hint}", meant.unwrap_or_else(|| ".".into()))
}
