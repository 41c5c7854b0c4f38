//! Permission requests of a sub-agent, which its parent's gate decides.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use swarm_permissions::{AgentDefinition, PermissionOutcome, PermissionRequest};
use swarm_protocol::SubAgentId;
use swarm_tools::prompt;

use crate::{PermissionGate, Withdrawal};

use super::SubAgents;

/// Forwards permission requests and adds which sub-agent asks.
#[derive(Debug)]
pub(super) struct ChildGate {
    pub(super) parent: Arc<dyn PermissionGate>,
    pub(super) id: SubAgentId,
    pub(super) agent_type: String,
    pub(super) agents: Weak<SubAgents>,
}

#[async_trait]
impl PermissionGate for ChildGate {
    async fn ask(&self, ask: PermissionRequest, withdrawal: Withdrawal) -> PermissionOutcome {
        let ask = PermissionRequest {
            description: format!("{} ({}): {}", self.agent_type, self.id, ask.description),
            ..ask
        };
        let answer = self.parent.ask(ask, withdrawal).await;
        // The member then reports that it works.
        if let Some(agents) = self.agents.upgrade() {
            agents.notify_changed();
        }
        answer
    }
}

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
