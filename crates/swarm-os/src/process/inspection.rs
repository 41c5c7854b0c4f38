//! Protection of this process from inspection by other processes of the same user.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Makes this process non-dumpable (`PR_SET_DUMPABLE` in `prctl(2)`): processes without
/// `CAP_SYS_PTRACE` can no longer read its environment, memory, working directory, open files and
/// namespaces in `/proc/PID`, and cannot attach a debugger. `stat`, `status` and the arguments
/// remain readable. Programs that it starts are dumpable again after `exec`. The process can then
/// no longer be found by a mark in its environment, so its pid and start time must be recorded.
pub fn forbid_inspection() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "could not protect this process from inspection: other processes can read its memory");
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use rustix::process::dumpable_behavior;

    use super::*;

    #[test]
    fn a_protected_process_is_not_dumpable_and_its_children_are() {
        forbid_inspection();
        assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
        // The files in `/proc` of a process that is not dumpable belong to root and its group.
        let mut shell = Command::new("sh");
        if rustix::process::getuid().is_root() {
            shell.gid(65534);
        }
        let shell = shell.args(["-c", "test -O /proc/$$/environ && test -G /proc/$$/environ"]);
        assert!(shell.status().unwrap().success());
    }
}
