//! Closing this process to others of the same user.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Closes this process to every other process without `CAP_SYS_PTRACE`: environment, memory, working directory, open
/// files and namespaces in `/proc/PID` cannot be read any more, and no debugger attaches. `stat`, `status` and the
/// arguments stay readable. What it starts is open again after its exec (`PR_SET_DUMPABLE` in `prctl(2)`).
///
/// From then on a mark in its environment finds it no more, so its pid and start time must be on file.
pub fn forbid_inspection() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "other processes can read the memory of this one");
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use rustix::process::dumpable_behavior;

    use super::*;

    #[test]
    fn a_process_is_closed_and_what_it_starts_is_open() {
        forbid_inspection();
        assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
        // Files in `/proc` of a closed process belong to root and its group.
        let mut shell = Command::new("sh");
        if rustix::process::getuid().is_root() {
            shell.gid(65534);
        }
        let shell = shell.args(["-c", "test -O /proc/$$/environ && test -G /proc/$$/environ"]);
        assert!(shell.status().unwrap().success());
    }
}
