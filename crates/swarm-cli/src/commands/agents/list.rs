//! `swarm agents list`.

use serde_json::json;
use swarm_config::ClaudeSettings;
use swarm_permissions::{AgentDefinition, AgentSource, hidden_type};
use swarm_ui::print::{Cell, Table};

use crate::agent_config;
use crate::app::App;
use crate::failure::Result;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Invalid files are reported on stderr and skipped.

Examples:
  swarm agents list
  swarm agents list --json | jq -r '.[] | select(.counts) | .name'")]
pub(crate) struct AgentsListArgs {
    /// Additional definitions: {"NAME": {"description": …, "prompt": …}}.
    #[arg(long, value_name = "JSON")]
    pub(super) agents: Option<String>,
}

pub(super) fn run(app: &App) -> Result<()> {
    let (project, home) = (app.project()?, app.env.home());
    let claude = ClaudeSettings::load_in(&project, &app.root, &app.env.cwd, home.as_deref())?;
    let found = agent_config::agents_with(app, &project, &claude)?;
    let catalog = found.catalog.clone();
    let mcp = agent_config::with_agents(app, &project, &claude, catalog)?.mcp;
    let mut records = Vec::new();
    let mut table = Table::new(["TYPE", "FROM", "MODEL", "", "WHERE"]);
    for (definition, counts) in found.catalog.with_precedence() {
        let hidden = counts.then(|| hidden_type(definition, &claude.rules, &mcp));
        let hidden = hidden.flatten();
        records.push(json!({
            "name": definition.name,
            "description": definition.description,
            "source": definition.source,
            "path": definition.path,
            "model": definition.model,
            "counts": counts,
            "hidden": hidden,
        }));
        let note = match hidden {
            Some(why) => format!("hidden: {why}"),
            None if counts => String::new(),
            None => "shadowed".to_owned(),
        };
        let cells = [
            Cell::new(&definition.name),
            Cell::new(source(definition.source)),
            Cell::new(definition.model.as_deref().unwrap_or("inherit")),
            Cell::new(note),
            Cell::new(place(app, definition)),
        ];
        table.row(cells.map(|cell| if counts { cell } else { cell.dim() }));
    }
    app.out.list(&records, &table, "no agent types")?;
    if !app.out.quiet {
        agent_config::warn(app, found.problems.iter());
    }
    Ok(())
}

/// Returns the display name of a source.
pub(super) fn source(source: AgentSource) -> &'static str {
    match source {
        AgentSource::Managed => "managed",
        AgentSource::Flag => "--agents",
        AgentSource::Project => "project",
        AgentSource::User => "user",
        AgentSource::Plugin => "plugin",
        AgentSource::BuiltIn => "built-in",
    }
}

/// Returns the path of the file, relative to the working directory if it is inside.
pub(super) fn place(app: &App, definition: &AgentDefinition) -> String {
    definition.path.as_ref().map_or_else(String::new, |path| {
        let near = path.strip_prefix(&app.env.cwd).unwrap_or(path);
        near.display().to_string()
    })
}
