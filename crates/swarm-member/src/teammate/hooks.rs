//! The user's hooks in the life of a member.

use std::time::Duration;

use serde_json::json;
use swarm_engine::{Injected, TurnOutcome, told_by_hooks};
use swarm_policy::HookEvent;
use swarm_protocol::Envelope;

use crate::teammate::life::Life;
use crate::teammate::{Ending, TeammateError};

/// How often in a row hooks may keep a member from going idle.
const KEPT_BUSY: u32 = 8;
/// How long hooks of the end of a session may take.
const END_HOOKS: Duration = Duration::from_secs(10);

/// What hooks make of a member that would go idle.
pub(crate) enum IdleVerdict {
    /// It goes idle.
    Idle,
    /// It was told what is still to be done, and goes on.
    GoesOn,
    /// It ends, for this reason.
    Ends(String),
}

impl Life {
    /// Lets hooks know that the session begins. What they tell the model stands before its first message.
    pub(crate) async fn begin_session(&mut self) {
        let source = if self.session.totals().requests > 0 {
            "resume"
        } else {
            "startup"
        };
        let fields = json!({"source": source});
        let fired = self.session.fire(
            HookEvent::SessionStart,
            Some(source),
            fields,
            &self.terminate,
        );
        self.context.extend(told_by_hooks(&fired.await));
    }

    /// Lets hooks know that the session is over.
    pub(crate) async fn end_session(&self, ending: Option<Ending>) {
        let reason = match ending {
            Some(Ending::ShutDown) => "shutdown",
            Some(Ending::Terminated) => "terminated",
            Some(Ending::LeadLost) => "lead_lost",
            Some(Ending::Removed | Ending::NotWanted) => "removed",
            None => "failed",
        };
        let fields = json!({"reason": reason});
        // The process was told to end long ago; that does not cut these.
        let never = tokio_util::sync::CancellationToken::new();
        let fired = self
            .session
            .fire(HookEvent::SessionEnd, Some(reason), fields, &never);
        if tokio::time::timeout(END_HOOKS, fired).await.is_err() {
            self.reporter
                .notice("hook SessionEnd: took too long and was ended");
        }
    }

    /// Asks hooks whether the member may go idle after a turn that its model has ended.
    pub(crate) async fn may_go_idle(
        &mut self,
        outcome: &TurnOutcome,
    ) -> Result<IdleVerdict, TeammateError> {
        if !matches!(outcome, TurnOutcome::Finished { .. }) {
            return Ok(IdleVerdict::Idle);
        }
        let fields = json!({"teammate_name": self.seat.name, "team_name": self.team});
        let fired = self
            .session
            .fire(HookEvent::TeammateIdle, None, fields, &self.terminate);
        let asked = fired.await;
        if let Some(why) = asked.stop {
            return Ok(IdleVerdict::Ends(why));
        }
        let Some(why) = asked.block else {
            self.kept_busy = 0;
            return Ok(IdleVerdict::Idle);
        };
        if self.kept_busy >= KEPT_BUSY {
            self.kept_busy = 0;
            self.reporter.notice(format!(
                "hook TeammateIdle: kept this member busy {KEPT_BUSY} times, it goes idle now"
            ));
            return Ok(IdleVerdict::Idle);
        }
        self.kept_busy += 1;
        let text = format!("You do not go idle yet, a hook of the user says: {why}");
        let feedback = Injected::prompt(Envelope::system(&text).render());
        self.session.deliver(vec![feedback])?;
        Ok(IdleVerdict::GoesOn)
    }
}
