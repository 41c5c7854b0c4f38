//! The namespaces of one agent: the process that creates them and their first process.

use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode};

use rustix::process::{Signal, WaitOptions, set_parent_process_death_signal, wait};
use swarm_os::namespaces::{
    drop_all_privileges, enter_new_namespaces, send_socket, start_loopback,
};
use swarm_protocol::{SANDBOX_HELPER, SandboxNetwork};
use tokio::io::AsyncReadExt as _;
use tokio::signal::unix::{SignalKind, signal};

use super::arguments::{HelperArguments, HelperTask};
use super::error::SandboxError;

/// Line on standard output before the pid of the first process.
pub(super) const PID: &str = "pid ";

/// Line on standard output once commands can join.
pub(super) const READY: &str = "ready";

/// Creates namespaces, starts their first process and waits for its end. Every process inside ends
/// with it.
pub(super) fn host_namespaces(mut arguments: HelperArguments) -> Result<ExitCode, SandboxError> {
    let program = std::env::current_exe().map_err(SandboxError::Namespaces)?;
    enter_new_namespaces(arguments.network != SandboxNetwork::Open)
        .map_err(SandboxError::Namespaces)?;
    arguments.task = HelperTask::Init;
    let started = Command::new(program)
        .arg(SANDBOX_HELPER)
        .args(arguments.words())
        .spawn();
    let mut first = started.map_err(SandboxError::Namespaces)?;
    tell(&format!("{PID}{}", first.id())).map_err(SandboxError::Namespaces)?;
    let status = first.wait().map_err(SandboxError::Namespaces)?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Sets up the mounts, then waits for the end of standard input: the agent has ended. Collects
/// processes whose parents have ended.
pub(super) fn be_first_process(given: &HelperArguments) -> Result<ExitCode, SandboxError> {
    // The parent has one thread, so the signal means its end.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| SandboxError::Namespaces(error.into()))?;
    given.view.apply()?;
    let error = SandboxError::Namespaces;
    if given.network != SandboxNetwork::Open {
        start_loopback().map_err(error)?;
    }
    if given.network == SandboxNetwork::Proxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(error)?;
        send_socket(std::io::stdin(), &listener).map_err(error)?;
    }
    drop_all_privileges().map_err(SandboxError::Privileges)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build();
    let runtime = runtime.map_err(SandboxError::Namespaces)?;
    runtime
        .block_on(attend())
        .map_err(SandboxError::Namespaces)?;
    Ok(ExitCode::SUCCESS)
}

async fn attend() -> std::io::Result<()> {
    let mut children = signal(SignalKind::child())?;
    let input = UnixStream::from(rustix::io::dup(std::io::stdin())?);
    input.set_nonblocking(true)?;
    let mut input = tokio::net::UnixStream::from_std(input)?;
    tell(READY)?;
    let mut byte = [0];
    loop {
        tokio::select! {
            read = input.read(&mut byte) => if read? == 0 { return Ok(()); },
            _ = children.recv() => while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {},
        }
    }
}

/// Writes one line to standard output, which the agent reads.
fn tell(line: &str) -> std::io::Result<()> {
    let mut output = std::io::stdout();
    output.write_all(format!("{line}\n").as_bytes())?;
    output.flush()
}
