//! A process of the helper that ends when its channel is closed.

use std::io::Read;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// How long the start of a helper or a command may take, for a machine under load.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(20);

/// How long the end may take. The helper only stops processes and removes placeholders.
pub(super) const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Lets a helper end, and waits for that.
pub(super) fn await_end(child: &mut Child, channel: &UnixStream) {
    channel.shutdown(Shutdown::Both).unwrap_or_default();
    if !ends(Pid::from_child(child)) {
        child.kill().unwrap_or_default();
    }
    child.wait().map(drop).unwrap_or_default();
}

/// Waits until a child that was not reaped has exited. `false` on timeout.
pub(super) fn ends(child: Pid) -> bool {
    let process = pidfd_open(child, PidfdFlags::empty());
    process.is_ok_and(|process| matches!(wait_for(&process, END_TIMEOUT), Ok(true)))
}

/// Returns the message of a helper that has failed and ends.
pub(super) fn message_of(errors: &mut impl Read) -> String {
    let mut message = String::new();
    errors.read_to_string(&mut message).unwrap_or_default();
    let message = message.trim();
    match message.strip_prefix("swarm: ").unwrap_or(message) {
        "" => "the helper ended, or did not answer in time".to_owned(),
        message => message.to_owned(),
    }
}

/// Waits until a file is readable. `false` on timeout.
pub(super) fn wait_for(file: impl AsFd, timeout: Duration) -> Result<bool, String> {
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
