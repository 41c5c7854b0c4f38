//! Agent programs on this machine, and the runtimes of members.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_agent::{AgentRuntime, ModelLoop};
use swarm_config::{Environment, RuntimePresets, RuntimeState, is_trusted, project_top};
use swarm_model::RequestMeter;
use swarm_protocol::AgentProgram;
use swarm_runtimes::{
    AcpRuntime, ClaudeRuntime, ProgramAccounts, ProgramSpec, SettingsCopy, StateDirectory,
};
use swarm_supervisor::ResolveRuntime;
use swarm_team::{MemberSpec, RuntimeOrder};
use swarm_tools::prompt;

use crate::app::App;

/// Variables with a key that Claude Code also accepts from `apiKeyHelper`, in its order of precedence.
const CLAUDE_KEYS: [&str; 2] = ["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"];

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
    let presets = RuntimePresets::built_in().map_err(|error| error.to_string())?;
    let (command, install, variables) = match (presets.find(program), program) {
        (Some(preset), _) => (
            preset.command.clone(),
            format!("; install it with `{}`", preset.install),
            preset.env.clone(),
        ),
        (None, AgentProgram::Acp(command)) => (words(command)?, String::new(), Vec::new()),
        (None, _) => return Err(format!("{program} needs no agent program")),
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
        swarm: std::env::current_exe().map_err(|error| error.to_string())?,
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

/// Creates the runtime of a member from its order. `directory` is the member's.
pub(crate) fn runtime_of(
    spec: &MemberSpec,
    directory: &Path,
    meter: Arc<dyn RequestMeter>,
) -> anyhow::Result<Arc<dyn AgentRuntime>> {
    let Some(runtime) = &spec.runtime.program else {
        return Ok(Arc::new(ModelLoop));
    };
    let mut program = program_spec(spec, runtime, directory)?;
    program.accounts = Some(ProgramAccounts {
        meter,
        model: spec.runtime.model.clone(),
    });
    if runtime.program != AgentProgram::Claude {
        return Ok(Arc::new(AcpRuntime::new(program)));
    }
    // The helper applies only without a key in the environment.
    let keys = CLAUDE_KEYS.map(|name| program.env.remove(name));
    program.key = keys.into_iter().flatten().next();
    let model = spec.runtime.model.strip_prefix("claude/");
    if let Some(model) = model.filter(|model| *model != "default") {
        program
            .argv
            .extend(["--model".to_owned(), model.to_owned()]);
    }
    Ok(Arc::new(ClaudeRuntime::new(program)))
}

fn program_spec(
    spec: &MemberSpec,
    runtime: &RuntimeOrder,
    directory: &Path,
) -> anyhow::Result<ProgramSpec> {
    let presets = RuntimePresets::built_in()?;
    let env = Environment::new(spec.workspace.env.clone(), &spec.workspace.cwd);
    let env = env.with(runtime.env.clone(), &spec.workspace.cwd);
    let preset = presets.find(&runtime.program).into_iter();
    let state = preset.flat_map(|preset| {
        // A program of the same name has the same directories again.
        let private = directory.join("program").join(&preset.command[0]);
        let numbered = preset.state.iter().enumerate();
        numbered.map(move |(number, state)| (state, private.join(number.to_string())))
    });
    let state = state.map(|(state, private)| state_directory(state, &env, &private, spec));
    let state = state
        .collect::<Result<Vec<_>, String>>()
        .map_err(|why| anyhow::anyhow!("{}: the state directory {why}", runtime.program))?;
    Ok(ProgramSpec {
        name: runtime.program.to_string(),
        argv: runtime.argv.clone(),
        env: runtime.env.clone(),
        key: None,
        accounts: None,
        introduction: introduction(spec),
        swarm: runtime.swarm.clone(),
        state,
    })
}

fn state_directory(
    state: &RuntimeState,
    env: &Environment,
    private: &Path,
    spec: &MemberSpec,
) -> Result<StateDirectory, String> {
    let (variable, inner) = state.variable()?;
    let copy = state.copy.as_ref().map(|copy| {
        Ok::<_, String>(SettingsCopy {
            files: copy.files(env)?,
            keys: copy.keys.clone(),
            project_keys: copy.project_keys.clone(),
            servers: spec.definition.config.shell.mcp_servers.clone(),
            directory: spec.workspace.cwd.clone(),
        })
    });
    Ok(StateDirectory {
        path: state.directory(env)?,
        variable: variable.to_owned(),
        private: private.to_owned(),
        inner: inner.to_owned(),
        read: state.read.clone(),
        secret: state.secret.clone(),
        write: state.write.clone(),
        copy: copy.transpose()?,
    })
}

/// Returns the first text of the agent's conversation, with the text of its definition.
fn introduction(spec: &MemberSpec) -> String {
    let values = BTreeMap::from([
        ("{name}", spec.identity.agent.name.as_str()),
        ("{team}", spec.identity.agent.team.as_str()),
    ]);
    let mut text = prompt!("agent-program").trim_end().to_owned();
    for (name, value) in values {
        text = text.replace(name, value);
    }
    let definition = spec.definition.own.as_ref();
    let role = definition.map(|definition| definition.prompt.trim());
    if let Some(role) = role.filter(|role| !role.is_empty()) {
        text.push_str("\n\n# Your role\n");
        text.push_str(role);
    }
    for instruction in &spec.definition.instructions {
        text.push_str("\n\n");
        text.push_str(instruction);
    }
    text
}
