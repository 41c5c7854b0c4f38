//! The orders of a team for nodes, in a record.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use swarm_protocol::{
    MemberName, Order, OrderId, OrderOutcome, OrderState, SpawnId, TeamName, UnixMs,
    sanitized_collision,
};

use super::nodes::Nodes;
use super::record::Record;
use super::team::RecordsTeam;
use crate::{Changes, Result, StoreError};

type OrdersValue = BTreeMap<OrderId, Placed>;

fn orders() -> Record<OrdersValue> {
    Record::new("orders")
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Placed {
    #[serde(flatten)]
    order: Order,
    /// Its caller waits no longer than until then, by the server's clock.
    expires: UnixMs,
}

/// The orders of a team. Giving one requires access to the team; access to the nodes is not enough.
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

    /// Adds an order, which expires after `lifetime`, by the server's clock: it is not taken then.
    /// Removes those that have expired, because their callers are gone. An order that spawns a member is
    /// refused with [`StoreError::SpawnOrdered`] while another one for this name is not over; one that
    /// replaces the member withdraws an open one.
    pub async fn place(&self, order: Order, lifetime: Duration) -> Result<()> {
        let lifetime = u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX);
        let work = move |team: &RecordsTeam| {
            team.require()?;
            let now = team.server_time()?;
            let expires = UnixMs(now.0.saturating_add(lifetime));
            team.change(&orders(), |all, _events| {
                all.retain(|_, placed| now < placed.expires);
                // If it is there already, it was checked.
                if let Some(name) = &order.spawns
                    && !all.contains_key(&order.id)
                {
                    require_free(&team.team, all, (name, order.replaces), now)?;
                }
                let order = order.clone();
                all.insert(order.id, Placed { order, expires });
                Ok(())
            })
        };
        self.team.run_blocking(work).await
    }

    /// Fails as [`Self::place`] would for an order that spawns or replaces a member of this name. For
    /// callers that first send what the order needs.
    pub async fn require_free(&self, name: &MemberName, replaces: bool) -> Result<()> {
        let name = name.clone();
        let work = move |team: &RecordsTeam| {
            let now = team.server_time()?;
            let mut all = team.read(&orders())?;
            all.retain(|_, placed| now < placed.expires);
            require_free(&team.team, &mut all, (&name, replaces), now)
        };
        self.team.run_blocking(work).await
    }

    /// Takes an open order for a process of a node. Returns `None` if there is none any more.
    pub async fn take(&self, id: OrderId, by: SpawnId) -> Result<Option<Order>> {
        let work = move |team: &RecordsTeam| {
            let now = team.server_time()?;
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
            let placed = team.read(&orders())?.remove(&id);
            Ok(placed.map(|placed| placed.order))
        };
        self.team.run_blocking(read).await
    }

    /// Returns the open orders, and those that this process has taken.
    pub async fn open_or_taken(&self, by: SpawnId) -> Result<Vec<Order>> {
        let read = move |team: &RecordsTeam| {
            let all = team.read(&orders())?.into_values();
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
        edit: impl FnMut(&mut OrdersValue) -> R + Send + 'static,
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

fn changed<R>(team: &RecordsTeam, mut edit: impl FnMut(&mut OrdersValue) -> R) -> Result<R> {
    team.change(&orders(), |all, _| Ok(edit(all)))
}

/// Fails while an order spawns a member of this or a colliding name, who is in no roster yet. For an order that
/// replaces the member, an open one is removed first.
fn require_free(
    team: &TeamName,
    all: &mut OrdersValue,
    (name, replaces): (&MemberName, bool),
    now: UnixMs,
) -> Result<()> {
    let is_open = |order: &Order| order.state == OrderState::Open;
    if replaces {
        all.retain(|_, Placed { order, .. }| {
            !(is_open(order) && order.spawns.as_ref() == Some(name))
        });
    }
    let holder = all.values().find_map(|placed| {
        let ordered = placed.order.spawns.as_ref()?;
        let is_over = matches!(placed.order.state, OrderState::Done(_));
        let holds = !is_over && sanitized_collision(ordered.as_str(), name.as_str());
        holds.then_some((placed, ordered))
    });
    let Some((holder, ordered)) = holder else {
        return Ok(());
    };
    Err(StoreError::SpawnOrdered {
        team: team.clone(),
        name: name.clone(),
        ordered: ordered.clone(),
        is_replaceable: is_open(&holder.order) && ordered == name,
        left_s: holder.expires.since(now) / 1000 + 1,
    })
}

fn is_taken(order: &Order, by: SpawnId) -> bool {
    matches!(order.state, OrderState::Taken(one) | OrderState::Withdrawn(one) if one == by)
}
