//! What one command changes of the settings.

use piton_core::event::{Effort, ModelRef, PermissionMode};
use serde::{Deserialize, Serialize};

use crate::sandbox::SandboxMode;
use crate::unattended::UnattendedPolicy;

/// What a command wants otherwise than the settings and the conversation say. Plain data: a command
/// can carry it to another process.
///
/// A field that this build does not know is refused. It may be a restriction, and a turn must not
/// run without one that was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overrides {
    /// Who answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// How much the model should think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Most tokens of one answer; 0 leaves it to the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_tokens_max: Option<u32>,
    /// Most model answers in one turn; 0 is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps_max: Option<u32>,
    /// Most tokens of one turn, requests and answers; 0 is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
    /// The most that one turn may cost, in millionths of a dollar; 0 is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microdollars_max: Option<u64>,
    /// What may run without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PermissionMode>,
    /// What becomes of questions while nobody is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unattended: Option<UnattendedPolicy>,
    /// When commands are confined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxMode>,
    /// Confined commands have no network.
    #[serde(skip_serializing_if = "is_false")]
    pub no_network: bool,
    /// Directories beside the workspace that tools may work in from now on, as
    /// [`Settings::added_directory`](crate::Settings::added_directory) gives them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<String>,
    /// Those that they may work in no more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed_directories: Vec<String>,
    /// Workers do the work: the model splits it into subtasks, and answers from their results.
    #[serde(skip_serializing_if = "is_false")]
    pub coordinate: bool,
}

impl Overrides {
    /// Adds directories to those of a conversation, and takes others out.
    pub fn change_directories(&self, present: &mut Vec<String>) {
        present.retain(|directory| !self.removed_directories.contains(directory));
        let is_new = |directory: &&String| !present.contains(directory);
        let added: Vec<_> = self.directories.iter().filter(is_new).cloned().collect();
        present.extend(added);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_survive_the_way_to_another_process() {
        let sent = Overrides {
            model: "anthropic/opus".parse().ok(),
            effort: Some(Effort::Low),
            answer_tokens_max: Some(0),
            steps_max: Some(7),
            tokens_max: Some(1_000),
            microdollars_max: Some(500_000),
            permissions: Some(PermissionMode::ReadOnly),
            unattended: Some(UnattendedPolicy::Deny),
            sandbox: Some(SandboxMode::On),
            no_network: true,
            directories: vec!["/lib".into()],
            removed_directories: vec!["/old".into()],
            coordinate: true,
        };
        for sent in [sent, Overrides::default()] {
            let text = serde_json::to_string(&sent).unwrap();
            assert_eq!(serde_json::from_str::<Overrides>(&text).unwrap(), sent, "{text}");
        }
        assert_eq!(serde_json::to_string(&Overrides::default()).unwrap(), "{}");
    }

    #[test]
    fn an_unknown_restriction_is_refused() {
        let fault = serde_json::from_str::<Overrides>(r#"{"no_files":true}"#).unwrap_err();
        assert!(fault.to_string().contains("no_files"), "{fault}");
    }
}
