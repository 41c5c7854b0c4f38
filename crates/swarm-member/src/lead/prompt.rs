//! The system prompt of a lead.

use swarm_engine::PromptEnvironment;
use swarm_tools::prompt;

use super::LeadParts;

/// Returns the blocks of the system prompt, the same for the whole conversation.
pub(super) fn system_prompt(parts: &LeadParts, model: &str) -> Vec<String> {
    let dep = &parts.deployment;
    let environment = PromptEnvironment {
        cwd: &dep.cwd,
        platform: &parts.platform,
        model,
        now: dep.clock.now(),
    };
    let situation = if parts.is_interactive {
        prompt!("lead-interactive")
    } else {
        prompt!("lead-headless")
    };
    let mut blocks = vec![
        [situation, prompt!("lead"), prompt!("software-work")].join("\n\n"),
        environment.section(),
    ];
    blocks.extend(parts.instructions.iter().cloned());
    blocks
}
