//! `swarm agents show --effective`: the configuration that results from a definition.

use serde::Serialize;
use serde_json::json;
use swarm_permissions::{
    AgentKind, ChosenMode, FilterLayer, ModelSource, PoolRequest, ToolCeiling, ToolPool,
    choose_mode, hidden_type, known_tools, tool_pool,
};
use swarm_protocol::{PermissionMode, with_commas};
use swarm_ui::print::{Cell, Table};

use super::known;
use crate::agent_config;
use crate::app::App;
use crate::failure::{Failure, Result};
use crate::spawn_context::{Choices, spawn_context};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm agents show reviewer
  swarm agents show reviewer --effective
  swarm agents show reviewer --effective --as background --mode plan")]
pub(crate) struct AgentsShowArgs {
    /// Agent type; case, `-` and `_` are ignored.
    #[arg(value_name = "TYPE")]
    pub(crate) name: String,
    /// Show the tools, model and mode that an agent of this type gets, and why others were removed.
    #[arg(long)]
    pub(crate) effective: bool,
    /// Role in which the agent is started.
    #[arg(long = "as", value_enum, default_value_t = Role::Teammate, requires = "effective")]
    pub(crate) role: Role,
    /// Model requested by the caller [default: none].
    #[arg(long, requires = "effective")]
    pub(crate) model: Option<String>,
    /// Permission mode requested by the caller [default: none].
    #[arg(long, requires = "effective")]
    pub(crate) mode: Option<swarm_protocol::PermissionMode>,
    /// Additional definitions: {"NAME": {"description": …, "prompt": …}}.
    #[arg(long, value_name = "JSON")]
    pub(super) agents: Option<String>,
}

/// The kinds of agents that have definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    /// Team member.
    #[serde(rename = "teammate-process")]
    Teammate,
    /// Sub-agent; the caller waits for it.
    SubAgent,
    /// Background agent; the caller continues.
    Background,
}

impl Role {
    pub(crate) fn kind(self) -> AgentKind {
        match self {
            Self::Teammate => AgentKind::TeammateProcess,
            Self::SubAgent => AgentKind::SubAgent,
            Self::Background => AgentKind::Background,
        }
    }
}

pub(super) fn show(app: &App, args: &AgentsShowArgs) -> Result<()> {
    let prepared = spawn_context(app, &app.acting()?, &Choices::default())?;
    let definition = known(&prepared.definitions, &args.name)?;
    agent_config::warn_of(app, &prepared.definitions, definition);
    let dep = &prepared.spawn_context;
    let ceiling = args.mode.unwrap_or(dep.permissions.mode);
    let mode = choose_mode(ceiling, definition.permission_mode, args.mode);
    let chosen = dep.choose_model(args.model.as_deref(), Some(definition));
    let model = (dep.resolve_model)(&chosen.written).map_err(Failure::usage)?;
    let mcp = &dep.definition.config.mcp;
    let servers = mcp.servers.keys().map(|name| format!("mcp__{name}__*"));
    let names: Vec<String> = known_tools().map(str::to_owned).chain(servers).collect();
    let request = PoolRequest {
        kind: args.role.kind(),
        levels_left: 1,
        mode: mode.mode,
        definition: Some(definition),
        above: &ToolCeiling::default(),
    };
    let pool = tool_pool(&request, names.iter().map(String::as_str));
    let rules = definition.call_rules();
    let hidden = hidden_type(definition, &prepared.claude.rules, mcp);
    if app.out.json {
        return app.out.json(&json!({
            "name": definition.name,
            "source": definition.source,
            "path": definition.path,
            "as": args.role,
            "hidden": hidden,
            "model": model,
            "modelSource": chosen.source,
            "mode": mode.mode,
            "modeSource": mode.source,
            "ceiling": ceiling,
            "maxTurns": definition.max_turns.unwrap_or(dep.limits.max_requests),
            "tools": pool.kept,
            "removed": pool.removed,
            "missing": pool.missing,
            "limits": rules.limits.iter().map(|limit| json!({
                "tool": limit.tool,
                "calls": limit.calls.iter().map(ToString::to_string).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "deny": rules.deny.iter().map(|denied| denied.rule.to_string()).collect::<Vec<_>>(),
        }));
    }
    app.out.data(&format!(
        "{} as a {}; the backend makes no difference",
        definition.name,
        args.role.kind().name()
    ))?;
    app.out
        .data(&format!("model:  {model} ({})", by(chosen.source)))?;
    app.out
        .data(&format!("mode:   {}", mode_line(mode, ceiling)))?;
    let turns = definition.max_turns.unwrap_or(dep.limits.max_requests);
    app.out
        .data(&format!("turns:  at most {turns} requests in one turn"))?;
    app.out.data(&format!("tools:  {}", listed(&pool.kept)))?;
    for limit in &rules.limits {
        app.out.data(&format!(
            "limit:  {} only as {}",
            limit.tool,
            with_commas(&limit.calls)
        ))?;
    }
    for denied in &rules.deny {
        app.out.data(&format!("denied: {}", denied.rule))?;
    }
    app.out.data("")?;
    app.out.table(&layers(args, &pool))?;
    for entry in &pool.missing {
        app.out
            .say(&format!("swarm: unknown tool `{entry}` in `tools`"));
    }
    if let Some(why) = hidden {
        app.out
            .say(&format!("swarm: this type is not offered to models: {why}"));
    }
    Ok(())
}

fn by(source: ModelSource) -> &'static str {
    match source {
        ModelSource::Environment => "from CLAUDE_CODE_SUBAGENT_MODEL",
        ModelSource::Call => "from the call",
        ModelSource::Definition => "from the definition",
        ModelSource::Parent => "inherited",
    }
}

fn mode_line(mode: ChosenMode, ceiling: PermissionMode) -> String {
    let line = format!(
        "{} (from the {}; ceiling {ceiling})",
        mode.mode, mode.source
    );
    if let Some(asked) = mode.definition_lowered {
        return format!("{line}; the definition requests {asked}, which is above the ceiling");
    }
    line
}

fn listed(tools: &[String]) -> String {
    if tools.is_empty() {
        "none".to_owned()
    } else {
        tools.join(", ")
    }
}

/// Returns one row per layer and reason, in the order of the layers, including layers that removed
/// no tools.
fn layers(args: &AgentsShowArgs, pool: &ToolPool) -> Table {
    let mut table = Table::new(["LAYER", "TOOK AWAY", "BECAUSE"]);
    for layer in args.role.kind().layers() {
        let mut reasons = reasons(*layer, pool);
        if reasons.is_empty() {
            reasons.push(("nothing".to_owned(), ""));
        }
        for (index, (tools, why)) in reasons.into_iter().enumerate() {
            let name = if index == 0 { layer.name() } else { "" };
            table.row([Cell::new(name), Cell::new(tools), Cell::new(why)]);
        }
    }
    table
}

fn reasons(layer: FilterLayer, pool: &ToolPool) -> Vec<(String, &str)> {
    let mut reasons: Vec<(String, &str)> = Vec::new();
    for gone in pool.removed.iter().filter(|gone| gone.layer == layer) {
        match reasons.iter_mut().find(|(_, why)| *why == gone.why) {
            Some((tools, _)) => tools.extend([", ", &gone.tool]),
            None => reasons.push((gone.tool.clone(), &gone.why)),
        }
    }
    reasons
}
