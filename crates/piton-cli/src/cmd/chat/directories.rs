//! `/dirs`: the directories beside the workspace that tools may work in.

use std::path::Path;

use piton::reader;

use super::Sitting;
use crate::cmd::query::stage::Stage;
use crate::render::visible::visible_name;
use crate::report::Fault;

impl Sitting {
    /// Shows them, adds one, or takes one out.
    pub(super) async fn directories(
        &mut self,
        words: &str,
        stage: &mut Stage<'_>,
    ) -> Result<(), Fault> {
        let mut present = match &self.conversation {
            Some(id) => {
                let state = reader::state(&*self.journal(stage)?, id).await?;
                state.config.permissions.directories
            }
            None => Vec::new(),
        };
        self.overrides.change_directories(&mut present);
        let (wish, typed) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let typed = Path::new(typed.trim());
        match wish {
            "add" if !typed.as_os_str().is_empty() => {
                let directory = self.settings().added_directory(typed)?;
                stage
                    .output
                    .talk(&format!("tools may work in {directory} from your next message on"));
                self.overrides.removed_directories.retain(|other| *other != directory);
                self.overrides.directories.push(directory);
            }
            "remove" if !typed.as_os_str().is_empty() => {
                let directory = self.settings().removed_directory(typed)?;
                if !present.contains(&directory) {
                    stage
                        .output
                        .talk(&format!("{directory} was not added; /dirs shows those that were"));
                    return Ok(());
                }
                stage
                    .output
                    .talk(&format!("tools work in {directory} no more, from your next message on"));
                self.overrides.directories.retain(|other| *other != directory);
                self.overrides.removed_directories.push(directory);
            }
            "" if present.is_empty() => {
                stage.output.talk("No directory was added; to add one: /dirs add DIR");
            }
            "" => {
                for directory in &present {
                    stage.output.talk(&format!("  {}", visible_name(directory)));
                }
                stage.output.talk("hint: to take one out: /dirs remove DIR");
            }
            _ => stage.output.talk("hint: /dirs, /dirs add DIR, /dirs remove DIR"),
        }
        Ok(())
    }
}
