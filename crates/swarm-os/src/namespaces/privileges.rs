//! Capabilities (`capabilities(7)`) of sandboxed processes.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};

/// What root keeps in a sandbox: rights over files and users, as in a container. Nothing here mounts,
/// inspects processes, opens devices or bypasses the mounts (`DAC_READ_SEARCH` would, by file handles).
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    // Without it, root cannot map itself into a user namespace, as sandboxes of other programs do.
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Drops every capability of this process that concerns the system, also for the programs that it
/// executes. In a user namespace (`namespaced`) none is left.
///
/// # Errors
/// Fails if the process may not change its capabilities.
pub fn drop_system_privileges(namespaced: bool) -> io::Result<()> {
    let kept = if namespaced {
        CapabilitySet::empty()
    } else {
        KEPT
    };
    set(capabilities(None)?.permitted.intersection(kept))?;
    // The bounding set stays: without new privileges, a program has at most those of its starter, even
    // one of root (`cap_bprm_creds_from_file` in the kernel).
    Ok(set_no_new_privs(true)?)
}

/// Drops all capabilities of this process, which executes nothing any more.
///
/// # Errors
/// Fails if the process may not change its capabilities.
pub fn drop_all_privileges() -> io::Result<()> {
    set(CapabilitySet::empty())?;
    Ok(set_no_new_privs(true)?)
}

fn set(permitted: CapabilitySet) -> io::Result<()> {
    let sets = CapabilitySets {
        effective: permitted,
        permitted,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, sets)?)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_program_does_not_regain_privileges_of_root() {
        let dropped = std::thread::spawn(|| {
            drop_system_privileges(false).unwrap();
            let output = Command::new("cat").arg("/proc/self/status").output();
            String::from_utf8(output.unwrap().stdout).unwrap()
        });
        let status = dropped.join().unwrap();
        for set in ["CapPrm:", "CapEff:"] {
            let line = status.lines().find_map(|line| line.strip_prefix(set));
            let found = u64::from_str_radix(line.unwrap().trim(), 16).unwrap();
            assert_eq!(found & !KEPT.bits(), 0, "{status}");
        }
    }
}
