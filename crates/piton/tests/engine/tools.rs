//! Each conversation has the tools that were found for it, in the order in which they were found.

use std::path::Path;
use std::sync::{Arc, Mutex};

use piton::model::OneModel;
use piton::profile::{Moment, OneProfile, Profile};
use piton::{
    Command, CommandError, Delegation, Engine, NewMessage, Refusal, ToolPlace, Toolbox, Tools,
    ToolsError,
};
use piton_core::event::{EffectClass, PermissionMode, ToolSpec};
use piton_core::id::ConversationId;
use piton_core::outcome::Ending;
use piton_core::state::{Config, State};
use piton_sim::script::{Script, ScriptedModel};
use piton_store::{Journal as _, MemoryJournal};
use piton_tools::{Finished, Job, Tool};

use crate::stage::say;

/// A tool that says its own name.
#[derive(Debug)]
struct Named(String);

#[async_trait::async_trait]
impl Tool for Named {
    fn spec(&self) -> ToolSpec {
        let schema = r#"{"type":"object","properties":{}}"#;
        ToolSpec::new(&*self.0, "Says its name.", schema, EffectClass::ReadOnly)
    }

    async fn run(&self, _job: Job) -> Finished {
        Finished::ok(self.0.clone())
    }
}

/// Finds `zoom`, then a tool of the conversation's name; remembers what it was asked for.
#[derive(Debug, Default)]
struct Finder {
    asked: Mutex<Vec<(String, Moment)>>,
    away: bool,
}

#[async_trait::async_trait]
impl Tools for Finder {
    async fn find(&self, place: ToolPlace<'_>) -> Result<Arc<Toolbox>, ToolsError> {
        if self.away {
            return Err(ToolsError { message: "the shed is locked".into() });
        }
        let name = place.conversation.as_str().to_owned();
        self.asked.lock().unwrap().push((name.clone(), place.moment));
        let tools = ["zoom".to_owned(), name].map(|name| Arc::new(Named(name)) as Arc<dyn Tool>);
        Ok(Arc::new(tools.into_iter().collect()))
    }
}

fn engine(journal: &Arc<MemoryJournal>, finder: &Arc<Finder>, script: &str) -> Engine {
    let model = ScriptedModel::new(Script::parse(script).unwrap());
    let mut config = Config { model: "script/one".parse().ok(), ..Config::default() };
    config.permissions.mode = PermissionMode::Auto;
    let profile = Profile { config, ..Profile::default() };
    Engine::builder(journal.clone(), Arc::new(OneModel(Arc::new(model))))
        .tool(Arc::new(Named("yell".into())))
        .tools(finder.clone())
        .delegate(Delegation::default())
        .profiles(Arc::new(OneProfile(profile)))
        .build()
}

async fn state(journal: &MemoryJournal, name: &str) -> State {
    piton::reader::state(journal, &ConversationId::new(name)).await.unwrap()
}

fn offered(state: &State) -> Vec<&str> {
    state.config.tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn two_conversations_of_one_engine_have_their_own_tools_in_their_order() {
    let (journal, finder) = (Arc::new(MemoryJournal::new()), Arc::new(Finder::default()));
    let script = r#"{"steps":[{"calls":[{"tool":"bob"}]},{"say":"done"}]}"#;
    let engine = engine(&journal, &finder, script);
    for name in ["bob", "ann"] {
        let conversation = engine.begin_as(ConversationId::new(name), Path::new("/")).unwrap();
        let ending = conversation.perform(Command::say(say("go"))).await.unwrap();
        assert_eq!(ending, Ending::Done);
    }
    let (bob, ann) = (state(&journal, "bob").await, state(&journal, "ann").await);
    assert_eq!(offered(&bob), ["yell", "zoom", "bob", "delegate"]);
    assert_eq!(offered(&ann), ["yell", "zoom", "ann", "delegate"]);
    let output = |state: &State| {
        let calls = state.turns[0].steps().flat_map(|step| &step.calls);
        calls.map(|call| format!("{:?}", call.progress)).collect::<Vec<_>>().concat()
    };
    assert!(output(&bob).contains("\"bob\""), "{}", output(&bob));
    assert!(!output(&ann).contains("Succeeded"), "{}", output(&ann));
}

#[tokio::test(start_paused = true)]
async fn tools_are_asked_for_when_a_turn_begins_and_without_them_none_does() {
    let (journal, finder) = (Arc::new(MemoryJournal::new()), Arc::new(Finder::default()));
    let script = r#"{"steps":[{"say":"one"},{"say":"two"}]}"#;
    let first = engine(&journal, &finder, script);
    let conversation = first.begin_as(ConversationId::new("bob"), Path::new("/")).unwrap();
    for text in ["go", "again"] {
        conversation.perform(Command::say(NewMessage::text(text))).await.unwrap();
    }
    let begun = ("bob".to_owned(), Moment::TurnBegins);
    assert_eq!(*finder.asked.lock().unwrap(), [begun.clone(), begun]);
    drop(conversation);
    first.shutdown(std::time::Duration::ZERO).await;
    let away = Arc::new(Finder { away: true, ..Finder::default() });
    let second = engine(&journal, &away, script);
    let locked = second.conversation(&ConversationId::new("bob"));
    let refused = locked.send(Command::say(say("more"))).await.unwrap();
    let why = Refusal::Impossible { message: "the shed is locked".into() };
    assert_eq!(refused.refusal(), Some(&why));
}

#[tokio::test(start_paused = true)]
async fn a_conversation_whose_tools_cannot_be_had_does_not_begin() {
    let journal = Arc::new(MemoryJournal::new());
    let away = Arc::new(Finder { away: true, ..Finder::default() });
    let engine = engine(&journal, &away, r#"{"steps":[{"say":"one"}]}"#);
    let conversation = engine.begin_as(ConversationId::new("bob"), Path::new("/")).unwrap();
    let refused = conversation.send(Command::say(say("go"))).await.unwrap_err();
    assert!(matches!(refused, CommandError::Refused(Refusal::Impossible { .. })), "{refused}");
    assert!(journal.status(&ConversationId::new("bob")).await.unwrap().is_none());
}
