//! A running shell command: waits for it, and terminates it with its descendants.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::fs::OFlags;
use swarm_os::process::{self, Ended, Target};
use swarm_protocol::SandboxNetwork;
use tokio::process::Child;
use tokio_util::sync::CancellationToken;

use crate::sandbox::LaunchedCommand;

/// Environment variable that identifies every process of one call.
pub(super) const CALL_ID_VARIABLE: &str = "SWARM_CALL_ID";

/// How a command ended.
#[derive(Debug)]
pub(super) enum Outcome {
    Exited(ExitStatus),
    /// The command timed out and was terminated.
    TimedOut(Ended),
    /// The turn was interrupted and the command terminated.
    Interrupted(Ended),
}

/// The process of a command, which leads a process group.
#[derive(Debug)]
pub(super) enum ShellProcess {
    Child(Child),
    /// Started by a helper in the sandbox, which reaps it.
    Launched(LaunchedCommand),
}

impl ShellProcess {
    fn group(&self) -> Option<i32> {
        match self {
            Self::Child(child) => child.id().and_then(|pid| i32::try_from(pid).ok()),
            Self::Launched(command) => Some(command.pid()),
        }
    }

    async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        match self {
            Self::Child(child) => child.wait().await,
            Self::Launched(command) => command.wait().await,
        }
    }

    /// Reaps the process after it was terminated.
    async fn reaped(&mut self) -> std::io::Result<()> {
        match self {
            Self::Child(child) => child.wait().await.map(drop),
            Self::Launched(command) => command.reaped().await,
        }
    }

    /// Reaps what an exited process has left in its group.
    fn reap_group(&mut self, group: Option<i32>) {
        match self {
            Self::Child(_) => process::reap_group(group),
            Self::Launched(command) => {
                let reaped = command.reaped();
                tokio::spawn(async move {
                    if reaped.await.is_ok() {
                        process::reap_group(group);
                    }
                });
            }
        }
    }
}

/// A running command. Dropping it kills the command and its descendants.
#[derive(Debug)]
pub(super) struct Running {
    process: ShellProcess,
    group: Option<i32>,
    pub(super) call_id: String,
    has_ended: bool,
    /// What it reaches of the network in the sandbox; `None` without a sandbox.
    pub(super) sandbox: Option<SandboxNetwork>,
    /// Pipe on which the shell reports its final working directory.
    pub(super) report: Option<std::io::PipeReader>,
}

impl Running {
    pub(super) fn new(
        process: ShellProcess,
        call_id: String,
        sandbox: Option<SandboxNetwork>,
        report: Option<std::io::PipeReader>,
    ) -> Self {
        Self {
            group: process.group(),
            process,
            call_id,
            has_ended: false,
            sandbox,
            report,
        }
    }

    /// Waits until the command exits, and terminates it on timeout or cancellation.
    pub(super) async fn until(
        &mut self,
        timeout: Option<Duration>,
        cancel: &CancellationToken,
        kill_grace: Duration,
    ) -> Result<Outcome, String> {
        let time_is_up = async {
            match timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        let outcome = tokio::select! {
            status = self.process.wait() => {
                let status = status.map_err(|error| format!("Cannot wait for the command: {error}."))?;
                self.process.reap_group(self.group);
                Outcome::Exited(status)
            }
            () = time_is_up => Outcome::TimedOut(self.end(kill_grace).await),
            () = cancel.cancelled() => Outcome::Interrupted(self.end(kill_grace).await),
        };
        self.has_ended = true;
        Ok(outcome)
    }

    /// Returns the final working directory if the shell reported one. Does not block, since
    /// background processes may hold the pipe open.
    pub(super) fn directory(&mut self) -> Option<PathBuf> {
        /// Buffer size in bytes; longer than any path.
        const LONGEST: usize = 8 << 10;
        let mut report = self.report.take()?;
        if let Err(error) = rustix::fs::fcntl_setfl(&report, OFlags::NONBLOCK) {
            tracing::warn!(%error, "cannot read the final directory of a command");
            return None;
        }
        let mut buffer = vec![0; LONGEST];
        let read = report.read(&mut buffer).ok()?;
        let path = buffer[..read].strip_suffix(b"\n")?;
        path.starts_with(b"/")
            .then(|| PathBuf::from(OsStr::from_bytes(path)))
    }

    fn target(&self) -> Target {
        Target {
            group: self.group,
            marks: vec![(CALL_ID_VARIABLE.to_owned(), self.call_id.clone())],
            ..Target::default()
        }
    }

    /// Terminates the process tree.
    async fn end(&mut self, grace: Duration) -> Ended {
        let target = self.target();
        process::end_child(self.process.reaped(), target, grace).await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        match self.process {
            ShellProcess::Child(_) => process::kill_now(&self.target()),
            // Its helper may have been killed.
            ShellProcess::Launched(_) => process::kill_now_with_leader(&self.target()),
        }
    }
}

/// How a command ended.
pub(super) fn sentence(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("Exit code {code}"),
        (None, Some(signal)) => format!("Killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}
