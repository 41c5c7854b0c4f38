//! Merges that members on other machines order from the lead.

use std::sync::Arc;

use swarm_supervisor::carry_out_merges;
use tokio::task::AbortHandle;

use super::role::LeadRole;
use crate::role::MemberLoop;

/// Ends the work on orders when dropped. A merge that has begun is completed.
pub(super) struct Merging(AbortHandle);

impl Drop for Merging {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl MemberLoop<LeadRole> {
    /// Begins to carry out merges, if the team is on a hub.
    pub(super) fn carry_out_merges(&self) -> Option<Merging> {
        let parts = &self.role.parts;
        let carrier = Arc::clone(parts.merges.as_ref()?);
        let dep = &parts.spawn_context;
        let team = dep.store.team(parts.team.as_ref()?);
        team.orders()?;
        let task = tokio::spawn(carry_out_merges(team, dep.spawn_id, carrier));
        Some(Merging(task.abort_handle()))
    }
}
