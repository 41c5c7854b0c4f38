//! The process of a node: takes orders until it is drained.

use std::collections::HashSet;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use swarm_protocol::{AgentId, NodeReport, OrderId, TeamName, with_causes};
use swarm_store::{Announced, Changes, Lease, LeaseEnd, StoreError};
use swarm_ui::print::counted;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::execute::execute;
use super::machine::Node;
use super::members::members_here;
use crate::failure::Failure;

/// Pause before a hub that does not answer is tried again.
const AGAIN: Duration = Duration::from_secs(2);

/// Serves until the node has been drained and its last member has ended, or a second signal.
pub(super) async fn serve(
    node: &Node<'_>,
    report: NodeReport,
    lease: Lease,
) -> Result<(), Failure> {
    let mut signals = signals()?;
    let mut serving = Serving {
        changes: node.nodes.watch(),
        node,
        report,
        lease,
        ends: FuturesUnordered::new(),
        watched: HashSet::new(),
    };
    serving.greet();
    node.look_again.notify_one();
    let mut running = FuturesUnordered::new();
    loop {
        let told = serving.announced().await;
        match told {
            Some(Ok(announced)) => {
                let orders = serving.noted(announced).into_iter();
                running.extend(orders.map(|(team, id)| execute(node, team, id)));
            }
            Some(Err(error)) => tracing::warn!(%error, "the hub did not answer"),
            None => {
                if serving.join_again(&mut signals).await? {
                    continue;
                }
                // Without the hub, members cannot be paused.
                return Ok(());
            }
        }
        if running.is_empty() && serving.is_over() {
            break;
        }
        tokio::select! {
            () = serving.lease.lost() => {}
            () = serving.changes.changed() => {}
            Some(()) = running.next() => {}
            Some(member) = serving.ends.next() => {
                serving.watched.remove(&member);
                serving.look().await;
            }
            () = node.look_again.notified() => serving.look().await,
            () = heard(&mut signals) => {
                if serving.is_draining() {
                    node.stop.cancel();
                    while running.next().await.is_some() {}
                    serving.pause_members().await;
                    break;
                }
                serving.drain().await;
            }
        }
    }
    serving.leave().await;
    Ok(())
}

type MemberEnd = futures::future::BoxFuture<'static, AgentId>;

/// The state of a node that serves.
struct Serving<'a> {
    node: &'a Node<'a>,
    report: NodeReport,
    lease: Lease,
    changes: Changes,
    /// The ends of the members that run here.
    ends: FuturesUnordered<MemberEnd>,
    watched: HashSet<AgentId>,
}

impl Serving<'_> {
    fn greet(&self) {
        let (node, report) = (self.node, &self.report);
        let labels: Vec<_> = report.labels.iter().map(ToString::to_string).collect();
        let labels = match &labels[..] {
            [] => String::new(),
            labels => format!(", labels {}", labels.join(" ")),
        };
        let text = format!(
            "node {} joined {} with {}{labels}; members work in {}",
            node.name,
            node.hub.url,
            counted(u64::from(report.slots), "slot"),
            node.app.env.cwd.display()
        );
        node.out.tell("ready", &text);
        if !report.members.is_empty() {
            let members = counted(report.members.len() as u64, "member");
            node.out
                .tell("found", &format!("{members} run here already"));
        }
    }

    /// Returns what the node was told; `None` if it has lost its lease.
    async fn announced(&self) -> Option<Result<Announced, StoreError>> {
        tokio::select! {
            biased;
            () = self.lease.lost() => None,
            told = self.node.nodes.take_announced(&self.node.name) => Some(told),
        }
    }

    /// Drains the node if somebody asks for that. Returns the new orders.
    fn noted(&self, announced: Announced) -> Vec<(TeamName, OrderId)> {
        if announced.is_draining && !self.is_draining() {
            self.begin_draining();
        }
        announced.orders
    }

    fn is_draining(&self) -> bool {
        self.node.slots.lock().is_draining
    }

    fn is_over(&self) -> bool {
        let slots = self.node.slots.lock();
        slots.is_draining && slots.members.is_empty()
    }

    async fn drain(&mut self) {
        self.begin_draining();
        if let Err(error) = self.node.nodes.drain(&self.node.name).await {
            tracing::warn!(%error, "not recorded that the node is draining");
        }
    }

    fn begin_draining(&self) {
        let left = {
            let mut slots = self.node.slots.lock();
            slots.is_draining = true;
            slots.members.len() + slots.spawning
        };
        let text = match left {
            0 => "draining".to_owned(),
            left => format!(
                "draining: the node ends when {} stopped; Ctrl-C again pauses and leaves them",
                match left {
                    1 => "its member has".to_owned(),
                    left => format!("its {left} members have"),
                }
            ),
        };
        self.node.out.tell("draining", &text);
    }

    /// Looks which members run here, and reports changes.
    async fn look(&mut self) {
        let node = self.node;
        let members = match members_here(node.app, &node.hub.url).await {
            Ok(members) => members,
            Err(error) => {
                tracing::warn!(%error, "the members are not known");
                let later = tokio::time::sleep(AGAIN);
                // Any member will do: all are looked at.
                let any = self.report.members.first().cloned();
                self.ends.extend(any.map(|any| later.map(|()| any).boxed()));
                return;
            }
        };
        for gone in self
            .report
            .members
            .iter()
            .filter(|one| !members.contains(one))
        {
            let text = format!("{} has stopped", gone.name);
            node.out.tell_of_member("stopped", gone, &text);
        }
        for member in &members {
            if self.watched.insert(member.clone()) {
                let end = node.app.store.team(&member.team).lease_end(&member.name);
                self.ends.push(ended(end, member.clone()).boxed());
            }
        }
        if members != self.report.members {
            node.slots.lock().members.clone_from(&members);
            self.report.members = members;
            self.report.known_commits = node.known_commits().await;
            let reported = node.nodes.report(&node.name, self.report.clone()).await;
            if let Err(error) = reported {
                tracing::warn!(%error, "the members are not reported");
            }
        }
    }

    /// Takes the lease again after it was lost. Meanwhile the node counts as lost. Returns `false` if
    /// a signal ends the node before.
    async fn join_again(&mut self, signals: &mut [Signal; 3]) -> Result<bool, Failure> {
        let node = self.node;
        node.out.tell(
            "lost",
            "the hub was not reached for too long; members go on; joining again",
        );
        loop {
            let joined = tokio::select! {
                joined = node.join(self.report.clone()) => joined,
                () = heard(signals) => {
                    node.out.tell("left", "the node ends without the hub; members go on");
                    return Ok(false);
                }
            };
            match joined {
                Ok((report, lease)) => {
                    (self.report, self.lease) = (report, lease);
                    break;
                }
                Err(error @ StoreError::NodeTaken { .. }) => return Err(error.into()),
                Err(error) => tracing::warn!(%error, "the hub is not reached"),
            }
            tokio::time::sleep(AGAIN).await;
        }
        if self.is_draining() {
            self.drain().await;
        }
        node.out
            .tell("ready", &format!("node {} joined again", node.name));
        Ok(true)
    }

    /// Pauses the members, which stay.
    async fn pause_members(&self) {
        let node = self.node;
        for member in &self.report.members {
            let words = [
                "pause",
                member.name.as_str(),
                "--reason",
                "its node has ended",
            ];
            let done = std::env::current_exe().map(|program| {
                let mut command = tokio::process::Command::new(program);
                command
                    .args(words)
                    .args(["--team", member.team.as_str(), "--quiet"]);
                command
            });
            let paused = match done {
                Ok(mut command) => command
                    .output()
                    .await
                    .is_ok_and(|output| output.status.success()),
                Err(_) => false,
            };
            let text = if paused {
                format!("{0} is paused; `swarm continue {0}` goes on", member.name)
            } else {
                format!("{} could not be paused and goes on", member.name)
            };
            node.out.tell_of_member("paused", member, &text);
        }
    }

    async fn leave(self) {
        let node = self.node;
        if let Err(error) = node.nodes.leave(&node.name).await {
            tracing::warn!(
                error = with_causes(&error),
                "the node is not removed from the hub"
            );
        }
        // Releasing the lease waits for the hub.
        let lease = self.lease;
        drop(tokio::task::spawn_blocking(move || drop(lease)).await);
        node.out
            .tell("left", &format!("node {} left {}", node.name, node.hub.url));
    }
}

async fn ended(end: LeaseEnd, member: AgentId) -> AgentId {
    // What it means is found out by looking.
    drop(end.await);
    member
}

fn signals() -> Result<[Signal; 3], Failure> {
    let heard = |kind| signal(kind);
    Ok([
        heard(SignalKind::interrupt())?,
        heard(SignalKind::terminate())?,
        heard(SignalKind::hangup())?,
    ])
}

async fn heard([first, second, third]: &mut [Signal; 3]) {
    tokio::select! {
        _ = first.recv() => {}
        _ = second.recv() => {}
        _ = third.recv() => {}
    }
}
