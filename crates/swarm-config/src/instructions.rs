//! The instruction files that agents read.

use std::path::Path;

use swarm_permissions::InstructionSettings;

use crate::settings::Settings;
use crate::trust::project_top;

/// Returns the instruction file settings for agents in `cwd`.
pub fn instruction_settings(
    settings: &Settings,
    root: &Path,
    cwd: &Path,
    trusted: bool,
) -> InstructionSettings {
    InstructionSettings {
        files: settings.instruction_files.clone(),
        exclude: settings.instruction_exclude.clone(),
        trusted: trusted.then(|| project_top(root, cwd)),
    }
}
