//! What stands before the messages of every request.

use std::collections::HashSet;
use std::sync::Arc;

use swarm_model::{SystemBlock, ToolSpec};
use swarm_tools::Tool;

use crate::AgentError;

/// The rendered system prompt, and what the model is told of the tools: fixed once, so that every request begins with
/// the same bytes, and a fork's requests with those of its parent.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) system: Arc<[SystemBlock]>,
    pub(crate) specs: Arc<[ToolSpec]>,
}

impl Head {
    /// Renders both. `defers` says whether deferrable tools are.
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

    /// About how many bytes it has in a request.
    pub(crate) fn bytes(&self) -> u64 {
        let system = self.system.iter().map(|block| block.text.len());
        let told = self.specs.iter().filter(|tool| !tool.deferred);
        let tools = told.map(|tool| {
            tool.name.len() + tool.description.len() + tool.input_schema.to_string().len()
        });
        system.chain(tools).sum::<usize>() as u64
    }
}

/// The prompt cache keeps everything up to the last block: tools and system prompt are the same for a whole life.
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
