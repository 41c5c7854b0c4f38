//! Capabilities (`capabilities(7)`) of sandboxed processes.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
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
    let permitted = capabilities(None)?.permitted;
    for capability in permitted.difference(kept).iter() {
        remove_capability_from_bounding_set(capability)?;
    }
    set(permitted.intersection(kept))?;
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
