//! The namespaces of an agent, as seen by the agent: they exist as long as this value.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use swarm_os::namespaces::{NamespaceMember, receive_socket};
use swarm_protocol::SandboxNetwork;
use tokio::task::JoinHandle;

use super::arguments::{HelperArguments, HelperTask};
use super::init::{PID, READY};
use super::proxy::{NetworkAccess, serve};

/// How long the start may take, for a machine under load.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// Namespaces in which commands run. Dropping this value terminates every process inside; so does the
/// end of this process, which closes the standard input of the first process.
#[derive(Debug)]
pub(crate) struct SandboxHost {
    child: Child,
    /// The other end is the standard input of the first process.
    channel: UnixStream,
    first: NamespaceMember,
    proxy: Option<Proxy>,
}

/// The proxy of an agent's commands.
#[derive(Debug)]
struct Proxy {
    port: u16,
    server: JoinHandle<()>,
}

impl SandboxHost {
    /// Creates namespaces with the helper program. Blocks for some milliseconds.
    ///
    /// # Errors
    /// Returns the reason as text.
    pub(super) fn start(
        helper: &[String],
        mut arguments: HelperArguments,
        access: &Arc<NetworkAccess>,
    ) -> Result<Self, String> {
        let (program, words) = helper.split_first().ok_or("there is no helper program")?;
        arguments.task = HelperTask::Host;
        let (channel, input) = UnixStream::pair().map_err(|error| error.to_string())?;
        let child = Command::new(program)
            .args(words)
            .args(arguments.words())
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(input))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {program}: {error}"))?;
        // Terminates the child if it is not ready.
        let mut starting = Self {
            child,
            channel,
            first: NamespaceMember {
                pid: 0,
                mounts: String::new(),
            },
            proxy: None,
        };
        starting.first = starting.wait_until_ready()?;
        if arguments.network == SandboxNetwork::Proxy {
            let proxy = starting.start_proxy(access);
            starting.proxy =
                Some(proxy.map_err(|error| format!("cannot start the proxy: {error}"))?);
        }
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

    /// Returns the port of the proxy on the loopback address inside, if there is one.
    fn proxy_port(&self) -> Option<u16> {
        self.proxy.as_ref().map(|proxy| proxy.port)
    }

    fn start_proxy(&self, access: &Arc<NetworkAccess>) -> io::Result<Proxy> {
        let listener = TcpListener::from(receive_socket(&self.channel)?);
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let server = tokio::spawn(serve(listener, Arc::clone(access)));
        Ok(Proxy { port, server })
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
        if let Some(proxy) = &self.proxy {
            proxy.server.abort();
        }
        self.end();
    }
}

/// The namespaces of an agent, created for its first command.
#[derive(Debug, Default)]
pub(crate) struct HostSlot {
    host: Mutex<Option<SandboxHost>>,
    access: OnceLock<Arc<NetworkAccess>>,
}

/// How a command joins namespaces.
pub(super) struct Joining {
    /// Arguments of the helper.
    pub(super) words: Vec<OsString>,
    /// Port of the proxy.
    pub(super) proxy: Option<u16>,
}

impl HostSlot {
    /// Returns how a command joins the namespaces, after creating them if there are none.
    ///
    /// # Errors
    /// Returns the reason why they could not be created.
    pub(super) fn join(
        &self,
        unix_sockets: bool,
        start: impl FnOnce() -> Result<SandboxHost, String>,
    ) -> Result<Joining, String> {
        let mut slot = self.host.lock();
        let mut running = slot.take();
        let host = match running.take_if(SandboxHost::is_running) {
            Some(host) => slot.insert(host),
            None => slot.insert(start()?),
        };
        Ok(Joining {
            words: host.join(unix_sockets),
            proxy: host.proxy_port(),
        })
    }

    /// Returns the decisions about hosts, which permit these patterns from the start.
    pub(super) fn access(&self, patterns: &[String]) -> &Arc<NetworkAccess> {
        let create = || Arc::new(NetworkAccess::new(patterns));
        self.access.get_or_init(create)
    }

    /// Takes the hosts that were denied since the last call.
    pub(crate) fn take_denied(&self) -> Vec<String> {
        let access = self.access.get();
        access.map_or_else(Vec::new, |access| access.take_denied())
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
