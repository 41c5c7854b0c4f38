//! The nodes of a hub in records.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use swarm_protocol::{LifeRecord, MemberName, NodeName, NodeReport, OrderId, TeamName};

use super::record::{Record, Value, Versioned, to_bytes};
use super::space::{Taken, WriteId};
use super::team::RecordsTeam;
use crate::process::is_dead;
use crate::{Changes, Lease, LeaseEnd, Result, StoreError};

type NodesValue = BTreeMap<NodeName, NodeValue>;

fn nodes() -> Record<NodesValue> {
    Record::new("nodes")
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeValue {
    report: NodeReport,
    #[serde(flatten)]
    announced: Announced,
}

/// A node of a hub.
#[derive(Debug, Clone)]
pub struct NodeView {
    /// Name.
    pub name: NodeName,
    /// Its last report; without members if it is lost.
    pub report: NodeReport,
    /// Whether it takes no more orders.
    pub is_draining: bool,
    /// Its process, while it holds the lease of the node; `None` if it is lost.
    pub process: Option<LifeRecord>,
}

/// What was announced to a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Announced {
    /// Orders that it has not seen, with their teams.
    pub orders: Vec<(TeamName, OrderId)>,
    /// Whether it should take no more orders.
    pub is_draining: bool,
}

/// The nodes of a hub, in a separate key space.
#[derive(Debug, Clone)]
pub struct Nodes {
    pub(super) records: RecordsTeam,
}

impl Nodes {
    /// `records` are those of [`TeamName::nodes`].
    pub(crate) fn new(records: RecordsTeam) -> Self {
        Self { records }
    }

    /// Adds a node, or replaces a lost one of this name. Orders that were announced before are
    /// forgotten. The node counts as lost when the lease is dropped.
    ///
    /// # Errors
    /// [`StoreError::NodeTaken`].
    pub async fn join(
        &self,
        name: &NodeName,
        report: NodeReport,
        process: &LifeRecord,
    ) -> Result<Lease> {
        let (name, process) = (name.clone(), process.clone());
        self.records
            .run_blocking(move |records| join(records, &name, &report, &process))
            .await
    }

    /// Removes a node.
    pub async fn leave(&self, name: &NodeName) -> Result<()> {
        let name = name.clone();
        self.change(move |all| drop(all.remove(&name))).await
    }

    /// Replaces the report of a node.
    pub async fn report(&self, name: &NodeName, report: NodeReport) -> Result<()> {
        let name = name.clone();
        self.change(move |all| {
            if let Some(node) = all.get_mut(&name) {
                node.report = report.clone();
            }
        })
        .await
    }

    /// Tells a node to take no more orders. Returns `false` if there is no such node.
    pub async fn drain(&self, name: &NodeName) -> Result<bool> {
        let name = name.clone();
        self.change(move |all| {
            let node = all.get_mut(&name);
            node.map(|node| node.announced.is_draining = true).is_some()
        })
        .await
    }

    /// Tells a node about an order. Returns `false` if there is no such node.
    pub async fn announce(&self, name: &NodeName, team: &TeamName, order: OrderId) -> Result<bool> {
        let (name, news) = (name.clone(), (team.clone(), order));
        self.change(move |all| {
            let node = all.get_mut(&name);
            node.map(|node| {
                let orders = &mut node.announced.orders;
                if !orders.contains(&news) {
                    orders.push(news.clone());
                }
            })
            .is_some()
        })
        .await
    }

    /// Returns what was announced to a node since the last call.
    pub async fn take_announced(&self, name: &NodeName) -> Result<Announced> {
        let name = name.clone();
        self.records
            .run_blocking(move |records| {
                let known = records.read(&nodes())?.remove(&name);
                let announced = known.map(|node| node.announced).unwrap_or_default();
                if announced.orders.is_empty() {
                    return Ok(announced);
                }
                records.change(&nodes(), |all, _| {
                    let taken = all.get_mut(&name).map(|node| {
                        let orders = std::mem::take(&mut node.announced.orders);
                        let is_draining = node.announced.is_draining;
                        Announced {
                            orders,
                            is_draining,
                        }
                    });
                    Ok(taken.unwrap_or_default())
                })
            })
            .await
    }

    /// Returns all nodes by name; none if no node has ever joined.
    pub async fn nodes(&self) -> Result<Vec<NodeView>> {
        self.records.run_blocking(views).await
    }

    /// Returns what resolves when a node is lost.
    pub fn lease_end(&self, name: &NodeName) -> LeaseEnd {
        self.records.space.lease_end(&name.holder())
    }

    /// Watches all nodes. **Watch before the first read.**
    pub fn watch(&self) -> Changes {
        Changes::of_records(self.records.space.heard(&[nodes().key]))
    }

    async fn change<R: Send + 'static>(
        &self,
        mut edit: impl FnMut(&mut NodesValue) -> R + Send + 'static,
    ) -> Result<R> {
        self.records
            .run_blocking(move |records| records.change(&nodes(), |all, _| Ok(edit(all))))
            .await
    }
}

/// Creates the key space of the nodes, unless it exists.
pub(super) fn create_space(records: &RecordsTeam) -> Result<()> {
    let empty = Versioned {
        value: NodesValue::default(),
        outbox: Vec::new(),
    };
    let key = nodes().key;
    let first = [(key.clone(), WriteId::new_v4(), to_bytes(&key, &empty)?)];
    let created = records.answered(true, |at_most| records.space.create(&first, at_most));
    created.map(drop)
}

fn join(
    records: &RecordsTeam,
    name: &NodeName,
    report: &NodeReport,
    process: &LifeRecord,
) -> Result<Lease> {
    let held_as = name.holder();
    records.space.forget_lost(&held_as);
    create_space(records)?;
    let lease = take_lease(records, &held_as, process)?;
    let lease = lease.map_err(|holder| StoreError::NodeTaken {
        name: name.clone(),
        host: holder.host,
        pid: holder.pid,
    })?;
    records.change(&nodes(), |all, _| {
        let node = NodeValue {
            report: report.clone(),
            announced: Announced::default(),
        };
        all.insert(name.clone(), node);
        Ok(())
    })?;
    Ok(lease)
}

/// Takes the lease of a node or a session, or returns its holder. A lease that this process has left
/// behind, or a dead process of this machine, is ended first.
pub(super) fn take_lease(
    records: &RecordsTeam,
    held_as: &MemberName,
    process: &LifeRecord,
) -> Result<Result<Lease, LifeRecord>> {
    let take = || {
        let id = WriteId::new_v4();
        records.answered(true, |at_most| {
            records.space.take_lease(held_as, process, id, at_most)
        })
    };
    let mut taken = take()?;
    if let Taken::HeldBy(holder) = &taken
        && (holder.spawn_id == process.spawn_id || is_dead(holder))
    {
        records.answered(true, |at_most| {
            let space = &records.space;
            space.end_lease(held_as, holder.spawn_id, at_most)
        })?;
        taken = take()?;
    }
    Ok(match taken {
        Taken::Held(held) => Ok(Lease::new(held)),
        Taken::HeldBy(holder) => Err(holder),
    })
}

/// Reads a record of the nodes' key space, which may not exist.
pub(super) fn read_if_any<V: Value + Default>(
    records: &RecordsTeam,
    record: &Record<V>,
) -> Result<V> {
    match records.read(record) {
        Err(StoreError::NotOnHub { .. } | StoreError::TeamNotFound { .. }) => Ok(V::default()),
        value => value,
    }
}

fn views(records: &RecordsTeam) -> Result<Vec<NodeView>> {
    let all = read_if_any(records, &nodes())?;
    all.into_iter()
        .map(|(name, mut node)| {
            let (_, process) = records.lease_of(&name.holder())?;
            if process.is_none() {
                // It is not known what runs there now.
                node.report.members.clear();
            }
            Ok(NodeView {
                name,
                report: node.report,
                is_draining: node.announced.is_draining,
                process,
            })
        })
        .collect()
}
