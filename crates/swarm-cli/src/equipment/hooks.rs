//! Hooks of the settings.

use swarm_policy::HookSettings;

use crate::app::App;
use crate::claude_settings::ClaudeSettings;
use crate::failure::Failure;
use crate::team_hooks::in_force;

/// What runs for agents that this command starts.
pub(super) fn load(app: &App) -> Result<HookSettings, Failure> {
    let claude = ClaudeSettings::load(&app.root, &app.env.cwd, app.env.home().as_deref())?;
    in_force(app, &claude)
}
