//! State of a team that lost its lead, and restart of its dead members.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use swarm_agent::MemberRequest;
use swarm_os::Liveness;
use swarm_protocol::{
    Event, JournalEntry, Member, MemberName, MemberState, RequestRecord, RequestState, SpawnId,
    Task, TaskId, TeamName, task_numbers,
};
use swarm_store::{
    Actor, BlockOn as _, Draft, MemberView, StoreError, TaskChange, TaskList, Team,
    is_stopped_by_person,
};
use tokio_util::sync::CancellationToken;

use crate::{LeadError, SpawnOptions, SpawnedMember, SupervisedTeam};

/// State of a team for its next lead.
#[derive(Debug)]
pub struct Handover {
    /// Name of the team.
    pub team: TeamName,
    /// Number of unread messages for the lead; `None` if its inbox cannot be read.
    pub unread: Option<usize>,
    /// Running members, and members with unknown state.
    pub live: Vec<MemberView>,
    /// Dead members that are still in the roster.
    pub dead: Vec<DeadMember>,
    /// The task list.
    pub tasks: TaskList,
    /// Pending requests.
    pub requests: Vec<RequestRecord>,
}

/// A dead member that can be restarted.
#[derive(Debug)]
pub struct DeadMember {
    /// Roster entry.
    pub member: Member,
    /// Open tasks that it owned and that no other member has claimed.
    pub tasks: Vec<Task>,
    /// Whether a person stopped it; such a member is only restarted by name.
    pub stopped_by_person: bool,
}

/// Reads the state of a team for a new lead, without changing it.
///
/// # Errors
/// Returns an error if the store fails.
pub fn handover(team: &dyn Team) -> Result<Handover, StoreError> {
    let tasks = team.tasks().block_on()?;
    let events = team.events().block_on()?.entries;
    let lost = lost_tasks(&events);
    let mut requests = team.requests().block_on()?.requests;
    requests.retain(|request| request.state == RequestState::Open);
    let (mut live, mut dead, mut unread) = (Vec::new(), Vec::new(), None);
    for view in team.member_view().block_on()? {
        if view.member.name.is_lead() {
            unread = view.unread;
        } else if view.liveness == Liveness::Dead && view.member.swarm.is_some() {
            let released = view.member.spawn_id().and_then(|spawn| lost.get(&spawn));
            let released = released.map_or(&[][..], Vec::as_slice);
            dead.push(DeadMember {
                tasks: tasks_of(&view.member, team.name(), &tasks, released),
                stopped_by_person: view.state == MemberState::Stopped
                    && is_stopped_by_person(&events, &view.member.name),
                member: view.member,
            });
        } else {
            live.push(view);
        }
    }
    Ok(Handover {
        team: team.name().clone(),
        unread,
        live,
        dead,
        tasks,
        requests,
    })
}

/// Returns the tasks that were released at each death, by spawn.
fn lost_tasks(events: &[JournalEntry]) -> BTreeMap<SpawnId, Vec<TaskId>> {
    let deaths = events.iter().filter_map(|entry| match &entry.event {
        Event::MemberDied {
            spawn_id, released, ..
        } => Some((*spawn_id, released.clone())),
        _ => None,
    });
    deaths.collect()
}

fn tasks_of(member: &Member, team: &TeamName, list: &TaskList, released: &[TaskId]) -> Vec<Task> {
    let id = member.id_in(team);
    let tasks = list.tasks.iter().filter(|task| {
        let was_its = released.contains(&task.id) && task.owner.is_none();
        !list.state(task).is_terminal() && (was_its || task.is_owned_by(&id))
    });
    tasks.cloned().collect()
}

impl Handover {
    /// Returns the prompt for a lead that continues its conversation.
    pub fn for_the_lead(&self, respawned: &[MemberName]) -> String {
        let mut text =
            "Your process exited, and a new one continues your conversation. The state of the \
                        team:\n"
                .to_owned();
        let names = |names: Vec<&MemberName>| {
            let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
            if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            }
        };
        let live = self.live.iter().map(|view| &view.member.name);
        // Writing into a String cannot fail.
        let _infallible = writeln!(
            text,
            "Alive: {}.",
            names(live.chain(respawned).collect::<Vec<_>>())
        );
        for dead in &self.dead {
            let name = &dead.member.name;
            if respawned.contains(name) {
                continue;
            }
            let mut had = task_numbers(dead.tasks.iter().map(|task| task.id));
            if !had.is_empty() {
                had = format!(" It had {had}.");
            }
            let _infallible = if dead.stopped_by_person {
                writeln!(text, "Stopped by the user: {name}.{had}")
            } else {
                writeln!(
                    text,
                    "Dead: {name}.{had} Spawn it again under the same name to continue its conversation."
                )
            };
        }
        for task in &self.tasks.tasks {
            let state = self.tasks.state(task);
            if !state.is_terminal() {
                let owner = task.owner.as_deref().unwrap_or("no owner");
                let _infallible = writeln!(
                    text,
                    "Open: #{} [{}] {} ({owner}).",
                    task.id,
                    state.name(),
                    task.subject
                );
            }
        }
        text.trim_end().to_owned()
    }
}

/// A restarted member.
#[derive(Debug)]
pub struct Restored {
    /// The new spawn.
    pub spawned: SpawnedMember,
    /// Tasks that were assigned to it again.
    pub tasks: Vec<Task>,
}

impl SupervisedTeam<'_> {
    /// Restarts a dead member with its tasks that no other member has claimed.
    ///
    /// # Errors
    /// [`LeadError`] of the spawn; the tasks are then released again.
    pub async fn bring_back(
        self,
        dead: &DeadMember,
        cancel: CancellationToken,
    ) -> Result<Restored, LeadError> {
        let member = &dead.member;
        let mut former = MemberRequest::former(member);
        let ceiling = self.context.permissions.ceiling;
        former.mode = former.mode.filter(|mode| ceiling.covers(*mode));
        // Recording the death later would release the tasks again.
        swarm_team::reconcile(&self.files())?;
        let tasks = give_back(&*self.files(), dead);
        let options = SpawnOptions {
            prompt: words_for(&tasks),
            cancel,
            ..SpawnOptions::new(member.name.clone(), former, member.cwd.clone())
        };
        match self.spawn(options).await {
            Ok(spawned) => {
                let tasks = tasks.into_iter().map(|given| given.task).collect();
                Ok(Restored { spawned, tasks })
            }
            Err(error) => {
                // Another process restarted the member with the same tasks.
                if !matches!(error, LeadError::Store(StoreError::NameTaken { .. })) {
                    take_away(&*self.files(), member, &tasks);
                }
                Err(error)
            }
        }
    }
}

struct Given {
    task: Task,
    /// Whether the task had no owner.
    is_new: bool,
}

/// Claims a task as the member, which only succeeds for a task without an owner.
fn give_back(team: &dyn Team, dead: &DeadMember) -> Vec<Given> {
    let name = &dead.member.name;
    let itself = Actor::member(team.name(), name.clone(), None);
    let give = |task: &Task| {
        let change = TaskChange {
            owner: Some(name.clone()),
            ..TaskChange::default()
        };
        match team.update_task(&task.id, change, &itself).block_on() {
            Ok(updated) => Some(Given {
                is_new: updated.changed_fields.contains(&"owner"),
                task: updated.task,
            }),
            Err(error) => {
                tracing::info!(team = %team.name(), member = %name, task = %task.id, %error, "task not returned to its owner");
                None
            }
        }
    };
    dead.tasks.iter().filter_map(give).collect()
}

fn take_away(team: &dyn Team, member: &Member, tasks: &[Given]) {
    let itself = Actor::member(team.name(), member.name.clone(), None);
    let itself = itself.in_name_of(&MemberName::lead());
    for Given { task, .. } in tasks.iter().filter(|given| given.is_new) {
        if let Err(error) = team.release(&task.id, &itself).block_on() {
            tracing::warn!(team = %team.name(), member = %member.name, task = %task.id, %error, "task not released from a dead member");
        }
    }
}

/// Returns the prompt for a restarted member; without tasks its interrupted turn continues instead.
fn words_for(tasks: &[Given]) -> Option<Draft> {
    if tasks.is_empty() {
        return None;
    }
    let mut text = "Your process exited, and a new one continues your conversation. These tasks are assigned to you \
                    again; first check what is already done.\n"
        .to_owned();
    for Given { task, .. } in tasks {
        // Writing into a String cannot fail.
        let _infallible = writeln!(
            text,
            "Task #{}: {}\n{}",
            task.id, task.subject, task.description
        );
    }
    let summary = "your tasks are assigned to you again";
    Some(Draft::system(text.trim_end()).with_summary(summary))
}

#[cfg(test)]
mod tests {
    use swarm_protocol::PERSON;

    use super::*;

    #[test]
    fn members_stopped_by_a_person_are_distinguished() {
        let entry = |event: serde_json::Value| {
            let mut entry = event;
            entry["at"] = 1.into();
            serde_json::from_value::<JournalEntry>(entry).unwrap()
        };
        let asked = |member: &str, by: &str| {
            entry(serde_json::json!({
                "type": "shutdown_requested", "member": member, "request": "s", "by": by,
            }))
        };
        let started = |member: &str| {
            entry(serde_json::json!({
                "type": "spawn_committed", "member": member, "spawnId": SpawnId::random(), "pid": 1,
            }))
        };
        let events = [
            started("ann"),
            started("bob"),
            started("carol"),
            asked("ann", PERSON),
            asked("bob", "team-lead"),
            asked("carol", PERSON),
            started("carol"),
        ];
        let is_stopped = ["ann", "bob", "carol"]
            .map(|name| is_stopped_by_person(&events, &MemberName::parse(name).unwrap()));
        assert_eq!(is_stopped, [true, false, false]);
    }
}
