//! The member to pause or continue, and its reaction.

use std::sync::Arc;
use std::time::Duration;

use swarm_protocol::{MemberName, SpawnId};
use swarm_store::{BlockOn as _, MemberView, Team, Topic};

use crate::app::App;
use crate::commands::members::{is_over, known};
use crate::commands::stop::MemberWord;
use crate::commands::watch::Watch;
use crate::failure::{Failure, Result};

/// Timeout for an idle member to react: longer than the interval of the fallback poll for lost
/// wake-ups.
pub(super) const PROMPTLY: Duration = Duration::from_secs(7);

/// A running member that swarm manages.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) team: Arc<dyn Team>,
    pub(super) name: MemberName,
    pub(super) spawn_id: SpawnId,
    /// Wakes when the member's state may have changed.
    pub(super) watch: Watch,
}

impl Subject {
    /// Finds the member; refuses members that cannot be paused.
    pub(super) fn find(app: &App, word: &MemberWord, verb: &str) -> Result<Self> {
        let team = app.team_of_id(word.team.clone())?;
        let name = &word.name;
        let config = team.config().block_on()?;
        let member = known(&config, name)?;
        if name.is_lead() {
            let message = format!("`swarm {verb}` is for teammates, not for the team lead");
            return Err(Failure::usage(message));
        }
        let Some(spawn_id) = member.spawn_id() else {
            let message = format!("{name} belongs to another program");
            let hint = format!("{verb} it where it runs");
            return Err(Failure::conflict(message).with_hint(hint));
        };
        let mut watch = Watch::new()?;
        watch.topic(&*team, Topic::State(name.clone()));
        let subject = Self {
            team,
            name: name.clone(),
            spawn_id,
            watch,
        };
        subject.view()?;
        Ok(subject)
    }

    /// Reads the current state of the member.
    pub(super) fn view(&self) -> Result<MemberView> {
        let views = self.team.member_view().block_on()?;
        let view = views.into_iter().find(|view| {
            view.member.name == self.name && view.member.spawn_id() == Some(self.spawn_id)
        });
        match view {
            Some(view) if !is_over(view.state) => Ok(view),
            Some(view) => {
                let message = format!("{} is {}", self.name, view.state.name());
                Err(Failure::conflict(message)
                    .with_hint(format!("`swarm spawn {}` restarts it", self.name)))
            }
            None => {
                let message = format!("{} has stopped in the meantime", self.name);
                Err(Failure::conflict(message))
            }
        }
    }

    /// Returns the error for a member that did not react in time.
    pub(super) fn silent(&self, view: &MemberView) -> Failure {
        let message = format!(
            "{} has not responded yet and is still {}; it will respond when it reads its state again",
            self.name,
            view.state.name()
        );
        Failure::timed_out(message).with_hint("if it hangs, terminate it with `swarm kill`")
    }
}
