//! The team line above the input line of a lead's terminal, and notifications about its members.

use std::sync::Arc;
use std::time::Duration;

use futures::future::select_all;
use swarm_os::DirectoryWatcher;
use swarm_protocol::{MemberName, MemberState, TaskState, TeamConfig, TeamName};
use swarm_store::{
    BlockOn as _, Changes, StoreError, TaskList, TeamView, Topic, is_stopped_by_person,
};
use swarm_ui::print::counted;
use swarm_ui::{Console, PanelContent};
use tokio::sync::Notify;

use super::member_alerts::MemberAlerts;
use super::slash::TerminalCommands;
use super::team_content::team_content;
use crate::output::say;

/// Maximum number of members listed by name; of larger teams, each state is counted.
const NAMED: usize = 6;

/// Minimum time between updates: a working team changes its files many times per second.
const PAUSE: Duration = Duration::from_millis(300);

/// How often the times in the open panel are redrawn.
const TICK: Duration = Duration::from_secs(1);

/// Inputs of the team line.
pub(super) struct Overview {
    pub(super) watcher: Arc<DirectoryWatcher>,
    pub(super) commands: Arc<TerminalCommands>,
    /// The screen with the team panel; `None` in plain mode, in which notifications are also printed.
    pub(super) console: Option<Console>,
    /// Notified when the lead may have created a team or a member.
    pub(super) look: Arc<Notify>,
}

impl Overview {
    /// Updates the line while the lead is running.
    pub(super) async fn follow(self) {
        let mut topics: Vec<Changes> = Vec::new();
        let mut alerts = MemberAlerts::default();
        self.set_panel(PanelContent::default());
        loop {
            tokio::select! {
                () = self.look.notified() => {}
                () = changed(&mut topics) => {}
                // The panel shows how long members have been in their state.
                () = tokio::time::sleep(TICK), if self.redraw_panel() => continue,
            }
            // Watch before reading, so that no change is missed.
            let team = self.commands.team();
            let line = if let Some(team) = &team {
                topics = self.topics(team);
                self.line(team, &mut alerts).unwrap_or_else(|error| {
                    tracing::warn!(%team, %error, "team not read");
                    None
                })
            } else {
                alerts.news(&[], |_| false);
                None
            };
            self.commands.status.set_team(line);
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Watches everything that affects the line.
    fn topics(&self, team: &TeamName) -> Vec<Changes> {
        let team = self.commands.app.store.team(team);
        let mut topics = vec![Topic::Roster, Topic::Tasks];
        for name in team.config().block_on().iter().flat_map(TeamConfig::names) {
            topics.extend([Topic::State(name.clone()), Topic::Pause(name)]);
        }
        let watched = topics.iter();
        watched
            .map(|topic| team.watch(&self.watcher, topic))
            .collect()
    }

    fn line(
        &self,
        team: &TeamName,
        alerts: &mut MemberAlerts,
    ) -> Result<Option<String>, StoreError> {
        let app = &self.commands.app;
        let team = app.store.team(team);
        let (view, tasks) = (team.view().block_on()?, team.tasks().block_on()?);
        let now = app.clock.now();
        let is_stopped = |name: &MemberName| {
            let events = team.events().block_on();
            events.is_ok_and(|events| is_stopped_by_person(&events.entries, name))
        };
        for why in alerts.news(&view.members, is_stopped) {
            self.commands.status.call(&why);
            if self.console.is_none() {
                say(&why);
            }
        }
        self.set_panel(team_content(&view, &tasks, now));
        Ok(line(&view, &tasks))
    }

    fn set_panel(&self, team: PanelContent) {
        if let Some(console) = &self.console {
            console.set_team(team);
        }
    }

    /// Redraws the panel. Returns whether it is open.
    fn redraw_panel(&self) -> bool {
        self.console.as_ref().is_some_and(Console::redraw_team)
    }
}

async fn changed(topics: &mut [Changes]) {
    if topics.is_empty() {
        return std::future::pending().await;
    }
    select_all(topics.iter_mut().map(|one| Box::pin(one.changed()))).await;
}

/// Returns the line; `None` if there is nothing to show.
fn line(view: &TeamView, tasks: &TaskList) -> Option<String> {
    let mates = view.members.iter();
    let mates = mates.filter(|view| !view.member.name.is_lead());
    let mates: Vec<_> = mates.map(|view| (&view.member.name, view.state)).collect();
    let mut parts = Vec::new();
    parts.extend((!mates.is_empty()).then(|| states(&mates)));
    let all = tasks.tasks.len();
    if all > 0 {
        let is_done = |state| state == TaskState::Completed;
        let states = tasks.tasks.iter().map(|task| tasks.state(task));
        let done = states.filter(|state| is_done(*state)).count();
        parts.push(format!("{done} of {} done", counted(all as u64, "task")));
    }
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// Lists the states of teammates.
fn states(mates: &[(&MemberName, MemberState)]) -> String {
    if mates.len() <= NAMED {
        let each = mates.iter().map(|(name, state)| format!("{name} {state}"));
        return each.collect::<Vec<_>>().join(", ");
    }
    let counts = MemberState::ALL.into_iter().filter_map(|state| {
        let count = mates.iter().filter(|(_, of)| *of == state).count();
        (count > 0).then(|| format!("{count} {state}"))
    });
    let counts: Vec<String> = counts.collect();
    let all = counted(mates.len() as u64, "teammate");
    format!("{all}: {}", counts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o4_states_are_named_in_small_teams_and_counted_in_large_ones() {
        let names: Vec<MemberName> = (1..=7)
            .map(|number| MemberName::parse(&format!("m{number}")).unwrap())
            .collect();
        let state = |at: usize| match at {
            1 => MemberState::Failed,
            2 => MemberState::WaitingPermission,
            _ => MemberState::Working,
        };
        let mates = names.iter().enumerate();
        let mates: Vec<_> = mates.map(|(at, name)| (name, state(at))).collect();
        assert_eq!(states(&mates[..2]), "m1 working, m2 failed");
        let counted = "7 teammates: 5 working, 1 waiting-permission, 1 failed";
        assert_eq!(states(&mates), counted);
    }
}
