//! The namespaces of an agent, as seen by the agent: they exist as long as this value.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use swarm_os::namespaces::{MountView, NamespaceMember};

use super::arguments::{HelperArguments, HelperTask};
use super::init::{PID, READY};

/// How long the start may take, for a machine under load.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// Namespaces in which commands run. Dropping this value terminates every process inside; so does the
/// end of this process, which closes the standard input of the first process.
#[derive(Debug)]
pub(crate) struct SandboxHost {
    child: Child,
    first: NamespaceMember,
}

impl SandboxHost {
    /// Creates namespaces with the helper program. Blocks for some milliseconds.
    ///
    /// # Errors
    /// Returns the reason as text.
    pub(crate) fn start(
        helper: &[String],
        view: MountView,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, String> {
        let (program, words) = helper.split_first().ok_or("there is no helper program")?;
        let arguments = HelperArguments {
            task: HelperTask::Host,
            view,
            ..HelperArguments::default()
        };
        let child = Command::new(program)
            .args(words)
            .args(arguments.words())
            .env_clear()
            .envs(environment)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {program}: {error}"))?;
        // Terminates the child if it is not ready.
        let mut starting = Self {
            child,
            first: NamespaceMember {
                pid: 0,
                mounts: String::new(),
            },
        };
        starting.first = starting.wait_until_ready()?;
        Ok(starting)
    }

    /// Whether commands can join.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns the arguments with which the helper joins.
    pub(crate) fn join(&self, unix_sockets: bool) -> Vec<OsString> {
        HelperArguments {
            task: HelperTask::Join(self.first.clone()),
            unix_sockets,
            ..HelperArguments::default()
        }
        .words()
    }

    fn wait_until_ready(&mut self) -> Result<NamespaceMember, String> {
        let output = self.child.stdout.take().ok_or("it has no output")?;
        let mut output = BufReader::new(output);
        let (mut pid, mut line) = (None, String::new());
        while line.trim_end() != READY {
            line.clear();
            if !is_readable(&output)? || output.read_line(&mut line).unwrap_or_default() == 0 {
                return Err(self.reason());
            }
            let number = line.strip_prefix(PID).map(str::trim);
            pid = pid.or_else(|| number?.parse().ok());
        }
        let pid = pid.ok_or("the first process was not reported")?;
        let first = NamespaceMember::of(pid);
        first.map_err(|error| format!("cannot inspect the first process: {error}"))
    }

    /// Returns the message of a helper that has failed.
    fn reason(&mut self) -> String {
        self.end();
        let mut message = String::new();
        if let Some(errors) = &mut self.child.stderr {
            errors.read_to_string(&mut message).unwrap_or_default();
        }
        let message = message.trim();
        match message.strip_prefix("swarm: ").unwrap_or(message) {
            "" => "the helper ended, or did not answer in time".to_owned(),
            message => message.to_owned(),
        }
    }

    fn end(&mut self) {
        // It fails only if the process has ended.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

impl Drop for SandboxHost {
    fn drop(&mut self) {
        self.end();
    }
}

/// The namespaces of an agent, created for its first command.
#[derive(Debug, Default)]
pub(crate) struct HostSlot(Mutex<Option<SandboxHost>>);

impl HostSlot {
    /// Returns the arguments with which a command joins the namespaces.
    ///
    /// # Errors
    /// Returns the reason why they could not be created.
    pub(super) fn join(
        &self,
        unix_sockets: bool,
        start: impl FnOnce() -> Result<SandboxHost, String>,
    ) -> Result<Vec<OsString>, String> {
        let mut slot = self.0.lock();
        if let Some(host) = slot.as_mut()
            && host.is_running()
        {
            return Ok(host.join(unix_sockets));
        }
        Ok(slot.insert(start()?).join(unix_sockets))
    }
}

/// Waits for a line or the end of the output. `false` on timeout.
fn is_readable(output: &BufReader<ChildStdout>) -> Result<bool, String> {
    if !output.buffer().is_empty() {
        return Ok(true);
    }
    let mut polled = [PollFd::new(output.get_ref(), PollFlags::IN)];
    let timeout = Timespec::try_from(START_TIMEOUT).map_err(|error| error.to_string())?;
    match poll(&mut polled, Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(error) => Err(format!("cannot wait for the helper: {error}")),
    }
}
