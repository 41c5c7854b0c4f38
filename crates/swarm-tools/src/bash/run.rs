//! Running one command line to its end, its time limit or an interruption.

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

use super::background::output_file;
use super::capture::Capture;
use super::spill::Spill;
use super::surround::Surrounded;
use crate::ToolContext;
use swarm_os::process::{self, Ended, Process, Target};

/// The variable that marks every process of one call, besides those that the context gives.
const CALL_MARK: &str = "SWARM_CALL_ID";

/// Runs the command line that is its first argument and reports the directory in which that ends. The report goes to what
/// is standard input at first: a pipe, which works in every sandbox and leaves no file. A command line that replaces the
/// shell or the trap reports nothing.
const WITH_DIRECTORY: &str =
    r#"exec 97>&0 0</dev/null; trap 'builtin pwd -P >&97 2>/dev/null' EXIT; eval "shift; $1""#;

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
    /// The file with all of it, where it was too long.
    pub(super) whole: Option<PathBuf>,
    /// Processes that live on and hold the output open.
    pub(super) background: Vec<Process>,
    /// Whether it could write in few places only.
    pub(super) sandboxed: bool,
    /// That the next command does not start where this one has ended.
    pub(super) reset: Option<String>,
}

/// Runs a command line with bash, in a process group of its own, without standard input and terminal.
pub(super) async fn run(
    command: &str,
    timeout: Duration,
    ctx: &ToolContext,
) -> Result<Ran, String> {
    let file = ctx
        .scratch
        .as_ref()
        .map(|dir| output_file(dir, &ctx.tool_use_id));
    let (mut running, output) = Running::with_output(command, ctx, file, false)?;
    let outcome = running
        .until(Some(timeout), &ctx.cancel, ctx.limits.kill_grace)
        .await?;
    let closed = output.closed(ctx.limits.drain_grace).await;
    let background = if closed {
        Vec::new()
    } else {
        process::find_by_env(CALL_MARK, &running.mark)
    };
    if let (Outcome::Exited(_), Some(directory)) = (&outcome, running.directory()) {
        ctx.shell.ended_in(&directory, &ctx.cwd);
    }
    let capture = output.capture();
    let (text, lines) = (capture.text(ctx.limits.bash_chars), capture.lines());
    drop(capture);
    Ok(Ran {
        outcome,
        output: text,
        lines,
        whole: output.written_file(),
        background,
        sandboxed: running.sandboxed,
        reset: ctx.shell.take_notice(),
    })
}

fn pipe() -> Result<(std::io::PipeReader, std::io::PipeWriter), String> {
    std::io::pipe().map_err(|error| format!("No pipe for the command: {error}."))
}

/// A command that runs. Dropped before its end, it is killed with all that it started.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    group: Option<i32>,
    mark: String,
    over: bool,
    sandboxed: bool,
    /// Where the shell reports the directory in which it ends.
    report: Option<std::io::PipeReader>,
}

impl Running {
    /// Starts a command whose output is read, and kept in `file` if it is long, or from its first byte on if the file is
    /// `live`.
    pub(super) fn with_output(
        command: &str,
        ctx: &ToolContext,
        file: Option<PathBuf>,
        live: bool,
    ) -> Result<(Self, Output), String> {
        let directory = ctx.shell.judged(&ctx.cwd)?;
        let (reader, writer) = pipe()?;
        let mut spill = file.map(|path| Spill::new(path, ctx.limits.bash_file_bytes));
        if let Some(spill) = spill.as_mut().filter(|_| live) {
            let path = spill.path().display().to_string();
            let begun = spill.begin();
            begun.map_err(|error| format!("The output file {path} cannot be created: {error}."))?;
        }
        let mark = Uuid::new_v4().to_string();
        let running = Self::start(command, &directory, !live, writer, mark, ctx)?;
        let output = Output::read(reader, ctx.limits.bash_chars, spill, live)?;
        Ok((running, output))
    }

    /// Waits for the end of the command, and ends it at its time limit or when it is cancelled.
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
            status = self.child.wait() => Outcome::Exited(status.map_err(|error| format!("The command was lost: {error}."))?),
            () = time_is_up => Outcome::TimedOut(self.end(kill_grace).await),
            () = cancel.cancelled() => Outcome::Interrupted(self.end(kill_grace).await),
        };
        self.over = true;
        Ok(outcome)
    }

    /// Starts the shell in a directory. Where it `reports` the one in which it ends, process lists show that too.
    fn start(
        command: &str,
        directory: &Path,
        reports: bool,
        output: std::io::PipeWriter,
        mark: String,
        ctx: &ToolContext,
    ) -> Result<Self, String> {
        let cannot = |error: std::io::Error| {
            if directory.is_dir() {
                format!("The shell cannot be started: {error}.")
            } else {
                format!(
                    "The working directory {} no longer exists.",
                    directory.display()
                )
            }
        };
        let errors = output.try_clone().map_err(cannot)?;
        let shell = shell(ctx);
        let surrounded = Surrounded::new(&shell, ctx)?;
        let mut starting = Command::new(&surrounded.program);
        starting.args(&surrounded.words).arg("-c");
        let report = if reports && shell.ends_with("bash") {
            let (report, writer) = pipe()?;
            starting
                .arg(WITH_DIRECTORY)
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
            .envs(&surrounded.env)
            .env(CALL_MARK, &mark)
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
            report,
        })
    }

    /// The directory in which the shell has ended, if it has reported one. Nothing is waited for: processes in the background
    /// may hold the pipe open.
    fn directory(&mut self) -> Option<PathBuf> {
        /// Longer than any path.
        const LONGEST: usize = 8 << 10;
        let mut report = self.report.take()?;
        if let Err(error) = rustix::fs::fcntl_setfl(&report, OFlags::NONBLOCK) {
            tracing::warn!(%error, "cannot read where a command ended");
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
    let named = path
        .split(':')
        .filter(|directory| directory.starts_with('/'));
    named
        .chain(["/bin", "/usr/bin", "/usr/local/bin"])
        .map(|directory| PathBuf::from(directory).join("bash"))
        .find(|bash| bash.is_file())
        .unwrap_or_else(|| "/bin/sh".into())
}

/// The output of a command. A task of its own reads it to its end, which may come long after the call's: processes in
/// the background would die of a pipe that nobody reads.
#[derive(Debug)]
pub(super) struct Output {
    kept: Arc<Mutex<Kept>>,
    file: Option<PathBuf>,
    closed: watch::Receiver<bool>,
}

/// What is kept of an output.
#[derive(Debug)]
struct Kept {
    capture: Capture,
    /// What came since it was last read, for a command that is read while it runs.
    unread: Option<Capture>,
    spill: Option<Spill>,
}

impl Kept {
    fn add(&mut self, bytes: &[u8]) {
        if let Some(spill) = &mut self.spill
            && let Err(error) = write_to(spill, &self.capture, bytes)
        {
            tracing::warn!(%error, path = %spill.path().display(), "output not kept");
            self.spill = None;
        }
        self.capture.add(bytes);
        if let Some(unread) = &mut self.unread {
            unread.add(bytes);
        }
    }
}

/// Writes a piece of output to the file, which begins with what came before once that is too much for memory.
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
            .map_err(|error| format!("The output cannot be read: {error}."))?;
        let file = spill.as_ref().map(|spill| spill.path().to_owned());
        let kept = Arc::new(Mutex::new(Kept {
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

    /// The file that the output goes to.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The same, if anything was written to it.
    pub(super) fn written_file(&self) -> Option<PathBuf> {
        let kept = self.kept.lock();
        let spill = kept.spill.as_ref().filter(|spill| spill.is_begun());
        spill.map(|spill| spill.path().to_owned())
    }

    /// Whether the last writer closes the output within this time.
    pub(super) async fn closed(&self, within: Duration) -> bool {
        let mut closed = self.closed.clone();
        let end = closed.wait_for(|closed| *closed);
        tokio::time::timeout(within, end).await.is_ok()
    }

    /// What came since the last call, in at most so many characters.
    pub(super) fn news(&self, chars: usize) -> String {
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
