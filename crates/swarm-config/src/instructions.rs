//! The instruction files that agents read.

use swarm_permissions::InstructionSettings;

use crate::settings::Settings;
use crate::trust::Project;

/// Returns the instruction file settings for agents in a project.
pub fn instruction_settings(settings: &Settings, project: &Project) -> InstructionSettings {
    InstructionSettings {
        files: settings.instruction_files.clone(),
        exclude: settings.instruction_exclude.clone(),
        trusted: project.is_trusted.then(|| project.top.clone()),
    }
}
