use std::fs;
use std::path::PathBuf;

use piton::Sender;
use piton_core::id::{ConversationId, Timestamp};
use piton_core::state::Config;

use super::*;
use crate::environment::Environment;
use crate::settings::Settings;

/// A conversation in a directory, and what its model was told.
struct Talk {
    root: tempfile::TempDir,
    config: Config,
    known: Vec<(String, Digest)>,
}

impl Talk {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("work/sub")).unwrap();
        Self { root, config: Config::default(), known: Vec::new() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(path)
    }

    fn agent(&self) -> Agent {
        let home = self.at("");
        let variables = [("HOME", home.to_str().unwrap())];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let settings = Settings::resolve(Environment::new(self.at("work"), variables)).unwrap();
        Agent::load(settings).unwrap()
    }

    /// The texts of what is told with the next turn, and by name what the prompt says.
    async fn turn(&mut self, directory: &str, day: u64) -> Vec<String> {
        let agent = self.agent();
        let (workspace, directory) = (self.at("work"), self.at(directory));
        let instructions = agent.instructions(&workspace, Some(&directory));
        let sender =
            Sender { directory: Some(directory.to_str().unwrap().into()), ..Sender::default() };
        let id = ConversationId::new("c");
        let told = self.known.iter().map(|(name, digest)| (name.as_str(), digest)).collect();
        let mut request = ContextRequest::new((&id, &workspace), &sender, &self.config, &told);
        request.now = Timestamp(day * 86_400_000);
        let items = context(&agent, request, &instructions).await;
        for item in &items {
            self.known.push((item.name.clone(), item.digest.clone()));
        }
        let at = self.at("").to_str().unwrap().to_owned();
        let shown = |item: ContextItem| match item.text {
            Some(text) => text.replace(&at, "HOME/"),
            None => format!("prompt: {}", item.name.replace(&at, "HOME/")),
        };
        items.into_iter().map(shown).collect()
    }
}

#[tokio::test]
async fn a_turn_is_told_where_and_when_it_is_and_later_ones_only_what_changed() {
    let mut talk = Talk::new();
    let first = talk.turn("work", 0).await;
    assert!(first[0].starts_with("Date: ") && first[0].contains("-01"), "{first:?}");
    assert!(first[1].starts_with("System: linux "), "{first:?}");
    assert_eq!(
        first[2..],
        [
            "Workspace: \"HOME/work\". Relative paths begin here, for tools and commands.",
            "The person is in the workspace.",
            "Permissions: what only reads runs at once; anything else is asked about first.",
            "Nobody is there to answer questions.",
        ]
    );
    assert_eq!(talk.turn("work", 0).await, Vec::<String>::new());
    let later = talk.turn("work/sub", 1).await;
    assert!(later[0].starts_with("Date: ") && later[0] != first[0], "{later:?}");
    assert_eq!(later[1..], ["The person is in \"sub\" of the workspace."]);
}

// D6, X27
#[tokio::test]
async fn instructions_stand_in_the_prompt_and_come_whole_when_they_change() {
    let mut talk = Talk::new();
    fs::write(talk.at("work/AGENTS.md"), "Say ahoy.").unwrap();
    let instructions = talk.agent().instructions(&talk.at("work"), None);
    talk.config.system = crate::prompt::system_prompt(&instructions, &Skills::default()).into();
    let first = talk.turn("work", 0).await;
    assert_eq!(first.last().unwrap(), "prompt: instructions HOME/work/AGENTS.md");
    assert_eq!(talk.turn("work", 0).await, Vec::<String>::new());
    fs::write(talk.at("work/AGENTS.md"), "Say moin.").unwrap();
    let changed = "# Instructions from \"HOME/work/AGENTS.md\" (of this project; the user has not \
                   reviewed it)\nSay moin.\n[The file has changed. This replaces what it said before.]";
    assert_eq!(talk.turn("work", 0).await, [changed]);
    assert_eq!(talk.turn("work", 0).await, Vec::<String>::new());
    fs::remove_file(talk.at("work/AGENTS.md")).unwrap();
    let gone = "[The instructions \"HOME/work/AGENTS.md\" are gone, and count no more.]";
    assert_eq!(talk.turn("work", 0).await, [gone]);
    assert_eq!(talk.turn("work", 0).await, Vec::<String>::new());
}

#[tokio::test]
async fn instructions_of_a_directory_come_when_the_person_goes_there() {
    let mut talk = Talk::new();
    fs::write(talk.at("work/sub/AGENTS.md"), "Below.").unwrap();
    let first = talk.turn("work", 0).await;
    assert!(!first.iter().any(|text| text.contains("Below.")), "{first:?}");
    let below = talk.turn("work/sub", 0).await;
    assert!(below.iter().any(|text| text.ends_with("Below.")), "{below:?}");
    assert_eq!(talk.turn("work", 0).await, ["The person is in the workspace."]);
}

#[tokio::test]
async fn directories_that_were_added_are_told_when_they_change() {
    let mut talk = Talk::new();
    let added = |told: &[String]| {
        told.iter().filter(|it| it.starts_with("Further")).cloned().collect::<Vec<_>>()
    };
    assert!(added(&talk.turn("work", 1).await).is_empty());
    talk.config.permissions.directories = vec!["/lib".into(), "/a b".into()];
    let told = added(&talk.turn("work", 1).await);
    assert!(told.len() == 1 && told[0].contains("/lib") && told[0].contains("/a b"), "{told:?}");
    assert!(added(&talk.turn("work", 1).await).is_empty(), "they are known");
}
