//! Running one command to its end, its time limit or an interruption.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use crate::capped::Capped;
use crate::shell::shell;

/// How long a command may take to end after SIGTERM, before its group is killed.
const GRACE: Duration = Duration::from_secs(1);

/// What a command is run with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) cwd: &'a Path,
    /// Bytes of each output that are kept.
    pub(crate) output_limit: usize,
}

/// How a command came to its end.
#[derive(Debug)]
pub(crate) enum End {
    /// With this exit code.
    Exited(i32),
    /// By a signal of somebody else.
    Signalled(i32),
    /// Its time was up; it was ended.
    TimedOut,
    /// Whoever waited for it no longer does; it was ended.
    Interrupted,
    /// It was not begun.
    NotStarted(io::Error),
}

/// A command that was run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) end: End,
    pub(crate) stdout: Capped,
    pub(crate) stderr: Capped,
}

/// Runs a command line in a process group of its own, with `input` on its standard input. What it leaves in the
/// background lives on.
pub(crate) async fn run(
    line: &str,
    input: &[u8],
    limit: Duration,
    place: Place<'_>,
    cancel: &CancellationToken,
) -> Ran {
    let mut ran = Ran {
        end: End::Interrupted,
        stdout: Capped::new(place.output_limit),
        stderr: Capped::new(place.output_limit),
    };
    if cancel.is_cancelled() {
        return ran;
    }
    ran.end = match start(line, place) {
        Ok(running) => running.attend(input, limit, cancel, &mut ran).await,
        Err(error) => End::NotStarted(error),
    };
    ran
}

/// A command that runs. Dropped before its end, it is killed with its group.
struct Running {
    child: Child,
    group: Option<Pid>,
    /// Taken when it is over.
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    over: bool,
}

fn start(line: &str, place: Place<'_>) -> io::Result<Running> {
    let (stdout, out) = io::pipe()?;
    let (stderr, err) = io::pipe()?;
    let child = Command::new(shell(place.env))
        .arg("-c")
        .arg(line)
        .current_dir(place.cwd)
        .env_clear()
        .envs(place.env)
        .stdin(Stdio::piped())
        .stdout(Stdio::from(OwnedFd::from(out)))
        .stderr(Stdio::from(OwnedFd::from(err)))
        .process_group(0)
        .spawn()?;
    let group = child.id().and_then(|pid| i32::try_from(pid).ok());
    Ok(Running {
        group: group.and_then(Pid::from_raw),
        child,
        stdout: Some(Receiver::from_owned_fd(OwnedFd::from(stdout))?),
        stderr: Some(Receiver::from_owned_fd(OwnedFd::from(stderr))?),
        over: false,
    })
}

impl Running {
    /// Feeds it, reads it, and waits for it. Reading and feeding never hold the waiting up: a command need not read its
    /// input, and what it leaves behind may hold its outputs open for ever.
    async fn attend(
        mut self,
        input: &[u8],
        limit: Duration,
        cancel: &CancellationToken,
        ran: &mut Ran,
    ) -> End {
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
                    Ok(status) => end_of(status),
                    Err(error) => End::NotStarted(error),
                },
                () = &mut time_up => {
                    self.put_down().await;
                    break End::TimedOut;
                }
                () = cancel.cancelled() => {
                    self.put_down().await;
                    break End::Interrupted;
                }
                written = feed => match written {
                    Ok(bytes) if bytes > 0 && bytes < rest.len() => rest = &rest[bytes..],
                    // All of it is written, or it has closed its input.
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
        self.over = true;
        for (pipe, kept) in [(stdout, &mut ran.stdout), (stderr, &mut ran.stderr)] {
            if let Some(pipe) = pipe {
                drain(pipe, kept);
            }
        }
        end
    }

    /// Ends it with its whole group: first asked, then killed.
    async fn put_down(&mut self) {
        self.signal(Signal::TERM);
        let ended = tokio::time::timeout(GRACE, self.child.wait()).await;
        // Its leader may have ended and left others behind.
        self.signal(Signal::KILL);
        if ended.is_err()
            && let Err(error) = self.child.wait().await
        {
            tracing::warn!(%error, "cannot wait for a hook");
        }
        self.over = true;
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group
            && let Err(error) = kill_process_group(group, signal)
            && error != rustix::io::Errno::SRCH
        {
            tracing::warn!(%error, "a hook cannot be ended");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.over {
            self.signal(Signal::KILL);
        }
    }
}

/// Bytes that were read; 0 at the end. Waits for ever where there is nothing to read from.
async fn read(pipe: &mut Option<Receiver>, buffer: &mut [u8]) -> usize {
    match pipe {
        Some(pipe) => pipe.read(buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

/// Takes what the command had written when it ended, without waiting for others that hold the pipe. Those are read to
/// their end elsewhere, or they would die of a pipe that nobody reads.
fn drain(pipe: Receiver, kept: &mut Capped) {
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

fn end_of(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, signal) => End::Signalled(signal.unwrap_or_default()),
    }
}
