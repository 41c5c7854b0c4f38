//! Running one command line to its end, its time limit or an interruption.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use uuid::Uuid;

use super::capture::Capture;
use super::surround::Surrounded;
use crate::ToolContext;
use swarm_fs::process::{self, Ended, Process, Target};

/// The variable that marks every process of one call, besides those that the context gives.
const CALL_MARK: &str = "SWARM_CALL_ID";

/// How a command came to its end.
#[derive(Debug)]
pub(super) enum Outcome {
    /// By itself.
    Exited(ExitStatus),
    /// Its time was up; it was ended.
    TimedOut(Ended),
    /// The turn was interrupted; it was ended.
    Interrupted(Ended),
}

/// A command that was run.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) outcome: Outcome,
    /// What it wrote to standard output and standard error, in the order in which it did.
    pub(super) output: String,
    /// How many lines that was in all.
    pub(super) lines: usize,
    /// Processes that live on and hold the output open.
    pub(super) background: Vec<Process>,
    /// Whether it could write in few places only.
    pub(super) sandboxed: bool,
}

/// Runs a command line with bash, in a process group of its own, without standard input and terminal.
pub(super) async fn run(
    command: &str,
    timeout: Duration,
    ctx: &ToolContext,
) -> Result<Ran, String> {
    let (reader, writer) =
        std::io::pipe().map_err(|error| format!("No pipe for the output: {error}."))?;
    let mark = Uuid::new_v4().to_string();
    let mut running = Running::start(command, writer, mark, ctx)?;
    let output = Output::read(reader, ctx.limits.bash_chars)?;
    let outcome = tokio::select! {
        status = running.child.wait() => Outcome::Exited(status.map_err(|error| format!("The command was lost: {error}."))?),
        () = tokio::time::sleep(timeout) => Outcome::TimedOut(running.end(ctx.limits.kill_grace).await),
        () = ctx.cancel.cancelled() => Outcome::Interrupted(running.end(ctx.limits.kill_grace).await),
    };
    running.over = true;
    let closed = output.closed(ctx.limits.drain_grace).await;
    let background = if closed {
        Vec::new()
    } else {
        process::find_by_env(CALL_MARK, &running.mark)
    };
    let capture = output.capture();
    let (output, lines) = (capture.text(ctx.limits.bash_chars), capture.lines());
    Ok(Ran {
        outcome,
        output,
        lines,
        background,
        sandboxed: running.sandboxed,
    })
}

/// A command that runs. Dropped before its end, it is killed with all that it started.
#[derive(Debug)]
struct Running {
    child: Child,
    group: Option<i32>,
    mark: String,
    over: bool,
    sandboxed: bool,
}

impl Running {
    fn start(
        command: &str,
        output: std::io::PipeWriter,
        mark: String,
        ctx: &ToolContext,
    ) -> Result<Self, String> {
        let cannot = |error: std::io::Error| {
            if ctx.cwd.is_dir() {
                format!("The shell cannot be started: {error}.")
            } else {
                format!(
                    "The working directory {} no longer exists.",
                    ctx.cwd.display()
                )
            }
        };
        let errors = output.try_clone().map_err(cannot)?;
        let surrounded = Surrounded::new(&shell(ctx), ctx)?;
        let mut starting = Command::new(&surrounded.program);
        starting
            .args(&surrounded.words)
            .arg("-c")
            .arg(command)
            .current_dir(&ctx.cwd)
            .env_clear()
            .envs(ctx.env.iter())
            .envs(&surrounded.env)
            .env(CALL_MARK, &mark)
            .stdin(Stdio::null())
            .stdout(Stdio::from(OwnedFd::from(output)))
            .stderr(Stdio::from(OwnedFd::from(errors)));
        if !surrounded.own_session {
            starting.process_group(0);
        }
        let child = starting.spawn().map_err(cannot)?;
        let group = child.id().and_then(|pid| i32::try_from(pid).ok());
        Ok(Self {
            child,
            group,
            mark,
            over: false,
            sandboxed: surrounded.sandboxed,
        })
    }

    fn target(&self) -> Target {
        Target {
            group: self.group,
            marks: vec![(CALL_MARK.to_owned(), self.mark.clone())],
            ..Target::default()
        }
    }

    /// Ends the whole tree. The child is waited for only afterwards, so that its number stays its own meanwhile.
    async fn end(&mut self, grace: Duration) -> Ended {
        let ended = process::end(self.target(), grace).await;
        if let Err(error) = self.child.wait().await {
            tracing::warn!(%error, "cannot wait for a command");
        }
        ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.over {
            process::end_now(&self.target());
        }
    }
}

/// bash by the command's own search path, else where it usually is, else the shell that every system has.
fn shell(ctx: &ToolContext) -> PathBuf {
    let path = ctx.env.get("PATH").map_or("", String::as_str);
    let named = path.split(':').filter(|folder| folder.starts_with('/'));
    named
        .chain(["/bin", "/usr/bin", "/usr/local/bin"])
        .map(|folder| PathBuf::from(folder).join("bash"))
        .find(|bash| bash.is_file())
        .unwrap_or_else(|| "/bin/sh".into())
}

/// The output of a command. A task of its own reads it to its end, which may come long after the call's: processes in
/// the background would die of a pipe that nobody reads.
#[derive(Debug)]
struct Output {
    capture: Arc<Mutex<Capture>>,
    closed: watch::Receiver<bool>,
}

impl Output {
    fn read(reader: std::io::PipeReader, chars: usize) -> Result<Self, String> {
        let mut receiver = Receiver::from_owned_fd(OwnedFd::from(reader))
            .map_err(|error| format!("The output cannot be read: {error}."))?;
        let capture = Arc::new(Mutex::new(Capture::new(chars)));
        let (close, closed) = watch::channel(false);
        let kept = Arc::clone(&capture);
        tokio::spawn(async move {
            let mut buffer = vec![0; 64 * 1024];
            loop {
                match receiver.read(&mut buffer).await {
                    Ok(0) => break,
                    Ok(n) => lock(&kept).add(&buffer[..n]),
                    Err(error) => {
                        tracing::warn!(%error, "cannot read a command's output");
                        break;
                    }
                }
            }
            close.send_replace(true);
        });
        Ok(Self { capture, closed })
    }

    /// Whether the last writer closes the output within this time.
    async fn closed(&self, within: Duration) -> bool {
        let mut closed = self.closed.clone();
        let end = closed.wait_for(|closed| *closed);
        tokio::time::timeout(within, end).await.is_ok()
    }

    fn capture(&self) -> MutexGuard<'_, Capture> {
        lock(&self.capture)
    }
}

/// A panic under this lock leaves at worst a piece of output out.
fn lock(capture: &Mutex<Capture>) -> MutexGuard<'_, Capture> {
    capture.lock()
}
