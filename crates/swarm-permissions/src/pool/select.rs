//! Selection of an agent's tools.

use serde::Serialize;
use swarm_protocol::PermissionMode;

use super::tables::{ALL_AGENTS, BACKGROUND, COORDINATOR, TEAMMATE_EXTRA, TEAMMATE_REQUIRED};
use super::{AgentKind, FilterLayer, ToolCeiling, ToolSelector, ceiling};
use crate::{AgentDefinition, ToolAllowance};

/// The agent whose tools are selected.
#[derive(Debug, Clone, Copy)]
pub struct PoolRequest<'a> {
    /// The kind of the agent.
    pub kind: AgentKind,
    /// Number of agent levels allowed below it. At 0 it has no Agent tool.
    pub levels_left: u32,
    /// Its effective permission mode.
    pub mode: PermissionMode,
    /// Its definition; `None` restricts nothing.
    pub definition: Option<&'a AgentDefinition>,
    /// The restrictions of its parent agents.
    pub above: &'a ToolCeiling,
}

/// The tools of an agent, and the removed ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolPool {
    /// The available tools, in the given order.
    pub kept: Vec<String>,
    /// The removed tools, in the given order.
    pub removed: Vec<RemovedTool>,
    /// Entries of the definition's `tools` that match no existing tool.
    pub missing: Vec<String>,
}

/// A tool removed from an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RemovedTool {
    /// The tool's name.
    pub tool: String,
    /// The layer that removed it.
    pub layer: FilterLayer,
    /// The reason, for display.
    pub why: String,
}

impl ToolPool {
    /// Returns whether the agent has a tool.
    pub fn has(&self, tool: &str) -> bool {
        self.kept.iter().any(|kept| kept == tool)
    }
}

/// Filters `names` for an agent; each removed tool is listed with the first layer that removes it.
pub fn tool_pool<'n>(
    request: &PoolRequest<'_>,
    names: impl IntoIterator<Item = &'n str>,
) -> ToolPool {
    let mut pool = ToolPool::default();
    let names: Vec<_> = names.into_iter().collect();
    for tool in &names {
        let found = request
            .kind
            .layers()
            .iter()
            .find_map(|layer| removal(request, *layer, tool).map(|why| (*layer, why)));
        match found {
            None => pool.kept.push((*tool).to_owned()),
            Some((layer, why)) => pool.removed.push(RemovedTool {
                tool: (*tool).to_owned(),
                layer,
                why,
            }),
        }
    }
    pool.missing = missing(request, &names);
    pool
}

/// Returns why a layer removes a tool; `None` if it does not.
fn removal(request: &PoolRequest<'_>, layer: FilterLayer, tool: &str) -> Option<String> {
    let is_mcp = tool.starts_with("mcp__");
    let is_required = request.kind.is_teammate() && TEAMMATE_REQUIRED.contains(&tool);
    let leaves_plan = tool == "ExitPlanMode" && request.mode == PermissionMode::Plan;
    match layer {
        FilterLayer::Coordinator => {
            (!COORDINATOR.contains(&tool)).then(|| "a coordinator only delegates work".to_owned())
        }
        FilterLayer::AllAgents if is_mcp => None,
        FilterLayer::AllAgents => {
            let (_, exception, why) = ALL_AGENTS.iter().find(|(name, ..)| *name == tool)?;
            let holds = exception.holds(request.kind, request.levels_left, request.mode);
            (!holds).then(|| (*why).to_owned())
        }
        FilterLayer::Background => {
            let extra = request.kind.is_teammate() && TEAMMATE_EXTRA.contains(&tool);
            let kept = is_mcp || leaves_plan || is_required || extra;
            let kept = kept || BACKGROUND.contains(&tool);
            (!kept).then(|| format!("not available to a {}", request.kind.name()))
        }
        FilterLayer::DefinitionDeny => {
            let denied = &request.definition?.disallowed_tools;
            ceiling::denied_by(denied, tool).map(|entry| format!("`{entry}` is disallowed"))
        }
        FilterLayer::DefinitionAllow => {
            let kept = leaves_plan || is_required || ceiling::allows(request.definition?, tool);
            (!kept).then(|| "`tools` does not list it".to_owned())
        }
        FilterLayer::ParentCeiling if leaves_plan => None,
        FilterLayer::ParentCeiling => request.above.denial(tool),
    }
}

fn missing(request: &PoolRequest<'_>, names: &[&str]) -> Vec<String> {
    let layers = request.kind.layers();
    let filters = layers.contains(&FilterLayer::DefinitionAllow);
    let definition = request.definition.filter(|_| filters);
    let Some(ToolAllowance::Only(entries)) = definition.map(|definition| &definition.tools) else {
        return Vec::new();
    };
    let speaks = |selector: ToolSelector| names.iter().any(|name| selector.names(name));
    let is_missing = |entry: &&String| !ToolSelector::parse(entry).is_ok_and(speaks);
    entries.iter().filter(is_missing).cloned().collect()
}
