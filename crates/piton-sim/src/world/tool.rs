//! Tools of the world: one per effect class, each with a point before and behind its effect.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use piton_core::event::{EffectClass, Event, Handle, Outcome, ToolSpec};
use piton_core::id::{CallId, Digest, Seq};
use piton_core::question::Question;
use piton_store::Journal;
use piton_tools::{Arguments, Finished, Job, Prepared, Refusal, Response, Settled, Site, Tool};
use serde_json::Value;

use super::{Effect, World};

/// Entries that are looked through for an intent; a scripted turn is far shorter.
const JOURNAL_ENTRIES_MAX: usize = 10_000;

/// A tool of the world. Arguments: `ms` to take its time, `fail` or `panic` to go wrong, `ask` for so
/// many questions one after the other, `stay` to wait for an answer where it is, and for `change` the
/// `path` and the `line` to add.
#[derive(Debug)]
pub struct WorldTool {
    name: &'static str,
    effect: EffectClass,
    world: World,
    journal: Arc<dyn Journal>,
}

/// `look` reads, `set` is idempotent, `change` is digested, `pay` happens once.
pub fn world_tools(world: &World, journal: &Arc<dyn Journal>) -> Vec<Arc<dyn Tool>> {
    [
        ("look", EffectClass::ReadOnly),
        ("set", EffectClass::Idempotent),
        ("change", EffectClass::Digested),
        ("pay", EffectClass::Once),
    ]
    .map(|(name, effect)| {
        Arc::new(WorldTool { name, effect, world: world.clone(), journal: journal.clone() })
            as Arc<dyn Tool>
    })
    .into()
}

#[async_trait]
impl Tool for WorldTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.into(),
            description: "A tool of the simulated world.".into(),
            parameters: r#"{"type":"object"}"#.into(),
            effect: self.effect,
        }
    }

    async fn prepare(
        &self,
        _site: &Site,
        _call: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        if self.effect != EffectClass::Digested {
            return Ok(Prepared::default());
        }
        let (path, line) = change(arguments)?;
        let before = self.world.file(path);
        let after = digest(&changed(before.as_deref(), line));
        let before = before.as_deref().map(digest);
        let handle = Handle::Edit { path: path.into(), before, after };
        Ok(Prepared { handle, ..Prepared::default() })
    }

    async fn run(&self, job: Job) -> Finished {
        if let Some(ms) = job.arguments.get("ms").and_then(Value::as_u64) {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(ms)) => {}
                () = job.cancel.cancelled() => {
                    return Finished { outcome: Outcome::Cancelled, ..Finished::failed("stopped") };
                }
            }
        }
        self.world.point().await;
        self.check_intent(&job).await;
        let finished = match lacking(&job).await {
            Some(waits) => waits,
            None => self.act(&job),
        };
        self.world.point().await;
        finished
    }

    async fn settle(&self, _site: &Site, arguments: &Arguments, handle: &Handle) -> Settled {
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
    /// The heart of the matter: no effect without a durable intent.
    async fn check_intent(&self, job: &Job) {
        let records = self.journal.read(&job.site.conversation, Seq(0), JOURNAL_ENTRIES_MAX).await;
        let intended = records.unwrap_or_default().iter().any(|record| {
            matches!(Event::from_stored(record.format, &record.body),
                Event::ToolStarted { call, .. } if call == job.call)
        });
        if !intended {
            self.world.complain(format!("{} {} ran without an intent", self.name, job.call));
        }
    }

    fn act(&self, job: &Job) -> Finished {
        assert!(!job.arguments.contains_key("panic"), "scripted panic of the tool");
        if job.arguments.contains_key("fail") {
            return Finished::failed("scripted failure");
        }
        let effect = Effect {
            conversation: job.site.conversation.clone(),
            call: job.call,
            tool: self.name.into(),
            class: self.effect,
        };
        let (Handle::Edit { path, before, after }, Ok((_, line))) =
            (&job.handle, change(&job.arguments))
        else {
            self.world.record(effect);
            return Finished::ok(format!("{} done", self.name));
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

/// Asks before it acts, if it is to ask; none when it knows enough.
async fn lacking(job: &Job) -> Option<Finished> {
    let question = |name: &str| Question::new(name, "Which?").before_acting();
    if job.arguments.contains_key("stay") && job.ask(question("stay")).await == Response::Deferred {
        return Some(Finished::needs_input(Vec::new()));
    }
    let count = job.arguments.get("ask").and_then(Value::as_u64)?;
    let names = (1..=count).map(|number| format!("q{number}"));
    let lacking = names.into_iter().find(|name| !job.responses().contains_key(name))?;
    Some(Finished::needs_input(vec![question(&lacking)]))
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
