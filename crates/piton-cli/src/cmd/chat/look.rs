//! What a chat shows of where it stands: its state, what was changed, rules and servers.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::Path;

use clap::ValueEnum as _;
use piton::undo::{FileChange, FileChangeState, FileChanges};
use piton_agent::typed;
use piton_tools::{difference, open_regular};

use super::Sitting;
use crate::cmd::query::stage::Stage;
use crate::cmd::{mcp, permissions};
use crate::flags::{Mcp, McpWish, Mode, Permissions, RulesWish};
use crate::render::diff::unified;
use crate::render::lines::Line;
use crate::render::paint::Painted;
use crate::render::tokens;
use crate::report::Fault;

/// Largest file that is compared, in bytes.
const COMPARED_BYTES_MAX: u64 = 8 * 1024 * 1024;

impl Sitting {
    /// Says who answers, where, and how.
    pub(super) async fn status(&self, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let view = self.view(stage).await?;
        let conversation = match &self.conversation {
            Some(id) => {
                let word = if view.turns.len() == 1 { "turn" } else { "turns" };
                let is_open = view.head.open.is_some();
                let open = if is_open { ", the last one is incomplete" } else { "" };
                format!("{id}, {} {word}{open}", view.turns.len())
            }
            None => "none yet; your next message begins one".into(),
        };
        let model = self.agent.model(&self.overrides, view.head.model.as_ref());
        let model = model.map_or_else(|error| error.to_string(), |model| typed(&model));
        let workspace = match &self.conversation {
            Some(_) => view.head.workspace.clone(),
            None => self.settings().workspace()?.display().to_string(),
        };
        let file = self.settings().file.as_ref();
        let file = file.map(|file| file.display().to_string()).unwrap_or_default();
        let rows = [
            ("conversation", conversation),
            ("workspace", workspace),
            ("model", model),
            ("effort", Line::word(&self.effort(&view))),
            ("permissions", Mode::from(self.mode(&view)).typed()),
            ("used", tokens::in_all(&view).unwrap_or_else(|| "no tokens yet".into())),
            ("settings", file),
        ];
        for (name, value) in rows {
            stage.output.talk(&format!("  {name:<12}  {value}"));
        }
        Ok(())
    }

    /// Shows what the conversation changed in files: how they were before, against how they are now.
    pub(super) async fn difference(&self, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let Some(id) = &self.conversation else {
            stage.output.talk("This conversation has not begun, so it has changed nothing.");
            return Ok(());
        };
        let workspace = self.view(stage).await?.head.workspace;
        let changes = FileChanges::new(&self.settings().scratch()?);
        let mut first: BTreeMap<String, FileChange> = BTreeMap::new();
        // The newest come first, so that the oldest one of a file stays.
        for change in changes.of(Path::new(&workspace)) {
            let is_made = change.state != FileChangeState::TakenBack;
            if is_made && change.conversation.root() == *id {
                first.insert(change.path.clone(), change);
            }
        }
        let mut shown = false;
        for (path, change) in first {
            let place = Path::new(&workspace).join(&path);
            let before = changes.content_before(&change);
            let now = match place.symlink_metadata() {
                Ok(_) => content(&place).map(Some),
                Err(_) => Ok(None),
            };
            let (before, now) = match (before, now) {
                (Ok(before), Ok(now)) => (before, now),
                (Err(error), _) | (_, Err(error)) => {
                    stage.output.talk(&format!("{path} cannot be compared: {error}"));
                    continue;
                }
            };
            let Some(text) = difference(&path, before.as_deref(), now.as_deref()) else { continue };
            shown = true;
            match stage.output.page() {
                Some(page) => {
                    stage.output.paint(&Painted::lines(&unified(&text, page), page.style));
                }
                None => stage.output.data(&text),
            }
        }
        if !shown {
            stage.output.talk("No file is otherwise than before this conversation.");
        }
        Ok(())
    }

    /// Shows the rules, or takes one back.
    pub(super) async fn rules(&mut self, words: &str, stage: &mut Stage<'_>) -> Result<(), Fault> {
        if Mode::from_str(words, true).is_ok() {
            return self.choose_mode(words, stage).await;
        }
        let number = words.strip_prefix("revoke").and_then(|number| number.trim().parse().ok());
        if !words.is_empty() && number.is_none() {
            stage.output.talk("hint: /permissions, /permissions revoke N, /mode MODE");
            return Ok(());
        }
        if number.is_none() {
            self.choose_mode("", stage).await?;
        }
        let Some(id) = &self.conversation else {
            return permissions::of_settings(&self.agent, stage.output)
                .map(|it| it.tell(stage.output));
        };
        let wish = number.map(|number| RulesWish::Revoke { number });
        let flags = Permissions { wish, id: Some(id.to_string()), json: false };
        permissions::run(&flags, self.settings(), stage.output).await?.tell(stage.output);
        Ok(())
    }

    /// Shows the servers of tools, or what they offer.
    pub(super) async fn servers(&self, words: &str, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let wish = match words.split_whitespace().collect::<Vec<_>>().as_slice() {
            [] | ["list"] => McpWish::List,
            ["tools"] => McpWish::Tools { server: None },
            ["tools", server] => McpWish::Tools { server: Some((*server).to_owned()) },
            [..] => {
                stage
                    .output
                    .talk("hint: /mcp, /mcp tools, /mcp tools SERVER; piton mcp changes them");
                return Ok(());
            }
        };
        let flags = Mcp { wish: Some(wish), json: false };
        let report = tokio::select! {
            biased;
            _ = stage.signals.next() => return Err(Fault::Interrupted),
            report = mcp::run(&flags, self.agent.settings(), stage.output) => report?,
        };
        report.tell(stage.output);
        Ok(())
    }
}

/// What is in a file now.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let bytes = open_regular(path)?.take(COMPARED_BYTES_MAX + 1).read_to_end(&mut content)?;
    if COMPARED_BYTES_MAX < bytes as u64 {
        return Err(io::Error::other(format!("it has more than {COMPARED_BYTES_MAX} bytes")));
    }
    Ok(content)
}
