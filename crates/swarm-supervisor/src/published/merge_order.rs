//! Merges on another machine: a member orders that of its published branch from the process of the lead.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use swarm_os::Liveness;
use swarm_protocol::{BlobRef, MemberName, Order, OrderState, SpawnId, TaskId};
use swarm_store::{StoreError, Team};
use tokio_util::sync::CancellationToken;

use crate::nodes::{OrderEnd, wait_for_order};

/// First word of these orders, which is not a command of swarm.
const MERGE: &str = "merge";

/// How long a process of a lead may take to begin.
const TAKEN: Duration = Duration::from_secs(20);

/// How long an order is kept. Merges wait for others and for people.
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
        let order = Order::new(self.words());
        let id = order.id;
        let mut changes = orders.watch();
        orders.place(order, LIFETIME).await?;
        let limits = (TAKEN, LIFETIME);
        let lost = async {
            drop(team.lease_end(&MemberName::lead()).await);
            Ok(())
        };
        let end = wait_for_order((&orders, id), &mut changes, limits, cancel, lost).await;
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
        let why = match end? {
            OrderEnd::TimedOut => {
                "the process of the team lead does not respond; complete the task again later"
            }
            OrderEnd::Cancelled => "it was interrupted",
            OrderEnd::Lost => {
                "the process of the team lead ended during the merge; complete the task again"
            }
            OrderEnd::Done(_) | OrderEnd::Removed { .. } => {
                "the order to merge was removed; complete the task again"
            }
        };
        Ok(Some(MergeReply::refused(why)))
    }
}
