//! The Skill tool of an agent that can start others: a separate agent follows a skill with
//! `context: fork`.

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_protocol::{Skill, ToolKind};
use swarm_tools::{SkillTool, Tool, ToolContext, ToolOutput, skill_text};

use super::AgentTool;
use crate::rights::allowed;

/// Returns whether one of these skills requires a separate agent.
pub(crate) fn has_forks(skills: &[Skill]) -> bool {
    skills.iter().any(|skill| skill.fork)
}

/// Loads a skill, or starts an agent that follows it.
#[derive(Debug, Clone)]
pub(crate) struct SkillCall {
    skills: SkillTool,
    agents: AgentTool,
}

impl SkillCall {
    pub(crate) const NAME: &'static str = "Skill";

    pub(crate) fn new(skills: &[Skill], agents: AgentTool) -> Self {
        let skills = SkillTool::new(skills);
        Self { skills, agents }
    }
}

#[async_trait]
impl Tool for SkillCall {
    fn name(&self) -> &str {
        self.skills.name()
    }

    fn description(&self) -> String {
        self.skills.description()
    }

    fn input_schema(&self) -> Value {
        self.skills.input_schema()
    }

    fn kind(&self) -> ToolKind {
        self.skills.kind()
    }

    fn is_read_only(&self, input: &Value) -> bool {
        self.skills.is_read_only(input)
    }

    fn one_line(&self, input: &Value) -> String {
        self.skills.one_line(input)
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        let (skill, arguments) = match self.skills.asked(input.clone()) {
            Ok((skill, arguments)) if skill.fork => (skill, arguments),
            // Loads the skill, or returns the error of the call.
            _ => return self.skills.call(input, ctx).await,
        };
        let text = match skill_text(&skill, &arguments) {
            Ok(text) => text,
            Err(error) => {
                let (name, path) = (&skill.name, skill.path.display());
                return ToolOutput::error(format!(
                    "Cannot read the skill {name} from {path}: {error}."
                ));
            }
        };
        let granted = allowed(&skill.allowed_tools, &format!("skill {}", skill.name));
        let mut call = json!({
            "description": format!("skill {}", skill.name),
            "prompt": text,
            "subagent_type": skill.agent.as_deref().unwrap_or(AgentTool::GENERAL),
        });
        if let Some(model) = &skill.model {
            call["model"] = json!(model);
        }
        let started = self.agents.start(call, granted, ctx).await;
        started.unwrap_or_else(ToolOutput::error)
    }
}
