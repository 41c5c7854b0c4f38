//! The system prompt of a lead.

use swarm_agent::scratchpad_section;
use swarm_tools::prompt;

use super::LeadParts;

/// Returns the blocks of the system prompt, except the environment. They are constant for the
/// conversation.
pub(super) fn system_prompt(parts: &LeadParts) -> Vec<String> {
    let scratchpad = parts.spawn_context.agent_config.scratchpad.iter();
    let mut blocks = if parts.is_coordinator {
        let mut blocks = vec![prompt!("coordinator").to_owned()];
        blocks.extend(scratchpad.map(|path| scratchpad_section(path)));
        blocks
    } else {
        vec![lead_prompt(parts)]
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
