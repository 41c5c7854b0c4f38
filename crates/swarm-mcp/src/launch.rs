//! The program of a server: started in its own process group and terminated with all its
//! descendants.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use swarm_os::process::{self, Target};
use swarm_tools::ProgramLaunch;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use uuid::Uuid;

use crate::stderr_log::{StderrTail, drain};
use crate::{McpError, McpHost, Result};

/// The environment variable that identifies all processes of one server, in addition to the owner's
/// variables.
const ID_VARIABLE: &str = "SWARM_MCP_ID";

/// A running program. Dropping it before it exits kills it with all its descendants.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    target: Target,
    over: bool,
}

pub(crate) struct Launched {
    pub(crate) program: Program,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: StderrTail,
}

/// Starts a program with the host's environment and `env` only, and with the restrictions of a
/// sandbox, if there is one.
pub(crate) fn launch(
    command: &str,
    args: &[String],
    env: &BTreeMap<String, String>,
    host: &McpHost,
    sandbox: Option<&ProgramLaunch>,
    log: Option<PathBuf>,
) -> Result<Launched> {
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
    let id = Uuid::new_v4().to_string();
    let mut starting = if let Some(sandbox) = sandbox {
        sandbox.command(OsStr::new(command), &host.env)
    } else {
        let mut starting = Command::new(command);
        starting.env_clear().envs(&host.env).process_group(0);
        starting
    };
    let mut child = starting
        .args(args)
        .current_dir(&host.cwd)
        .envs(env)
        // A server's configuration must not override the owner's process markers.
        .envs(
            host.env
                .iter()
                .filter(|(name, _)| name.starts_with("SWARM_")),
        )
        .env(ID_VARIABLE, &id)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let program = Program {
        target: Target {
            group: child.id().and_then(|pid| i32::try_from(pid).ok()),
            marks: vec![(ID_VARIABLE.to_owned(), id)],
            ..Target::default()
        },
        child,
        over: false,
    };
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(failed("the program has no standard streams".to_owned()));
    };
    Ok(Launched {
        program,
        stdin,
        stdout,
        stderr: drain(stderr, log, host.limits.log_bytes),
    })
}

impl Program {
    /// Stops the process tree after its input was closed: waits for it to exit, then sends SIGTERM,
    /// then SIGKILL.
    pub(crate) async fn stop(mut self, grace: Duration) {
        process::exited_within(self.target.clone(), grace).await;
        let ended = process::end_child(self.child.wait(), self.target.clone(), grace).await;
        self.over = ended.left == 0;
        if ended.left > 0 {
            tracing::warn!(
                left = ended.left,
                "processes of an MCP server could not be terminated"
            );
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.over {
            process::kill_now(&self.target);
        }
    }
}
