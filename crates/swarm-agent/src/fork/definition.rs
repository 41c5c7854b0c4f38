//! What a fork is.

use swarm_permissions::AgentDefinition;

/// The type of a fork.
pub(crate) const FORK: &str = "fork";

/// Model requests in one turn of a fork. Claude Code's.
const MAX_TURNS: u32 = 200;

/// What a fork is: nobody can define it otherwise.
pub(crate) fn fork_definition() -> AgentDefinition {
    AgentDefinition {
        max_turns: Some(MAX_TURNS),
        ..AgentDefinition::new(FORK, "", "")
    }
}
