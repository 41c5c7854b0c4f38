//! Giving an order to a node.

use std::future::pending;
use std::path::Path;
use std::time::Duration;

use swarm_protocol::{Order, OrderId, OrderOutcome, OrderState};
use swarm_store::{Changes, NodeView, Nodes, Orders, StoreError, Team};
use swarm_worktree::Worktrees;
use tokio_util::sync::CancellationToken;

use super::error::NodeError;
use super::spawn_command::SpawnCommand;
use super::wait::{OrderEnd, wait_for_order};
use crate::repositories::{forget_repository, send_repository};

/// How long an order is waited for.
#[derive(Debug, Clone)]
pub struct OrderWait {
    /// Until a node takes it.
    pub taken: Duration,
    /// Until the node has carried it out.
    pub done: Duration,
    /// Until the node has cancelled it.
    pub cancelled: Duration,
    /// Cancels it.
    pub cancel: CancellationToken,
}

impl OrderWait {
    /// Returns the waits for a command that takes up to `done` on the node.
    pub fn of(done: Duration, cancel: CancellationToken) -> Self {
        Self {
            taken: Duration::from_secs(20),
            // The node's own timeout has a better message.
            done: done + Duration::from_mins(1),
            cancelled: Duration::from_secs(20),
            cancel,
        }
    }

    /// Returns how long an order can be of use.
    fn lifetime(&self) -> Duration {
        self.taken + self.done + self.cancelled
    }
}

/// Lets a node spawn a member in the repository of a directory, at the commit that is checked out.
///
/// # Errors
/// As [`order`]; [`NodeError::Repository`].
pub async fn order_spawn(
    (team, orders, node): (&dyn Team, &Orders, &NodeView),
    (worktrees, directory): (&Worktrees, &Path),
    command: SpawnCommand,
    wait: &OrderWait,
) -> Result<OrderOutcome, NodeError> {
    // A large repository takes long.
    let (name, replaces) = command.name();
    orders.require_free(name, replaces).await?;
    let known = &node.report.known_commits;
    let repository = send_repository(team, worktrees, directory, known).await?;
    let mut command = command.order(repository.is_some());
    command.repository.clone_from(&repository);
    let done = order(orders, node, command, wait).await;
    if let Some(repository) = repository {
        // The node may not have received it.
        forget_repository(team, &repository).await;
    }
    done
}

/// Lets a node carry out a command. It runs at most once: if it is not carried out in time, or the
/// caller cancels it, it is withdrawn.
///
/// # Errors
/// If the node has not carried it out. A command that failed there is an outcome.
pub async fn order(
    orders: &Orders,
    node: &NodeView,
    order: Order,
    wait: &OrderWait,
) -> Result<OrderOutcome, NodeError> {
    let id = order.id;
    let mut changes = orders.watch();
    orders.place(order, wait.lifetime()).await?;
    let is_there = orders.nodes().announce(&node.name, orders.team(), id);
    match is_there.await {
        Ok(true) => {}
        Ok(false) => return lost(orders, node, id).await,
        Err(error) => {
            // It must not run later.
            drop(orders.remove(id).await);
            return Err(error.into());
        }
    }
    let limits = (wait.taken, wait.done);
    let is_lost = until_lost(orders.nodes(), node);
    let end = wait_for_order((orders, id), &mut changes, limits, &wait.cancel, is_lost).await;
    match end {
        Ok(OrderEnd::Lost) => lost(orders, node, id).await,
        Ok(OrderEnd::TimedOut) => {
            let not_taken = NodeError::NotTaken {
                node: node.name.clone(),
                waited_s: wait.taken.as_secs(),
            };
            withdraw((orders, node, id), &mut changes, wait, not_taken).await
        }
        Ok(OrderEnd::Cancelled) => {
            let interrupted = NodeError::Interrupted(node.name.clone());
            withdraw((orders, node, id), &mut changes, wait, interrupted).await
        }
        Ok(OrderEnd::Done(outcome)) => done(orders, id, outcome).await,
        Ok(OrderEnd::Removed { was_open: true }) => Err(NodeError::Replaced(node.name.clone())),
        Ok(OrderEnd::Removed { was_open: false }) => Err(NodeError::LostDuring(node.name.clone())),
        Err(error) => {
            // Its outcome is not used.
            drop(orders.withdraw(id).await);
            Err(error.into())
        }
    }
}

/// Resolves when the process of a node that was seen does not run any more.
async fn until_lost(nodes: &Nodes, seen: &NodeView) -> Result<(), StoreError> {
    let spawn = |node: &NodeView| node.process.as_ref().map(|process| process.spawn_id);
    let mut changes = nodes.watch();
    loop {
        let all = nodes.nodes().await?;
        let now = all.iter().find(|node| node.name == seen.name);
        if now.and_then(spawn) != spawn(seen) {
            return Ok(());
        }
        tokio::select! {
            _ = nodes.lease_end(&seen.name) => {}
            () = changes.changed() => {}
        }
    }
}

/// Removes an order that was carried out.
async fn done(
    orders: &Orders,
    id: OrderId,
    outcome: OrderOutcome,
) -> Result<OrderOutcome, NodeError> {
    orders.remove(id).await?;
    Ok(outcome)
}

/// Removes the order of a lost node. An outcome that it has recorded counts.
async fn lost(orders: &Orders, node: &NodeView, id: OrderId) -> Result<OrderOutcome, NodeError> {
    match orders.remove(id).await?.map(|order| order.state) {
        Some(OrderState::Done(outcome)) => Ok(outcome),
        Some(OrderState::Open) => Err(NodeError::LostBefore(node.name.clone())),
        _ => Err(NodeError::LostDuring(node.name.clone())),
    }
}

/// Withdraws an order. Fails with `not_begun` if no process has taken it; otherwise waits until the
/// process has cancelled it.
async fn withdraw(
    (orders, node, id): (&Orders, &NodeView, OrderId),
    changes: &mut Changes,
    wait: &OrderWait,
    not_begun: NodeError,
) -> Result<OrderOutcome, NodeError> {
    let withdrawn = orders.withdraw(id).await?;
    if withdrawn.is_some_and(|order| order.state == OrderState::Open) {
        return Err(not_begun);
    }
    let limits = (wait.cancelled, wait.cancelled);
    let never = CancellationToken::new();
    let end = wait_for_order((orders, id), changes, limits, &never, pending()).await?;
    match end {
        OrderEnd::Done(outcome) => done(orders, id, outcome).await,
        OrderEnd::Removed { .. } => Err(NodeError::LostDuring(node.name.clone())),
        OrderEnd::TimedOut | OrderEnd::Cancelled | OrderEnd::Lost => {
            orders.remove(id).await?;
            Err(NodeError::NotFinished {
                node: node.name.clone(),
                waited_s: wait.done.as_secs(),
            })
        }
    }
}
