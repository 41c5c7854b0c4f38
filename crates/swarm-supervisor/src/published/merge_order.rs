//! Merges on another machine: a member orders that of its published branch, and the process of the
//! lead carries it out.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use swarm_os::Liveness;
use swarm_protocol::{
    BlobRef, MemberName, Order, OrderId, OrderOutcome, OrderState, SpawnId, TaskId,
};
use swarm_store::{Changes, Orders, StoreError, Team};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// First word of these orders, which is not a command of swarm.
const MERGE: &str = "merge";

/// How long a process of a lead may take to begin.
const TAKEN: Duration = Duration::from_secs(20);

/// How long an order is kept if nobody waits for it any more. Merges wait for others and for people.
const LIFETIME: Duration = Duration::from_hours(6);

/// A merge of the published branch of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeOrder {
    /// The member.
    pub member: MemberName,
    /// The task that it completes.
    pub task: TaskId,
}

/// What has become of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MergeReply {
    /// It is in the target.
    Merged,
    /// A person merges, for this reason.
    LeftToPerson(String),
    /// It is not merged.
    #[serde(rename_all = "camelCase")]
    Refused {
        /// Why, and what to do.
        why: String,
        /// The uncommitted changes for which the merge has waited.
        awaited: Option<String>,
        /// The target with which the branch conflicts.
        target: Option<SentTarget>,
    },
}

impl MergeReply {
    /// A merge that is refused for a reason that the member cannot resolve.
    pub fn refused(why: impl Into<String>) -> Self {
        Self::Refused {
            why: why.into(),
            awaited: None,
            target: None,
        }
    }
}

/// A branch on its way to the machine of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SentTarget {
    /// Name of the branch.
    pub branch: String,
    /// Its last commit.
    pub commit: String,
    /// The commits that the machine lacks.
    pub bundle: BlobRef,
}

/// Carries out merges on the machine of a lead.
pub trait MergeCarrier: Send + Sync {
    /// Merges the published branch of a member. Blocks.
    fn merge(&self, team: &Arc<dyn Team>, merge: &MergeOrder) -> MergeReply;
}

impl MergeOrder {
    fn words(&self) -> Vec<String> {
        [
            MERGE.to_owned(),
            self.member.to_string(),
            self.task.to_string(),
        ]
        .into()
    }

    fn of(order: &Order) -> Option<Self> {
        let [MERGE, member, task] = order.words.iter().map(String::as_str).collect::<Vec<_>>()[..]
        else {
            return None;
        };
        Some(Self {
            member: MemberName::parse(member).ok()?,
            task: task.parse().ok()?,
        })
    }

    /// Lets the process of the lead merge, and waits for it. Returns `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError`] if the team cannot be read or changed.
    pub(crate) async fn give(
        &self,
        team: &dyn Team,
        cancel: &CancellationToken,
    ) -> Result<Option<MergeReply>, StoreError> {
        let Some(orders) = team.orders() else {
            return Ok(None);
        };
        if team.lease(&MemberName::lead()).await? != Liveness::Alive {
            return Ok(None);
        }
        let id = OrderId::random();
        let order = Order {
            id,
            words: self.words(),
            input: None,
            repository: None,
            state: OrderState::Open,
        };
        let mut changes = orders.watch();
        orders.place(order, LIFETIME).await?;
        let ended = ended(team, &orders, id, &mut changes, cancel).await;
        let order = orders.remove(id).await?;
        if let Some(why) = ended? {
            return Ok(Some(MergeReply::refused(why)));
        }
        Ok(Some(match order.map(|order| order.state) {
            Some(OrderState::Done(outcome)) => serde_json::from_str(&outcome.stdout)
                .unwrap_or_else(|_| {
                    MergeReply::refused("the team lead's answer is not understood")
                }),
            _ => MergeReply::refused("the order to merge was removed; complete the task again"),
        }))
    }
}

/// Waits until an order is carried out. Returns why it is not.
async fn ended(
    team: &dyn Team,
    orders: &Orders,
    id: OrderId,
    changes: &mut Changes,
    cancel: &CancellationToken,
) -> Result<Option<&'static str>, StoreError> {
    let since = Instant::now();
    let lead = MemberName::lead();
    let mut is_gone = false;
    loop {
        let state = orders.order(id).await?.map(|order| order.state);
        let end = match state {
            Some(OrderState::Open) => since + TAKEN,
            Some(OrderState::Taken(_) | OrderState::Withdrawn(_)) => since + LIFETIME,
            Some(OrderState::Done(_)) | None => return Ok(None),
        };
        if is_gone {
            return Ok(Some(
                "the process of the team lead ended during the merge; complete the task again",
            ));
        }
        tokio::select! {
            woken = timeout_at(end, changes.changed()) => if woken.is_err() {
                return Ok(Some("the process of the team lead does not respond; complete the task again later"));
            },
            () = cancel.cancelled() => return Ok(Some("it was interrupted")),
            // The outcome may be there.
            _ = team.lease_end(&lead) => is_gone = true,
        }
    }
}

/// Carries out the merges that members order, one after another in each repository. Never resolves.
pub async fn carry_out_merges(team: Arc<dyn Team>, by: SpawnId, carrier: Arc<dyn MergeCarrier>) {
    let Some(orders) = team.orders() else {
        return std::future::pending().await;
    };
    let mut changes = orders.watch();
    let mut running = JoinSet::new();
    loop {
        let open = orders.open().await.unwrap_or_else(|error| {
            // The next announcement of the hub repeats it.
            tracing::warn!(%error, "orders not read");
            Vec::new()
        });
        for order in open {
            let Some(merge) = MergeOrder::of(&order) else {
                continue;
            };
            let (team, orders, carrier) = (Arc::clone(&team), orders.clone(), Arc::clone(&carrier));
            match orders.take(order.id, by).await {
                Ok(Some(_)) => {}
                // The member does not wait any more.
                Ok(None) => continue,
                Err(error) => {
                    tracing::warn!(%error, "order not taken");
                    continue;
                }
            }
            running.spawn(async move {
                let finished = finish(&team, &orders, order.id, by, merge, carrier).await;
                if let Err(error) = finished {
                    tracing::warn!(%error, "the outcome of a merge was not reported");
                }
            });
        }
        tokio::select! {
            () = changes.changed() => {}
            Some(_) = running.join_next() => {}
        }
    }
}

async fn finish(
    team: &Arc<dyn Team>,
    orders: &Orders,
    id: OrderId,
    by: SpawnId,
    merge: MergeOrder,
    carrier: Arc<dyn MergeCarrier>,
) -> Result<(), StoreError> {
    let of = Arc::clone(team);
    let merged = tokio::task::spawn_blocking(move || carrier.merge(&of, &merge)).await;
    let reply = merged.unwrap_or_else(|_| MergeReply::refused("the merge failed unexpectedly"));
    let outcome = OrderOutcome {
        code: 0,
        stdout: serde_json::to_string(&reply).unwrap_or_default(),
        stderr: String::new(),
    };
    let is_awaited = orders.finish(id, by, outcome).await?;
    if let MergeReply::Refused {
        target: Some(target),
        ..
    } = reply
        && !is_awaited
    {
        team.delete_blob(&target.bundle).await?;
    }
    Ok(())
}
