//! Hooks of the settings.

use swarm_policy::HookSettings;

use crate::app::App;
use crate::claude_settings::ClaudeSettings;
use crate::failure::Failure;
use crate::team_hooks::in_force;

/// What runs for agents that this command starts.
pub(super) fn load(app: &App) -> Result<HookSettings, Failure> {
    let claude = ClaudeSettings::load(&app.root, &app.env.cwd, app.env.home().as_deref())?;
    if claude.hooks.waits_for_trust() && !app.is_trusted()? {
        // Whoever relies on one of them as a guard has to hear of it.
        app.out.say(
            "swarm: the repository's hooks do not run, as it is not trusted; read its .claude/settings.json, then `swarm trust`",
        );
    }
    in_force(app, &claude)
}
