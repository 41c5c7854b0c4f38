//! The user's own status line: the command of `statusLine` in Claude Code's settings.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_agent::transcript_path;
use swarm_member::LeadParts;
use swarm_protocol::{SessionId, partial_debug};
use swarm_tools::sandbox::{UserCommand, UserProgram};
use swarm_tools::{ProgramLaunch, ToolContext};
use swarm_ui::SessionStatus;
use tokio::sync::Notify;

use crate::limited_command::output_within;
use crate::sgr::without_colors;

const TIMEOUT: Duration = Duration::from_secs(5);

/// Shortest time between two runs, as in Claude Code.
const PAUSE: Duration = Duration::from_millis(300);

/// Maximum lines shown of its output.
const MOST_LINES: usize = 3;

/// A command that prints lines for the status from JSON on stdin. It runs after each event.
pub(super) struct StatusCommand {
    command: String,
    /// The lead, whose sandbox confines it if agents can write what it runs.
    agent: ToolContext,
    /// Whether it is a repository's, so that the sandbox always confines it.
    of_repository: bool,
    /// Its variables outside of the sandbox.
    env: BTreeMap<String, String>,
    session: SessionId,
    transcript: PathBuf,
    cwd: PathBuf,
    version: String,
    began: Instant,
    changed: Notify,
    lines: Mutex<Vec<String>>,
}

// Omits the environment, which may hold secrets.
partial_debug!(StatusCommand: command, session, cwd);

impl StatusCommand {
    pub(super) fn new(
        command: &str,
        parts: &LeadParts,
        agent: ToolContext,
        of_repository: bool,
        env: BTreeMap<String, String>,
    ) -> Self {
        let dep = &parts.spawn_context;
        let changed = Notify::new();
        // For the first lines.
        changed.notify_one();
        Self {
            command: command.to_owned(),
            agent,
            of_repository,
            env,
            session: parts.session,
            transcript: transcript_path(&dep.root, &dep.workspace.cwd, parts.session),
            cwd: dep.workspace.cwd.clone(),
            version: dep.version.clone(),
            began: Instant::now(),
            changed,
            lines: Mutex::default(),
        }
    }

    /// Requests a run.
    pub(super) fn changed(&self) {
        self.changed.notify_one();
    }

    /// Returns the last output.
    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().clone()
    }

    /// Runs the command whenever the status has changed, and draws its output.
    pub(super) async fn follow(
        self: Arc<Self>,
        status: impl Fn() -> SessionStatus + Send,
        draw: impl Fn() + Send,
    ) {
        loop {
            self.changed.notified().await;
            let input = self.input(&status());
            match self.run(&input).await {
                Ok(lines) => *self.lines.lock() = lines,
                // The last output stays.
                Err(why) => tracing::warn!(command = self.command, why, "statusLine"),
            }
            draw();
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Returns the document of Claude Code, as far as its values exist here.
    fn input(&self, status: &SessionStatus) -> Value {
        let context = status.context.map(|used| {
            let percent = used.percent();
            json!({
                "context_window_size": used.window,
                "total_input_tokens": used.tokens,
                "used_percentage": percent,
                "remaining_percentage": 100_u64.saturating_sub(percent),
            })
        });
        let duration = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        json!({
            "hook_event_name": "Status",
            "session_id": self.session,
            "transcript_path": self.transcript,
            "cwd": self.cwd,
            "model": {"id": status.model, "display_name": status.model},
            "workspace": {"current_dir": self.cwd, "project_dir": self.cwd},
            "version": self.version,
            "permission_mode": status.mode,
            "cost": {"total_cost_usd": status.cost, "total_duration_ms": duration},
            "context_window": context,
        })
    }

    async fn run(&self, input: &Value) -> Result<Vec<String>, String> {
        let launch = if self.of_repository {
            ProgramLaunch::prepare(&self.agent).await?
        } else {
            let program = UserProgram {
                command: UserCommand::Line(self.command.clone()),
                cwd: self.cwd.clone(),
                env: self.env.clone(),
                configured_values: Vec::new(),
            };
            ProgramLaunch::prepare_user_program(&self.agent, program).await?
        };
        // Keys of model providers stay outside.
        let env = if self.of_repository || launch.is_sandboxed() {
            &*self.agent.env
        } else {
            &self.env
        };
        let mut command = launch.command(OsStr::new("/bin/sh"), env);
        command
            .args(["-c", &self.command])
            .current_dir(&self.cwd)
            .stderr(Stdio::null());
        let output = output_within(command, input.to_string().as_bytes(), TIMEOUT).await;
        let output = output
            .map_err(|error| error.to_string())?
            .ok_or_else(|| format!("no exit within {} s", TIMEOUT.as_secs()))?;
        if !output.status.success() {
            return Err(output.status.to_string());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text.trim_end().lines().take(MOST_LINES);
        Ok(lines.map(without_colors).collect())
    }
}
