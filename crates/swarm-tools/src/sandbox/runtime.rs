//! Waiting in the roles of the helper that have one thread, which namespaces require.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Runtime;

/// Creates a runtime without other threads.
pub(super) fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
}

/// Returns a file that is readable once a child has exited.
pub(super) fn watch_exit(child: &Child) -> io::Result<AsyncFd<OwnedFd>> {
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    #[expect(
        deprecated,
        reason = "the newer form is unsafe because of other types; an `OwnedFd` stays open"
    )]
    AsyncFd::with_interest(process, Interest::READABLE)
}

/// Returns the socket that is the standard input of this process. Programs that it starts do not
/// inherit it.
pub(super) fn input_channel() -> io::Result<UnixStream> {
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}
