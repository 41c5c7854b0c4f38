//! From all tools to those of one agent.

use serde::Serialize;
use swarm_protocol::PermissionMode;

use super::tables::{
    ALL_AGENTS, BACKGROUND, Barred, COORDINATOR, CUSTOM_AGENTS, TEAMMATES_ALWAYS, TEAMMATES_TOO,
};
use super::{AgentKind, FilterLayer, ToolCeiling, ToolSelector, ceiling};
use crate::{AgentDefinition, AgentSource, ToolAllowance};

/// The agent whose tools are asked for.
#[derive(Debug, Clone, Copy)]
pub struct PoolRequest<'a> {
    /// What it is.
    pub kind: AgentKind,
    /// Levels of agents that may be below it. At 0 it has no Agent tool.
    pub levels_left: u32,
    /// Its permission mode, after every ceiling.
    pub mode: PermissionMode,
    /// Its definition; `None` restricts nothing and counts as built in.
    pub definition: Option<&'a AgentDefinition>,
    /// What those above it may use.
    pub above: &'a ToolCeiling,
}

/// The tools of an agent, and what became of the others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolPool {
    /// What is left, in the order given.
    pub kept: Vec<String>,
    /// What was taken away, in the order given.
    pub removed: Vec<RemovedTool>,
    /// Entries of the definition's `tools` that speak of nothing there is.
    pub missing: Vec<String>,
}

/// A tool that an agent does not get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RemovedTool {
    /// Its name.
    pub tool: String,
    /// The layer that took it away.
    pub layer: FilterLayer,
    /// Why, as half a sentence.
    pub why: String,
}

impl ToolPool {
    /// Whether the agent has a tool.
    pub fn has(&self, tool: &str) -> bool {
        self.kept.iter().any(|kept| kept == tool)
    }
}

/// What is left of `names` for an agent, and for each other tool the first layer that takes it away.
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

/// Why a layer takes a tool away; `None` if it lets it through.
fn removal(request: &PoolRequest<'_>, layer: FilterLayer, tool: &str) -> Option<String> {
    let is_mcp = tool.starts_with("mcp__");
    let leaves_plan = tool == "ExitPlanMode" && request.mode == PermissionMode::Plan;
    match layer {
        FilterLayer::Coordinator => (!COORDINATOR.contains(&tool))
            .then(|| "a coordinator hands out work and does none itself".to_owned()),
        FilterLayer::AllAgents => (!is_mcp)
            .then(|| barred(request, ALL_AGENTS, tool))
            .flatten(),
        FilterLayer::CustomAgents if is_mcp || is_built_in(request) => None,
        FilterLayer::CustomAgents => barred(request, CUSTOM_AGENTS, tool),
        FilterLayer::Background => {
            let teammate = request.kind.is_teammate() && TEAMMATES_TOO.contains(&tool);
            let kept = is_mcp || leaves_plan || teammate || BACKGROUND.contains(&tool);
            (!kept).then(|| format!("a {} does not get it", request.kind.name()))
        }
        FilterLayer::DefinitionDeny => {
            let denied = &request.definition?.disallowed_tools;
            ceiling::denied_by(denied, tool).map(|entry| format!("`{entry}` is disallowed"))
        }
        FilterLayer::DefinitionAllow => {
            let member = request.kind.is_teammate() && TEAMMATES_ALWAYS.contains(&tool);
            let kept = leaves_plan || member || ceiling::allows(request.definition?, tool);
            (!kept).then(|| "`tools` does not list it".to_owned())
        }
        FilterLayer::ParentCeiling if leaves_plan => None,
        FilterLayer::ParentCeiling => request.above.bars(tool),
    }
}

fn barred(request: &PoolRequest<'_>, table: &[Barred], tool: &str) -> Option<String> {
    table
        .iter()
        .find(|row| row.tool == tool)
        .filter(|row| {
            !row.unless
                .holds(request.kind, request.levels_left, request.mode)
        })
        .map(|row| row.why.to_owned())
}

fn is_built_in(request: &PoolRequest<'_>) -> bool {
    request
        .definition
        .is_none_or(|definition| definition.source == AgentSource::BuiltIn)
}

fn missing(request: &PoolRequest<'_>, names: &[&str]) -> Vec<String> {
    let filters = request
        .kind
        .layers()
        .contains(&FilterLayer::DefinitionAllow);
    let tools = request
        .definition
        .filter(|_| filters)
        .map(|definition| &definition.tools);
    let Some(ToolAllowance::Only(entries)) = tools else {
        return Vec::new();
    };
    let speaks = |entry: &String| {
        ToolSelector::parse(entry)
            .is_ok_and(|selector| names.iter().any(|name| selector.names(name)))
    };
    entries
        .iter()
        .filter(|entry| !speaks(entry))
        .cloned()
        .collect()
}
