//! The point in a conversation at which forks begin, and the part of a request before the messages.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_model::{StoredMessage, SystemBlock, ToolSpec};
use swarm_permissions::AgentDefinition;
use swarm_protocol::partial_debug;
use swarm_tools::Tool;

use crate::{AgentError, Result};

/// The conversation at which forks of an agent begin, set only while calls run. Clones share it.
#[derive(Clone, Default)]
pub struct ForkPoint(Arc<Mutex<Option<Arc<Origin>>>>);

/// What the forks of one response share.
pub(crate) struct Origin {
    /// The beginning of each request.
    pub(crate) head: Head,
    /// The tools that the specifications describe.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// The parent's conversation including the placeholder results of its calls.
    pub(crate) messages: Vec<Arc<StoredMessage>>,
}

partial_debug!(ForkPoint);
partial_debug!(Origin);

impl ForkPoint {
    /// Sets the origin for forks until the returned guard is dropped.
    pub(crate) fn set(&self, origin: Origin) -> ForkPointGuard {
        *self.0.lock() = Some(Arc::new(origin));
        ForkPointGuard(self.clone())
    }

    /// Returns the current origin; `None` between calls.
    pub(crate) fn origin(&self) -> Option<Arc<Origin>> {
        self.0.lock().clone()
    }
}

/// Clears the fork point on drop, so that the tools keep no reference to themselves after their
/// calls.
pub(crate) struct ForkPointGuard(ForkPoint);

impl Drop for ForkPointGuard {
    fn drop(&mut self) {
        *self.0.0.lock() = None;
    }
}

pub(crate) const FORK: &str = "fork";

/// Most model requests in one turn of a fork, as in Claude Code.
const MAX_TURNS: u32 = 200;

/// Returns the built-in definition of a fork. Definition files cannot override it.
pub(crate) fn fork_definition() -> AgentDefinition {
    AgentDefinition {
        max_turns: Some(MAX_TURNS),
        ..AgentDefinition::new(FORK, "", "")
    }
}

/// The rendered system prompt and tool specifications. Rendered once, so that every request, and
/// those of forks, begins with the same bytes.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) system: Arc<[SystemBlock]>,
    pub(crate) specs: Arc<[ToolSpec]>,
}

impl Head {
    /// Renders both. `defers` says whether deferrable tools are deferred.
    pub(crate) fn of(system: &[String], tools: &[Arc<dyn Tool>], defers: bool) -> Result<Self> {
        Ok(Self {
            system: system_blocks(system),
            specs: tool_specs(tools, defers)?,
        })
    }

    /// Returns the approximate size in a request, in bytes. Deferred tools do not count.
    pub(crate) fn bytes(&self) -> u64 {
        let system = self.system.iter().map(|block| block.text.len());
        let sent = self.specs.iter().filter(|tool| !tool.deferred);
        let tools = sent
            .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.json().len());
        system.chain(tools).sum::<usize>() as u64
    }
}

/// Marks the last block for the prompt cache, which covers everything before it: tools and system
/// prompt never change in a conversation.
fn system_blocks(texts: &[String]) -> Arc<[SystemBlock]> {
    let last = texts.len().saturating_sub(1);
    texts
        .iter()
        .enumerate()
        .map(|(index, text)| SystemBlock {
            text: text.clone(),
            cache: index == last,
        })
        .collect()
}

fn tool_specs(tools: &[Arc<dyn Tool>], defers: bool) -> Result<Arc<[ToolSpec]>> {
    let mut names = HashSet::new();
    tools
        .iter()
        .map(|tool| {
            let name = tool.name().to_owned();
            if !names.insert(name.clone()) {
                return Err(AgentError::DuplicateTool(name));
            }
            Ok(ToolSpec {
                name,
                description: tool.description(),
                input_schema: tool.input_schema().into(),
                deferred: defers && tool.is_deferrable(),
            })
        })
        .collect()
}
