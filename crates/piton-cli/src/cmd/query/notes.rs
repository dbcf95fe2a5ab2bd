//! What a person should hear of the settings and of tools before a turn is shown.

use piton_agent::{
    AgentProfiles, AgentTools, InstructionNote, ProfileNote, SandboxGap, SkillNote, ToolNote,
};

use crate::output::Output;
use crate::render::visible::visible_name;
use crate::render::{offered, rule, servers};

/// Says it, once.
pub(in crate::cmd) fn tell(tools: &AgentTools, profiles: &AgentProfiles, output: &mut Output) {
    for note in tools.take_notes() {
        match note {
            ToolNote::Server(notice) => output.talk(&servers::notice(&notice)),
            ToolNote::Text(text) => output.talk(&text),
            ToolNote::Untrusted(words) => output.talk(&offered::untrusted(&words)),
        }
    }
    for note in profiles.take_notes() {
        let said = match note {
            ProfileNote::Sandbox(SandboxGap::Weaker(lack)) => {
                format!("commands run without all of their sandbox: {lack}")
            }
            ProfileNote::Sandbox(SandboxGap::NotRun(lack)) => {
                format!("commands are not run: {lack}")
            }
            ProfileNote::SecondName(file) => format!(
                "{} has a second name (a hard link), under which tools and commands may reach it; \
                 replace it by a copy",
                file.display()
            ),
            ProfileNote::Hook(why) => why,
            ProfileNote::Stranger(stranger) => rule::stranger(&stranger),
            ProfileNote::Instructions(InstructionNote { path, why })
            | ProfileNote::Skill(SkillNote { path, why }) => {
                format!("{}: {why}", visible_name(&path.to_string_lossy()))
            }
        };
        output.talk(&format!("warning: {said}"));
    }
}
