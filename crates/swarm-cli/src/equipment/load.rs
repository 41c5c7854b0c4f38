//! Gathering it all.

use swarm_policy::{AgentCatalog, Equipment};
use swarm_protocol::WebSettings;

use super::agents::{FoundAgents, Looking, gather};
use super::{hooks, shell, skills};
use crate::app::App;
use crate::failure::Failure;

/// What holds for agents that this command starts. Definitions that are wrong are told of and left out.
pub(crate) fn load(app: &App) -> Result<Equipment, Failure> {
    let found = agents(app)?;
    for problem in found.problems.iter().filter(|problem| problem.refused) {
        app.out.say(&format!("swarm: {problem}"));
    }
    Ok(Equipment {
        shell: shell::guards(app)?,
        ..with_agents(app, found.catalog)?
    })
}

/// These definitions with everything else that is found by looking alone.
pub(crate) fn with_agents(app: &App, agents: AgentCatalog) -> Result<Equipment, Failure> {
    let servers = app.mcp_servers()?;
    for problem in servers.untrusted.iter().chain(&servers.problems) {
        app.out.say(&format!("swarm: {problem}"));
    }
    Ok(Equipment {
        agents,
        hooks: hooks::load(app)?,
        mcp: servers.settings,
        skills: skills::find(&app.env.cwd, &app.root),
        web: WebSettings {
            search_url: Some(app.settings.search_url.clone()).filter(|url| !url.is_empty()),
            private: app.settings.web_private,
        },
        ..Equipment::default()
    })
}

/// The definitions of every source.
pub(crate) fn agents(app: &App) -> Result<FoundAgents, Failure> {
    gather(Looking {
        root: &app.root,
        cwd: &app.env.cwd,
        flag: app.agents.as_deref(),
        trusted: app.is_trusted()?,
    })
}
