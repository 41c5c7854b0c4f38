//! User and group ids in a user namespace (`user_namespaces(7)`).

use std::io;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat};
use rustix::process::{getegid, geteuid};

/// Returns the effective user and group of this process.
pub(super) fn own_ids() -> (u32, u32) {
    (geteuid().as_raw(), getegid().as_raw())
}

/// Maps one user and one group of this process's new user namespace to those of its parent. `own` is
/// the directory of this process in `/proc`, opened before another `/proc` was mounted.
pub(super) fn map_ids(own: &OwnedFd, inner: (u32, u32), outer: (u32, u32)) -> io::Result<()> {
    // Without this, an unprivileged process may not map its group. Inner namespaces inherit it.
    write(own, "setgroups", "deny")?;
    write(own, "uid_map", &format!("{} {} 1", inner.0, outer.0))?;
    write(own, "gid_map", &format!("{} {} 1", inner.1, outer.1))
}

fn write(own: &OwnedFd, name: &str, text: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(own.as_fd(), name, flags, Mode::empty())?;
    // The kernel accepts a map only in one write.
    let written = rustix::io::write(&file, text.as_bytes())?;
    if written == text.len() {
        Ok(())
    } else {
        Err(io::ErrorKind::WriteZero.into())
    }
}
