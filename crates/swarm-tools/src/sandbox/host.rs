//! The namespaces of an agent, as seen by the agent: they exist as long as this value.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use swarm_os::namespaces::{FixedEntry, NamespaceMember, receive_socket};
use swarm_protocol::SandboxNetwork;
use tokio::task::JoinHandle;

use super::arguments::{HelperArguments, HelperTask};
use super::init::{FAILED, READY, send_request};
use super::landlock::limits_ports;
use super::proxy::{DeniedHost, HostResolver, NetworkAccess, serve};

/// How long the start may take, for a machine under load.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// How long the end may take. The helper only stops processes and removes placeholders.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Namespaces in which commands run. Dropping this value terminates every process inside; so does the
/// end of this process, which closes the channel.
#[derive(Debug)]
pub(crate) struct SandboxHost {
    child: Child,
    /// The helper's standard output.
    answers: BufReader<ChildStdout>,
    /// The other end is the helper's standard input.
    channel: UnixStream,
    /// What it was created with.
    arguments: HelperArguments,
    first: NamespaceMember,
    proxy: Option<Proxy>,
}

/// The proxy of an agent's commands.
#[derive(Debug)]
struct Proxy {
    port: u16,
    server: JoinHandle<()>,
}

impl Proxy {
    /// Serves the connections of a listener.
    ///
    /// # Errors
    /// Returns the reason as text.
    fn start(
        listener: io::Result<TcpListener>,
        access: &Arc<NetworkAccess>,
    ) -> Result<Self, String> {
        let started = listener.and_then(|listener| Self::serve(listener, access));
        started.map_err(|error| format!("cannot start the proxy: {error}"))
    }

    fn serve(listener: TcpListener, access: &Arc<NetworkAccess>) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let server = tokio::spawn(serve(listener, Arc::clone(access)));
        Ok(Self { port, server })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
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
        let mut child = Command::new(program)
            .args(words)
            .args(arguments.words())
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(input))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {program}: {error}"))?;
        let answers = BufReader::new(child.stdout.take().ok_or("it has no output")?);
        // Terminates the child if it is not ready.
        let mut starting = Self {
            child,
            answers,
            channel,
            arguments,
            first: NamespaceMember {
                pid: 0,
                mounts: String::new(),
            },
            proxy: None,
        };
        starting.first = starting.wait_until_ready()?;
        if starting.arguments.network == SandboxNetwork::Proxy {
            let listener = receive_socket(&starting.channel).map(TcpListener::from);
            starting.proxy = Some(Proxy::start(listener, access)?);
        }
        Ok(starting)
    }

    /// Whether its commands see and reach the same, except for entries that cannot be changed.
    fn suits(&self, arguments: &HelperArguments) -> bool {
        let (own, other) = (&self.arguments.view, &arguments.view);
        let network = self.arguments.network == arguments.network;
        network
            && own.writable == other.writable
            && own.hidden == other.hidden
            && own.shown == other.shown
            && own.replaced == other.replaced
    }

    /// Makes entries unchangeable that are not yet, or have been replaced from outside.
    ///
    /// # Errors
    /// Returns the reason as text.
    fn fix(&mut self, fixed: &[FixedEntry]) -> Result<(), String> {
        let sent = send_request(&mut self.channel, fixed.to_vec());
        sent.map_err(|error| error.to_string())?;
        let line = self.answer()?;
        if let Some(why) = line.strip_prefix(FAILED) {
            let why = why.trim_end();
            return Err(format!(
                "{why}; if that lasts, move this file or directory away"
            ));
        }
        Ok(())
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

    fn joining(&self, unix_sockets: bool) -> Joining {
        Joining {
            words: self.join(unix_sockets),
            proxy: self.proxy.as_ref().map(|proxy| proxy.port),
        }
    }

    /// Returns the next line of the helper, or why there is none.
    fn answer(&mut self) -> Result<String, String> {
        let mut line = String::new();
        let output = &mut self.answers;
        if !is_readable(output)? || output.read_line(&mut line).unwrap_or_default() == 0 {
            return Err(self.reason());
        }
        Ok(line)
    }

    fn wait_until_ready(&mut self) -> Result<NamespaceMember, String> {
        let line = self.answer()?;
        let pid = line.strip_prefix(READY).map(str::trim);
        let pid = pid.and_then(|pid| pid.parse().ok());
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

    /// Lets the helper end, which removes its placeholders, and waits for that.
    fn end(&mut self) {
        self.channel.shutdown(Shutdown::Both).unwrap_or_default();
        let process = Pid::from_child(&self.child);
        let process = pidfd_open(process, PidfdFlags::empty());
        let has_ended =
            process.is_ok_and(|process| matches!(wait_for(&process, END_TIMEOUT), Ok(true)));
        if !has_ended {
            self.child.kill().unwrap_or_default();
        }
        self.child.wait().map(drop).unwrap_or_default();
    }
}

impl Drop for SandboxHost {
    fn drop(&mut self) {
        self.proxy = None;
        self.end();
    }
}

/// The namespaces of an agent, created for its first command. A command that sees something else, for
/// example after the agent has entered a worktree, gets others; earlier commands keep theirs.
#[derive(Debug, Default)]
pub(crate) struct HostSlot {
    hosts: Mutex<Vec<SandboxHost>>,
    /// The proxy of commands without namespaces.
    outside: Mutex<Option<Proxy>>,
    access: OnceLock<Arc<NetworkAccess>>,
    /// Resolves names in place of this machine.
    resolver: Option<Arc<dyn HostResolver>>,
}

/// How a command enters the sandbox.
pub(super) struct Joining {
    /// Arguments of the helper.
    pub(super) words: Vec<OsString>,
    /// Port of the proxy on the command's loopback address, if there is one.
    pub(super) proxy: Option<u16>,
}

impl HostSlot {
    pub(crate) fn with_resolver(resolver: Arc<dyn HostResolver>) -> Self {
        Self {
            resolver: Some(resolver),
            ..Self::default()
        }
    }

    /// Returns how a command joins namespaces in which all of `arguments` holds, after creating them
    /// if there are none. Blocks for some milliseconds in that case.
    ///
    /// # Errors
    /// Returns the reason why they could not be created.
    pub(super) fn join(
        &self,
        helper: &[String],
        arguments: HelperArguments,
        access: &Arc<NetworkAccess>,
    ) -> Result<Joining, String> {
        let unix_sockets = arguments.unix_sockets;
        let mut hosts = self.hosts.lock();
        hosts.retain_mut(SandboxHost::is_running);
        if let Some(host) = hosts.iter_mut().find(|host| host.suits(&arguments)) {
            host.fix(&arguments.view.fixed)?;
            return Ok(host.joining(unix_sockets));
        }
        let host = SandboxHost::start(helper, arguments, access)?;
        let joining = host.joining(unix_sockets);
        hosts.push(host);
        Ok(joining)
    }

    /// Returns the port of a proxy on the loopback address of this machine, for commands without
    /// namespaces. `None` if the kernel cannot limit their connections to it.
    ///
    /// # Errors
    /// Returns the reason why it could not be started.
    pub(super) fn proxy_outside(&self, access: &Arc<NetworkAccess>) -> Result<Option<u16>, String> {
        let mut proxy = self.outside.lock();
        if proxy.is_none() && limits_ports() {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
            *proxy = Some(Proxy::start(listener, access)?);
        }
        Ok(proxy.as_ref().map(|proxy| proxy.port))
    }

    /// Returns the decisions about hosts, which permit these patterns from the start.
    pub(super) fn access(&self, patterns: &[String]) -> &Arc<NetworkAccess> {
        let create = || Arc::new(NetworkAccess::new(patterns, self.resolver.clone()));
        self.access.get_or_init(create)
    }

    /// Takes the hosts that were denied since the last call.
    pub(crate) fn take_denied(&self) -> Vec<DeniedHost> {
        let access = self.access.get();
        access.map_or_else(Vec::new, |access| access.take_denied())
    }
}

/// Waits for a line or the end of the output. `false` on timeout.
fn is_readable(output: &BufReader<ChildStdout>) -> Result<bool, String> {
    if !output.buffer().is_empty() {
        return Ok(true);
    }
    wait_for(output.get_ref(), START_TIMEOUT)
}

fn wait_for(file: impl AsFd, timeout: Duration) -> Result<bool, String> {
    let began = Instant::now();
    loop {
        let mut polled = [PollFd::new(&file, PollFlags::IN)];
        let left = Timespec::try_from(timeout.saturating_sub(began.elapsed()));
        let left = left.map_err(|error| error.to_string())?;
        match poll(&mut polled, Some(&left)) {
            Ok(ready) => return Ok(ready > 0),
            // A signal of this process, such as the end of another child.
            Err(Errno::INTR) => {}
            Err(error) => return Err(format!("cannot wait for the helper: {error}")),
        }
    }
}
