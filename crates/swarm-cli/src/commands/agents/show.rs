//! `swarm agents show`.

use swarm_permissions::{AgentDefinition, Isolation, McpUse, MemoryScope, ToolAllowance};
use swarm_protocol::{Color, PermissionMode};

use super::effective::AgentsShowArgs;
use super::known;
use super::{effective, list};
use crate::agent_config;
use crate::app::App;
use crate::failure::Result;

pub(super) fn run(app: &App, args: &AgentsShowArgs) -> Result<()> {
    if args.effective {
        return effective::show(app, args);
    }
    let found = agent_config::agents(app)?;
    let definition = known(&found, &args.name)?;
    app.out.result(definition, &as_written(app, definition))?;
    agent_config::warn_of(app, &found, definition);
    Ok(())
}

/// Prints the fields that are set, and the prompt.
fn as_written(app: &App, definition: &AgentDefinition) -> String {
    let mut lines = vec![format!(
        "{}  ({})",
        definition.name,
        whence(app, definition)
    )];
    for (name, value) in fields(definition) {
        lines.push(format!(
            "{:<18}  {}",
            format!("{name}:"),
            value.replace('\n', "\n    ")
        ));
    }
    lines.push(String::new());
    lines.push(definition.prompt.clone());
    lines.join("\n")
}

fn whence(app: &App, definition: &AgentDefinition) -> String {
    let source = list::source(definition.source);
    match list::place(app, definition) {
        place if place.is_empty() => source.to_owned(),
        place => format!("{source}, {place}"),
    }
}

fn fields(definition: &AgentDefinition) -> Vec<(&'static str, String)> {
    let list = |items: &[String]| (!items.is_empty()).then(|| items.join(", "));
    let tools = match &definition.tools {
        ToolAllowance::All => None,
        ToolAllowance::Only(tools) if tools.is_empty() => Some("none".to_owned()),
        ToolAllowance::Only(tools) => Some(tools.join(", ")),
    };
    let servers = definition.mcp_servers.iter().map(|server| match server {
        McpUse::Shared(name) => name.clone(),
        McpUse::Own(name, _) => format!("{name} (its own)"),
    });
    let servers: Vec<String> = servers.collect();
    let events = definition.hooks.events.keys();
    let events: Vec<String> = events.map(|event| format!("{event:?}")).collect();
    let word = |name: Option<&str>| name.map(str::to_owned);
    let yes = |is_set: bool| is_set.then(|| "true".to_owned());
    let mode = definition.permission_mode.map(PermissionMode::name);
    let turns = definition.max_turns.map(|turns| turns.to_string());
    [
        ("description", Some(definition.description.clone())),
        ("tools", tools),
        ("disallowedTools", list(&definition.disallowed_tools)),
        ("model", definition.model.clone()),
        ("effort", definition.effort.clone()),
        ("permissionMode", word(mode)),
        ("maxTurns", turns),
        ("skills", list(&definition.skills)),
        ("mcpServers", list(&servers)),
        ("hooks", list(&events)),
        ("memory", word(definition.memory.map(MemoryScope::name))),
        ("background", yes(definition.background)),
        ("isolation", word(definition.isolation.map(Isolation::name))),
        ("color", word(definition.color.map(Color::name))),
        ("omitClaudeMd", yes(definition.omit_claude_md)),
        ("initialPrompt", definition.initial_prompt.clone()),
        ("requiredMcpServers", list(&definition.required_mcp_servers)),
    ]
    .into_iter()
    .filter_map(|(name, value)| value.map(|value| (name, value)))
    .collect()
}
