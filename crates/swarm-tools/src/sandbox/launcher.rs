//! Starts an agent's commands through one helper, which has restricted itself as they are
//! restricted.

use std::ffi::OsString;
use std::io::{self, PipeReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use swarm_os::namespaces::send_files;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Child;
use tokio::time::timeout;

use super::arguments::HelperArguments;
use super::helper_process::{END_TIMEOUT, START_TIMEOUT, ends, message_of};
use super::message::encode;
use super::request::{ANSWER, decode_answer, to_words};

/// A helper that starts commands; runs from the first command on.
#[derive(Debug, Default)]
pub(crate) struct Launcher {
    /// The helper program with its arguments.
    words: Vec<OsString>,
    helper: Mutex<Option<Arc<Helper>>>,
}

/// A running helper. When this value is dropped, the helper ends once all its commands have ended,
/// and the runtime reaps it.
#[derive(Debug)]
struct Helper {
    child: Child,
    /// The other end is its standard input.
    channel: UnixStream,
    /// Its standard error.
    errors: PipeReader,
    /// Whether one of its commands has seen that it ended. Its channel may be closed a moment later.
    has_ended: Arc<AtomicBool>,
}

/// A command that a helper has started.
#[derive(Debug)]
pub(crate) struct LaunchedCommand {
    pid: i32,
    /// Until its other end sees its end, the number of the command's process is not reused.
    report: Option<tokio::net::UnixStream>,
    /// Set if its helper has ended.
    helper_has_ended: Arc<AtomicBool>,
}

impl Launcher {
    /// `arguments` say how the helper restricts itself.
    pub(super) fn new(helper: &[String], arguments: HelperArguments) -> Self {
        let arguments = HelperArguments {
            serves: true,
            ..arguments
        };
        let words = helper.iter().map(OsString::from);
        Self {
            words: words.chain(arguments.words()).collect(),
            helper: Mutex::default(),
        }
    }

    /// Starts a command with nothing but the variables that it names, in a new process group.
    /// Blocks until it is started; call it in a blocking task of a runtime.
    ///
    /// # Errors
    /// As `execve(2)`, or if the helper does not work.
    pub(crate) fn start(
        &self,
        command: &Command,
        files: &[OwnedFd; 3],
    ) -> io::Result<LaunchedCommand> {
        let message = encode(to_words(command))?;
        let (helper, mut report) = self.request(&message, files)?;
        let mut answer = [0; ANSWER];
        if let Err(error) = report.read_exact(&mut answer) {
            // It may yet start the command, so no other helper does. It sees that nobody waits.
            drop(report);
            self.forget(&helper);
            let why = helper.failure(error);
            return Err(io::Error::other(format!(
                "{why}; the command may have begun"
            )));
        }
        LaunchedCommand::new(decode_answer(answer)?, report, &helper.has_ended)
    }

    /// Sends a request to the helper, or to a new one if it has ended or does not receive requests.
    /// Returns the socket for its answers.
    fn request(
        &self,
        message: &[u8],
        files: &[OwnedFd; 3],
    ) -> io::Result<(Arc<Helper>, UnixStream)> {
        let mut current = self.helper.lock();
        // Forgotten if it fails, because it may have received a part of the request.
        if let Some(helper) = current.take()
            && !helper.has_ended.load(Ordering::SeqCst)
            && let Ok(report) = helper.request(message, files)
        {
            *current = Some(Arc::clone(&helper));
            return Ok((helper, report));
        }
        let helper = Arc::new(Helper::start(&self.words)?);
        let sent = helper.request(message, files);
        let report = sent.map_err(|error| helper.failure(error))?;
        *current = Some(Arc::clone(&helper));
        Ok((helper, report))
    }

    /// Lets the next command get another helper. This one waits for its commands.
    fn forget(&self, helper: &Arc<Helper>) {
        let mut current = self.helper.lock();
        current.take_if(|current| Arc::ptr_eq(current, helper));
    }
}

impl Helper {
    fn start(words: &[OsString]) -> io::Result<Self> {
        let (channel, input) = UnixStream::pair()?;
        channel.set_write_timeout(Some(START_TIMEOUT))?;
        let (errors, writer) = io::pipe()?;
        let (program, words) = words.split_first().ok_or(io::ErrorKind::NotFound)?;
        let child = tokio::process::Command::new(program)
            .args(words)
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(input))
            .stdout(Stdio::null())
            .stderr(writer)
            .spawn()?;
        Ok(Self {
            child,
            channel,
            errors,
            has_ended: Arc::default(),
        })
    }

    /// Sends a request. Returns the socket from which the answers are read.
    fn request(&self, message: &[u8], files: &[OwnedFd; 3]) -> io::Result<UnixStream> {
        let (report, theirs) = UnixStream::pair()?;
        report.set_read_timeout(Some(START_TIMEOUT))?;
        let [input, output, errors] = files.each_ref().map(OwnedFd::as_fd);
        send_files(&self.channel, &[input, output, errors, theirs.as_fd()])?;
        (&self.channel).write_all(message)?;
        Ok(report)
    }

    /// Returns the reason for an error of its channel or of a socket for answers.
    fn failure(&self, error: io::Error) -> io::Error {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof, WouldBlock};
        match error.kind() {
            WouldBlock => io::Error::other("its helper did not answer in time"),
            BrokenPipe | ConnectionReset | UnexpectedEof if self.process().is_some_and(ends) => {
                io::Error::other(message_of(&mut &self.errors))
            }
            _ => error,
        }
    }

    fn process(&self) -> Option<Pid> {
        let pid = self.child.id().map(u32::cast_signed);
        pid.and_then(Pid::from_raw)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // One that somebody has stopped would not see that its channel is closed.
        if let Some(process) = self.process() {
            kill_process(process, Signal::CONT).unwrap_or_default();
        }
    }
}

impl LaunchedCommand {
    fn new(pid: i32, report: UnixStream, helper_has_ended: &Arc<AtomicBool>) -> io::Result<Self> {
        report.set_nonblocking(true)?;
        let report = tokio::net::UnixStream::from_std(report)?;
        Ok(Self {
            pid,
            report: Some(report),
            helper_has_ended: Arc::clone(helper_has_ended),
        })
    }

    /// Its process id and the number of its process group.
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Waits until it has exited. The status can be read once.
    ///
    /// # Errors
    /// Fails if the helper has ended before.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let report = self.report.as_mut().ok_or(io::ErrorKind::NotFound)?;
        let mut status = [0; 4];
        // It is written at once, so that nothing is lost if the caller stops waiting.
        let read = report.read_exact(&mut status).await;
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                self.helper_has_ended.store(true, Ordering::SeqCst);
                io::Error::other("its helper was terminated, and so was the command")
            }
            _ => error,
        })?;
        Ok(ExitStatus::from_raw(i32::from_ne_bytes(status)))
    }

    /// Returns a future that ends once the exited process is reaped, or the helper does not answer.
    /// Afterwards, its number may belong to another one.
    pub(crate) fn reaped(&mut self) -> impl Future<Output = io::Result<()>> + Send + use<> {
        let report = self.report.take();
        async move {
            let mut report = report.ok_or(io::ErrorKind::NotFound)?;
            report.shutdown().await?;
            let mut rest = Vec::new();
            let read = report.read_to_end(&mut rest);
            timeout(END_TIMEOUT, read).await?.map(drop)
        }
    }
}
