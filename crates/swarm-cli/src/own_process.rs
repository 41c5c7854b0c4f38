//! The version and the identity of this process.

use swarm_os::process::pid_space;
use swarm_store::process::start_time;
use swarm_supervisor::ProcessIdentity;

/// Version of the program; parent and child must match.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn identity() -> ProcessIdentity {
    let pid = std::process::id();
    ProcessIdentity {
        pid,
        start: start_time(pid).unwrap_or_default(),
        host: host_name(),
        pid_space: pid_space(),
    }
}

pub(crate) fn host_name() -> String {
    let machine = rustix::system::uname();
    machine.nodename().to_string_lossy().into_owned()
}
