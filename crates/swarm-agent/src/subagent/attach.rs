//! Gives the agent of the process its tools for sub-agents.

use std::sync::Arc;

use swarm_permissions::{AgentDefinition, ToolCeiling};

use super::interject::WithNotifications;
use super::registry::Root;
use super::{ListAgents, Parent, SubAgents, TaskOutput, TaskStop, pool};
use crate::agent_tool::{SkillCall, has_forks};
use crate::{AgentParts, AgentTool, Teammates, TranscriptFile};

impl SubAgents {
    /// Adds the tools for sub-agents to the agent of the process; `teammates` are the other
    /// members of its team.
    /// Its tools become the pool of its sub-agents, as far as its `definition` has them. Files of
    /// sub-agents are in the directory `subagents` of the session of `transcript`.
    pub fn attach(
        &self,
        parts: &mut AgentParts,
        teammates: Arc<dyn Teammates>,
        definition: Option<&AgentDefinition>,
        transcript: &TranscriptFile,
    ) {
        let mut parent = Parent::of(None, 0, parts, ToolCeiling::default().below(definition));
        for name in [AgentTool::NAME, "TaskStop", "TaskOutput", "ListAgents"] {
            parent.tool_names.push(name.to_owned());
        }
        let parent = Arc::new(parent);
        let agents = AgentTool::new(Arc::clone(&teammates), self.weak(), Arc::clone(&parent));
        let skills = &self.kit().agent_config.skills;
        if has_forks(skills) {
            let named = parts.tools.iter_mut();
            for tool in named.filter(|tool| tool.name() == SkillCall::NAME) {
                *tool = Arc::new(SkillCall::new(skills, agents.clone()));
            }
        }
        parts.tools.push(Arc::new(agents));
        parts.tools.push(Arc::new(TaskStop {
            agents: self.weak(),
            teammates: Arc::clone(&teammates),
        }));
        parts.tools.push(Arc::new(TaskOutput(self.weak())));
        parts.tools.push(Arc::new(ListAgents {
            agents: self.weak(),
            teammates,
        }));
        let root = Root {
            pool: parts.tools.clone(),
            events: Arc::clone(&parts.events),
            author: transcript.author().clone(),
            directory: transcript.path().with_extension("").join("subagents"),
            parent,
        };
        if self.coordinates() {
            let tools = pool::coordinator_tools(&root.pool);
            parts.tools = tools.offered;
            parts.withheld = tools.withheld;
        }
        parts.interjections = Arc::new(WithNotifications {
            mail: Arc::clone(&parts.interjections),
            agents: self.weak(),
        });
        let me = self.weak();
        self.kit().commands.on_change(move || {
            if let Some(agents) = me.upgrade() {
                agents.show_commands();
                agents.notify_changed();
            }
        });
        if self.root.set(root.clone()).is_err() {
            tracing::error!("the sub-agent registry of a process was attached to two agents");
            return;
        }
        self.reopen(&root);
    }
}
