//! Watching a team.

use std::future::pending;

use swarm_os::Subscription;
use swarm_protocol::MemberName;

use crate::records::Heard;

/// Something in a team that can be watched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// The members, their spawns and the lead process.
    Roster,
    /// The inbox of a member.
    Mail(MemberName),
    /// The inboxes of all members.
    AllMail,
    /// The task list.
    Tasks,
    /// The request queue.
    Requests,
    /// The journal.
    Journal,
    /// Costs.
    Costs,
    /// Budgets.
    Budgets,
    /// The published branches, and what was merged of them.
    Branches,
    /// The hello of a member.
    Hello(MemberName),
    /// The rights report of a member.
    Rights(MemberName),
    /// The state report of a member.
    State(MemberName),
    /// The pause mark of a member.
    Pause(MemberName),
    /// The lease of a member: that a process takes it, not that it is released.
    Lease(MemberName),
}

/// A stream of hints that a topic may have changed. Several changes between two waits are one hint.
#[derive(Debug)]
pub struct Changes(Source);

#[derive(Debug)]
enum Source {
    Files(Subscription),
    Records(Heard),
}

impl Changes {
    pub(crate) fn of_files(subscription: Subscription) -> Self {
        Self(Source::Files(subscription))
    }

    pub(crate) fn of_records(heard: Heard) -> Self {
        Self(Source::Records(heard))
    }

    /// Resolves when the topic may have changed since the last call. A hint may come without a
    /// change. The deletion of the team is a change of every topic. Dropping the future loses nothing.
    pub async fn changed(&mut self) {
        match &mut self.0 {
            Source::Files(subscription) => subscription.changed().await,
            Source::Records(heard) => {
                if !heard.changed().await {
                    pending::<()>().await;
                }
            }
        }
    }
}
