//! The system prompt of a sub-agent.

use swarm_policy::AgentDefinition;
use swarm_tools::prompt;

use crate::PromptEnvironment;

/// Returns the blocks of the system prompt, the same for the whole conversation.
pub(super) fn system_prompt(
    definition: &AgentDefinition,
    environment: &PromptEnvironment<'_>,
) -> Vec<String> {
    let own = match definition.prompt.trim() {
        "" => prompt!("sub-agent"),
        prompt => prompt,
    };
    vec![
        format!("{own}\n\n{}", prompt!("sub-agent-report")),
        environment.section(),
    ]
}
