//! The system prompt of a sub-agent.

use swarm_permissions::AgentDefinition;
use swarm_tools::prompt;

/// Returns the blocks of the system prompt, which do not change during the conversation.
pub(super) fn system_prompt(definition: &AgentDefinition, environment: &str) -> Vec<String> {
    let own = match definition.prompt.trim() {
        "" => prompt!("sub-agent"),
        prompt => prompt,
    };
    vec![
        [own, prompt!("sub-agent-report"), prompt!("software-work")].join("\n\n"),
        environment.to_owned(),
    ]
}
