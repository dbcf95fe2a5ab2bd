//! What was asked for, and how this process signs its commands.

use std::sync::Arc;

use piton::chance::{Chance as _, SystemChance};
use piton::{Command, Envelope, Sender};
use piton_agent::{Agent, Overrides, Settings};
use piton_core::id::CommandId;

use super::plan::Wish;
use super::schema::OutputSchema;
use crate::flags::Query;
use crate::report::Fault;

/// What was asked for.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) query: Box<Query>,
    pub(super) wish: Wish,
    pub(super) overrides: Overrides,
    /// What the answer must match.
    pub(super) schema: Option<OutputSchema>,
    pub(super) agent: Arc<Agent>,
    pub(super) settings: &'a Settings,
}

impl Asked<'_> {
    /// A command of this process, with what its flags say.
    pub(super) fn envelope(&self, command: Command) -> Result<Envelope, Fault> {
        let name = CommandId::from_chance(SystemChance.next());
        Ok(Envelope { from: self.sender()?, ..Envelope::new(name, command) })
    }

    /// Where this process is, and what its flags say.
    pub(super) fn sender(&self) -> Result<Sender, Fault> {
        let directory = self.settings.directory()?.to_string_lossy().into_owned();
        let has_any = self.overrides != Overrides::default();
        // Plain data cannot fail to serialise.
        let flags = has_any.then(|| serde_json::to_string(&self.overrides).ok()).flatten();
        Ok(Sender { directory: Some(directory), flags, ..Sender::default() })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser as _;
    use piton_agent::Environment;

    use super::*;
    use crate::flags::{Command, Flags};

    #[test]
    fn a_sender_says_where_the_person_is_and_not_where_the_conversation_works() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("repo/.git")).unwrap();
        fs::create_dir(root.join("repo/src")).unwrap();
        let home = [("PITON_HOME".into(), root.join("home").into())];
        let environment = Environment::new(root.join("repo/src"), home);
        let settings = Settings::resolve(environment).unwrap();
        let flags = Flags::try_parse_from(["piton", "query", "hello"]).unwrap();
        let Some(Command::Query(query)) = flags.command else { unreachable!() };
        let agent = Arc::new(Agent::load(settings.clone()).unwrap());
        let (wish, overrides, settings) = (Wish::Say, Overrides::default(), &settings);
        let asked = Asked { query, wish, overrides, schema: None, agent, settings };
        let directory = asked.sender().unwrap().directory;
        assert_eq!(directory.as_deref(), root.join("repo/src").to_str());
        assert_eq!(settings.workspace().unwrap(), root.join("repo"));
    }
}
