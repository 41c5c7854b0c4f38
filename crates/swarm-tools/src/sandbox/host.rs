//! The namespaces of an agent, as seen by the agent: they exist as long as this value.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use swarm_os::namespaces::{FixedEntry, NamespaceMember, receive_files};
use swarm_protocol::SandboxNetwork;
use tokio::task::JoinHandle;

use super::arguments::{HelperArguments, HelperTask};
use super::helper_process::{START_TIMEOUT, await_end, message_of, wait_for};
use super::init::{FAILED, READY, send_request};
use super::landlock::limits_ports;
use super::launcher::Launcher;
use super::proxy::{DeniedHost, HostResolver, NetworkAccess, serve};

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
    launcher: Arc<Launcher>,
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
            launcher: Arc::default(),
            proxy: None,
        };
        starting.first = starting.wait_until_ready()?;
        starting.launcher = Arc::new(Launcher::new(helper, starting.joining_arguments()));
        if starting.arguments.network == SandboxNetwork::Proxy {
            let listener = receive_files(&starting.channel);
            let listener = listener.map(|[listener]| TcpListener::from(listener));
            starting.proxy = Some(Proxy::start(listener, access)?);
        }
        Ok(starting)
    }

    /// Whether its commands see and reach the same, except for entries that cannot be changed.
    fn suits(&self, arguments: &HelperArguments) -> bool {
        let (own, other) = (&self.arguments.view, &arguments.view);
        let network = self.arguments.network == arguments.network;
        network
            && self.arguments.unix_sockets == arguments.unix_sockets
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
    pub(crate) fn join(&self) -> Vec<OsString> {
        self.joining_arguments().words()
    }

    fn joining_arguments(&self) -> HelperArguments {
        HelperArguments {
            task: HelperTask::Join(self.first.clone()),
            unix_sockets: self.arguments.unix_sockets,
            ..HelperArguments::default()
        }
    }

    fn joining(&self) -> Joining {
        Joining {
            words: self.join(),
            launcher: Some(Arc::clone(&self.launcher)),
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
        await_end(&mut self.child, &self.channel);
        self.child
            .stderr
            .as_mut()
            .map(message_of)
            .unwrap_or_default()
    }
}

impl Drop for SandboxHost {
    fn drop(&mut self) {
        self.proxy = None;
        await_end(&mut self.child, &self.channel);
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

/// How a command enters a sandbox.
pub(super) struct Joining {
    /// Arguments of the helper.
    pub(super) words: Vec<OsString>,
    /// Starts shell commands in the same way, but faster.
    pub(super) launcher: Option<Arc<Launcher>>,
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
        let mut hosts = self.hosts.lock();
        hosts.retain_mut(SandboxHost::is_running);
        if let Some(host) = hosts.iter_mut().find(|host| host.suits(&arguments)) {
            host.fix(&arguments.view.fixed)?;
            return Ok(host.joining());
        }
        let host = SandboxHost::start(helper, arguments, access)?;
        let joining = host.joining();
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
