//! The definition of a fork.

use swarm_permissions::AgentDefinition;

pub(crate) const FORK: &str = "fork";

/// Most model requests in one turn of a fork, as in Claude Code.
const MAX_TURNS: u32 = 200;

/// Returns the built-in definition of a fork. Definition files cannot override it.
pub(crate) fn fork_definition() -> AgentDefinition {
    AgentDefinition {
        max_turns: Some(MAX_TURNS),
        ..AgentDefinition::new(FORK, "", "")
    }
}
