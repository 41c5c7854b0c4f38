//! Warnings about members that could not be notified of changed tasks.

use swarm_store::{BlockOn as _, Team};

use crate::app::App;

/// Returns a sentence for each member.
pub(in crate::commands) fn undelivered(team: &dyn Team) -> Vec<String> {
    let found = team.undelivered().block_on();
    found.iter().map(ToString::to_string).collect()
}

/// Prints a warning for each member after a change.
pub(in crate::commands) fn warn_undelivered(app: &App, team: &dyn Team) {
    for line in undelivered(team) {
        app.out.warn(&format!("the change is done, but {line}"));
    }
}
