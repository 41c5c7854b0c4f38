//! Agent programs on this machine, and the runtimes of members.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use swarm_agent::{AgentRuntime, ModelLoop};
use swarm_config::{Environment, is_trusted, project_top, runtime_presets};
use swarm_protocol::AgentProgram;
use swarm_runtimes::{AcpRuntime, ClaudeRuntime, ProgramSpec};
use swarm_supervisor::ResolveRuntime;
use swarm_team::{RuntimeOrder, SpawnOrder};
use swarm_tools::prompt;

use crate::app::App;

/// Variables of Claude Code.
const CLAUDE_VARIABLES: [&str; 5] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "CLAUDE_CODE_OAUTH_TOKEN",
];

/// Variables with a key that Claude Code also accepts from `apiKeyHelper`, in its order of precedence.
const CLAUDE_KEYS: [&str; 2] = ["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"];

/// npm package of Claude Code.
pub(crate) const CLAUDE_PACKAGE: &str = "@anthropic-ai/claude-code";

/// Returns the function that finds agent programs for a member in a directory. In a repository that
/// is not trusted, Claude Code gets no settings of the repository.
pub(crate) fn resolve_runtime(app: &App) -> Arc<ResolveRuntime> {
    let (env, root, trusts) = (app.env.clone(), app.root.clone(), app.trusts);
    Arc::new(move |program, cwd| {
        let mut order = resolve(&env, program)?;
        // The flag `--trust` applies to the repository of this command.
        let is_trusted = (trusts && project_top(&root, cwd) == project_top(&root, &env.cwd))
            || is_trusted(&root, cwd).map_err(|error| error.to_string())?;
        if *program == AgentProgram::Claude && !is_trusted {
            order
                .argv
                .extend(["--setting-sources", "user"].map(str::to_owned));
        }
        Ok(order)
    })
}

/// Finds an agent program: a preset, or a command line.
pub(crate) fn resolve(env: &Environment, program: &AgentProgram) -> Result<RuntimeOrder, String> {
    let presets = runtime_presets().map_err(|error| error.to_string())?;
    let (command, install, variables) = match program {
        AgentProgram::Swarm => return Err("swarm needs no agent program".to_owned()),
        AgentProgram::Claude => (
            vec!["claude".to_owned()],
            format!("; install it with `npm install -g {CLAUDE_PACKAGE}`"),
            CLAUDE_VARIABLES.map(str::to_owned).to_vec(),
        ),
        AgentProgram::Acp(command) => match presets.get(command) {
            Some(preset) => (
                preset.command.clone(),
                format!("; install it with `{}`", preset.install),
                preset.env.clone(),
            ),
            None => (words(command)?, String::new(), Vec::new()),
        },
    };
    let name = command.first().map_or("", String::as_str);
    let path = find(env, name).ok_or_else(|| {
        let shown = name.escape_debug();
        format!("agent program `{shown}` not found on the PATH{install}")
    })?;
    let mut argv = vec![path.display().to_string()];
    argv.extend(command.into_iter().skip(1));
    let set = variables.iter().filter_map(|name| {
        let value = env.get(name)?;
        Some((name.clone(), value.to_owned()))
    });
    Ok(RuntimeOrder {
        program: program.clone(),
        argv,
        env: set.collect(),
        team_tools: std::env::current_exe().map_err(|error| error.to_string())?,
    })
}

/// Splits a command line like a shell.
fn words(command: &str) -> Result<Vec<String>, String> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    words.ok_or_else(|| format!("`{}` is not a command line", command.escape_debug()))
}

/// Finds a program by its path, or by its name on the `PATH`.
fn find(env: &Environment, name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        let path = env.cwd.join(name);
        return path.is_file().then_some(path);
    }
    env.find_program(name)
}

/// Creates the runtime of a member from its order.
pub(crate) fn runtime_of(order: &SpawnOrder) -> Arc<dyn AgentRuntime> {
    let Some(runtime) = &order.runtime else {
        return Arc::new(ModelLoop);
    };
    let mut spec = spec(order, runtime);
    if runtime.program != AgentProgram::Claude {
        return Arc::new(AcpRuntime::new(spec));
    }
    // The helper applies only without a key in the environment.
    let keys = CLAUDE_KEYS.map(|name| spec.env.remove(name));
    spec.key = keys.into_iter().flatten().next();
    let model = order.model.strip_prefix("claude/");
    if let Some(model) = model.filter(|model| *model != "default") {
        spec.argv.extend(["--model".to_owned(), model.to_owned()]);
    }
    Arc::new(ClaudeRuntime::new(spec))
}

fn spec(order: &SpawnOrder, runtime: &RuntimeOrder) -> ProgramSpec {
    let swarm = runtime.team_tools.display().to_string();
    ProgramSpec {
        name: runtime.program.to_string(),
        argv: runtime.argv.clone(),
        env: runtime.env.clone(),
        key: None,
        introduction: introduction(order, &swarm),
        team_tools: vec![swarm, "mcp".to_owned()],
    }
}

/// Returns the first text of the agent's conversation, with the text of its definition.
fn introduction(order: &SpawnOrder, swarm: &str) -> String {
    let values = BTreeMap::from([
        ("{name}", order.agent.name.as_str()),
        ("{team}", order.agent.team.as_str()),
        ("{swarm}", swarm),
    ]);
    let mut text = prompt!("agent-program").trim_end().to_owned();
    for (name, value) in values {
        text = text.replace(name, value);
    }
    let definition = order.definition.as_ref();
    let role = definition.map(|definition| definition.prompt.trim());
    if let Some(role) = role.filter(|role| !role.is_empty()) {
        text.push_str("\n\n# Your role\n");
        text.push_str(role);
    }
    for instruction in &order.instructions {
        text.push_str("\n\n");
        text.push_str(instruction);
    }
    text
}
