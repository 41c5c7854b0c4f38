//! The tools of an agent, as a fork of it has them.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use swarm_permissions::MEMBER_TOOLS;
use swarm_protocol::ToolKind;
use swarm_tools::{Tool, ToolContext, ToolOutput};

use super::MOVING;

/// A tool that looks as it does to the agent that it belongs to, so that requests of a fork begin as its parent's do, and
/// that is refused.
#[derive(Debug)]
struct Fixed {
    tool: Arc<dyn Tool>,
    why: &'static str,
}

/// The tools of an agent for a fork of it: those that would move the agent or act in its name in the team are refused.
pub(crate) fn fixed(tools: &[Arc<dyn Tool>]) -> Vec<Arc<dyn Tool>> {
    let fix = |tool: &Arc<dyn Tool>| -> Arc<dyn Tool> {
        let why = if MOVING.contains(&tool.name()) {
            "you are a fork and stay in your directory; only the agent that you are forked from moves"
        } else if MEMBER_TOOLS.contains(&tool.name()) {
            "you are a fork and not a member of the team; report to the agent that you are forked from"
        } else {
            return Arc::clone(tool);
        };
        Arc::new(Fixed {
            tool: Arc::clone(tool),
            why,
        })
    };
    tools.iter().map(fix).collect()
}

#[async_trait]
impl Tool for Fixed {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn description(&self) -> String {
        self.tool.description()
    }

    fn input_schema(&self) -> Value {
        self.tool.input_schema()
    }

    fn kind(&self) -> ToolKind {
        self.tool.kind()
    }

    fn is_read_only(&self, input: &Value) -> bool {
        self.tool.is_read_only(input)
    }

    fn one_line(&self, input: &Value) -> String {
        self.tool.one_line(input)
    }

    fn check(&self, _input: &Value, _ctx: &ToolContext) -> Result<(), String> {
        Err(format!("{} was not called: {}", self.tool.name(), self.why))
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        match self.check(&input, ctx) {
            Ok(()) => ToolOutput::error("it is not for a fork"),
            Err(why) => ToolOutput::error(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;
    use swarm_protocol::SystemClock;
    use swarm_worktree::{Git, ProcessMark, Worktrees};

    use super::*;
    use crate::worktree_tools;

    #[test]
    fn a_forks_tools_look_as_its_parents_do_and_move_nobody() {
        let git = Git::new("git", BTreeMap::new());
        let process = ProcessMark {
            pid: 1,
            start: "1".into(),
        };
        let worktrees = Worktrees::new(git, <_>::default(), "/no/where".into());
        let parents = worktree_tools(worktrees, Arc::new(SystemClock), process, "/".into());
        let forks = fixed(&parents);
        assert_eq!(forks.len(), MOVING.len());
        for (parents, forks) in parents.iter().zip(&forks) {
            assert_eq!(parents.name(), forks.name());
            assert_eq!(parents.description(), forks.description());
            assert_eq!(parents.input_schema(), forks.input_schema());
            assert_eq!(forks.workplace("/".as_ref()), None);
            // Plan mode lets what acts on the team pass without a question, and this makes and removes files.
            assert_eq!(forks.kind(), ToolKind::Other);
            let one_line = forks.one_line(&json!({"action": "remove"}));
            assert!(one_line.starts_with(forks.name()), "{one_line}");
        }
    }
}
