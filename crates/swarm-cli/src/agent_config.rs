//! Configuration of the agents that a command starts: definitions, hooks, MCP servers and shell
//! restrictions.

use std::path::Path;

use swarm_agent::{InstructionSources, LoadedInstructions, MANAGED_INSTRUCTIONS};
use swarm_config::{
    AgentSearch, ClaudeSettings, Environment, FoundAgents, Project, Settings, find_agents,
    find_skills, instruction_settings,
};
use swarm_permissions::{
    AgentCatalog, AgentConfig, AgentDefinition, CompactionSettings, DefinitionProblem,
    HookSettings, ReadFilter,
};
use swarm_protocol::WebSettings;

use crate::app::App;
use crate::failure::Result;
use crate::output::plain;
use crate::shell_guards::shell_guards;
use crate::team_hooks::in_force;

/// Configuration of the agents that this command starts, without the definitions that were
/// rejected. A run may use every definition, so it reports every problem; other commands only
/// mention that some were rejected and report the problems of those they use ([`warn_of`]).
/// `program` is the executable that runs between agents and their shells.
pub(crate) fn load(
    app: &App,
    project: &Project,
    claude: &ClaudeSettings,
    program: &Path,
    in_run: bool,
) -> Result<(AgentConfig, FoundAgents)> {
    let found = agents_with(app, project, claude)?;
    let is_refused = |problem: &&DefinitionProblem| problem.refused;
    if in_run {
        warn(app, found.problems.iter().filter(is_refused));
        for definition in found.catalog.winners() {
            warn_of(app, &found, definition);
        }
    } else if found.problems.iter().any(|problem| problem.refused) {
        app.out
            .remark("some agent definitions are refused; `swarm agents list` says why");
    }
    if let Some(waits) = found.trust_warning() {
        app.warn_of_trust(&waits);
    }
    let agent_config = AgentConfig {
        shell: shell_guards(app, program)?,
        ..with_agents(app, project, claude, found.catalog.clone())?
    };
    Ok((agent_config, found))
}

/// Reports the problems of a definition that a command uses.
pub(crate) fn warn_of(app: &App, found: &FoundAgents, definition: &AgentDefinition) {
    warn(app, found.problems_of(definition));
}

pub(crate) fn warn<'a>(app: &App, problems: impl Iterator<Item = &'a DefinitionProblem>) {
    for problem in problems {
        app.out.remark(&problem.to_string());
    }
}

/// Completes the definitions with everything that can be read without starting a program.
pub(crate) fn with_agents(
    app: &App,
    project: &Project,
    claude: &ClaudeSettings,
    agents: AgentCatalog,
) -> Result<AgentConfig> {
    let trusted = project.is_trusted;
    let plugins = claude.active_plugins(trusted);
    let servers = app.mcp_servers(project, &plugins)?;
    let plugins_waiting = claude.untrusted_plugins(trusted).map(|plugin| {
        let name = plugin.name();
        format!(
            "the plugin `{name}` is disabled, because the repository that enables it is not trusted; review its .claude/settings.json, then run `swarm trust`"
        )
    });
    for waits in servers.untrusted.iter().cloned().chain(plugins_waiting) {
        app.warn_of_trust(&waits);
    }
    for problem in &servers.problems {
        app.out.say(&format!("swarm: {problem}"));
    }
    Ok(AgentConfig {
        agents,
        hooks: hooks(app, project, claude),
        project: Some(project.top.clone()),
        mcp: servers.settings,
        skills: find_skills(&app.env.cwd, &app.root, trusted, &plugins).skills,
        instructions: instruction_settings(&app.settings, project),
        compaction: CompactionSettings {
            at: app.settings.compact_at,
            clear_tool_results: app.settings.clear_tool_results,
        },
        handoff: app.settings.handoff,
        web: WebSettings {
            search_url: Some(app.settings.search_url.clone()).filter(|url| !url.is_empty()),
            private: app.settings.web_private,
        },
        ..AgentConfig::default()
    })
}

/// Returns the instruction files that agents in `cwd` read.
pub(crate) fn instructions(
    env: &Environment,
    settings: &Settings,
    cwd: &Path,
) -> Result<LoadedInstructions> {
    let (root, home) = (env.root()?, env.home());
    let project = Project::of(&root, cwd)?;
    let claude = ClaudeSettings::load_in(&project, &root, cwd, home.as_deref())?;
    let sources = InstructionSources {
        settings: instruction_settings(settings, &project),
        managed: MANAGED_INSTRUCTIONS.into(),
        unreadable: ReadFilter::denials(&claude.rules, cwd, home.as_deref()),
        root,
        home,
    };
    Ok(LoadedInstructions::load(&sources, cwd))
}

/// Loads the definitions of every source.
pub(crate) fn agents(app: &App) -> Result<FoundAgents> {
    // The commands that start agents report rejected files themselves.
    let claude = ClaudeSettings::load_lenient(&app.root, &app.env.cwd, app.env.home().as_deref()).0;
    agents_with(app, &app.project()?, &claude)
}

/// Loads the definitions of every source with settings that were already read.
pub(crate) fn agents_with(
    app: &App,
    project: &Project,
    claude: &ClaudeSettings,
) -> Result<FoundAgents> {
    Ok(find_agents(AgentSearch {
        root: &app.root,
        cwd: &project.directory,
        flag: app.agents.as_deref(),
        trusted: project.is_trusted,
        plugins: &claude.plugins,
        aliases: &app.settings.aliases,
    })?)
}

/// Returns the hooks that run for agents that this command starts.
fn hooks(app: &App, project: &Project, claude: &ClaudeSettings) -> HookSettings {
    if claude.hooks.waits_for_trust() && !project.is_trusted {
        // A hook may be a safeguard, so the user must learn that it does not run.
        app.warn_of_trust(
            "the repository's hooks do not run, as it is not trusted; read its .claude/settings.json, then `swarm trust`",
        );
    }
    // Misspelled events, rules for unknown tools and unsupported fields also disable safeguards.
    for remark in &claude.warnings(&app.env) {
        app.out.warn(&format!("swarm: {}", plain(remark)));
    }
    in_force(app, project, claude)
}
