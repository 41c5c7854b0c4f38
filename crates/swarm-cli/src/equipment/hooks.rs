//! Hooks of the settings.

use swarm_policy::HookSettings;

use crate::app::App;
use crate::claude_settings::ClaudeSettings;
use crate::failure::Failure;
use crate::output::plain;
use crate::team_hooks::in_force;

/// What runs for agents that this command starts.
pub(super) fn load(app: &App, claude: &ClaudeSettings) -> Result<HookSettings, Failure> {
    if claude.hooks.waits_for_trust() && !app.is_trusted()? {
        // Whoever relies on one of them as a guard has to hear of it.
        app.out.warn(
            "swarm: the repository's hooks do not run, as it is not trusted; read its .claude/settings.json, then `swarm trust`",
        );
    }
    // The same holds for a guard whose event is misspelt, a rule that names no tool, and what is not supported.
    for remark in &claude.warnings(&app.env) {
        app.out.warn(&format!("swarm: {}", plain(remark)));
    }
    in_force(app, claude)
}
