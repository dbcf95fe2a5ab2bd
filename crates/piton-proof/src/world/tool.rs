//! Tools of the world: one per effect class, each with a point before and behind its effect.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use piton::reader;
use piton_core::event::{
    ArgumentRole, EffectClass, Event, Handle, InquiryAnswer, InquiryKind, Outcome, Shape, ToolSpec,
};
use piton_core::id::{CallId, Digest, Seq};
use piton_core::question::Question;
use piton_store::Journal;
use piton_tools::{
    Arguments, Consent, Finished, Job, Prepared, Refusal, Response, Settled, Site, Tool,
};
use serde_json::Value;

use super::{Effect, Oversight, World};

/// Entries that are looked through for an intent; a scripted turn is far shorter.
pub(super) const JOURNAL_ENTRIES_MAX: usize = 10_000;

/// What the person in the simulated world types when asked for a secret. JSON and Rust write it in
/// ways of their own.
pub const SECRET: &str = "hunter2\"é";

/// The tool whose work another service does.
const HANDED_OVER: &str = "post";

/// The tool that runs command lines, and its argument.
const SHELL: &str = "shell";
const COMMAND: &str = "command";
/// How long a command takes.
const COMMAND_TAKES: Duration = Duration::from_millis(15);
/// How a command begins that only looks.
const LOOKS: &str = "ls ";

/// A tool of the world. Arguments: `ms` to take its time, `fail` or `panic` to go wrong, `ask` for so
/// many questions one after the other, `stay` to wait for an answer where it is, `secret` to ask for a
/// secret, to quote it in a question and to print it, and for `change` the `path` and the `line` to add.
#[derive(Debug)]
pub struct WorldTool {
    name: &'static str,
    effect: EffectClass,
    world: World,
    journal: Arc<dyn Journal>,
}

/// `look` reads, `set` is idempotent, `change` is digested, `build` is supervised, `pay` happens once, and
/// so does `post`, whose work is done by another service that can be asked.
pub fn world_tools(world: &World, journal: &Arc<dyn Journal>) -> Vec<Arc<dyn Tool>> {
    [
        ("look", EffectClass::ReadOnly),
        ("set", EffectClass::Idempotent),
        ("change", EffectClass::Digested),
        ("build", EffectClass::Supervised),
        ("pay", EffectClass::Once),
        (HANDED_OVER, EffectClass::Once),
    ]
    .map(|(name, effect)| {
        Arc::new(WorldTool { name, effect, world: world.clone(), journal: journal.clone() })
            as Arc<dyn Tool>
    })
    .into()
}

/// `shell` runs its `command` as `build` does, one that only looks behind a wall. Everybody else is asked.
pub fn shell(world: &World, journal: &Arc<dyn Journal>) -> Arc<dyn Tool> {
    let (world, journal) = (world.clone(), journal.clone());
    Arc::new(WorldTool { name: SHELL, effect: EffectClass::Supervised, world, journal })
}

#[async_trait]
impl Tool for WorldTool {
    fn spec(&self) -> ToolSpec {
        let spec = ToolSpec::new(
            self.name,
            "A tool of the simulated world.",
            r#"{"type":"object"}"#,
            self.effect,
        );
        if self.name == SHELL {
            return spec.with_roles([(COMMAND, ArgumentRole::CommandLine)]).confining(true);
        }
        spec
    }

    async fn prepare(
        &self,
        _site: &Site,
        _call: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        match self.effect {
            EffectClass::Digested => {}
            EffectClass::Supervised => {
                let handle = Handle::Job { directory: self.world.jobs().name(), boot: None };
                return Ok(Prepared { handle, ..Prepared::default() });
            }
            EffectClass::ReadOnly
            | EffectClass::Idempotent
            | EffectClass::Child
            | EffectClass::Once => return Ok(Prepared::default()),
        }
        let (path, line) = change(arguments)?;
        let before = self.world.file(path);
        let after = digest(&changed(before.as_deref(), line));
        let before = before.as_deref().map(digest);
        let handle = Handle::Edit { path: path.into(), before, after };
        Ok(Prepared { handle, ..Prepared::default() })
    }

    async fn run(&self, job: Job) -> Finished {
        if let Handle::Job { directory: name, .. } | Handle::Task { id: name, .. } = &job.handle {
            return self.see_through(&job, name).await;
        }
        if self.name == HANDED_OVER {
            return self.hand_over(&job).await;
        }
        if !pause(&job).is_zero() {
            tokio::select! {
                () = tokio::time::sleep(pause(&job)) => {}
                () = job.cancel.cancelled() => {
                    return Finished { outcome: Outcome::Cancelled, ..Finished::failed("stopped") };
                }
            }
        }
        self.world.point().await;
        check_intent(&self.world, &self.journal, self.name, &job).await;
        let finished = match lacking(&job).await {
            Some(waits) => waits,
            None => self.act(&job),
        };
        self.world.point().await;
        finished
    }

    async fn settle(&self, _site: &Site, arguments: &Arguments, handle: &Handle) -> Settled {
        if let Handle::Job { directory: name, .. } | Handle::Task { id: name, .. } = handle {
            return self.world.jobs().settle(name, || self.done(arguments));
        }
        let (Ok((path, line)), Handle::Edit { before, after, .. }) = (change(arguments), handle)
        else {
            return Settled::Unknown("nothing is recorded".into());
        };
        let now = self.world.file(path).as_deref().map(digest);
        if now == Some(after.clone()) {
            Settled::Applied(Finished::ok(format!("added {line} to {path}")))
        } else if now == *before {
            Settled::NotApplied
        } else {
            Settled::Unknown("the file is neither before nor after".into())
        }
    }
}

impl WorldTool {
    fn done(&self, arguments: &Arguments) -> Finished {
        if arguments.contains_key("secret") {
            let full = format!("{} done with {SECRET:?}", self.name).into_bytes();
            let text = format!("{} done with {SECRET}", self.name);
            return Finished { full: Some(full), ..Finished::ok(text) };
        }
        let times = arguments.get("times").and_then(Value::as_u64).unwrap_or(1);
        let times = usize::try_from(times).unwrap_or(1);
        Finished::ok(vec![format!("{} done", self.name); times].join(", "))
    }

    fn effect(&self, job: &Job) -> Effect {
        Effect {
            conversation: job.site.conversation.clone(),
            call: job.call,
            tool: self.name.into(),
            class: self.effect,
        }
    }

    /// Begins a job, or finds it begun, and waits for its end.
    async fn see_through(&self, job: &Job, name: &str) -> Finished {
        self.world.point().await;
        check_intent(&self.world, &self.journal, self.name, job).await;
        self.check_consent(job).await;
        // One that is found begun has asked before.
        if !self.world.jobs().is_begun(name)
            && let Some(waits) = lacking_secret(job)
        {
            return waits;
        }
        self.begin(job, name);
        self.world.jobs().end(name).await;
        self.world.point().await;
        self.done(&job.arguments)
    }

    /// Hands the work to another service, and only then knows how to ask about it.
    async fn hand_over(&self, job: &Job) -> Finished {
        self.world.point().await;
        check_intent(&self.world, &self.journal, self.name, job).await;
        let name = self.world.jobs().name();
        self.begin(job, &name);
        self.world.point().await;
        if !job.track(Handle::Task { id: name.clone(), since: "then".into() }).await {
            self.world.complain(format!("{} {} is not tracked", self.name, job.call));
        }
        self.world.point().await;
        self.world.jobs().end(&name).await;
        self.world.point().await;
        self.done(&job.arguments)
    }

    fn begin(&self, job: &Job, name: &str) {
        let (world, effect) = (self.world.clone(), self.effect(job));
        let takes = if self.name == SHELL { COMMAND_TAKES } else { pause(job) };
        self.world.jobs().begin(name, takes, move || world.record(effect));
    }

    /// A command that only looks runs behind its wall in every life; any other on a person's word.
    async fn check_consent(&self, job: &Job) {
        let Some(line) = job.arguments.get(COMMAND).and_then(Value::as_str) else { return };
        let is_forgotten =
            self.world.oversight() == Some(Oversight::WallForgotten) && 1 < self.world.life();
        let consent = if is_forgotten { Consent::WordForWord } else { job.consent };
        let is_right = match consent {
            Consent::OnlyLooks => line.starts_with(LOOKS),
            Consent::WordForWord => is_allowed(&self.journal, job).await,
            Consent::Widely => false,
        };
        if !is_right {
            self.world.complain(format!("{line:?} runs as {consent:?}"));
        }
    }

    fn act(&self, job: &Job) -> Finished {
        assert!(!job.arguments.contains_key("panic"), "scripted panic of the tool");
        if job.arguments.contains_key("fail") {
            return Finished::failed("scripted failure");
        }
        let effect = self.effect(job);
        let (Handle::Edit { path, before, after }, Ok((_, line))) =
            (&job.handle, change(&job.arguments))
        else {
            self.world.record(effect);
            return self.done(&job.arguments);
        };
        let old = self.world.file(path);
        let now = old.as_deref().map(digest);
        if now != Some(after.clone()) {
            if now != *before {
                return Finished::failed("conflict");
            }
            self.world.write(path, &changed(old.as_deref(), line));
            self.world.record(effect);
        }
        Finished::ok(format!("added {line} to {path}"))
    }
}

/// The heart of the matter: no effect without a durable intent.
pub(super) async fn check_intent(world: &World, journal: &Arc<dyn Journal>, tool: &str, job: &Job) {
    let records = journal.read(&job.site.conversation, Seq(0), JOURNAL_ENTRIES_MAX).await;
    let intended = records.unwrap_or_default().iter().any(|record| {
        matches!(Event::from_stored(record.format, &record.body),
            Event::ToolStarted { call, .. } if call == job.call)
    });
    if !intended {
        world.complain(format!("{tool} {} ran without an intent", job.call));
    }
}

/// Whether it is recorded that a person allowed a call.
async fn is_allowed(journal: &Arc<dyn Journal>, job: &Job) -> bool {
    let state = reader::state(&**journal, &job.site.conversation).await.unwrap_or_default();
    let asked = state.open_turn().and_then(|it| it.inquiry(job.call, InquiryKind::Permission));
    asked.is_some_and(|raised| raised.answer == Some(InquiryAnswer::Allow))
}

/// How long a call takes.
fn pause(job: &Job) -> Duration {
    let ms = job.arguments.get("ms").and_then(Value::as_u64);
    Duration::from_millis(ms.unwrap_or_default())
}

/// Asks before it acts, if it is to ask; none when it knows enough.
async fn lacking(job: &Job) -> Option<Finished> {
    let question = |name: &str| Question::new(name, "Which?").before_acting();
    if job.arguments.contains_key("stay") && job.ask(question("stay")).await == Response::Deferred {
        return Some(Finished::needs_input(Vec::new()));
    }
    if let Some(waits) = lacking_secret(job) {
        return Some(waits);
    }
    let count = job.arguments.get("ask").and_then(Value::as_u64)?;
    let names = (1..=count).map(|number| format!("q{number}"));
    let lacking = names.into_iter().find(|name| !job.responses().contains_key(name))?;
    Some(Finished::needs_input(vec![question(&lacking)]))
}

/// Asks for a secret, and then whether it is the right one.
fn lacking_secret(job: &Job) -> Option<Finished> {
    if !job.arguments.contains_key("secret") {
        return None;
    }
    let question = match job.responses().get("key").and_then(Response::words) {
        None => Question::new("key", "Key?").shaped(Shape::Secret),
        Some(key) if !job.responses().contains_key("right") => {
            Question::new("right", format!("Is {key} right?"))
        }
        Some(_) => return None,
    };
    Some(Finished::needs_input(vec![question.before_acting()]))
}

fn change(arguments: &Arguments) -> Result<(&str, &str), Refusal> {
    let field = |name: &str| {
        let value = arguments.get(name).and_then(Value::as_str);
        value.ok_or_else(|| Refusal(format!("{name} is missing")))
    };
    Ok((field("path")?, field("line")?))
}

fn changed(before: Option<&str>, line: &str) -> String {
    format!("{}{line}\n", before.unwrap_or_default())
}

/// Contents are short here: they are their own digests.
fn digest(content: &str) -> Digest {
    Digest::new(content)
}
