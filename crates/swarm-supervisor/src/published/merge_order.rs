//! Merges on another machine: a member orders that of its published branch from the process of the lead.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use swarm_os::Liveness;
use swarm_protocol::{BlobRef, MemberName, Order, OrderId, OrderState, SpawnId, TaskId};
use swarm_store::{Changes, Orders, StoreError, Team};
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
    /// The spawn that completes the task.
    pub spawn: SpawnId,
    /// The task.
    pub task: TaskId,
    /// The commit that is merged. The member may publish others meanwhile.
    pub commit: String,
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

impl MergeOrder {
    fn words(&self) -> Vec<String> {
        [
            MERGE.to_owned(),
            self.member.to_string(),
            self.spawn.to_string(),
            self.task.to_string(),
            self.commit.clone(),
        ]
        .into()
    }

    /// Reads an order; `None` if it is another one.
    pub(super) fn of(order: &Order) -> Option<Self> {
        let words: Vec<&str> = order.words.iter().map(String::as_str).collect();
        let [MERGE, member, spawn, task, commit] = words[..] else {
            return None;
        };
        Some(Self {
            member: MemberName::parse(member).ok()?,
            spawn: spawn.parse().ok()?,
            task: task.parse().ok()?,
            commit: commit.to_owned(),
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
        // This also withdraws an order that is being carried out.
        let order = orders.remove(id).await?;
        let state = order.map(|order| order.state);
        // An outcome that was recorded meanwhile counts.
        if let Some(OrderState::Done(outcome)) = state {
            let reply = serde_json::from_str(&outcome.stdout);
            return Ok(Some(reply.unwrap_or_else(|_| {
                MergeReply::refused("the team lead's answer is not understood")
            })));
        }
        let why = ended?.unwrap_or("the order to merge was removed; complete the task again");
        Ok(Some(MergeReply::refused(why)))
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
