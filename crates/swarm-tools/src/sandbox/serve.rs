//! The helper that starts an agent's commands. They inherit its restrictions, so that none of them
//! has to set them up.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use swarm_os::namespaces::receive_files;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::UnixStream;
use tokio_util::task::TaskTracker;

use super::error::SandboxError;
use super::message::receive_words;
use super::request::{encode_answer, from_words};
use super::runtime::{input_channel, runtime, watch_exit};

/// Starts the commands that the agent requests on standard input until it closes it, and waits for
/// them.
pub(super) fn serve_commands() -> Result<ExitCode, SandboxError> {
    let served = runtime().and_then(|runtime| runtime.block_on(serve()));
    served.map_err(SandboxError::Requests)?;
    Ok(ExitCode::SUCCESS)
}

async fn serve() -> io::Result<()> {
    let mut channel = asynchronous(input_channel()?)?;
    let commands = TaskTracker::new();
    let served = start_requested(&mut channel, &commands).await;
    // After an error, the agent gets another helper.
    drop(channel);
    // The agent may have given up in the middle of a request, but still waits for earlier commands.
    commands.close();
    commands.wait().await;
    served
}

async fn start_requested(channel: &mut UnixStream, commands: &TaskTracker) -> io::Result<()> {
    while let Some([input, output, errors, report]) = receive(channel).await? {
        let words = receive_words(channel).await?;
        let command = words.and_then(from_words);
        let mut command = command.ok_or(io::ErrorKind::InvalidData)?;
        command.stdin(input).stdout(output).stderr(errors);
        let mut report = StdUnixStream::from(report);
        report.set_nonblocking(true)?;
        if matches!(io::Read::read(&mut report, &mut [0]), Ok(0)) {
            // The agent has waited for too long.
            continue;
        }
        let report = asynchronous(report)?;
        commands.spawn(attend(start(command), report));
    }
    Ok(())
}

/// Receives the files of a request: the standard streams of its command, and a socket for answers.
/// `None` if the agent has closed the channel.
async fn receive(channel: &UnixStream) -> io::Result<Option<[OwnedFd; 4]>> {
    loop {
        channel.readable().await?;
        match channel.try_io(Interest::READABLE, || receive_files(channel)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            received => return received.map(Some),
        }
    }
}

/// Starts a command in a new process group, and closes its files here.
fn start(mut command: Command) -> io::Result<Child> {
    command.process_group(0).spawn()
}

/// Reports whether a command was started, and its exit status. Reaps it after the agent has closed
/// its side or ended: until then, the agent may signal its process group, whose number must not be
/// reused. Kills a command for which the agent does not wait any more.
async fn attend(started: io::Result<Child>, mut report: UnixStream) {
    let answer = encode_answer(started.as_ref().map(Pid::from_child));
    // The agent may be gone, or not interested any more.
    report.write_all(&answer).await.unwrap_or_default();
    let Ok(mut child) = started else { return };
    let mut nothing = [0];
    let exited = tokio::select! {
        exited = exit_status(&child) => exited,
        _ = report.read(&mut nothing) => {
            kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap_or_default();
            exit_status(&child).await
        }
    };
    let Ok(status) = exited else { return };
    let status = status.to_ne_bytes();
    report.write_all(&status).await.unwrap_or_default();
    report.read(&mut nothing).await.unwrap_or_default();
    child.wait().map(drop).unwrap_or_default();
}

/// Waits until a child has exited, without reaping it. Returns its status in the form of `wait(2)`.
async fn exit_status(child: &Child) -> io::Result<i32> {
    let exit = watch_exit(child)?;
    exit.readable().await?.retain_ready();
    let process = WaitId::Pid(Pid::from_child(child));
    let status = waitid(process, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
    let status = status.ok_or(io::ErrorKind::NotFound)?;
    let exited = status.exit_status().map(|code| (code & 0xff) << 8);
    let killed = status.terminating_signal();
    exited
        .or(killed)
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn asynchronous(socket: StdUnixStream) -> io::Result<UnixStream> {
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsFd as _;

    use swarm_os::namespaces::send_files;

    use super::super::message::encode;
    use super::super::request::to_words;
    use super::*;

    #[tokio::test]
    async fn a_command_for_which_nobody_waits_any_more_is_not_started() {
        let (mut agent, channel) = StdUnixStream::pair().unwrap();
        let (ours, theirs) = StdUnixStream::pair().unwrap();
        drop(ours);
        let nothing = std::fs::File::open("/dev/null").unwrap();
        let stream = nothing.as_fd();
        send_files(&agent, &[stream, stream, stream, theirs.as_fd()]).unwrap();
        let request = encode(to_words(&Command::new("true"))).unwrap();
        agent.write_all(&request).unwrap();
        drop((agent, theirs));
        let commands = TaskTracker::new();
        let mut channel = asynchronous(channel).unwrap();
        start_requested(&mut channel, &commands).await.unwrap();
        assert!(commands.is_empty());
    }

    #[tokio::test]
    async fn a_command_for_which_nobody_waits_is_killed_and_reaped() {
        let mut command = Command::new("sleep");
        command.arg("1000");
        let started = start(command).unwrap();
        let id = started.id();
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(ours);
        attend(Ok(started), theirs).await;
        let process = std::path::PathBuf::from(format!("/proc/{id}"));
        assert!(!process.exists());
    }
}
