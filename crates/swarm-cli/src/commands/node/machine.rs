//! A node, and its slots.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use parking_lot::Mutex;
use swarm_protocol::{AgentId, ErrorKind, LifeRecord, NodeName, NodeReport, TeamName};
use swarm_store::{HubSettings, Lease, Nodes, StoreError};
use swarm_worktree::Worktrees;
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::announce::Announcer;
use super::kept::KeptWorktrees;
use crate::app::App;
use crate::failure::{Failure, Result};
use crate::spawn_context::worktrees;

/// How many worktrees git handles at a time.
const MAX_HANDLED: usize = 4;

/// What orders need to know about this node.
pub(super) struct Node<'a> {
    pub(super) app: &'a App,
    pub(super) out: Announcer,
    pub(super) hub: HubSettings,
    pub(super) nodes: Nodes,
    pub(super) name: NodeName,
    pub(super) process: LifeRecord,
    pub(super) worktrees: Worktrees,
    pub(super) slots: watch::Sender<Slots>,
    /// Teams that have answered when they were last asked for their members, and how long that took.
    pub(super) answered: Mutex<BTreeMap<TeamName, Duration>>,
    /// Commits that need not be sent here.
    pub(super) known_commits: Mutex<Vec<String>>,
    /// Wakes the node when its members may have changed.
    pub(super) look_again: Notify,
    /// Cancels the orders that are being carried out.
    pub(super) stop: CancellationToken,
    /// The program of this process, also after the file was replaced.
    pub(super) program: PathBuf,
    /// Held while this machine joins a team: an order of the same team waits for it.
    pub(super) joining: tokio::sync::Mutex<()>,
    /// How often the members were looked for and reported.
    pub(super) looks: watch::Sender<u64>,
    /// The worktrees of members that have left, by path, until git has kept or removed them.
    pub(super) in_work: watch::Sender<BTreeMap<PathBuf, AgentId>>,
    /// Limits how many of them git handles at a time.
    pub(super) handling: Semaphore,
    /// The worktrees that were kept.
    pub(super) kept: Mutex<KeptWorktrees>,
}

/// Which slots are in use.
#[derive(Default)]
pub(super) struct Slots {
    number: usize,
    pub(super) members: Vec<AgentId>,
    /// Members that are being spawned.
    pub(super) spawning: usize,
    pub(super) is_draining: bool,
}

impl Slots {
    /// Takes one for a member.
    ///
    /// # Errors
    /// Why it does not have one.
    fn take(&mut self, member: &AgentId) -> Result<(), String> {
        if self.is_draining {
            return Err("is draining".to_owned());
        }
        let others = self.members.iter().filter(|one| *one != member).count();
        if others + self.spawning >= self.number {
            return Err(format!("has no free slot: all {} are in use", self.number));
        }
        self.spawning += 1;
        Ok(())
    }

    fn are_over(&self) -> bool {
        self.is_draining && self.members.is_empty() && self.spawning == 0
    }
}

/// A slot for a member that is being spawned.
pub(super) struct Slot<'a>(&'a watch::Sender<Slots>);

impl Slot<'_> {
    /// The member runs.
    pub(super) fn fill(self, member: &AgentId) {
        self.0.send_modify(|slots| {
            if !slots.members.contains(member) {
                slots.members.push(member.clone());
            }
        });
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|slots| slots.spawning -= 1);
    }
}

impl<'a> Node<'a> {
    pub(super) fn new(
        app: &'a App,
        hub: HubSettings,
        nodes: Nodes,
        name: NodeName,
        process: LifeRecord,
        slots: u32,
        program: PathBuf,
    ) -> Self {
        Self {
            app,
            out: Announcer(app.out),
            hub,
            nodes,
            name,
            process,
            worktrees: worktrees(app),
            slots: watch::Sender::new(Slots {
                number: usize::try_from(slots).unwrap_or(usize::MAX),
                ..Slots::default()
            }),
            answered: Mutex::default(),
            known_commits: Mutex::default(),
            look_again: Notify::new(),
            stop: CancellationToken::new(),
            program,
            joining: tokio::sync::Mutex::default(),
            looks: watch::Sender::default(),
            in_work: watch::Sender::default(),
            handling: Semaphore::new(MAX_HANDLED),
            kept: Mutex::default(),
        }
    }

    /// Joins the hub with the members that run here, as far as their teams answer.
    pub(super) async fn join(
        &self,
        mut report: NodeReport,
    ) -> Result<(NodeReport, Lease), StoreError> {
        self.ask_all().await?;
        (report.members, _) = self.members_here().await?;
        self.find_known_commits().await;
        report.known_commits.clone_from(&self.known_commits.lock());
        self.replace_running(report.members.clone());
        let lease = self.nodes.join(&self.name, report.clone(), &self.process);
        Ok((report, lease.await?))
    }

    /// Returns the directory of the repositories that this node has received.
    pub(super) fn own_repositories(&self) -> PathBuf {
        self.app
            .root
            .join("swarm")
            .join("node")
            .join("repositories")
    }

    /// Finds the commits that need not be sent here, with git.
    pub(super) async fn find_known_commits(&self) {
        let (own, here) = (self.own_repositories(), self.app.env.cwd.clone());
        let worktrees = self.worktrees.clone();
        let known = tokio::task::spawn_blocking(move || worktrees.known_commits(&own, &here));
        let known = known.await.unwrap_or_default();
        *self.known_commits.lock() = known;
    }

    /// Returns the members that ran here when it was last looked.
    pub(super) fn running(&self) -> Vec<AgentId> {
        self.slots.borrow().members.clone()
    }

    /// Sets the members that run here. Returns those of before.
    pub(super) fn replace_running(&self, mut members: Vec<AgentId>) -> Vec<AgentId> {
        self.slots
            .send_modify(|slots| std::mem::swap(&mut slots.members, &mut members));
        members
    }

    /// Returns whether the node is drained.
    pub(super) fn is_over(&self) -> bool {
        self.slots.borrow().are_over()
    }

    /// Resolves when the node is drained.
    pub(super) async fn wait_until_drained(&self) {
        // The node holds the other end.
        drop(self.slots.subscribe().wait_for(Slots::are_over).await);
    }

    /// Takes a slot for a member, which may replace one of its name.
    pub(super) fn take_slot(&self, member: &AgentId) -> Result<Slot<'_>> {
        let mut taken = Ok(());
        self.slots.send_if_modified(|slots| {
            taken = slots.take(member);
            taken.is_ok()
        });
        taken.map(|()| Slot(&self.slots)).map_err(|why| {
            let message = format!("node {} {why}", self.name);
            Failure::new(ErrorKind::Conflict, message)
                .with_hint("`swarm node list` shows the nodes")
        })
    }
}
