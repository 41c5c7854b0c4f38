//! Selects coordinator mode.

use std::path::Path;

use swarm_agent::{is_coordinator_session, transcript_path};
use swarm_config::{ClaudeSettings, wants_coordinator};
use swarm_protocol::SessionId;

use crate::app::App;
use crate::failure::{Failure, Result};

/// Returns whether the lead of a conversation in `cwd` is a coordinator. A continued conversation
/// keeps its mode.
pub(in crate::commands) fn is_coordinator(
    app: &App,
    claude: &ClaudeSettings,
    flag: bool,
    (cwd, session): (&Path, SessionId),
) -> Result<bool> {
    let by_variable = wants_coordinator(|name| claude.variable(&app.env, name));
    if !transcript_path(&app.root, cwd, session).exists() {
        return Ok(flag || by_variable);
    }
    let is_coordinator = is_coordinator_session(&app.root, cwd, session);
    if flag && !is_coordinator {
        let message = format!("the conversation {session} is not in coordinator mode");
        return Err(Failure::usage(message).with_hint(
            "start a new one with `swarm lead --coordinator`, or omit `--coordinator`",
        ));
    }
    if by_variable && !is_coordinator {
        app.out.remark(
            "CLAUDE_CODE_COORDINATOR_MODE has no effect: a continued conversation keeps its mode",
        );
    }
    Ok(is_coordinator)
}
