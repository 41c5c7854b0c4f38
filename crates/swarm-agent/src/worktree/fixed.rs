//! The tools of a fork.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use swarm_permissions::MEMBER_TOOLS;
use swarm_protocol::ToolKind;
use swarm_tools::{Tool, ToolContext, ToolOutput};

use super::WorktreeIsolator;
use super::enter::EnterWorktree;
use super::exit::ExitWorktree;
use super::stay::SessionWorktree;

/// A tool with the parent's specification, so that a fork's requests begin as its parent's do,
/// whose calls are refused.
#[derive(Debug)]
struct RefusedTool {
    tool: Arc<dyn Tool>,
    why: &'static str,
}

/// Returns the tools of a fork. Tools that would move the agent or act for it in the team are
/// refused.
pub(crate) fn fork_tools(tools: &[Arc<dyn Tool>]) -> Vec<Arc<dyn Tool>> {
    let wrap = |tool: &Arc<dyn Tool>| -> Arc<dyn Tool> {
        let why = if MOVE_TOOLS.contains(&tool.name()) {
            "a fork cannot change its directory; only its parent can"
        } else if MEMBER_TOOLS.contains(&tool.name()) {
            "a fork is not a team member; report to your parent instead"
        } else {
            return Arc::clone(tool);
        };
        Arc::new(RefusedTool {
            tool: Arc::clone(tool),
            why,
        })
    };
    tools.iter().map(wrap).collect()
}

#[async_trait]
impl Tool for RefusedTool {
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
            Ok(()) => ToolOutput::error("not available to a fork"),
            Err(why) => ToolOutput::error(why),
        }
    }
}

/// Names of the tools that move the process's agent. Only that agent has them: a sub-agent that
/// used them would move it too.
pub(crate) const MOVE_TOOLS: [&str; 2] = ["EnterWorktree", "ExitWorktree"];

/// Returns `EnterWorktree` and `ExitWorktree` for an agent that begins in `origin`. Other agents
/// that inherit these tools and work in another directory are not moved.
pub fn worktree_tools(source: WorktreeIsolator, origin: PathBuf) -> Vec<Arc<dyn Tool>> {
    let session = Arc::new(SessionWorktree {
        source,
        origin,
        entered: Mutex::default(),
    });
    vec![
        Arc::new(EnterWorktree(Arc::clone(&session))),
        Arc::new(ExitWorktree(session)),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;
    use swarm_protocol::SystemClock;
    use swarm_worktree::{Git, ProcessMark, Worktrees};

    use super::*;
    use crate::{WorktreeIsolator, worktree_tools};

    #[test]
    fn tools_of_a_fork_keep_the_specification_but_are_refused() {
        let git = Git::new("git", BTreeMap::new());
        let process = ProcessMark {
            pid: 1,
            start: "1".into(),
        };
        let worktrees = Worktrees::new(git, <_>::default(), "/no/where".into());
        let source = WorktreeIsolator {
            worktrees,
            clock: Arc::new(SystemClock),
            process,
        };
        let parents = worktree_tools(source, "/".into());
        let forks = fork_tools(&parents);
        assert_eq!(forks.len(), MOVE_TOOLS.len());
        for (parents, forks) in parents.iter().zip(&forks) {
            assert_eq!(parents.name(), forks.name());
            assert_eq!(parents.description(), forks.description());
            assert_eq!(parents.input_schema(), forks.input_schema());
            assert_eq!(forks.workplace("/".as_ref()), None);
            // Plan mode allows team tools without approval, but these tools create and remove
            // files.
            assert_eq!(forks.kind(), ToolKind::Other);
            let one_line = forks.one_line(&json!({"action": "remove"}));
            assert!(one_line.starts_with(forks.name()), "{one_line}");
        }
    }
}
