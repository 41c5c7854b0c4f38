//! The process of a node: takes orders until it is drained.

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use futures::future::{BoxFuture, LocalBoxFuture, select_all};
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use swarm_os::DirectoryWatcher;
use swarm_protocol::{AgentId, NodeReport, OrderId, TeamName, with_causes};
use swarm_store::{Announced, Changes, Lease, LeaseEnd, StoreError};
use swarm_ui::print::counted;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::execute::execute;
use super::machine::Node;
use super::members::EXIT_TIMEOUT;
use super::worktrees::{Awaited, FoundWorktrees, begin_to_finish, find_worktrees};
use crate::commands::EndSignals;
use crate::failure::Result;

/// Pause before a hub that does not answer is tried again.
const AGAIN: Duration = Duration::from_secs(2);

/// For this long after a node has joined again, a member that ran before may end because it was cut
/// off: its lease lasts 12 seconds, and its team may not be known at first.
const CUT_OFF: Duration = Duration::from_mins(1);

/// Serves until the node has been drained and its last member has ended, or a second signal.
pub(super) async fn serve(node: &Node<'_>, report: NodeReport, lease: Lease) -> Result<()> {
    let signals = counted_signals()?;
    let mut serving = Serving {
        changes: node.nodes.watch(),
        node,
        report,
        lease,
        running: FuturesUnordered::new(),
        finishing: FuturesUnordered::new(),
        ends: FuturesUnordered::new(),
        watched: HashSet::new(),
        asking: FuturesUnordered::new(),
        silent: HashSet::new(),
        watcher: DirectoryWatcher::in_runtime(&Handle::current()),
        departures: Vec::new(),
        merges: Vec::new(),
        cut_off: HashMap::new(),
        is_stale: false,
    };
    serving.greet();
    node.look_again.notify_one();
    let ended = tokio::select! {
        ended = serving.run() => ended.map(|()| false),
        () = obey(node, signals) => Ok(true),
    };
    // A spawn that is interrupted is undone.
    node.stop.cancel();
    while serving.running.next().await.is_some() {}
    let is_interrupted = ended?;
    if serving.lease.is_lost() {
        // Without the hub, members cannot be paused.
        node.out.tell("left", "the node ends without the hub");
        return Ok(());
    }
    if is_interrupted {
        serving.pause_members().await;
    } else {
        serving.finish_last_worktrees().await;
    }
    serving.leave().await;
    Ok(())
}

/// Drains the node at the first signal, also while the hub does not answer. Resolves at the second.
async fn obey(node: &Node<'_>, mut signals: watch::Receiver<u32>) {
    heard(&mut signals, 1).await;
    begin_draining(node);
    // The loop finds out whether anything is left.
    node.look_again.notify_one();
    let record = async {
        record_draining(node).await;
        pending::<()>().await;
    };
    tokio::select! {
        () = record => {}
        () = heard(&mut signals, 2) => {}
    }
}

fn begin_draining(node: &Node<'_>) {
    node.slots.send_modify(|slots| slots.is_draining = true);
    let left = {
        let slots = node.slots.borrow();
        slots.members.len() + slots.spawning
    };
    let text = match left {
        0 => "draining".to_owned(),
        left => format!(
            "draining: the node ends when {} stopped; a second Ctrl-C pauses and leaves them",
            match left {
                1 => "its member has".to_owned(),
                left => format!("its {left} members have"),
            }
        ),
    };
    node.out.tell("draining", &text);
}

async fn record_draining(node: &Node<'_>) {
    if let Err(error) = node.nodes.drain(&node.name).await {
        tracing::warn!(%error, "not recorded that the node is draining");
    }
}

/// The state of a node that serves.
struct Serving<'a> {
    node: &'a Node<'a>,
    report: NodeReport,
    lease: Lease,
    changes: Changes,
    /// The orders that are being carried out.
    running: FuturesUnordered<LocalBoxFuture<'a, ()>>,
    /// The handling of what members have left: processes, and worktrees. Only an order to spawn the
    /// same member waits for the git of its worktree.
    finishing: FuturesUnordered<LocalBoxFuture<'a, ()>>,
    /// The ends of the members that run here.
    ends: FuturesUnordered<BoxFuture<'static, AgentId>>,
    watched: HashSet<AgentId>,
    /// The next answers of teams that do not answer.
    asking: FuturesUnordered<LocalBoxFuture<'a, TeamName>>,
    silent: HashSet<TeamName>,
    watcher: DirectoryWatcher,
    /// Departures of members that have ended, after which their worktrees can be handled.
    departures: Vec<Awaited>,
    /// What may allow the removal of worktrees that were kept, such as merges.
    merges: Vec<Awaited>,
    /// The members that ran here when the lease was lost, until when their ends count as parking.
    cut_off: HashMap<AgentId, Instant>,
    /// The members are not known or not reported.
    is_stale: bool,
}

impl Serving<'_> {
    /// Serves until nothing is left to do.
    async fn run(&mut self) -> Result<()> {
        let node = self.node;
        loop {
            match self.announced().await {
                Some(Ok(announced)) => {
                    let orders = self.noted(announced).into_iter();
                    let begun = orders.map(|(team, id)| execute(node, team, id).boxed_local());
                    self.running.extend(begun);
                }
                Some(Err(error)) => tracing::warn!(%error, "the hub did not answer"),
                None => {
                    if !self.join_again().await? {
                        return Ok(());
                    }
                    continue;
                }
            }
            if self.running.is_empty() && self.finishing.is_empty() && node.is_over() {
                return Ok(());
            }
            tokio::select! {
                () = self.lease.lost() => {}
                () = self.changes.changed() => {}
                Some(()) = self.running.next() => self.look().await,
                Some(()) = self.finishing.next() => {}
                Some(member) = self.ends.next() => {
                    self.watched.remove(&member);
                    self.look().await;
                }
                () = node.look_again.notified() => self.look().await,
                () = any_of(&mut self.departures) => self.look().await,
                () = any_of(&mut self.merges) => self.look().await,
                Some(team) = self.asking.next() => {
                    self.silent.remove(&team);
                    self.look().await;
                }
                () = tokio::time::sleep(AGAIN), if self.is_stale => self.look().await,
            }
        }
    }

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
            let members = match report.members.len() {
                1 => "1 member already runs here".to_owned(),
                many => format!("{many} members already run here"),
            };
            node.out.tell("found", &members);
        }
    }

    /// Returns what was announced to the node; `None` if it has lost its lease.
    async fn announced(&self) -> Option<Result<Announced, StoreError>> {
        tokio::select! {
            biased;
            () = self.lease.lost() => None,
            announced = self.node.nodes.take_announced(&self.node.name) => Some(announced),
        }
    }

    /// Drains the node if that is requested. Returns the new orders.
    fn noted(&self, announced: Announced) -> Vec<(TeamName, OrderId)> {
        if announced.is_draining && !self.node.slots.borrow().is_draining {
            begin_draining(self.node);
        }
        announced.orders
    }

    /// Looks which members run here, and reports changes. What fails is tried again.
    async fn look(&mut self) {
        let looked = self.try_look().await;
        if let Err(error) = &looked {
            tracing::warn!(%error, "the members are not known or not reported");
        }
        self.is_stale = looked.is_err();
    }

    async fn try_look(&mut self) -> Result<(), StoreError> {
        let node = self.node;
        let (members, silent) = node.members_here().await?;
        for team in silent {
            if self.silent.insert(team.clone()) {
                self.asking.push(node.until_answered(team).boxed_local());
            }
        }
        let before = node.replace_running(members.clone());
        self.part_with_gone(&before, &members);
        for member in &members {
            if self.watched.insert(member.clone()) {
                let end = node.app.store.team(&member.team).lease_end(&member.name);
                self.ends.push(ended(end, member.clone()).boxed());
            }
        }
        let report = NodeReport {
            members,
            known_commits: node.known_commits.lock().clone(),
            ..self.report.clone()
        };
        if report != self.report {
            node.nodes.report(&node.name, report.clone()).await?;
            self.report = report;
        }
        node.looks.send_modify(|looks| *looks += 1);
        // An order may be removing a member, and reports what happened to its worktree.
        if self.running.is_empty() {
            let found = find_worktrees(node, &self.watcher, &self.report.members).await?;
            let FoundWorktrees {
                left,
                departures,
                merges,
            } = found;
            (self.departures, self.merges) = (departures, merges);
            let begun = left.into_iter();
            let begun = begun.filter_map(|left| Some(begin_to_finish(node, left)?.boxed_local()));
            self.finishing.extend(begun);
        }
        Ok(())
    }

    /// Reports the members that do not run here any more, and stops what they have started. Those that
    /// were cut off from the hub may have parked.
    fn part_with_gone(&mut self, before: &[AgentId], now: &[AgentId]) {
        let node = self.node;
        for gone in before.iter().filter(|one| !now.contains(one)) {
            let until = self.cut_off.remove(gone);
            let (word, text) = if until.is_some_and(|until| Instant::now() < until) {
                let text = format!(
                    "{0} does not run here any more; if it is parked, `swarm spawn {0} --on {1}` continues it",
                    gone.name, node.name
                );
                ("parked", text)
            } else {
                ("stopped", format!("{} has stopped", gone.name))
            };
            node.out.tell_of_member(word, gone, &text);
            let stopping = node.stop_work_of_lost(gone.clone());
            self.finishing.push(stopping.boxed_local());
        }
    }

    /// Waits a moment for members that have ended to leave their teams, and for their processes.
    /// The next node of this machine handles the worktrees of those that leave later.
    async fn finish_last_worktrees(&mut self) {
        let end = Instant::now() + EXIT_TIMEOUT;
        while !self.departures.is_empty() {
            if timeout_at(end, any_of(&mut self.departures)).await.is_err() {
                return;
            }
            self.look().await;
            while self.finishing.next().await.is_some() {}
        }
    }

    /// Takes the lease again after it was lost. Meanwhile the node counts as lost. Returns `false` if
    /// the node is drained.
    async fn join_again(&mut self) -> Result<bool> {
        let node = self.node;
        let text = format!(
            "the node's lease was not renewed in time: joining again; a member that cannot renew its \
             either parks, and `swarm spawn NAME --on {}` continues it",
            node.name
        );
        node.out.tell("lost", &text);
        let before = node.running();
        let joined = {
            let mut joining = pin!(until_joined(node, &self.report));
            loop {
                tokio::select! {
                    joined = &mut joining => break joined?,
                    Some(()) = self.running.next() => {}
                    Some(()) = self.finishing.next() => {}
                    Some(member) = self.ends.next() => {
                        self.watched.remove(&member);
                        let stopping = node.stop_work_of_lost(member);
                        self.finishing.push(stopping.boxed_local());
                    }
                }
            }
        };
        let Some((report, lease)) = joined else {
            let now = node.running();
            self.part_with_gone(&before, &now);
            let stopped = async { while self.finishing.next().await.is_some() {} };
            drop(timeout_at(Instant::now() + EXIT_TIMEOUT, stopped).await);
            return Ok(false);
        };
        (self.report, self.lease) = (report, lease);
        if node.slots.borrow().is_draining {
            record_draining(node).await;
        }
        node.out
            .tell("ready", &format!("node {} joined again", node.name));
        let until = Instant::now() + CUT_OFF;
        self.cut_off = before.iter().map(|one| (one.clone(), until)).collect();
        let now = self.report.members.clone();
        self.part_with_gone(&before, &now);
        node.look_again.notify_one();
        Ok(true)
    }

    /// Pauses the members, which stay.
    async fn pause_members(&self) {
        let node = self.node;
        for member in &node.running() {
            let paused = pause(&node.program, member).await;
            let text = if paused.is_ok_and(|status| status.success()) {
                format!(
                    "{0} is paused; `swarm continue {0}` resumes it",
                    member.name
                )
            } else {
                format!("{} could not be paused and continues", member.name)
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

/// Resolves when one of them has happened.
async fn any_of(awaited: &mut [Awaited]) {
    if awaited.is_empty() {
        return pending().await;
    }
    select_all(awaited).await;
}

/// Pauses a member as a person would.
async fn pause(program: &Path, member: &AgentId) -> io::Result<ExitStatus> {
    let mut command = tokio::process::Command::new(program);
    command
        .args(["pause", member.name.as_str()])
        .args(["--reason", "its node has ended"])
        .args(["--team", member.team.as_str(), "--quiet"]);
    Ok(command.output().await?.status)
}

async fn ended(end: LeaseEnd, member: AgentId) -> AgentId {
    // What it means is found out by looking.
    drop(end.await);
    member
}

/// Joins; `None` if the node is drained before.
async fn until_joined(node: &Node<'_>, report: &NodeReport) -> Result<Option<(NodeReport, Lease)>> {
    loop {
        match node.join(report.clone()).await {
            Ok(joined) => return Ok(Some(joined)),
            Err(error @ StoreError::NodeTaken { .. }) => return Err(error.into()),
            Err(error) => tracing::warn!(%error, "the hub is not reached"),
        }
        if node.is_over() {
            return Ok(None);
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Counts the signals from now on. A task does it, so that none is lost or read twice.
fn counted_signals() -> Result<watch::Receiver<u32>> {
    let mut signals = EndSignals::listen()?;
    let (count, seen) = watch::channel(0);
    tokio::spawn(async move {
        while !count.is_closed() {
            signals.any().await;
            count.send_modify(|count| *count += 1);
        }
    });
    Ok(seen)
}

/// Resolves when there were so many signals.
async fn heard(signals: &mut watch::Receiver<u32>, number: u32) {
    if signals.wait_for(|count| *count >= number).await.is_err() {
        // The counting task has ended, so this process is ending.
        pending::<()>().await;
    }
}
