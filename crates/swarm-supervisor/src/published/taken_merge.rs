//! Merges that members on other machines have ordered, in the process of the lead.

use std::collections::BTreeSet;
use std::sync::Arc;

use swarm_os::Liveness;
use swarm_protocol::{OrderId, OrderOutcome, OrderState, SpawnId, TaskStatus};
use swarm_store::{Actor, Orders, StoreError, TaskChange, Team};
use tokio::task::JoinSet;

use super::merge_order::{MergeOrder, MergeReply};

/// Carries out merges on the machine of a lead.
pub trait MergeCarrier: Send + Sync {
    /// Merges the published branch of a member, while the order is valid ([`TakenMerge::why_void`]).
    /// Blocks.
    fn merge(&self, taken: &TakenMerge) -> MergeReply;
}

/// A merge that this process has taken.
#[derive(Debug, Clone)]
pub struct TakenMerge {
    /// The team.
    pub team: Arc<dyn Team>,
    /// What is merged.
    pub merge: MergeOrder,
    orders: Orders,
    id: OrderId,
    by: SpawnId,
}

impl TakenMerge {
    /// Returns why the merge may not continue: the member has withdrawn its order or does not run
    /// any more.
    ///
    /// # Errors
    /// [`StoreError`] if the task cannot be completed, or the team cannot be read.
    pub async fn why_void(&self) -> Result<Option<String>, StoreError> {
        let MergeOrder {
            member,
            spawn,
            task,
            ..
        } = &self.merge;
        let order = self.orders.order(self.id).await?;
        if order.is_none_or(|order| order.state != OrderState::Taken(self.by)) {
            return Ok(Some(format!("{member} has withdrawn its order to merge")));
        }
        if self.team.lease(member).await? != Liveness::Alive {
            return Ok(Some(format!("{member} is not running any more")));
        }
        let by = Actor::member(self.team.name(), member.clone(), Some(*spawn));
        let change = TaskChange::from(TaskStatus::Completed);
        match self.team.check_update(task, &change, &by).await {
            // The checks run on the merge.
            Ok(()) | Err(StoreError::Unchecked(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reports the outcome, for which the member waits, until the hub has it. Returns whether the member
    /// still waits.
    async fn finish(&self, reply: &MergeReply) -> bool {
        let outcome = OrderOutcome {
            code: 0,
            stdout: serde_json::to_string(reply).unwrap_or_default(),
            stderr: String::new(),
        };
        let mut changes = self.orders.watch();
        loop {
            let finished = self.orders.finish(self.id, self.by, outcome.clone());
            match finished.await {
                Ok(is_awaited) => return is_awaited,
                Err(error) => {
                    tracing::warn!(%error, "the outcome of a merge is reported later");
                }
            }
            // The next announcement of the hub repeats it.
            changes.changed().await;
        }
    }
}

/// Carries out the merges that members order, one after another in each repository. Never resolves.
pub async fn carry_out_merges(team: Arc<dyn Team>, by: SpawnId, carrier: Arc<dyn MergeCarrier>) {
    let Some(orders) = team.orders() else {
        return std::future::pending().await;
    };
    let mut changes = orders.watch();
    let (mut running, mut ids) = (JoinSet::new(), BTreeSet::new());
    loop {
        let found = orders.open_or_taken(by).await.unwrap_or_else(|error| {
            // The next announcement of the hub repeats it.
            tracing::warn!(%error, "orders not read");
            Vec::new()
        });
        for order in found {
            let Some(merge) = MergeOrder::of(&order).filter(|_| !ids.contains(&order.id)) else {
                continue;
            };
            // The acknowledgement of an earlier attempt to take it may be lost.
            if order.state == OrderState::Open {
                match orders.take(order.id, by).await {
                    Ok(Some(_)) => {}
                    // The member does not wait any more.
                    Ok(None) => continue,
                    Err(error) => {
                        tracing::warn!(%error, "order not taken");
                        continue;
                    }
                }
            }
            let taken = TakenMerge {
                team: Arc::clone(&team),
                merge,
                orders: orders.clone(),
                id: order.id,
                by,
            };
            ids.insert(order.id);
            running.spawn(carry_out(taken, Arc::clone(&carrier)));
        }
        tokio::select! {
            () = changes.changed() => {}
            Some(done) = running.join_next() => {
                if let Ok(id) = done {
                    ids.remove(&id);
                }
            }
        }
    }
}

/// Merges, and reports the outcome. Returns the order.
async fn carry_out(taken: TakenMerge, carrier: Arc<dyn MergeCarrier>) -> OrderId {
    let (of, id) = (taken.clone(), taken.id);
    let merged = tokio::task::spawn_blocking(move || carrier.merge(&of)).await;
    let reply = merged.unwrap_or_else(|_| MergeReply::refused("the merge failed unexpectedly"));
    let is_awaited = taken.finish(&reply).await;
    if let MergeReply::Refused {
        target: Some(target),
        ..
    } = reply
        && !is_awaited
        && let Err(error) = taken.team.delete_blob(&target.bundle).await
    {
        tracing::warn!(%error, "the commits of a target stay on the hub");
    }
    id
}
