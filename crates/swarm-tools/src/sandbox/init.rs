//! The namespaces of one agent: the process that creates them and their first process.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

use rustix::process::{Signal, WaitOptions, set_parent_process_death_signal, wait};
use swarm_os::namespaces::{
    FixedEntry, FixedMounts, drop_all_privileges, end_processes, enter_new_namespaces, send_files,
    start_loopback,
};
use swarm_protocol::{SANDBOX_HELPER, SandboxNetwork};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};

use super::arguments::{HelperArguments, HelperTask};
use super::error::SandboxError;
use super::message::{encode, receive_words};
use super::runtime::{input_channel, runtime, watch_exit};

/// Line on standard output once commands can join, followed by the pid of the first process.
pub(super) const READY: &str = "ready ";

/// Line on standard output once requested entries are mounted.
pub(super) const DONE: &str = "done";

/// Line on standard output before the reason why entries could not be mounted.
pub(super) const FAILED: &str = "failed ";

/// Creates namespaces, starts their first process, and mounts more entries on request, until the
/// agent ends or this process gets a signal to end. Every process inside ends with the first one.
pub(super) fn host_namespaces(arguments: HelperArguments) -> Result<ExitCode, SandboxError> {
    let error = SandboxError::Namespaces;
    let runtime = runtime().map_err(error)?;
    // From here on, a signal does not end this process before it has removed its placeholders.
    let mut stop = runtime
        .block_on(async { StopSignals::new() })
        .map_err(error)?;
    let mut mounts = FixedMounts::default();
    let served = serve_agent(arguments, &mut mounts, &runtime, &mut stop);
    mounts.remove();
    served
}

/// Signals that end a process in an orderly way.
struct StopSignals([SignalStream; 3]);

impl StopSignals {
    fn new() -> io::Result<Self> {
        Ok(Self([
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
            signal(SignalKind::interrupt())?,
        ]))
    }

    async fn received(&mut self) {
        let [terminate, hangup, interrupt] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}

fn serve_agent(
    mut arguments: HelperArguments,
    mounts: &mut FixedMounts,
    runtime: &Runtime,
    stop: &mut StopSignals,
) -> Result<ExitCode, SandboxError> {
    let error = SandboxError::Namespaces;
    let channel = input_channel().map_err(error)?;
    let fixed = std::mem::take(&mut arguments.view.fixed);
    let mut first = start_first(arguments, &channel)?;
    if let Some(status) = await_first(&mut first).map_err(error)? {
        // It has written the reason to standard error.
        return Ok(ExitCode::from(u8::from(!status.success())));
    }
    mounts.update(&fixed)?;
    tell(&format!("{READY}{}", first.id())).map_err(error)?;
    let served = runtime.block_on(async {
        tokio::select! {
            () = stop.received() => Ok(()),
            served = serve_requests(channel, &first, mounts) => served,
        }
    });
    // Before the first process is reaped: the process that stops this one may not wait for that.
    let ended = end_processes(&mut first);
    std::mem::take(mounts).remove();
    ended.map_err(error)?;
    let status = first.try_wait().map_err(error)?;
    served.map_err(error)?;
    // A signal is the usual end, and without a status it waits for processes to be reaped.
    Ok(match status.and_then(|status| status.code()) {
        None | Some(0) => ExitCode::SUCCESS,
        Some(_) => ExitCode::FAILURE,
    })
}

/// Enters new namespaces and starts their first process.
fn start_first(
    mut arguments: HelperArguments,
    channel: &UnixStream,
) -> Result<Child, SandboxError> {
    let error = SandboxError::Namespaces;
    let program = std::env::current_exe().map_err(error)?;
    let network = arguments.network;
    enter_new_namespaces(network != SandboxNetwork::Open).map_err(error)?;
    if network != SandboxNetwork::Open {
        start_loopback().map_err(error)?;
    }
    if network == SandboxNetwork::Proxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(error)?;
        send_files(channel, &[listener.as_fd()]).map_err(error)?;
    }
    arguments.task = HelperTask::Init;
    let first = Command::new(program)
        .arg(SANDBOX_HELPER)
        .args(arguments.words())
        // Its end is the end of this process.
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(error)?;
    Ok(first)
}

/// Waits until the first process has set up its mounts. Returns how it ended if it could not.
fn await_first(first: &mut Child) -> io::Result<Option<ExitStatus>> {
    let read = match &mut first.stdout {
        Some(output) => output.read(&mut [0])?,
        None => 0,
    };
    if read == 0 {
        first.wait().map(Some)
    } else {
        Ok(None)
    }
}

/// Mounts what the agent requests, until it closes the channel or the first process ends.
async fn serve_requests(
    channel: UnixStream,
    first: &Child,
    mounts: &mut FixedMounts,
) -> io::Result<()> {
    let first = watch_exit(first)?;
    channel.set_nonblocking(true)?;
    let mut channel = tokio::net::UnixStream::from_std(channel)?;
    loop {
        let request = tokio::select! {
            _ = first.readable() => return Ok(()),
            request = receive_request(&mut channel) => request?,
        };
        let Some(fixed) = request else {
            return Ok(());
        };
        match mounts.update(&fixed) {
            Ok(()) => tell(DONE)?,
            Err(error) => tell(&format!("{FAILED}{error}").replace('\n', " "))?,
        }
    }
}

/// Sends entries to the process that holds the namespaces, as arguments of the helper.
pub(super) fn send_request(channel: &mut UnixStream, fixed: Vec<FixedEntry>) -> io::Result<()> {
    let mut arguments = HelperArguments::default();
    arguments.view.fixed = fixed;
    channel.write_all(&encode(arguments.words())?)
}

/// Receives entries. `None` if the agent has ended.
async fn receive_request(
    channel: &mut tokio::net::UnixStream,
) -> io::Result<Option<Vec<FixedEntry>>> {
    let Some(mut words) = receive_words(channel).await? else {
        return Ok(None);
    };
    let arguments = HelperArguments::parse(&mut words).map_err(io::Error::other)?;
    Ok(Some(arguments.view.fixed))
}

/// Sets up the mounts, then waits for the end of standard input: the process that holds the
/// namespaces has ended. Collects processes whose parents have ended.
pub(super) fn be_first_process(given: &HelperArguments) -> Result<ExitCode, SandboxError> {
    // The parent has one thread, so the signal means its end.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| SandboxError::Namespaces(error.into()))?;
    given.view.apply()?;
    drop_all_privileges().map_err(SandboxError::Privileges)?;
    let attended = runtime().and_then(|runtime| runtime.block_on(attend()));
    attended.map_err(SandboxError::Namespaces)?;
    Ok(ExitCode::SUCCESS)
}

async fn attend() -> io::Result<()> {
    let mut children = signal(SignalKind::child())?;
    let input: OwnedFd = rustix::io::dup(io::stdin())?;
    let mut input = pipe::Receiver::from_owned_fd(input)?;
    tell(DONE)?;
    let mut byte = [0];
    loop {
        tokio::select! {
            read = input.read(&mut byte) => if read? == 0 { return Ok(()); },
            _ = children.recv() => while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {},
        }
    }
}

/// Writes one line to standard output, which the agent reads.
fn tell(line: &str) -> io::Result<()> {
    let mut output = io::stdout();
    output.write_all(format!("{line}\n").as_bytes())?;
    output.flush()
}
