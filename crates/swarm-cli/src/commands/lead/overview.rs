//! The team line above the input line of a lead's terminal.

use std::sync::Arc;
use std::time::Duration;

use futures::future::select_all;
use swarm_os::DirectoryWatcher;
use swarm_protocol::{MemberState, TaskState, TeamConfig, TeamName};
use swarm_store::{BlockOn as _, Changes, MemberView, StoreError, TaskList, TeamView, Topic};
use swarm_ui::print::counted;
use swarm_ui::{Console, PanelContent};
use tokio::sync::Notify;

use super::slash::TerminalCommands;
use super::team_content::team_content;

/// Maximum number of members listed by name; larger teams are summarized by state.
const NAMED: usize = 6;

/// Minimum time between updates: a working team changes its files many times per second.
const PAUSE: Duration = Duration::from_millis(300);

/// How often the times in the open panel are redrawn.
const TICK: Duration = Duration::from_secs(1);

/// Inputs of the team line.
pub(super) struct Overview {
    pub(super) watcher: Arc<DirectoryWatcher>,
    pub(super) commands: Arc<TerminalCommands>,
    /// The screen with the team panel.
    pub(super) console: Console,
    /// Notified when the lead may have created a team or a member.
    pub(super) look: Arc<Notify>,
}

impl Overview {
    /// Updates the line while the lead is running.
    pub(super) async fn follow(self) {
        let mut topics: Vec<Changes> = Vec::new();
        self.console.set_team(PanelContent::default());
        loop {
            tokio::select! {
                () = self.look.notified() => {}
                () = changed(&mut topics) => {}
                // The panel shows how long members have been in their state.
                () = tokio::time::sleep(TICK), if self.console.redraw_team() => continue,
            }
            // Watch before reading, so that no change is missed.
            let team = self.commands.team();
            let line = match &team {
                Some(team) => {
                    topics = self.topics(team);
                    self.line(team).unwrap_or_else(|error| {
                        tracing::warn!(%team, %error, "team not read");
                        None
                    })
                }
                None => None,
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

    fn line(&self, team: &TeamName) -> Result<Option<String>, StoreError> {
        let app = &self.commands.app;
        let team = app.store.team(team);
        let (view, tasks) = (team.view().block_on()?, team.tasks().block_on()?);
        let now = app.clock.now();
        self.console.set_team(team_content(&view, &tasks, now));
        Ok(line(&view, &tasks))
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
    let mates: Vec<_> = mates.filter(|view| !view.member.name.is_lead()).collect();
    let mut parts = Vec::new();
    if !mates.is_empty() && mates.len() <= NAMED {
        let each = mates.iter().map(|view| {
            let state = view.state.name();
            format!("{} {state}", view.member.name)
        });
        parts.push(each.collect::<Vec<_>>().join(", "));
    } else if !mates.is_empty() {
        let working = mates.iter().filter(|view| is_working(view)).count();
        parts.push(format!(
            "{working} of {} working",
            counted(mates.len() as u64, "teammate")
        ));
    }
    let all = tasks.tasks.len();
    if all > 0 {
        let is_done = |state| state == TaskState::Completed;
        let states = tasks.tasks.iter().map(|task| tasks.state(task));
        let done = states.filter(|state| is_done(*state)).count();
        parts.push(format!("{done} of {} done", counted(all as u64, "task")));
    }
    (!parts.is_empty()).then(|| parts.join(" · "))
}

fn is_working(view: &MemberView) -> bool {
    matches!(view.state, MemberState::Working | MemberState::Throttled)
}
