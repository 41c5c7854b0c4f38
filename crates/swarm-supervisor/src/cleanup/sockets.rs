//! Sockets of swarm's own tmux servers that nobody listens to any more.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use swarm_panes::is_own_socket;

/// The sockets of own servers in a folder, whether or not their server runs.
pub(super) fn own_sockets(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut sockets: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| is_own_socket(path))
        .collect();
    sockets.sort();
    sockets
}

/// Those whose server has ended: the kernel refuses to connect.
pub fn dead_sockets(folder: &Path) -> Vec<PathBuf> {
    let mut sockets = own_sockets(folder);
    sockets.retain(|socket| {
        UnixStream::connect(socket).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    });
    sockets
}
