//! The program of a server: started in a process group of its own, ended with everything that it started.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use swarm_os::process::{self, Target};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use uuid::Uuid;

use crate::stderr_log::{StderrTail, drain};
use crate::{McpError, McpHost};

/// The variable that marks every process of one server, besides those of its owner.
const MARK: &str = "SWARM_MCP_ID";

/// A program that runs. Dropped before its end, it is killed with all that it started.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    target: Target,
    over: bool,
}

/// A program, and how it is spoken to.
pub(crate) struct Launched {
    pub(crate) program: Program,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: StderrTail,
}

/// Starts a program with exactly the host's environment and `env`.
pub(crate) fn launch(
    command: &str,
    args: &[String],
    env: &BTreeMap<String, String>,
    host: &McpHost,
    log: Option<PathBuf>,
) -> Result<Launched, McpError> {
    let failed = |why: String| McpError::Program {
        command: command.to_owned(),
        why,
    };
    if !host.cwd.is_dir() {
        let why = format!(
            "the working directory {} does not exist",
            host.cwd.display()
        );
        return Err(failed(why));
    }
    let mark = Uuid::new_v4().to_string();
    let mut child = Command::new(command)
        .args(args)
        .current_dir(&host.cwd)
        .env_clear()
        .envs(&host.env)
        .envs(env)
        // What marks the owner's processes is the owner's to say.
        .envs(
            host.env
                .iter()
                .filter(|(name, _)| name.starts_with("SWARM_")),
        )
        .env(MARK, &mark)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let program = Program {
        target: Target {
            group: child.id().and_then(|pid| i32::try_from(pid).ok()),
            marks: vec![(MARK.to_owned(), mark)],
            ..Target::default()
        },
        child,
        over: false,
    };
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(failed("it has no standard streams".to_owned()));
    };
    Ok(Launched {
        program,
        stdin,
        stdout,
        stderr: drain(stderr, log, host.limits.log_bytes),
    })
}

impl Program {
    /// Ends the whole tree, once its input was closed: it may go by itself, then SIGTERM, then SIGKILL. The child is waited
    /// for only afterwards, so that its number stays its own meanwhile.
    pub(crate) async fn end(mut self, grace: Duration) {
        process::gone_within(self.target.clone(), grace).await;
        let ended = process::end(self.target.clone(), grace).await;
        self.over = ended.left == 0;
        if ended.left > 0 {
            tracing::warn!(left = ended.left, "processes of an MCP server live on");
            return;
        }
        if let Err(error) = self.child.wait().await {
            tracing::warn!(%error, "cannot wait for an MCP server");
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.over {
            process::end_now(&self.target);
        }
    }
}
