//! Starts an agent's commands through one helper, which has restricted itself as they are restricted.

use std::ffi::OsString;
use std::io::{self, PipeReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};

use parking_lot::Mutex;
use swarm_os::namespaces::send_files;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Child;
use tokio::time::timeout;

use super::arguments::HelperArguments;
use super::helper_process::{END_TIMEOUT, START_TIMEOUT, message_of};
use super::message::encode;
use super::request::{ANSWER, decode_answer, to_words};

/// A helper that starts commands; runs from the first command on.
#[derive(Debug, Default)]
pub(crate) struct Launcher {
    /// The helper program with its arguments.
    words: Vec<OsString>,
    helper: Mutex<Option<Helper>>,
}

/// A running helper. When this value is dropped, the helper ends once all its commands have ended, and
/// the runtime reaps it.
#[derive(Debug)]
struct Helper {
    child: Child,
    /// The other end is its standard input.
    channel: UnixStream,
    /// Its standard error.
    errors: PipeReader,
}

/// A command that a helper has started.
#[derive(Debug)]
pub(crate) struct LaunchedCommand {
    pid: i32,
    /// Until its other end sees its end, the number of the command's process is not reused.
    report: Option<tokio::net::UnixStream>,
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

    /// Starts a command with nothing but the variables that it names, in a new process group. Call it
    /// in a runtime. Blocks until it is started.
    ///
    /// # Errors
    /// As `execve(2)`, or if the helper does not work.
    pub(crate) fn start(
        &self,
        command: &Command,
        files: &[OwnedFd; 3],
    ) -> io::Result<LaunchedCommand> {
        let message = encode(to_words(command))?;
        let mut helper = self.helper.lock();
        let running = helper.as_mut();
        if let Some(answer) = running.and_then(|running| running.request(&message, files)) {
            return answer;
        }
        // It does not run yet, or was killed or suspended.
        if let Some(mut broken) = helper.take() {
            broken.child.start_kill().unwrap_or_default();
        }
        let started = helper.insert(Helper::start(&self.words)?);
        let answer = started.request(&message, files);
        answer.unwrap_or_else(|| {
            started.child.start_kill().unwrap_or_default();
            Err(io::Error::other(message_of(&mut started.errors)))
        })
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
        })
    }

    /// Requests a command. `None` if the helper does not answer.
    fn request(
        &mut self,
        message: &[u8],
        files: &[OwnedFd; 3],
    ) -> Option<io::Result<LaunchedCommand>> {
        match self.ask(message, files) {
            Err(error) if has_no_answer(&error) => None,
            Err(error) => Some(Err(error)),
            Ok((answer, report)) => {
                let started = decode_answer(answer);
                Some(started.and_then(|pid| LaunchedCommand::new(pid, report)))
            }
        }
    }

    /// Returns the answer to a request, and the socket from which it was read.
    fn ask(
        &mut self,
        message: &[u8],
        files: &[OwnedFd; 3],
    ) -> io::Result<([u8; ANSWER], UnixStream)> {
        let (mut report, theirs) = UnixStream::pair()?;
        report.set_read_timeout(Some(START_TIMEOUT))?;
        let [input, output, errors] = files.each_ref().map(OwnedFd::as_fd);
        send_files(&self.channel, &[input, output, errors, theirs.as_fd()])?;
        drop(theirs);
        self.channel.write_all(message)?;
        let mut answer = [0; ANSWER];
        report.read_exact(&mut answer)?;
        Ok((answer, report))
    }
}

/// Whether an error of a channel means that its other end is closed, or suspended by a command, which
/// Landlock permits.
fn has_no_answer(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof, WouldBlock};
    matches!(
        error.kind(),
        BrokenPipe | ConnectionReset | UnexpectedEof | WouldBlock
    )
}

impl LaunchedCommand {
    fn new(pid: i32, report: UnixStream) -> io::Result<Self> {
        report.set_nonblocking(true)?;
        let report = tokio::net::UnixStream::from_std(report)?;
        let report = Some(report);
        Ok(Self { pid, report })
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
        report.read_exact(&mut status).await?;
        Ok(ExitStatus::from_raw(i32::from_ne_bytes(status)))
    }

    /// Returns a future that ends once the exited process is reaped, or the helper does not answer.
    /// Afterwards, its number may belong to
    /// another one.
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
