//! Runs one command until it exits, times out or is cancelled, and limits its output.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use swarm_os::process::{Target, end_child, kill_now, reap_group};
use swarm_tools::ProgramLaunch;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandContext<'a> {
    /// Starts the shell with restrictions.
    pub(crate) launch: Option<&'a ProgramLaunch>,
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) cwd: &'a Path,
    /// Maximum bytes retained of each output stream.
    pub(crate) output_limit: usize,
}

#[derive(Debug)]
pub(crate) enum ExitReason {
    Exited(i32),
    /// Terminated by a signal that we did not send.
    Signalled(i32),
    /// The timeout expired; the command was terminated.
    TimedOut,
    /// The caller cancelled; the command was terminated.
    Interrupted,
    NotStarted(io::Error),
}

#[derive(Debug)]
pub(crate) struct CommandResult {
    pub(crate) end: ExitReason,
    pub(crate) stdout: CappedBuffer,
    pub(crate) stderr: CappedBuffer,
}

/// Runs a command line in its own process group, with `input` on its standard input. Background
/// processes that it starts keep running.
pub(crate) async fn run(
    line: &str,
    input: &[u8],
    limit: Duration,
    context: CommandContext<'_>,
    cancel: &CancellationToken,
) -> CommandResult {
    let mut ran = CommandResult {
        end: ExitReason::Interrupted,
        stdout: CappedBuffer::new(context.output_limit),
        stderr: CappedBuffer::new(context.output_limit),
    };
    if cancel.is_cancelled() {
        return ran;
    }
    ran.end = match start(line, context) {
        Ok(running) => running.wait_for_exit(input, limit, cancel, &mut ran).await,
        Err(error) => ExitReason::NotStarted(error),
    };
    ran
}

/// A running command. Dropping it before it exits kills its process group.
struct Running {
    child: Child,
    group: Option<i32>,
    /// Taken while the command runs.
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    finished: bool,
}

fn start(line: &str, context: CommandContext<'_>) -> io::Result<Running> {
    let (stdout, out) = io::pipe()?;
    let (stderr, err) = io::pipe()?;
    let mut starting = if let Some(launch) = context.launch {
        launch.command(launch.shell(context.env).as_os_str(), context.env)
    } else {
        let mut starting = Command::new(swarm_os::find_shell(context.env));
        starting.env_clear().envs(context.env).process_group(0);
        starting
    };
    let child = starting
        .arg("-c")
        .arg(line)
        .current_dir(context.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::from(OwnedFd::from(out)))
        .stderr(Stdio::from(OwnedFd::from(err)))
        .spawn()?;
    let group = child.id().and_then(|pid| i32::try_from(pid).ok());
    Ok(Running {
        group,
        child,
        stdout: Some(Receiver::from_owned_fd(OwnedFd::from(stdout))?),
        stderr: Some(Receiver::from_owned_fd(OwnedFd::from(stderr))?),
        finished: false,
    })
}

impl Running {
    /// Writes its input, reads its output and waits for it to exit. Reading and writing never delay
    /// the wait: a command need not read its input, and its background processes may hold its
    /// outputs open.
    async fn wait_for_exit(
        mut self,
        input: &[u8],
        limit: Duration,
        cancel: &CancellationToken,
        ran: &mut CommandResult,
    ) -> ExitReason {
        let time_up = tokio::time::sleep(limit);
        tokio::pin!(time_up);
        let mut stdin = self.child.stdin.take();
        let mut rest = input;
        let (mut out, mut err) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
        let (mut stdout, mut stderr) = (self.stdout.take(), self.stderr.take());
        let end = loop {
            let feed = async {
                match stdin.as_mut() {
                    Some(stdin) => stdin.write(rest).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                status = self.child.wait() => break match status {
                    Ok(status) => {
                        reap_group(self.group);
                        exit_reason(status)
                    }
                    Err(error) => ExitReason::NotStarted(error),
                },
                () = &mut time_up => {
                    self.terminate().await;
                    break ExitReason::TimedOut;
                }
                () = cancel.cancelled() => {
                    self.terminate().await;
                    break ExitReason::Interrupted;
                }
                written = feed => match written {
                    Ok(bytes) if bytes > 0 && bytes < rest.len() => rest = &rest[bytes..],
                    // All input is written, or the command closed its input.
                    _ => stdin = None,
                },
                read = read(&mut stdout, &mut out) => match read {
                    0 => stdout = None,
                    bytes => ran.stdout.add(&out[..bytes]),
                },
                read = read(&mut stderr, &mut err) => match read {
                    0 => stderr = None,
                    bytes => ran.stderr.add(&err[..bytes]),
                },
            }
        };
        self.finished = true;
        for (pipe, kept) in [(stdout, &mut ran.stdout), (stderr, &mut ran.stderr)] {
            if let Some(pipe) = pipe {
                drain(pipe, kept);
            }
        }
        end
    }

    /// Terminates the process group: SIGTERM, then SIGKILL after the grace period.
    async fn terminate(&mut self) {
        let target = self.target();
        end_child(self.child.wait(), target, GRACE).await;
        self.finished = true;
    }

    fn target(&self) -> Target {
        Target {
            group: self.group,
            ..Target::default()
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.finished {
            kill_now(&self.target());
        }
    }
}

/// Returns the number of bytes read; 0 at the end of the stream. Without a pipe it never returns.
async fn read(pipe: &mut Option<Receiver>, buffer: &mut [u8]) -> usize {
    match pipe {
        Some(pipe) => pipe.read(buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

/// Takes what the command wrote before it exited, without waiting for other processes that hold the
/// pipe. Their further output is discarded in the background; otherwise they would receive SIGPIPE.
fn drain(pipe: Receiver, kept: &mut CappedBuffer) {
    let Ok(fd) = pipe.into_nonblocking_fd() else {
        return;
    };
    let mut file = File::from(fd);
    let mut buffer = vec![0; 16 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return,
            Ok(bytes) => kept.add(&buffer[..bytes]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(_) => return,
        }
    }
    if let Ok(mut pipe) = Receiver::from_owned_fd(OwnedFd::from(file)) {
        tokio::spawn(
            async move { while pipe.read(&mut buffer).await.is_ok_and(|bytes| bytes > 0) {} },
        );
    }
}

fn exit_reason(status: ExitStatus) -> ExitReason {
    match (status.code(), status.signal()) {
        (Some(code), _) => ExitReason::Exited(code),
        (None, signal) => ExitReason::Signalled(signal.unwrap_or_default()),
    }
}

/// The first bytes of an output, and its total length.
#[derive(Debug)]
pub(crate) struct CappedBuffer {
    kept: Vec<u8>,
    limit: usize,
    total: u64,
}

impl CappedBuffer {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            kept: Vec::new(),
            limit,
            total: 0,
        }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.limit - self.kept.len();
        self.kept.extend(&bytes[..bytes.len().min(room)]);
    }

    /// Returns whether the output was truncated.
    pub(crate) fn is_cut(&self) -> bool {
        self.total > self.kept.len() as u64
    }

    /// Returns the retained output, trimmed.
    pub(crate) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.kept);
        let text = text.trim();
        if self.is_cut() {
            format!("{text}\n[truncated: {} bytes in total]", self.total)
        } else {
            text.to_owned()
        }
    }
}
