//! Everything that a status shows, read once.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use swarm_protocol::{
    AgentId, MemberName, NodeName, RequestId, RequestRecord, Task, TaskState, TaskStatus,
    TeamConfig, TeamName,
};
use swarm_store::{BlockOn as _, MemberView, StoreError, TaskList, Team, TeamView};
use swarm_supervisor::{node_of, started_elsewhere};
use swarm_team::{BudgetUse, TeamSpending, budget_uses};
use swarm_worktree::Collision;

use super::past::Past;
use crate::app::App;
use crate::commands::cost::budget_record;
use crate::commands::members::{self, is_over};
use crate::commands::requests::open_requests;
use crate::commands::task;
use crate::commands::team::state_in;
use crate::concurrently::run_both;
use crate::failure::Result;
use crate::own_process::host_name;
use crate::spawn_context::worktrees;
use crate::which_team::not_entered;

/// Task states in the order of the summary.
const TASK_STATES: [TaskState; 5] = [
    TaskState::InProgress,
    TaskState::Pending,
    TaskState::Blocked,
    TaskState::Failed,
    TaskState::Completed,
];

/// Snapshot of a team.
pub(super) struct Status {
    pub(super) config: TeamConfig,
    /// Lead state: `led`, `orphaned`, `ended`, `by-hand` or `foreign`.
    pub(super) state: &'static str,
    pub(super) members: Vec<MemberView>,
    /// Where members run that are not on this machine.
    pub(super) elsewhere: BTreeMap<MemberName, Elsewhere>,
    /// Reason of each member's last death.
    deaths: BTreeMap<MemberName, String>,
    /// Costs, including those of members that have left.
    pub(super) spending: TeamSpending,
    pub(super) budgets: Vec<BudgetUse>,
    pub(super) tasks: TaskList,
    pub(super) requests: Vec<RequestRecord>,
    /// Why members ignored answers to requests.
    ignored: BTreeMap<RequestId, String>,
    /// Forecast conflicts between the worktrees of the team's repository.
    pub(super) collisions: Vec<Collision>,
    /// Unreadable files, and damaged files that were moved aside and still exist.
    pub(super) damaged: Vec<String>,
    /// Members that could not be notified of changed tasks, and why.
    pub(super) undelivered: Vec<String>,
    /// Why stopped members could not be recorded.
    pub(super) unentered: Option<String>,
}

impl Status {
    /// Reconciles the team and reads everything once; of the journal only events after `past`.
    pub(super) fn gather(app: &App, team: &TeamName, past: &mut Past) -> Result<Self> {
        let team = app.store.team(team);
        let (seen, tasks, unentered) = members_and_tasks(&team)?;
        let (elsewhere, rest) = run_both(
            || elsewhere(&*team, &seen.members),
            || {
                let requests = open_requests(&*team).block_on()?;
                past.read_on(&*app.store, &seen.config)?;
                Ok::<_, StoreError>((requests, team.budgets().block_on()?))
            },
        );
        let (requests, budgets) = rest?;
        let inboxes = seen
            .members
            .iter()
            .filter_map(|view| view.damaged_inbox.as_ref());
        let broken = tasks.broken.iter().chain(&requests.broken).chain(inboxes);
        let broken = broken.map(|broken| StoreError::from(broken.clone()).to_string());
        let damaged = broken.chain(past.set_aside()).collect();
        let state = state_in(&seen);
        Ok(Self {
            collisions: collisions(app, &seen.config, state),
            state,
            elsewhere,
            damaged,
            undelivered: task::undelivered(&*team),
            unentered: unentered.as_ref().map(not_entered),
            config: seen.config,
            members: seen.members,
            deaths: past.deaths.clone(),
            budgets: budget_uses(&past.spending, &budgets, &app.settings.default_budgets()),
            spending: past.spending.clone(),
            tasks,
            requests: requests.requests,
            ignored: past.ignored.clone(),
        })
    }

    pub(super) fn death(&self, name: &MemberName) -> Option<&str> {
        self.deaths.get(name).map(String::as_str)
    }

    /// Returns why the member of a request ignored an answer to it.
    pub(super) fn ignored_answer(&self, request: &RequestId) -> Option<&str> {
        self.ignored.get(request).map(String::as_str)
    }

    pub(super) fn open_tasks(&self) -> impl Iterator<Item = &Task> {
        let tasks = self.tasks.tasks.iter();
        tasks.filter(|task| task.status != TaskStatus::Completed)
    }

    pub(super) fn counts(&self) -> [(TaskState, usize); TASK_STATES.len()] {
        let mut counts = TASK_STATES.map(|state| (state, 0));
        for task in &self.tasks.tasks {
            let state = self.tasks.state(task);
            for (_, count) in counts.iter_mut().filter(|(of, _)| *of == state) {
                *count += 1;
            }
        }
        counts
    }

    pub(super) fn document(&self) -> Result<Value> {
        let mut document = serde_json::to_value(&self.config)?;
        document["state"] = json!(self.state);
        let members = self.members.iter().map(|view| {
            let mut record = members::record(view, &self.tasks.tasks, &self.config.name)?;
            let sum = self.spending.of_member(&view.member.name);
            record["usage"] = json!(sum.usage);
            record["cost"] = json!(sum);
            if let Some(elsewhere) = self.elsewhere.get(&view.member.name) {
                record["host"] = json!(elsewhere.host);
                record["node"] = json!(elsewhere.node);
            }
            if is_over(view.state) {
                record["reason"] = json!(self.death(&view.member.name));
            }
            Ok(record)
        });
        document["members"] = members.collect::<Result<Value>>()?;
        let counts: Map<String, Value> = self
            .counts()
            .into_iter()
            .map(|(state, count)| (state.name().to_owned(), json!(count)))
            .collect();
        let open = self.open_tasks().map(|one| task::record(one, &self.tasks));
        document["tasks"] = json!({
            "counts": counts,
            "open": open.collect::<Result<Value>>()?,
        });
        document["requests"] = json!(self.requests);
        document["usage"] = json!(self.spending.total.usage);
        document["cost"] = json!(self.spending.total);
        document["budgets"] = self.budgets.iter().map(budget_record).collect();
        document["collisions"] = json!(self.collisions);
        document["damaged"] = json!(self.damaged);
        document["undelivered"] = json!(self.undelivered);
        Ok(document)
    }
}

/// A member that is not on this machine.
pub(super) struct Elsewhere {
    host: String,
    node: Option<NodeName>,
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Some(node) => node.fmt(f),
            None => self.host.fmt(f),
        }
    }
}

/// Returns where the running members of a team are. A node that cannot be looked up is not known.
fn elsewhere(team: &dyn Team, members: &[MemberView]) -> BTreeMap<MemberName, Elsewhere> {
    let Some(orders) = team.orders() else {
        return BTreeMap::new();
    };
    let this_host = host_name();
    let mut found = BTreeMap::new();
    for view in members.iter().filter(|view| !is_over(view.state)) {
        let name = &view.member.name;
        let Some(life) = &view.process else { continue };
        if let Some(host) = started_elsewhere(team, name, life, &this_host).block_on() {
            found.insert(name.clone(), Elsewhere { host, node: None });
        }
    }
    if found.is_empty() {
        return found;
    }
    let nodes = orders.nodes().nodes().block_on().unwrap_or_default();
    for (name, elsewhere) in &mut found {
        let id = AgentId::new(name.clone(), team.name().clone());
        elsewhere.node = node_of(&nodes, &id).map(|node| node.name.clone());
    }
    found
}

/// Returns the forecast conflicts between worktrees, whose files only the lead reads, because that
/// takes time; without one, uncommitted changes are left out. A failure is only logged, because a
/// merge finds the conflicts too.
fn collisions(app: &App, config: &TeamConfig, state: &str) -> Vec<Collision> {
    let mut apart = config
        .members
        .iter()
        .filter_map(|member| member.worktree_path.as_deref());
    let (Some(one), Some(_)) = (apart.next(), apart.next()) else {
        return Vec::new();
    };
    let worktrees = worktrees(app);
    let made = match state {
        "led" => worktrees.known_forecast(one),
        _ => worktrees.committed_forecast(one),
    };
    made.unwrap_or_else(|error| {
        tracing::warn!(%error, "no forecast of conflicts");
        Vec::new()
    })
}

/// Reads most files on two threads. A newly recorded death releases tasks, so both parts are then
/// read again.
fn members_and_tasks(
    team: &Arc<dyn Team>,
) -> Result<(TeamView, TaskList, Option<StoreError>), StoreError> {
    let (tasks, seen) = run_both(
        || {
            if team.is_remote() {
                // They are kept.
                team.budgets().block_on()?;
            }
            team.tasks().block_on()
        },
        || team.view().block_on(),
    );
    let seen = seen?;
    if !seen.needs_reconcile {
        return Ok((seen, tasks?, None));
    }
    let (seen, unentered) = swarm_team::reconcile_and_view(team, seen)?;
    Ok((seen, team.tasks().block_on()?, unentered))
}
