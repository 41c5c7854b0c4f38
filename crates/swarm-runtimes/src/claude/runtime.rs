//! The runtime: one `claude` process per member, one session per conversation.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, json};
use swarm_agent::{AgentError, AgentParts, AgentRuntime, Turn, TurnStop};
use swarm_os::SecretPipe;
use swarm_protocol::AgentEvent;
use swarm_tools::ToolContext;
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::ProgramSpec;
use crate::cut_turn::CutTurn;
use crate::handed_server::report_hidden;
use crate::program::{Program, quoted};
use crate::relay::MCP_RELAY_VARIABLE;
use crate::sandbox::Launch;

use super::exchange::Exchange;

/// Arguments of every process.
const ARGUMENTS: [&str; 12] = [
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--permission-prompt-tool",
    "stdio",
    "--permission-mode",
    "default",
    // The person has given the member its team's tools.
    "--allowedTools",
    "mcp__swarm",
];

/// A member whose turns are answered by the user's Claude Code.
#[derive(Debug)]
pub struct ClaudeRuntime {
    spec: ProgramSpec,
    claude: Mutex<Option<Running>>,
}

/// A process and its key.
#[derive(Debug)]
struct Running {
    program: Program,
    key: Option<SecretPipe>,
}

impl ClaudeRuntime {
    /// Creates the runtime. The program starts with the first turn.
    pub fn new(spec: ProgramSpec) -> Self {
        Self {
            spec,
            claude: Mutex::new(None),
        }
    }

    /// Returns the running program, or starts it with the session of this conversation.
    async fn ready(
        &self,
        running: Option<Running>,
        turn: &Turn<'_>,
        state: &mut CutTurn,
    ) -> Result<Running, AgentError> {
        if let Some(mut running) = running
            && !running.program.has_exited()
        {
            if let Some(key) = &running.key {
                key.fill();
            }
            return Ok(running);
        }
        let (option, session) = match state.session() {
            Some(session) => ("--resume", session.to_owned()),
            None => ("--session-id", Uuid::new_v4().to_string()),
        };
        let mut spec = self.spec.clone();
        spec.argv.extend(ARGUMENTS.map(str::to_owned));
        spec.argv.extend([option.to_owned(), session]);
        spec.argv.extend([
            "--append-system-prompt".to_owned(),
            spec.introduction.clone(),
        ]);
        // Other users can read arguments, but not the environment.
        let env = json!({MCP_RELAY_VARIABLE: format!("${{{MCP_RELAY_VARIABLE}}}")});
        let servers = spec.servers(&turn.parts().tools).into_iter().map(|server| {
            let command = json!({"command": server.command, "args": server.args, "env": env});
            (server.name, command)
        });
        let servers: Map<_, _> = servers.collect();
        let servers = json!({"mcpServers": servers});
        spec.argv
            .extend(["--mcp-config".to_owned(), servers.to_string()]);
        let path = turn.state_file().with_file_name("key");
        let key = self.key_pipe(&path, &mut spec)?;
        let context = &turn.parts().tool_context;
        let launch = Launch::prepare(&spec, context, key.is_some().then_some(path)).await?;
        Ok(Running {
            program: Program::start(&spec, turn.parts(), launch)?,
            key,
        })
    }

    /// Offers the key in a pipe, and names the command that reads it.
    fn key_pipe(
        &self,
        path: &Path,
        spec: &mut ProgramSpec,
    ) -> Result<Option<SecretPipe>, AgentError> {
        let Some(key) = &self.spec.key else {
            return Ok(None);
        };
        let pipe = SecretPipe::create(path, key).map_err(|error| self.spec.failed(&error))?;
        let helper = format!(
            "dd bs={} count=1 2>/dev/null <{}",
            pipe.bytes(),
            quoted(&path.display().to_string())
        );
        let settings = json!({"apiKeyHelper": helper}).to_string();
        spec.argv.extend(["--settings".to_owned(), settings]);
        Ok(Some(pipe))
    }
}

#[async_trait]
impl AgentRuntime for ClaudeRuntime {
    async fn start(&self, agent: &AgentParts) -> Result<(), AgentError> {
        let launch = Launch::prepare(&self.spec, &agent.tool_context, None).await?;
        let untried = check_version(&self.spec, &agent.tool_context, &launch).await?;
        if let Some(line) = untried {
            agent.events.emit(AgentEvent::Notice { line });
        }
        report_hidden(&self.spec.name, agent);
        Ok(())
    }

    async fn stop(&self) {
        // A turn that still runs drops it.
        let claude = self.claude.try_lock().ok();
        let claude = claude.and_then(|mut slot| slot.take());
        // Blocks until its sandbox has ended.
        drop(tokio::task::spawn_blocking(move || drop(claude)).await);
    }

    async fn answer(&self, turn: &mut Turn<'_>) -> Result<(), TurnStop> {
        // The program acts on the messages, so they must not be delivered again after that.
        turn.flush()?;
        let mut state = CutTurn::load(&turn.state_file(), &self.spec.name)?;
        // Dropped with its process on any error.
        let mut slot = self.claude.lock().await;
        loop {
            // The turn may end before the program gets them.
            state.offer(&turn.input())?;
            self.spec.admitted(turn).await?;
            let mut claude = self.ready(slot.take(), turn, &mut state).await?;
            let texts = state.give()?;
            let mut exchange = Exchange::new(turn);
            let is_done = exchange.run(&mut claude.program, &texts, &mut state).await;
            let model = exchange.model().map(str::to_owned);
            let (texts, usage) = exchange.finish();
            self.spec.record(turn, model.as_deref(), usage).await;
            let is_done = is_done?;
            *slot = Some(claude);
            if !is_done {
                return Err(TurnStop::Interrupted);
            }
            let may_end = turn.finish(&texts, usage).await?;
            state.end()?;
            if may_end {
                return Ok(());
            }
        }
    }
}

/// Versions whose messages were compared with this client.
const TRIED_VERSIONS: [&str; 4] = ["2.1.329", "2.1.330", "2.1.331", "2.1.332"];

/// Timeout of `claude --version`.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// Runs `claude --version`. Returns a notice if this version was not tried.
async fn check_version(
    spec: &ProgramSpec,
    context: &ToolContext,
    launch: &Launch,
) -> Result<Option<String>, AgentError> {
    let failed = |why: String| spec.failed(&why);
    let program = spec.argv.first().map_or("claude", String::as_str);
    let asked = launch
        .restrictions
        .command(OsStr::new(program), &context.env)
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .arg("--version")
        .current_dir(&context.cwd)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(VERSION_TIMEOUT, asked).await;
    let output = output.map_err(|_elapsed| failed(format!("{program} --version did not end")))?;
    let output = output.map_err(|error| failed(format!("{program} cannot be run: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().next().unwrap_or_default();
    if !output.status.success() || !text.contains("Claude Code") {
        let said = text.trim().escape_debug();
        return Err(failed(format!(
            "{program} is not Claude Code: it printed `{said}`"
        )));
    }
    if TRIED_VERSIONS.contains(&version) {
        return Ok(None);
    }
    let tried = TRIED_VERSIONS.join(", ");
    Ok(Some(format!(
        "Claude Code {version} was not tried with this version of swarm; tried: {tried}"
    )))
}
