//! The orders of a team for nodes, in a record.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use swarm_protocol::{Order, OrderId, OrderOutcome, OrderState, SpawnId, TeamName, UnixMs};

use super::nodes::Nodes;
use super::record::{Record, Value};
use super::team::RecordsTeam;
use crate::{Changes, Result};

fn orders() -> Record<OrdersValue> {
    Record::new("orders")
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct OrdersValue(BTreeMap<OrderId, Placed>);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Placed {
    #[serde(flatten)]
    order: Order,
    /// Whoever placed it waits no longer than until then, by the server's clock.
    expires: UnixMs,
}

impl Value for OrdersValue {
    fn initial() -> Option<Self> {
        Some(Self::default())
    }
}

/// The orders of a team. Only those who have access to the team can give it orders, whoever has
/// access to the nodes.
#[derive(Debug, Clone)]
pub struct Orders {
    team: RecordsTeam,
    nodes: Nodes,
}

impl Orders {
    fn new(team: RecordsTeam, nodes: Nodes) -> Self {
        Self { team, nodes }
    }

    /// Returns the nodes of the team's hub.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// Returns the name of the team.
    pub fn team(&self) -> &TeamName {
        &self.team.team
    }

    /// Adds an order, which nobody takes after `lifetime`, by the server's clock. Removes those that have
    /// expired: whoever placed them is gone.
    pub async fn place(&self, order: Order, lifetime: Duration) -> Result<()> {
        let lifetime = u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX);
        let work = move |team: &RecordsTeam| {
            team.require()?;
            let now = time(team)?;
            let expires = UnixMs(now.0.saturating_add(lifetime));
            changed(team, |all| {
                all.retain(|_, placed| now < placed.expires);
                let order = order.clone();
                all.insert(order.id, Placed { order, expires });
            })
        };
        self.team.run_blocking(work).await
    }

    /// Takes an open order for a process of a node. Returns `None` if there is none any more.
    pub async fn take(&self, id: OrderId, by: SpawnId) -> Result<Option<Order>> {
        let work = move |team: &RecordsTeam| {
            let now = time(team)?;
            changed(team, |all| {
                let placed = all.get_mut(&id)?;
                let is_open = placed.order.state == OrderState::Open && now < placed.expires;
                is_open.then(|| {
                    placed.order.state = OrderState::Taken(by);
                    placed.order.clone()
                })
            })
        };
        self.team.run_blocking(work).await
    }

    /// Records the outcome of an order that this process has taken. Returns `false` if it is gone. The
    /// same outcome may be recorded again, because the acknowledgement of the first time may be lost.
    pub async fn finish(&self, id: OrderId, by: SpawnId, outcome: OrderOutcome) -> Result<bool> {
        self.change(move |all| match all.get_mut(&id) {
            Some(placed) if is_taken(&placed.order, by) => {
                placed.order.state = OrderState::Done(outcome.clone());
                true
            }
            Some(placed) => placed.order.state == OrderState::Done(outcome.clone()),
            None => false,
        })
        .await
    }

    /// Withdraws an order: an open one is removed, and the process that has taken it cancels it.
    /// Returns the order as it is then.
    pub async fn withdraw(&self, id: OrderId) -> Result<Option<Order>> {
        self.change(move |all| {
            let order = &mut all.get_mut(&id)?.order;
            if let OrderState::Taken(by) = order.state {
                order.state = OrderState::Withdrawn(by);
            }
            match order.state {
                OrderState::Open => all.remove(&id).map(|placed| placed.order),
                _ => Some(order.clone()),
            }
        })
        .await
    }

    /// Removes an order. Returns it.
    pub async fn remove(&self, id: OrderId) -> Result<Option<Order>> {
        self.change(move |all| all.remove(&id).map(|placed| placed.order))
            .await
    }

    /// Returns an order.
    pub async fn order(&self, id: OrderId) -> Result<Option<Order>> {
        let read = move |team: &RecordsTeam| {
            let placed = team.read(&orders())?.0.remove(&id);
            Ok(placed.map(|placed| placed.order))
        };
        self.team.run_blocking(read).await
    }

    /// Returns the orders that nobody has taken, and those that this process has taken.
    pub async fn open_or_taken(&self, by: SpawnId) -> Result<Vec<Order>> {
        let read = move |team: &RecordsTeam| {
            let all = team.read(&orders())?.0.into_values();
            let all = all.map(|placed| placed.order);
            let wanted = [OrderState::Open, OrderState::Taken(by)];
            Ok(all.filter(|order| wanted.contains(&order.state)).collect())
        };
        self.team.run_blocking(read).await
    }

    /// Watches the orders of the team. **Watch before the first read.**
    pub fn watch(&self) -> Changes {
        Changes::of_records(self.team.space.heard(&[orders().key]))
    }

    async fn change<R: Send + 'static>(
        &self,
        edit: impl FnMut(&mut BTreeMap<OrderId, Placed>) -> R + Send + 'static,
    ) -> Result<R> {
        self.team
            .run_blocking(move |team| changed(team, edit))
            .await
    }
}

impl RecordsTeam {
    #[expect(clippy::unnecessary_wraps, reason = "files have none")]
    pub(super) fn orders_for_nodes(&self) -> Option<Orders> {
        let records = Self {
            team: TeamName::nodes(),
            space: Arc::clone(&self.nodes),
            seen: Arc::default(),
            ..self.clone()
        };
        Some(Orders::new(self.clone(), Nodes::new(records)))
    }
}

/// Returns the server's time: clocks of machines differ.
fn time(team: &RecordsTeam) -> Result<UnixMs> {
    team.answered(false, |at_most| team.space.time(at_most))
}

fn changed<R>(
    team: &RecordsTeam,
    mut edit: impl FnMut(&mut BTreeMap<OrderId, Placed>) -> R,
) -> Result<R> {
    team.change(&orders(), |all, _| Ok(edit(&mut all.0)))
}

fn is_taken(order: &Order, by: SpawnId) -> bool {
    matches!(order.state, OrderState::Taken(one) | OrderState::Withdrawn(one) if one == by)
}
