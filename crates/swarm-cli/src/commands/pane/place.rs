//! Lookup of a member's pane.

use std::sync::Arc;

use swarm_panes::{Pane, PaneBackend, backend_for_pane};
use swarm_protocol::Member;

use crate::app::App;
use crate::failure::{Failure, Result};
use crate::spawn_context::terminal;

/// Returns the pane of a member and the backend that can show it.
pub(super) fn pane_of(app: &App, member: &Member) -> Result<(Arc<dyn PaneBackend>, Pane)> {
    let no_pane = |why: &str| {
        let message = format!("{} has no pane: {why}", member.name);
        Failure::environment(message)
    };
    let (Some(mark), Some(kind)) = (&member.swarm, &member.backend_type) else {
        return Err(
            no_pane("swarm did not start it").with_hint("view it in the program that started it")
        );
    };
    if member.tmux_pane_id.is_none() {
        return Err(no_pane("it is still starting").with_hint("try again in a moment"));
    }
    let backend = backend_for_pane(kind, mark.socket.as_deref(), &terminal(app))?;
    let pane = Pane::new(member.tmux_pane_id.clone(), mark.socket.clone());
    Ok((backend, pane))
}
