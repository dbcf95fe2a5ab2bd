//! Who answers, how much it thinks, and what may run without asking.

use clap::ValueEnum as _;
use piton_agent::{typed, with_near};
use piton_core::view::{Effort, PermissionMode, View};

use super::Sitting;
use crate::cmd::query::stage::Stage;
use crate::flags::{EFFORTS, Mode};
use crate::render::lines::Line;
use crate::report::Fault;

/// Models that are named when nobody is chosen by name.
const MODELS_NAMED_MAX: usize = 8;

impl Sitting {
    pub(super) async fn choose_model(
        &mut self,
        words: &str,
        stage: &mut Stage<'_>,
    ) -> Result<(), Fault> {
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

    pub(super) async fn choose_mode(
        &mut self,
        words: &str,
        stage: &mut Stage<'_>,
    ) -> Result<(), Fault> {
        if let Ok(mode) = Mode::from_str(words, true) {
            self.overrides.permissions = Some(mode.into());
            stage.output.talk(&format!("permissions {} from now on", mode.typed()));
            return Ok(());
        }
        if !words.is_empty() {
            stage.output.talk(&format!("There is no mode {words}."));
        }
        let present = Mode::from(self.mode(&self.view(stage).await?)).typed();
        let modes: Vec<String> = Mode::value_variants().iter().map(|mode| mode.typed()).collect();
        stage.output.talk(&format!("permissions {present}; to choose: /mode {}", modes.join("|")));
        Ok(())
    }

    pub(super) async fn choose_effort(
        &mut self,
        words: &str,
        stage: &mut Stage<'_>,
    ) -> Result<(), Fault> {
        if !words.is_empty() {
            match words.parse::<Effort>() {
                Ok(effort) => {
                    self.overrides.effort = Some(effort);
                    stage.output.talk(&format!("effort {words} from your next message on"));
                    return Ok(());
                }
                Err(fault) => stage.output.talk(&with_near(words, fault.to_string())),
            }
        }
        let view = self.view(stage).await?;
        let present = Line::word(&self.effort(&view));
        stage.output.talk(&format!("effort {present}; to choose: /effort {}", EFFORTS.join("|")));
        Ok(())
    }

    /// How much the model thinks in the next turn.
    pub(super) fn effort(&self, view: &View) -> Effort {
        let chosen = || {
            let model = self.agent.model(&self.overrides, view.head.model.as_ref()).ok();
            model.and_then(|model| self.agent.request_defaults(&model).effort)
        };
        let kept = match &self.conversation {
            Some(_) => view.head.effort,
            None => chosen().unwrap_or_default(),
        };
        self.overrides.effort.unwrap_or(kept)
    }

    /// What may run without asking in the next turn.
    pub(super) fn mode(&self, view: &View) -> PermissionMode {
        let kept =
            if self.conversation.is_some() { view.head.mode } else { self.agent.default_mode() };
        self.overrides.permissions.unwrap_or(kept)
    }
}
