//! Gathering it all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use swarm_engine::InstructionSources;
use swarm_policy::{AgentCatalog, Equipment, InstructionSettings, ReadFilter};
use swarm_protocol::WebSettings;

use super::agents::{FoundAgents, Looking, gather};
use super::{hooks, shell, skills};
use crate::app::App;
use crate::claude_settings::ClaudeSettings;
use crate::failure::Failure;
use crate::output::plain;
use crate::settings::Settings;
use crate::trust::{project_folder, project_top};

/// What holds for agents that this command starts. Definitions that are wrong are left out; a run tells of each, and
/// whatever else starts an agent only that there are some.
pub(crate) fn load(app: &App, claude: &ClaudeSettings, in_run: bool) -> Result<Equipment, Failure> {
    let found = agents_with(app, claude)?;
    let refused = || found.problems.iter().filter(|problem| problem.refused);
    if in_run {
        for problem in refused() {
            app.out
                .say(&format!("swarm: {}", plain(&problem.to_string())));
        }
    } else if refused().next().is_some() {
        app.out
            .say("swarm: some agent definitions are refused; `swarm agents list` says why");
    }
    if let Some(waits) = found.waits() {
        app.out.warn(&format!("swarm: {}", plain(&waits)));
    }
    Ok(Equipment {
        shell: shell::guards(app)?,
        ..with_agents(app, claude, found.catalog)?
    })
}

/// These definitions with everything else that is found by looking alone.
pub(crate) fn with_agents(
    app: &App,
    claude: &ClaudeSettings,
    agents: AgentCatalog,
) -> Result<Equipment, Failure> {
    let servers = app.mcp_servers()?;
    for waits in &servers.untrusted {
        app.out.warn(&format!("swarm: {waits}"));
    }
    for problem in &servers.problems {
        app.out.say(&format!("swarm: {problem}"));
    }
    Ok(Equipment {
        agents,
        hooks: hooks::load(app, claude)?,
        project: Some(project_top(&app.root, &app.env.cwd)),
        mcp: servers.settings,
        skills: skills::find(&app.env.cwd, &app.root),
        instructions: instructions(&app.settings, &app.root, &app.env.cwd, app.is_trusted()?),
        web: WebSettings {
            search_url: Some(app.settings.search_url.clone()).filter(|url| !url.is_empty()),
            private: app.settings.web_private,
        },
        ..Equipment::default()
    })
}

/// Where the instruction files of agents in `cwd` come from, for those who only look at them.
pub(crate) fn instruction_sources(
    settings: &Settings,
    claude: &ClaudeSettings,
    root: &Path,
    cwd: &Path,
    home: Option<PathBuf>,
    trusted: bool,
) -> InstructionSources {
    InstructionSources {
        settings: instructions(settings, root, cwd, trusted),
        root: root.to_owned(),
        unreadable: ReadFilter::denials(&claude.rules, cwd, home.as_deref()),
        home,
    }
}

/// Which instruction files agents in `cwd` read, where its repository is trusted or not.
fn instructions(
    settings: &Settings,
    root: &Path,
    cwd: &Path,
    trusted: bool,
) -> InstructionSettings {
    InstructionSettings {
        files: settings.instruction_files.clone(),
        exclude: settings.instruction_exclude.clone(),
        trusted: trusted.then(|| project_top(root, cwd)),
    }
}

/// The definitions of every source.
pub(crate) fn agents(app: &App) -> Result<FoundAgents, Failure> {
    // Whoever starts agents hears elsewhere which of the files is refused.
    let claude = ClaudeSettings::look(&app.root, &app.env.cwd, app.env.home().as_deref()).0;
    agents_with(app, &claude)
}

/// The same with settings that have been read.
pub(crate) fn agents_with(app: &App, claude: &ClaudeSettings) -> Result<FoundAgents, Failure> {
    gather(Looking {
        root: &app.root,
        cwd: &project_folder(&app.root, &app.env.cwd),
        flag: app.agents.as_deref(),
        trusted: app.is_trusted()?,
        plugins: &claude.plugins,
        aliases: &app.settings.aliases,
    })
}

/// Those of the files alone, for a folder.
pub(crate) fn found_agents(
    root: &Path,
    cwd: &Path,
    trusted: bool,
    aliases: &BTreeMap<String, String>,
) -> Result<FoundAgents, Failure> {
    gather(Looking {
        root,
        cwd: &project_folder(root, cwd),
        flag: None,
        trusted,
        plugins: &ClaudeSettings::look(root, cwd, None).0.plugins,
        aliases,
    })
}
