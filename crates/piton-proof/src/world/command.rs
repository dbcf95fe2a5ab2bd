//! Tools of the settings file in the crash suites: real commands under real supervisors.
//!
//! Each command stops twice and says so: before it acts, and behind it. At both places its driver
//! may die. A supervised command then goes on by itself, one without a supervisor ends there. Their
//! effects are lines in a file, which the commands write themselves.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use piton_core::event::{EffectClass, Handle, ToolSpec};
use piton_core::id::CallId;
use piton_store::Journal;
use piton_tools::sandbox::Rules;
use piton_tools::supervise::Supervisor;
use piton_tools::{
    Arguments, CommandDefinition, CommandTool, Finished, Job, Prepared, Program, Refusal, Settled,
    Site, Tool,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::World;
use super::effect::Effect;
use super::tool::check_intent;
use super::yard::{Busy, Desk, Leaving, Mistake, Runner, Yard};

/// How long a command may run, in seconds. None takes so long.
const TIMEOUT_S: u64 = 60;

/// The classes that the settings can declare, each with a tool.
const TOOLS: [(&str, EffectClass); 4] = [
    ("peek", EffectClass::ReadOnly),
    ("label", EffectClass::Idempotent),
    ("job", EffectClass::Supervised),
    ("mail", EffectClass::Once),
];

/// What every tool runs. It asks before it acts if it is to ask and has no answer yet.
const LINE: &str = r#"read -r input
desk=${input#*'"desk":"'}; desk=${desk%%'"'*}
effect=${input#*'"effect":"'}; effect=${effect%%'"'*}
echo begun > "$desk/says"; read -r go < "$desk/gate"
case "$input" in '{"answers":{},'*'"ask":1'*)
    echo '{"questions":[{"id":"sure","text":"Which?"}]}'; exit 75 ;;
esac
echo "$effect" >> "$desk/../ledger"
echo acted > "$desk/says"; read -r go < "$desk/gate"
echo done"#;

/// A command tool with points at which its agent may die.
#[derive(Debug)]
struct WatchedCommand {
    tool: Arc<CommandTool>,
    spec: ToolSpec,
    /// What it really is; its description may say otherwise.
    class: EffectClass,
    yard: Arc<Yard>,
    world: World,
    journal: Arc<dyn Journal>,
}

/// The command tools of a world, as one life finds them; none where there are no commands.
pub fn command_tools(world: &World, journal: &Arc<dyn Journal>) -> Vec<Arc<dyn Tool>> {
    let Some(yard) = &world.shared.yard else { return Vec::new() };
    let supervisor = match &yard.runner {
        Runner::Supervised(program) => {
            let calls = yard.directory.join("calls");
            Some(Arc::new(Supervisor::new(program.clone(), calls, Vec::new())))
        }
        Runner::Plain => None,
    };
    let tool = |(name, effect)| {
        let definition = definition(name, effect);
        let tool = match &supervisor {
            Some(supervisor) => definition.supervised(supervisor.clone()),
            None => definition.plain(Vec::new(), Rules::none()),
        };
        let mut spec = tool.spec();
        let class = spec.effect;
        if class == EffectClass::Once && yard.mistake == Some(Mistake::OnceRunsAgain) {
            spec.effect = EffectClass::Idempotent;
        }
        let (tool, yard) = (Arc::new(tool), yard.clone());
        let (world, journal) = (world.clone(), journal.clone());
        Arc::new(WatchedCommand { tool, spec, class, yard, world, journal }) as Arc<dyn Tool>
    };
    TOOLS.map(tool).into()
}

fn definition(name: &str, effect: EffectClass) -> CommandDefinition {
    CommandDefinition {
        name: name.into(),
        description: "A command of the simulated world.".into(),
        parameters: json!({"properties": {"ask": {"type": "integer"}}}),
        program: Program::Line(LINE.into()),
        effect,
        timeout_s: TIMEOUT_S,
        sandboxed: false,
        rules: None,
    }
}

#[async_trait]
impl Tool for WatchedCommand {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn prepare(
        &self,
        site: &Site,
        call: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        self.tool.prepare(site, call, arguments).await
    }

    async fn run(&self, job: Job) -> Finished {
        self.world.point().await;
        check_intent(&self.world, &self.journal, &self.spec.name, &job).await;
        let finished = self.watched(job).await.unwrap_or_else(|error| {
            self.world.complain(format!("no command could be watched: {error}"));
            Finished::failed("")
        });
        self.world.point().await;
        finished
    }

    async fn settle(&self, site: &Site, arguments: &Arguments, handle: &Handle) -> Settled {
        let is_forgotten = match self.yard.mistake {
            None => false,
            Some(Mistake::RecordsAreIgnored) => true,
            // A record would show that it need not run again.
            Some(Mistake::OnceRunsAgain) => self.class == EffectClass::Once,
        };
        if is_forgotten {
            return Settled::NotApplied;
        }
        self.tool.settle(site, arguments, handle).await
    }

    fn forget(&self, site: &Site, handle: &Handle) {
        self.tool.forget(site, handle);
    }
}

impl WatchedCommand {
    /// Runs the command with a point wherever it stops. One that is found running does not stop.
    async fn watched(&self, job: Job) -> io::Result<Finished> {
        let effect = Effect {
            conversation: job.site.conversation.clone(),
            call: job.call,
            tool: self.spec.name.clone(),
            class: self.class,
        };
        let (desk, arguments) = self.yard.desk(&job, effect)?;
        let (mut running, _leaving) = self.begin(Job { arguments, ..job }, &desk);
        loop {
            tokio::select! {
                finished = &mut running => return Ok(finished),
                said = desk.hears() => said?,
            }
            self.world.point().await;
            desk.open(1)?;
        }
    }

    fn begin(
        &self,
        job: Job,
        desk: &Arc<Desk>,
    ) -> (Pin<Box<dyn Future<Output = Finished> + Send>>, Option<Leaving>) {
        let tool = self.tool.clone();
        if matches!(self.yard.runner, Runner::Plain) {
            return (Box::pin(async move { tool.run(job).await }), None);
        }
        // A driver that is dropped stops what it runs, as an interrupt does; one that is killed does
        // not. So the command runs beside it, and hears nothing from it.
        let job = Job { cancel: CancellationToken::new(), ..job };
        let busy = Busy::new(self.yard.clone());
        let task = tokio::spawn(async move {
            let finished = tool.run(job).await;
            drop(busy);
            finished
        });
        let run = async { task.await.unwrap_or_else(|error| Finished::failed(error.to_string())) };
        (Box::pin(run), Some(Leaving(desk.clone())))
    }
}
