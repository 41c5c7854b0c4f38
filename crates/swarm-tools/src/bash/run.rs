//! Runs a command line until it exits, times out or is interrupted.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};
use rustix::fs::OFlags;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::capture::{Capture, output_file};
use super::launch::ShellLaunch;
use super::spill::Spill;
use crate::ToolContext;
use swarm_os::process::{self, Ended, Process, Target};

/// Environment variable that identifies every process of one call.
const CALL_ID_VARIABLE: &str = "SWARM_CALL_ID";

/// Script that runs its first argument and reports the final working directory. The report goes to
/// the pipe that is initially standard input: this works in every sandbox and leaves no file. A
/// command line that replaces the shell or the trap reports nothing.
const REPORT_DIRECTORY_SCRIPT: &str =
    r#"exec 97>&0 0</dev/null; trap 'builtin pwd -P >&97 2>/dev/null' EXIT; eval "shift; $1""#;

/// How a command ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The command exited.
    Exited(ExitStatus),
    /// The command timed out and was terminated.
    TimedOut(Ended),
    /// The turn was interrupted and the command terminated.
    Interrupted(Ended),
}

/// Result of a command.
#[derive(Debug)]
pub(super) struct CommandResult {
    pub(super) outcome: Outcome,
    /// Interleaved standard output and standard error.
    pub(super) output: String,
    /// Total number of output lines.
    pub(super) lines: usize,
    /// File with the complete output if it was too long.
    pub(super) whole: Option<PathBuf>,
    /// Processes that are still running and hold the output open.
    pub(super) background: Vec<Process>,
    /// Whether it ran in a sandbox.
    pub(super) sandboxed: bool,
    /// Hosts to which the sandbox denied connections.
    pub(super) denied: Vec<String>,
    /// Notice that the working directory was reset.
    pub(super) reset: Option<String>,
}

/// Runs a command line with bash, in its own process group, without standard input and terminal.
pub(super) async fn run(
    command: &str,
    timeout: Duration,
    ctx: &ToolContext,
) -> Result<CommandResult, String> {
    let directory = ctx.shell.permitted_directory(&ctx.cwd)?;
    let mut running = run_in(&directory, command, timeout, ctx).await?;
    if let Some(directory) = running.1.take() {
        ctx.shell.record_directory(&directory, &ctx.cwd);
    }
    running.0.reset = ctx.shell.take_notice();
    Ok(running.0)
}

/// Runs a command line in a directory, whatever the directory of the agent's shell. Also returns
/// the final directory, if it exited and the shell reported one.
pub(super) async fn run_in(
    directory: &Path,
    command: &str,
    timeout: Duration,
    ctx: &ToolContext,
) -> Result<(CommandResult, Option<PathBuf>), String> {
    let file = ctx
        .scratch
        .as_ref()
        .map(|dir| output_file(dir, &ctx.tool_use_id));
    let (mut running, output) = Running::with_output(command, directory, ctx, file, false)?;
    let outcome = running
        .until(Some(timeout), &ctx.cancel, ctx.limits.kill_grace)
        .await?;
    let closed = output.closed(ctx.limits.drain_grace).await;
    let background = if closed {
        Vec::new()
    } else {
        process::find_by_env(CALL_ID_VARIABLE, &running.call_id)
    };
    let reported = running.directory();
    let last = reported.filter(|_| matches!(outcome, Outcome::Exited(_)));
    let capture = output.capture();
    let (text, lines) = (capture.text(ctx.limits.bash_chars), capture.lines());
    drop(capture);
    let result = CommandResult {
        outcome,
        output: text,
        lines,
        whole: output.written_file(),
        background,
        sandboxed: running.sandboxed,
        denied: ctx.shell.sandbox().take_denied(),
        reset: None,
    };
    Ok((result, last))
}

fn pipe() -> Result<(std::io::PipeReader, std::io::PipeWriter), String> {
    std::io::pipe().map_err(|error| format!("Cannot create a pipe for the command: {error}."))
}

/// A running command. Dropping it kills the command and its descendants.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    group: Option<i32>,
    call_id: String,
    has_ended: bool,
    sandboxed: bool,
    /// Pipe on which the shell reports its final working directory.
    report: Option<std::io::PipeReader>,
}

impl Running {
    /// Starts a command and captures its output. The output is also written to `file` if it is
    /// long, or from the first byte if `live`.
    pub(super) fn with_output(
        command: &str,
        directory: &Path,
        ctx: &ToolContext,
        file: Option<PathBuf>,
        live: bool,
    ) -> Result<(Self, Output), String> {
        let (reader, writer) = pipe()?;
        let mut spill = file.map(|path| Spill::new(path, ctx.limits.bash_file_bytes));
        if let Some(spill) = spill.as_mut().filter(|_| live) {
            let path = spill.path().display().to_string();
            let begun = spill.begin();
            begun.map_err(|error| format!("Cannot create the output file {path}: {error}."))?;
        }
        let call_id = Uuid::new_v4().to_string();
        let running = Self::start(command, directory, !live, writer, call_id, ctx)?;
        let output = Output::read(reader, ctx.limits.bash_chars, spill, live)?;
        Ok((running, output))
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
            status = self.child.wait() => Outcome::Exited(status.map_err(|error| format!("Cannot wait for the command: {error}."))?),
            () = time_is_up => Outcome::TimedOut(self.end(kill_grace).await),
            () = cancel.cancelled() => Outcome::Interrupted(self.end(kill_grace).await),
        };
        self.has_ended = true;
        Ok(outcome)
    }

    /// Starts the shell in a directory. With `reports`, it runs a wrapper script that reports the
    /// final working directory and is visible in process lists.
    fn start(
        command: &str,
        directory: &Path,
        reports: bool,
        output: std::io::PipeWriter,
        call_id: String,
        ctx: &ToolContext,
    ) -> Result<Self, String> {
        let cannot = |error: std::io::Error| {
            if directory.is_dir() {
                format!("Cannot start the shell: {error}.")
            } else {
                format!(
                    "The working directory {} no longer exists.",
                    directory.display()
                )
            }
        };
        let errors = output.try_clone().map_err(cannot)?;
        let shell = shell(ctx);
        let launch = ShellLaunch::new(&shell, ctx)?;
        let mut starting = Command::new(&launch.program);
        starting.args(&launch.words).arg("-c");
        let report = if reports && shell.ends_with("bash") {
            let (report, writer) = pipe()?;
            starting
                .arg(REPORT_DIRECTORY_SCRIPT)
                .arg(&shell)
                .arg(command)
                .stdin(Stdio::from(OwnedFd::from(writer)));
            Some(report)
        } else {
            starting.arg(command).stdin(Stdio::null());
            None
        };
        starting
            .current_dir(directory)
            .env_clear()
            .envs(ctx.env.iter())
            .envs(&launch.env)
            .env(CALL_ID_VARIABLE, &call_id)
            .stdout(Stdio::from(OwnedFd::from(output)))
            .stderr(Stdio::from(OwnedFd::from(errors)));
        if !launch.own_session {
            starting.process_group(0);
        }
        let child = starting.spawn().map_err(cannot)?;
        let group = child.id().and_then(|pid| i32::try_from(pid).ok());
        Ok(Self {
            child,
            group,
            call_id,
            has_ended: false,
            sandboxed: launch.sandboxed,
            report,
        })
    }

    /// Returns the final working directory if the shell reported one. Does not block, since
    /// background processes may hold the pipe open.
    fn directory(&mut self) -> Option<PathBuf> {
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

    /// Terminates the process tree. The child is reaped last, so that its PID is not reused in the
    /// meantime.
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
        if !self.has_ended {
            process::kill_now(&self.target());
        }
    }
}

/// Returns bash from the command's `PATH`, otherwise from the usual directories, otherwise
/// `/bin/sh`.
fn shell(ctx: &ToolContext) -> PathBuf {
    let path = ctx.env.get("PATH").map_or("", String::as_str);
    let named = path
        .split(':')
        .filter(|directory| directory.starts_with('/'));
    named
        .chain(["/bin", "/usr/bin", "/usr/local/bin"])
        .map(|directory| PathBuf::from(directory).join("bash"))
        .find(|bash| bash.is_file())
        .unwrap_or_else(|| "/bin/sh".into())
}

/// The output of a command. A separate task reads it to its end, possibly long after the call:
/// background processes would receive SIGPIPE if the pipe were closed.
#[derive(Debug)]
pub(super) struct Output {
    kept: Arc<Mutex<BufferedOutput>>,
    file: Option<PathBuf>,
    closed: watch::Receiver<bool>,
}

/// Buffered output.
#[derive(Debug)]
struct BufferedOutput {
    capture: Capture,
    /// Output since the last read, for a command that is read while it runs.
    unread: Option<Capture>,
    spill: Option<Spill>,
}

impl BufferedOutput {
    fn add(&mut self, bytes: &[u8]) {
        if let Some(spill) = &mut self.spill
            && let Err(error) = write_to(spill, &self.capture, bytes)
        {
            tracing::warn!(%error, path = %spill.path().display(), "cannot write the output file");
            self.spill = None;
        }
        self.capture.add(bytes);
        if let Some(unread) = &mut self.unread {
            unread.add(bytes);
        }
    }
}

/// Writes output to the file. The file is created once the buffer is full, and starts with the
/// buffered output.
fn write_to(spill: &mut Spill, capture: &Capture, bytes: &[u8]) -> std::io::Result<()> {
    if !spill.is_begun() {
        if capture.has_room_for(bytes.len()) {
            return Ok(());
        }
        spill.begin()?;
        spill.write(&capture.bytes())?;
    }
    spill.write(bytes)
}

impl Output {
    fn read(
        reader: std::io::PipeReader,
        chars: usize,
        spill: Option<Spill>,
        live: bool,
    ) -> Result<Self, String> {
        let mut receiver = Receiver::from_owned_fd(OwnedFd::from(reader))
            .map_err(|error| format!("Cannot read the output: {error}."))?;
        let file = spill.as_ref().map(|spill| spill.path().to_owned());
        let kept = Arc::new(Mutex::new(BufferedOutput {
            capture: Capture::new(chars),
            unread: live.then(|| Capture::new(chars)),
            spill,
        }));
        let (close, closed) = watch::channel(false);
        let adding = Arc::clone(&kept);
        tokio::spawn(async move {
            let mut buffer = vec![0; 64 * 1024];
            loop {
                match receiver.read(&mut buffer).await {
                    Ok(0) => break,
                    Ok(n) => adding.lock().add(&buffer[..n]),
                    Err(error) => {
                        tracing::warn!(%error, "cannot read a command's output");
                        break;
                    }
                }
            }
            close.send_replace(true);
        });
        Ok(Self { kept, file, closed })
    }

    /// Returns the output file.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the output file if it was created.
    pub(super) fn written_file(&self) -> Option<PathBuf> {
        let kept = self.kept.lock();
        let spill = kept.spill.as_ref().filter(|spill| spill.is_begun());
        spill.map(|spill| spill.path().to_owned())
    }

    /// Waits until all writers have closed the output. Returns false on timeout.
    pub(super) async fn closed(&self, within: Duration) -> bool {
        let mut closed = self.closed.clone();
        let end = closed.wait_for(|closed| *closed);
        tokio::time::timeout(within, end).await.is_ok()
    }

    /// Returns the output since the last call, shortened to `chars` characters.
    pub(super) fn take_new_output(&self, chars: usize) -> String {
        let mut kept = self.kept.lock();
        let unread = kept.unread.as_mut();
        let unread = unread.map(|unread| std::mem::replace(unread, Capture::new(chars)));
        unread.map_or_else(String::new, |unread| unread.text(chars))
    }

    pub(super) fn capture(&self) -> MappedMutexGuard<'_, Capture> {
        MutexGuard::map(self.kept.lock(), |kept| &mut kept.capture)
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
