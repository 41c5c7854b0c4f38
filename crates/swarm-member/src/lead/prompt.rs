//! The system prompt of a lead.

use swarm_tools::prompt;

use super::LeadParts;

/// Returns the blocks of the system prompt but for the environment, the same for the whole conversation.
pub(super) fn system_prompt(parts: &LeadParts) -> Vec<String> {
    let situation = if parts.is_interactive {
        prompt!("lead-interactive")
    } else {
        prompt!("lead-headless")
    };
    let mut blocks = vec![[situation, prompt!("lead"), prompt!("software-work")].join("\n\n")];
    blocks.extend(parts.instructions.iter().cloned());
    blocks
}
