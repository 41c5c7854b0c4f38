//! Messages to the lead about members that died or shut down.

use swarm_protocol::{Event, MemberName, MessageId, SpawnId, TaskId, TeamConfig};

use crate::file_team::FileTeam;
use crate::member_files::has_stopped;
use crate::reconcile::Departure;
use crate::{Draft, Result};

impl FileTeam {
    /// Writes to the lead that a member died. The message has the id of the spawn, so it is sent
    /// only once: a process that records a death may be killed before it updates the roster.
    pub(crate) fn report_death(&self, departure: &Departure) -> Result<()> {
        let id = MessageId::new(departure.spawn_id.to_string());
        let lead = MemberName::lead();
        let entries = self.events_from(0)?.entries;
        let mut released = &departure.released;
        for entry in &entries {
            match &entry.event {
                Event::Queued { msg_id, .. } if *msg_id == id => return Ok(()),
                // Tasks that an earlier call released are not in this result.
                Event::MemberDied {
                    spawn_id,
                    released: before,
                    ..
                } if *spawn_id == departure.spawn_id => released = before,
                _ => {}
            }
        }
        let draft = news(departure, released);
        self.with_inbox_lock(&lead, |held| self.deliver_once(held, &lead, draft, id))
    }

    /// Writes to the lead process that a member shut down or was terminated, once for each spawn. A
    /// team without a lead process gets no message, nor does a lead that is shutting down: the
    /// process that stopped the member knows the outcome.
    pub(crate) fn report_stop(
        &self,
        config: &TeamConfig,
        member: &MemberName,
        spawn_id: SpawnId,
        released: &[TaskId],
    ) -> Result<()> {
        let lead = MemberName::lead();
        let is_ending = |name| -> Result<bool> {
            let report = self.state(name)?;
            Ok(report.as_ref().is_some_and(has_stopped))
        };
        if config.lead_process.is_none() || is_ending(&lead)? {
            return Ok(());
        }
        let what = if is_ending(member)? {
            "has shut down"
        } else {
            "was terminated"
        };
        let text = format!("{member} {what}.{}", given_back(released));
        let draft = Draft::system(text.clone()).with_summary(text);
        let id = MessageId::new(spawn_id.to_string());
        self.with_inbox_lock(&lead, |held| self.deliver_once(held, &lead, draft, id))
    }
}

/// Returns the part of a message that lists the released tasks; empty if there are none.
fn given_back(released: &[TaskId]) -> String {
    if released.is_empty() {
        return String::new();
    }
    let ids: Vec<String> = released.iter().map(|id| format!("#{id}")).collect();
    format!(" Given back: {}.", ids.join(", "))
}

/// Builds the message; its first sentence is also the summary.
fn news(departure: &Departure, released: &[TaskId]) -> Draft {
    let (member, reason) = (&departure.member, &departure.reason);
    let died = format!("{member} died unexpectedly ({reason}).");
    let tasks = given_back(released);
    let text = format!(
        "{died}{tasks} Spawn it again under the same name to continue its conversation, or assign its work to another \
         member."
    );
    Draft::system(text).with_summary(died)
}
