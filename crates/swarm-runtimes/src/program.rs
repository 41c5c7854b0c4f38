//! The process of an agent program: started in its own process group, with JSON lines on its
//! standard streams, and terminated with all its descendants.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use swarm_agent::{AgentError, AgentParts};
use swarm_os::process::{Target, kill_now};
use swarm_protocol::PermissionMode;
use swarm_tools::AgentShell;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::ProgramSpec;
use crate::handed_server::{HandedServer, RelayedCall};
use crate::relay::{MCP_RELAY_VARIABLE, Relay};
use crate::sandbox::Launch;

/// Environment variable that identifies all processes of one agent program.
const ID_VARIABLE: &str = "SWARM_RUNTIME_ID";

/// Lines of standard error that an error message repeats.
const STDERR_LINES: usize = 5;

/// Returns the mode of an agent program in which it asks about its calls: swarm's rules and mode
/// decide about them. Programs share these names.
pub(crate) fn asking_mode(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Plan => "plan",
        _ => "default",
    }
}

/// Quotes a word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A running agent program. Dropping it kills its processes.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    target: Target,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: LastLines,
    relay: Relay,
    /// Calls of tools of the member's MCP servers.
    calls: UnboundedReceiver<RelayedCall>,
    /// Follows its errors.
    advice: &'static str,
    /// Its namespaces. Dropped last.
    _shell: Arc<AgentShell>,
}

/// What a program sends.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A message on its standard output.
    Message(Value),
    /// A call of a tool of the member's MCP servers.
    Call(RelayedCall),
}

/// The last lines of standard error, and the task that reads them.
#[derive(Debug)]
struct LastLines {
    lines: Arc<Mutex<VecDeque<String>>>,
    reader: JoinHandle<()>,
}

impl Program {
    /// Starts the program in the agent's directory, with its environment and that of `spec`.
    pub(crate) fn start(
        spec: &ProgramSpec,
        agent: &AgentParts,
        launch: Launch,
    ) -> Result<Self, AgentError> {
        let Some((program, args)) = spec.argv.split_first() else {
            return Err(spec.failed(&"the command is empty"));
        };
        let context = &agent.tool_context;
        let (sender, calls) = unbounded_channel();
        let handed = HandedServer::all(&agent.tools, &sender);
        let relay = Relay::serve(&spec.swarm, context, handed);
        let relay = relay.map_err(|error| spec.failed(&error))?;
        let id = Uuid::new_v4().to_string();
        let mut child = launch
            .restrictions
            .command(OsStr::new(program), &context.env)
            .args(args)
            .current_dir(&context.cwd)
            .envs(&spec.env)
            .envs(launch.env)
            .env(MCP_RELAY_VARIABLE, relay.address())
            .env(ID_VARIABLE, &id)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| spec.failed(&format!("{program} cannot be started: {error}")))?;
        let target = Target {
            group: child.id().and_then(|pid| i32::try_from(pid).ok()),
            marks: vec![(ID_VARIABLE.to_owned(), id)],
            ..Target::default()
        };
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(spec.failed(&"the program has no standard streams"));
        };
        Ok(Self {
            child,
            target,
            stdin,
            stdout: BufReader::new(stdout).lines(),
            stderr: keep_last_lines(stderr),
            relay,
            calls,
            advice: launch.advice,
            _shell: launch.shell,
        })
    }

    /// Returns the address of its MCP servers, for servers with an environment of their own.
    pub(crate) fn relay_address(&self) -> &str {
        self.relay.address()
    }

    pub(crate) fn has_exited(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub(crate) async fn write(&mut self, message: &Value) -> Result<(), AgentError> {
        let line = format!("{message}\n");
        match self.stdin.write_all(line.as_bytes()).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self
                .failure(&format!("it does not read its input: {error}"))
                .await),
        }
    }

    /// Waits for the next message or call. Lines that are not JSON objects are ignored: some programs
    /// print notices there. Can be cancelled without losing anything.
    pub(crate) async fn receive(&mut self) -> Result<Incoming, AgentError> {
        loop {
            let line = tokio::select! {
                line = self.stdout.next_line() => line,
                Some(call) = self.calls.recv() => return Ok(Incoming::Call(call)),
            };
            let line = match line {
                Ok(Some(line)) => line,
                Ok(None) => return Err(self.failure("it exited in the middle of its work").await),
                Err(error) => return Err(self.failure(&error.to_string()).await),
            };
            if let Ok(message @ Value::Object(_)) = serde_json::from_str(&line) {
                return Ok(Incoming::Message(message));
            }
            tracing::debug!(line, "ignoring a line of an agent program");
        }
    }

    /// Returns an error with the exit status and the last lines of standard error.
    async fn failure(&mut self, what: &str) -> AgentError {
        let grace = Duration::from_millis(500);
        let status = tokio::time::timeout(grace, self.child.wait()).await;
        let status = match status {
            Ok(Ok(status)) => format!(" ({status})"),
            _ => String::new(),
        };
        // A descendant may hold the stream open.
        if tokio::time::timeout(grace, &mut self.stderr.reader)
            .await
            .is_err()
        {
            tracing::debug!("standard error of an agent program is still open");
        }
        let stderr = self.stderr.lines.lock();
        let said: Vec<_> = stderr.iter().map(String::as_str).collect();
        let said = match said.join(" | ") {
            said if said.is_empty() => said,
            said => format!(". It printed: {said}"),
        };
        AgentError::Runtime(format!("{what}{status}{said}{}", self.advice))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        kill_now(&self.target);
    }
}

/// Reads standard error to its end in a background task, because a full pipe would block the
/// program.
fn keep_last_lines(stderr: ChildStderr) -> LastLines {
    let kept = Arc::<Mutex<VecDeque<String>>>::default();
    let last = Arc::clone(&kept);
    let reader = tokio::spawn(async move {
        let mut lines = BufReader::new(stderr).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let mut last = last.lock();
            last.push_back(line.chars().take(300).collect());
            if last.len() > STDERR_LINES {
                last.pop_front();
            }
        }
    });
    LastLines {
        lines: kept,
        reader,
    }
}
