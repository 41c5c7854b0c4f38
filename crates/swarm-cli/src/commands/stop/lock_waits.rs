//! Limits of the waits for locks in a command that stops members immediately.

use std::time::{Duration, Instant};

use swarm_os::LockInterrupt;
use swarm_store::Team;
use swarm_supervisor::SpawnContext;

/// How long such a command waits for other processes of swarm, which may themselves wait for another
/// program while they hold further locks. Enough to remove all members of a large team from its roster.
const RECORDING: Duration = Duration::from_secs(5);

/// Limits the waits, once the members have had `patience` to stop. Locks of other programs are waited
/// for only briefly.
pub(super) fn limit(context: &mut SpawnContext, team: &dyn Team, patience: Duration) {
    let interrupt = LockInterrupt::default();
    interrupt.hurry();
    let end = Instant::now().checked_add(patience.saturating_add(RECORDING));
    // A hub has no such locks, and its answers may take longer.
    if let Some(end) = end.filter(|_| !team.is_remote()) {
        interrupt.interrupt_at(end);
    }
    context.store = context.store.with_lock_interrupt(&interrupt);
}
