//! Configuration of the agents that a command starts: definitions, hooks, MCP servers and shell
//! restrictions.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use swarm_agent::{InstructionSources, LoadedInstructions, MANAGED_INSTRUCTIONS};
use swarm_config::{
    AgentSearch, ClaudeSettings, Environment, FoundAgents, Settings, find_agents, find_skills,
    instruction_settings, is_trusted, project_directory, project_top,
};
use swarm_permissions::{
    AgentCatalog, AgentConfig, AgentDefinition, CompactionSettings, DefinitionProblem,
    HookSettings, ReadFilter,
};
use swarm_protocol::{ErrorKind, SandboxKind, SandboxUse, ShellGuards, WebSettings};
use swarm_tools::sandbox::{HELPER_WORD, SandboxProbe, probe_sandbox, sandbox_works};

use crate::app::App;
use crate::config_directory;
use crate::failure::Failure;
use crate::output::plain;
use crate::spawn_context::teammate_program;
use crate::team_hooks::in_force;

/// Configuration of the agents that this command starts, without the definitions that were
/// rejected. A run may use every definition, so it reports every problem; other commands only
/// mention that some were rejected and report the problems of those they use ([`warn_of`]).
/// `program` is the executable that runs between agents and their shells.
pub(crate) fn load(
    app: &App,
    claude: &ClaudeSettings,
    program: &Path,
    in_run: bool,
) -> Result<(AgentConfig, FoundAgents), Failure> {
    let found = agents_with(app, claude)?;
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
        app.out.warn(&format!("swarm: {}", plain(&waits)));
    }
    let agent_config = AgentConfig {
        shell: guards(app, program)?,
        ..with_agents(app, claude, found.catalog.clone())?
    };
    Ok((agent_config, found))
}

/// Reports the problems of a definition that a command uses.
pub(crate) fn warn_of(app: &App, found: &FoundAgents, definition: &AgentDefinition) {
    warn(app, found.problems_of(definition));
}

/// Reports problems of definitions.
pub(crate) fn warn<'a>(app: &App, problems: impl Iterator<Item = &'a DefinitionProblem>) {
    for problem in problems {
        app.out.remark(&problem.to_string());
    }
}

/// Completes the definitions with everything that can be read without starting a program.
pub(crate) fn with_agents(
    app: &App,
    claude: &ClaudeSettings,
    agents: AgentCatalog,
) -> Result<AgentConfig, Failure> {
    let servers = app.mcp_servers()?;
    for waits in &servers.untrusted {
        app.out.warn(&format!("swarm: {waits}"));
    }
    for problem in &servers.problems {
        app.out.say(&format!("swarm: {problem}"));
    }
    Ok(AgentConfig {
        agents,
        hooks: hooks(app, claude)?,
        project: Some(project_top(&app.root, &app.env.cwd)),
        mcp: servers.settings,
        skills: find_skills(&app.env.cwd, &app.root, app.is_trusted()?).skills,
        instructions: instruction_settings(
            &app.settings,
            &app.root,
            &app.env.cwd,
            app.is_trusted()?,
        ),
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
) -> Result<LoadedInstructions, Failure> {
    let (root, home) = (env.root()?, env.home());
    let trusted = is_trusted(&root, cwd)?;
    let claude = ClaudeSettings::load(&root, cwd, home.as_deref())?;
    let sources = InstructionSources {
        settings: instruction_settings(settings, &root, cwd, trusted),
        managed: MANAGED_INSTRUCTIONS.into(),
        unreadable: ReadFilter::denials(&claude.rules, cwd, home.as_deref()),
        root,
        home,
    };
    Ok(LoadedInstructions::load(&sources, cwd))
}

/// Loads the definitions of every source.
pub(crate) fn agents(app: &App) -> Result<FoundAgents, Failure> {
    // The commands that start agents report rejected files themselves.
    let claude = ClaudeSettings::load_lenient(&app.root, &app.env.cwd, app.env.home().as_deref()).0;
    agents_with(app, &claude)
}

/// Loads the definitions of every source with settings that were already read.
pub(crate) fn agents_with(app: &App, claude: &ClaudeSettings) -> Result<FoundAgents, Failure> {
    Ok(find_agents(AgentSearch {
        root: &app.root,
        cwd: &project_directory(&app.root, &app.env.cwd),
        flag: app.agents.as_deref(),
        trusted: app.is_trusted()?,
        plugins: &claude.plugins,
        aliases: &app.settings.aliases,
    })?)
}

/// Returns the hooks that run for agents that this command starts.
fn hooks(app: &App, claude: &ClaudeSettings) -> Result<HookSettings, Failure> {
    if claude.hooks.waits_for_trust() && !app.is_trusted()? {
        // A hook may be a safeguard, so the user must learn that it does not run.
        app.out.warn(
            "swarm: the repository's hooks do not run, as it is not trusted; read its .claude/settings.json, then `swarm trust`",
        );
    }
    // Misspelled events, rules for unknown tools and unsupported fields also disable safeguards.
    for remark in &claude.warnings(&app.env) {
        app.out.warn(&format!("swarm: {}", plain(remark)));
    }
    in_force(app, claude)
}

/// Entries of the config directory that sandboxed commands can read.
const SHOWN: [&str; 8] = [
    "CLAUDE.md",
    "agents",
    "commands",
    "output-styles",
    "plugins",
    "rules",
    "skills",
    "swarm/bin",
];

/// Returns the shell restrictions that apply.
pub(crate) fn guards(app: &App, program: &Path) -> Result<ShellGuards, Failure> {
    let settings = &app.settings;
    let helper = helper(program);
    let backend = match settings.sandbox {
        SandboxUse::Off => None,
        _ => sandbox_backend(app, &helper)?,
    };
    config_directory::make(&app.root)?;
    let shims = shims(&app.root, program).map_err(|error| {
        let message = format!(
            "cannot create the agent programs directory {}: {error}",
            app.root.display()
        );
        Failure::new(ErrorKind::Environment, message).with_hint("make that directory writable")
    })?;
    let home = app.env.home();
    let path = |text: &String| match (text.strip_prefix("~/"), &home) {
        (Some(rest), Some(home)) => Some(home.join(rest)),
        (Some(_), None) => None,
        (None, _) => Some(app.env.cwd.join(text)),
    };
    let paths = |texts: &[String]| texts.iter().filter_map(path).collect::<Vec<PathBuf>>();
    let mut hide = paths(&settings.sandbox_hide);
    hide.push(app.root.clone());
    Ok(ShellGuards {
        sandbox: settings.sandbox,
        backend,
        required: settings.sandbox_required,
        helper,
        shims: Some(shims),
        write: paths(&settings.sandbox_write),
        hide,
        show: SHOWN.iter().map(|name| app.root.join(name)).collect(),
        unix_sockets: settings.sandbox_unix_sockets,
    })
}

/// Returns the program and arguments of the sandbox helper.
pub(crate) fn helper(program: &Path) -> Vec<String> {
    let program = program.to_str();
    let words = program.map(|program| vec![program.to_owned(), HELPER_WORD.to_owned()]);
    words.unwrap_or_default()
}

/// Finds out how commands can be confined. Warns, or fails if the settings require it, if they
/// cannot.
fn sandbox_backend(app: &App, helper: &[String]) -> Result<Option<SandboxKind>, Failure> {
    let probe = probe_sandbox(helper);
    if probe.backend.is_none() {
        let reasons = reasons(&probe);
        if app.settings.sandbox_required || app.settings.sandbox == SandboxUse::Always {
            let message = format!("the settings require a sandbox, and none works here: {reasons}");
            return Err(Failure::new(ErrorKind::Environment, message).with_hint(
                "see `swarm doctor`, or set `sandbox.bash` to auto and `sandbox.required` to false",
            ));
        }
        app.out.warn(&format!(
            "swarm: agents' shell commands run without a sandbox: {reasons}"
        ));
    }
    Ok(probe.backend)
}

/// Returns why stronger backends do not work.
pub(crate) fn reasons(probe: &SandboxProbe) -> String {
    let reasons = probe.missing.iter();
    let reasons = reasons.map(|(kind, why)| format!("{} ({why})", kind.name()));
    reasons.collect::<Vec<_>>().join(", ")
}

/// Warns if the settings ask for a sandbox and agents have none.
pub(crate) fn warn_without_sandbox(app: &App) {
    if matches!(app.settings.sandbox, SandboxUse::Off) {
        return;
    }
    let Ok(program) = teammate_program(&app.env) else {
        return;
    };
    if !sandbox_works(&helper(&program)) {
        app.out
            .warn("swarm: agents' shell commands run without a sandbox; `swarm doctor` says why");
    }
}

/// Creates the directory that comes first in the search path of agents' shells. Its entries link to
/// this program, which selects its role by the name it was called with.
fn shims(root: &Path, program: &Path) -> io::Result<PathBuf> {
    let directory = root.join("swarm").join("bin");
    std::fs::create_dir_all(&directory)?;
    let git = directory.join("git");
    if std::fs::read_link(&git).is_ok_and(|to| to == program) {
        return Ok(directory);
    }
    // Replaced atomically, because another process's shell may be reading it.
    let fresh = directory.join(format!(".git-{}", std::process::id()));
    match std::fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    symlink(program, &fresh)?;
    std::fs::rename(&fresh, &git)?;
    Ok(directory)
}
