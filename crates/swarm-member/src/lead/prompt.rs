//! The system prompt of a lead.

use swarm_agent::scratchpad_section;
use swarm_tools::prompt;

use super::LeadParts;

/// Returns the blocks of the system prompt, except the environment. They are constant for the
/// conversation.
pub(super) fn system_prompt(parts: &LeadParts) -> Vec<String> {
    let coordinator = &parts.spawn_context.agent_config.coordinator;
    let mut blocks = match coordinator {
        Some(coordinator) => vec![
            prompt!("coordinator").to_owned(),
            scratchpad_section(&coordinator.scratchpad),
        ],
        None => vec![lead_prompt(parts)],
    };
    blocks.extend(parts.instructions.iter().cloned());
    blocks
}

fn lead_prompt(parts: &LeadParts) -> String {
    let situation = if parts.is_interactive {
        prompt!("lead-interactive")
    } else {
        prompt!("lead-headless")
    };
    [situation, prompt!("lead"), prompt!("software-work")].join("\n\n")
}
