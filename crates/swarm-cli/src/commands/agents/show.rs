//! `swarm agents show`.

use std::process::ExitCode;

use serde_json::json;
use swarm_permissions::{AgentDefinition, McpUse, ToolAllowance};

use super::effective::AgentsShowArgs;
use super::known;
use super::{effective, list};
use crate::agent_config;
use crate::app::App;
use crate::failure::Failure;

pub(super) fn run(app: &App, args: &AgentsShowArgs) -> Result<ExitCode, Failure> {
    if args.effective {
        effective::show(app, args)?;
        return Ok(ExitCode::SUCCESS);
    }
    let found = agent_config::agents(app)?;
    let definition = known(&found, &args.name)?;
    if app.out.json {
        app.out.json(definition)?;
    } else {
        app.out.data(&as_written(app, definition))?;
    }
    agent_config::warn_of(app, &found, definition);
    Ok(ExitCode::SUCCESS)
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
    let events = definition.hooks.events.keys();
    let word = |value: serde_json::Value| value.as_str().map(str::to_owned);
    [
        ("description", Some(definition.description.clone())),
        ("tools", tools),
        ("disallowedTools", list(&definition.disallowed_tools)),
        ("model", definition.model.clone()),
        ("effort", definition.effort.clone()),
        (
            "permissionMode",
            definition.permission_mode.map(|mode| mode.to_string()),
        ),
        (
            "maxTurns",
            definition.max_turns.map(|turns| turns.to_string()),
        ),
        ("skills", list(&definition.skills)),
        ("mcpServers", list(&servers.collect::<Vec<_>>())),
        (
            "hooks",
            list(&events.map(|event| format!("{event:?}")).collect::<Vec<_>>()),
        ),
        (
            "memory",
            definition.memory.and_then(|memory| word(json!(memory))),
        ),
        (
            "background",
            definition.background.then(|| "true".to_owned()),
        ),
        (
            "isolation",
            definition
                .isolation
                .and_then(|isolation| word(json!(isolation))),
        ),
        (
            "color",
            definition.color.map(|color| color.name().to_owned()),
        ),
        (
            "omitClaudeMd",
            definition.omit_claude_md.then(|| "true".to_owned()),
        ),
        ("initialPrompt", definition.initial_prompt.clone()),
        ("requiredMcpServers", list(&definition.required_mcp_servers)),
    ]
    .into_iter()
    .filter_map(|(name, value)| value.map(|value| (name, value)))
    .collect()
}
