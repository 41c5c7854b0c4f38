//! The part of a request before the messages.

use std::collections::HashSet;
use std::sync::Arc;

use swarm_model::{SystemBlock, ToolSpec};
use swarm_tools::Tool;

use crate::AgentError;

/// The rendered system prompt and tool specifications. Rendered once, so that every request, and
/// those of forks, begins with the same bytes.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) system: Arc<[SystemBlock]>,
    pub(crate) specs: Arc<[ToolSpec]>,
}

impl Head {
    /// Renders both. `defers` says whether deferrable tools are deferred.
    pub(crate) fn of(
        system: &[String],
        tools: &[Arc<dyn Tool>],
        defers: bool,
    ) -> Result<Self, AgentError> {
        Ok(Self {
            system: system_blocks(system),
            specs: tool_specs(tools, defers)?,
        })
    }

    /// Returns the approximate size in a request, in bytes. Deferred tools do not count.
    pub(crate) fn bytes(&self) -> u64 {
        let system = self.system.iter().map(|block| block.text.len());
        let sent = self.specs.iter().filter(|tool| !tool.deferred);
        let tools = sent.map(|tool| {
            tool.name.len() + tool.description.len() + tool.input_schema.to_string().len()
        });
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

fn tool_specs(tools: &[Arc<dyn Tool>], defers: bool) -> Result<Arc<[ToolSpec]>, AgentError> {
    let mut names = HashSet::new();
    tools
        .iter()
        .map(|tool| {
            let name = tool.name().to_owned();
            if !names.insert(name.clone()) {
                return Err(AgentError::DuplicateTool { name });
            }
            Ok(ToolSpec {
                name,
                description: tool.description(),
                input_schema: tool.input_schema(),
                deferred: defers && tool.is_deferrable(),
            })
        })
        .collect()
}
