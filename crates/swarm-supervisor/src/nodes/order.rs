//! Giving an order to a node.

use std::path::Path;
use std::time::Duration;

use swarm_protocol::{Order, OrderId, OrderOutcome, OrderState, Repository};
use swarm_store::{Changes, NodeView, Orders, Team};
use swarm_worktree::Worktrees;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::error::NodeError;
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

    /// Returns how long an order can be of use to whoever gives it.
    fn lifetime(&self) -> Duration {
        self.taken + self.done + self.cancelled
    }
}

/// A command for a node.
#[derive(Debug, Clone)]
pub struct NewOrder {
    /// The command, without the name of the program and the team.
    pub words: Vec<String>,
    /// Its standard input.
    pub input: Option<String>,
}

/// Why a wait has ended without an outcome.
enum Trouble {
    TimedOut,
    Cancelled,
    Lost,
}

/// Lets a node carry out a command in the repository of a directory, at the commit that is checked out;
/// `command` gets whether there is one.
///
/// # Errors
/// As [`order`]; [`NodeError::Repository`].
pub async fn order_in_repository(
    (team, orders, node): (&dyn Team, &Orders, &NodeView),
    (worktrees, directory): (&Worktrees, &Path),
    command: impl FnOnce(bool) -> NewOrder + Send,
    wait: &OrderWait,
) -> Result<OrderOutcome, NodeError> {
    let known = &node.report.known_commits;
    let repository = send_repository(team, worktrees, directory, known).await?;
    let new = command(repository.is_some());
    let done = give(orders, node, new, repository.clone(), wait).await;
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
    new: NewOrder,
    wait: &OrderWait,
) -> Result<OrderOutcome, NodeError> {
    give(orders, node, new, None, wait).await
}

async fn give(
    orders: &Orders,
    node: &NodeView,
    NewOrder { words, input }: NewOrder,
    repository: Option<Repository>,
    wait: &OrderWait,
) -> Result<OrderOutcome, NodeError> {
    let id = OrderId::random();
    let order = Order {
        id,
        words,
        input,
        repository,
        state: OrderState::Open,
    };
    let mut waiting = Waiting {
        orders,
        node,
        id,
        changes: orders.watch(),
    };
    orders.place(order, wait.lifetime()).await?;
    let is_there = orders.nodes().announce(&node.name, orders.team(), id);
    match is_there.await {
        Ok(true) => {}
        Ok(false) => return waiting.lost().await,
        Err(error) => {
            // It must not run later.
            drop(orders.remove(id).await);
            return Err(error.into());
        }
    }
    match waiting.outcome(wait).await {
        Ok(Ok(outcome)) => Ok(outcome),
        Ok(Err(Trouble::Lost)) => waiting.lost().await,
        Ok(Err(trouble)) => waiting.withdraw(wait, &trouble).await,
        Err(error) => {
            // Nobody waits for it any more.
            drop(orders.withdraw(id).await);
            Err(error)
        }
    }
}

struct Waiting<'a> {
    orders: &'a Orders,
    node: &'a NodeView,
    id: OrderId,
    changes: Changes,
}

impl Waiting<'_> {
    async fn outcome(
        &mut self,
        wait: &OrderWait,
    ) -> Result<Result<OrderOutcome, Trouble>, NodeError> {
        let since = Instant::now();
        loop {
            let state = self.orders.order(self.id).await?.map(|order| order.state);
            let end = since
                + match &state {
                    Some(OrderState::Open) => wait.taken,
                    _ => wait.done,
                };
            if let Some(done) = self.done(state).await? {
                return Ok(Ok(done));
            }
            let mut lost = self.orders.nodes().lease_end(&self.node.name);
            tokio::select! {
                woken = timeout_at(end, self.changes.changed()) => {
                    if woken.is_err() {
                        return Ok(Err(Trouble::TimedOut));
                    }
                }
                () = wait.cancel.cancelled() => return Ok(Err(Trouble::Cancelled)),
                _ = &mut lost => {}
            }
            if !self.has_node().await? {
                return Ok(Err(Trouble::Lost));
            }
        }
    }

    /// Returns the outcome of a finished order, which is removed.
    async fn done(&self, state: Option<OrderState>) -> Result<Option<OrderOutcome>, NodeError> {
        match state {
            Some(OrderState::Done(outcome)) => {
                self.orders.remove(self.id).await?;
                Ok(Some(outcome))
            }
            Some(_) => Ok(None),
            // Somebody has removed it.
            None => Err(self.lost_during()),
        }
    }

    /// Returns whether the process is running to which the order was announced.
    async fn has_node(&self) -> Result<bool, NodeError> {
        let nodes = self.orders.nodes().nodes().await?;
        let now = nodes.into_iter().find(|node| node.name == self.node.name);
        let spawn = |node: &NodeView| node.process.as_ref().map(|process| process.spawn_id);
        Ok(now.as_ref().and_then(spawn) == spawn(self.node))
    }

    async fn lost(&self) -> Result<OrderOutcome, NodeError> {
        match self.orders.remove(self.id).await?.map(|order| order.state) {
            Some(OrderState::Done(outcome)) => Ok(outcome),
            Some(OrderState::Open) => Err(NodeError::LostBefore {
                node: self.node.name.clone(),
            }),
            _ => Err(self.lost_during()),
        }
    }

    fn lost_during(&self) -> NodeError {
        NodeError::LostDuring {
            node: self.node.name.clone(),
        }
    }

    async fn withdraw(
        &mut self,
        wait: &OrderWait,
        trouble: &Trouble,
    ) -> Result<OrderOutcome, NodeError> {
        let node = self.node.name.clone();
        let withdrawn = self.orders.withdraw(self.id).await?;
        if withdrawn
            .as_ref()
            .is_some_and(|order| order.state == OrderState::Open)
        {
            return Err(match trouble {
                Trouble::Cancelled => NodeError::Interrupted { node },
                _ => NodeError::NotTaken {
                    node,
                    waited_s: wait.taken.as_secs(),
                },
            });
        }
        let end = Instant::now() + wait.cancelled;
        loop {
            let state = self.orders.order(self.id).await?.map(|order| order.state);
            if let Some(done) = self.done(state).await? {
                return Ok(done);
            }
            if timeout_at(end, self.changes.changed()).await.is_err() {
                self.orders.remove(self.id).await?;
                return Err(NodeError::NotFinished {
                    node,
                    waited_s: wait.done.as_secs(),
                });
            }
        }
    }
}
