//! Bind mounts.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount_bind_recursive, mount_remount};

/// Options of a mount that a process without privileges over it must keep when it changes the mount.
const KEPT: [(StatVfsMountFlags, MountFlags); 6] = [
    (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
    (StatVfsMountFlags::NODEV, MountFlags::NODEV),
    (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
    (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
    (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
];

/// A part of a [`MountView`](super::MountView) that could not be mounted.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", .path.display())]
pub struct MountError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// Adds what failed to an error.
pub(super) fn at<E: Into<io::Error>>(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(E) -> MountError {
    move |source| MountError {
        action,
        path: path.to_owned(),
        source: source.into(),
    }
}

/// Mounts a path onto itself: it can no longer be renamed or removed in this mount namespace.
pub(super) fn bind_itself(path: &Path) -> Result<(), MountError> {
    mount_bind_recursive(path, path).map_err(at("mount", path))
}

/// Makes a mount read-only, with additional options.
pub(super) fn lock(path: &Path, flags: MountFlags) -> Result<(), MountError> {
    write_protect(path, flags).map_err(at("write-protect", path))
}

fn write_protect(path: &Path, flags: MountFlags) -> io::Result<()> {
    let all = MountFlags::BIND | MountFlags::RDONLY | flags;
    match mount_remount(path, all, c"") {
        // Options of the original mount cannot be removed.
        Err(Errno::PERM) => {
            let options = statvfs(path)?.f_flag;
            let kept = KEPT.iter().filter(|(option, _)| options.contains(*option));
            let kept = kept.fold(MountFlags::empty(), |all, (_, flag)| all | *flag);
            Ok(mount_remount(path, all | kept, c"")?)
        }
        done => Ok(done?),
    }
}
