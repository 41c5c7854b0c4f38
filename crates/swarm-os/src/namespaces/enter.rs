//! Creating and joining namespaces.

use std::fs;
use std::io;
use std::path::PathBuf;

use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::{
    CapabilitySet, ThreadNameSpaceType, UnshareFlags, capabilities, move_into_thread_name_spaces,
};

use super::ids::{map_ids, own_ids};

/// Namespaces that are always new.
const OWN: ThreadNameSpaceType = ThreadNameSpaceType::MOUNT
    .union(ThreadNameSpaceType::PROCESS_ID)
    .union(ThreadNameSpaceType::INTER_PROCESS_COMMUNICATION);

/// Namespaces that may be those of the process that joins, by their names in `/proc/PID/ns`.
const SHARED: [(&str, ThreadNameSpaceType); 2] = [
    ("user", ThreadNameSpaceType::USER),
    ("net", ThreadNameSpaceType::NETWORK),
];

/// A process inside namespaces that others can join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceMember {
    /// Process id, as seen by the process that joins.
    pub pid: i32,
    /// Its mount namespace, `mnt:[inode]`: recognizes another process that got the pid later.
    pub mounts: String,
}

impl NamespaceMember {
    /// Describes a running process.
    ///
    /// # Errors
    /// Fails if the process does not exist or cannot be inspected.
    pub fn of(pid: i32) -> io::Result<Self> {
        let mounts = namespace_of(&pid.to_string(), "mnt")?;
        let mounts = mounts.to_string_lossy().into_owned();
        Ok(Self { pid, mounts })
    }
}

/// Moves this process into new namespaces for mounts and IPC, with `network` also into one without
/// any network, and its next child into a new one for processes. A process without privileges also
/// gets a user namespace in which it is root, so that it may do this.
///
/// # Errors
/// Fails if the kernel or the container does not permit namespaces.
pub fn enter_new_namespaces(network: bool) -> io::Result<()> {
    let mut kinds = UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC;
    if network {
        kinds |= UnshareFlags::NEWNET;
    }
    if !capabilities(None)?
        .effective
        .contains(CapabilitySet::SYS_ADMIN)
    {
        let (user, group) = own_ids();
        let own = own_process()?;
        unshare(UnshareFlags::NEWUSER)?;
        map_ids(&own, (0, 0), (user, group))?;
    }
    unshare(kinds)?;
    // Otherwise the mounts made here would appear outside.
    let propagation = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    Ok(mount_change("/", propagation)?)
}

/// Opens this process's directory in `/proc`, which is not reachable by its path once the process is
/// in other namespaces.
fn own_process() -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(openat(CWD, "/proc/self", flags, Mode::empty())?)
}

/// Moves this process into the namespaces of another one, and its next child into that one's process
/// namespace. Keeps the path of the working directory and the user id. Returns whether this includes
/// a user namespace.
///
/// # Errors
/// Fails if the process has ended or its namespaces cannot be joined, and with `NotFound` if the
/// working directory does not exist there.
pub fn join_namespaces(member: &NamespaceMember) -> io::Result<bool> {
    let pid = Pid::from_raw(member.pid).ok_or(io::ErrorKind::InvalidInput)?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    // The pidfd is older than this check, so it cannot refer to a later process.
    if NamespaceMember::of(member.pid)? != *member {
        return Err(io::ErrorKind::NotFound.into());
    }
    let directory = std::env::current_dir()?;
    let mut kinds = OWN;
    for (name, kind) in SHARED {
        // Joining a namespace of another owner again would need privileges.
        if namespace_of("self", name)? != namespace_of(&member.pid.to_string(), name)? {
            kinds |= kind;
        }
    }
    let other_user = kinds.contains(ThreadNameSpaceType::USER);
    let own = other_user.then(own_process).transpose()?;
    let (user, group) = own_ids();
    move_into_thread_name_spaces(process.as_fd(), kinds)?;
    std::env::set_current_dir(directory)?;
    if let Some(own) = own {
        // In a namespace of its own, the process has its usual user id instead of root's, and no
        // rights over the mounts, which belong to the outer one.
        unshare(UnshareFlags::NEWUSER)?;
        map_ids(&own, (user, group), (0, 0))?;
    }
    Ok(other_user)
}

fn namespace_of(process: &str, kind: &str) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/{kind}"))
}

#[expect(
    deprecated,
    reason = "the newer form is unsafe because of CLONE_FILES, which is not used here"
)]
fn unshare(kinds: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(kinds)?)
}
