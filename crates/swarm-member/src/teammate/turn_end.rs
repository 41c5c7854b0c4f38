//! The end of a teammate's turn: whether it goes idle, and what others learn of its work.

use serde_json::json;
use swarm_agent::{Injected, TurnOutcome};
use swarm_permissions::HookEvent;

use crate::role::MemberLoop;
use crate::teammate::TeammateError;
use crate::teammate::role::TeammateRole;

/// Maximum consecutive times that hooks may keep a teammate from going idle.
const KEPT_BUSY: u32 = 8;

/// Decision of hooks about a teammate that is about to go idle.
enum IdleVerdict {
    Idle,
    /// It was asked to continue.
    GoesOn,
    /// It stops, for this reason.
    Ends(String),
}

impl MemberLoop<TeammateRole> {
    /// Handles the end of a turn. While a sub-agent works in the background the member is not idle:
    /// the lead is not notified and the model is not reminded until it finishes.
    pub(super) async fn end_turn(&mut self, outcome: &TurnOutcome) -> Result<(), TeammateError> {
        let goes_on = self.role.mail.shutdown.open().is_none();
        if goes_on && self.sub_agents.is_busy() && self.role.reports.waits(outcome).await {
            return Ok(());
        }
        if goes_on {
            match self.may_go_idle(outcome).await? {
                IdleVerdict::Idle => {}
                IdleVerdict::GoesOn => return Ok(()),
                IdleVerdict::Ends(why) => self.role.ended_by_hook = Some(why),
            }
        }
        let goes_on = goes_on && self.role.ended_by_hook.is_none();
        if let Some(reminder) = self.role.reports.turn_ends(outcome, goes_on).await {
            self.session.deliver(vec![reminder])?;
        }
        Ok(())
    }

    /// Makes the work of the turn available to other machines, before the lead learns of its end.
    pub(super) async fn publish_work(&self) {
        let worktree = self.role.process.worktree.as_ref();
        let (Some(merger), Some(worktree)) = (self.context().merger(), worktree) else {
            return;
        };
        if let Err(error) = merger.publish(&worktree.toplevel).await {
            // Tried again after the next turn.
            self.reporter.notice(format!("work not published: {error}"));
        }
    }

    /// Asks the `TeammateIdle` hooks whether the member may go idle after a turn that its model has
    /// finished.
    async fn may_go_idle(&mut self, outcome: &TurnOutcome) -> Result<IdleVerdict, TeammateError> {
        if !outcome.is_finished() {
            return Ok(IdleVerdict::Idle);
        }
        let fields =
            json!({"teammate_name": self.context().name, "team_name": self.role.team.name()});
        let event = HookEvent::TeammateIdle;
        let asked = self.session.fire(event, None, fields, &self.stop).await;
        if let Some(why) = asked.stop {
            return Ok(IdleVerdict::Ends(why));
        }
        let Some(why) = asked.block else {
            self.role.kept_busy = 0;
            return Ok(IdleVerdict::Idle);
        };
        if self.role.kept_busy >= KEPT_BUSY {
            self.role.kept_busy = 0;
            self.reporter.notice(format!(
                "hook TeammateIdle: kept this member busy {KEPT_BUSY} times; going idle"
            ));
            return Ok(IdleVerdict::Idle);
        }
        self.role.kept_busy += 1;
        let text = format!("Do not go idle yet; a user hook says: {why}");
        self.session.deliver(vec![Injected::system(&text)])?;
        Ok(IdleVerdict::GoesOn)
    }
}
