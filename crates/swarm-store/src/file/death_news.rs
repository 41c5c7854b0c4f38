//! Messages to the lead about members that died or shut down.

use swarm_protocol::{Event, MemberName, MessageId, SpawnId};

use crate::file::team::FileTeam;
use crate::{Departure, Draft, Result};

impl FileTeam {
    /// Writes to the lead that a member died. The message has the id of the spawn, so it is sent
    /// only once: a process that records a death may be killed before it updates the roster.
    pub(crate) fn report_death(&self, departure: &Departure) -> Result<()> {
        let id = MessageId::new(departure.spawn_id.to_string());
        let entries = self.events_with(id.as_str())?;
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
        let draft = departure.news(released);
        self.tell_end(draft, departure.spawn_id)
    }

    /// Writes to the lead about the end of a spawn, once.
    pub(crate) fn tell_end(&self, draft: Draft, spawn_id: SpawnId) -> Result<()> {
        self.tell_lead(draft, MessageId::new(spawn_id.to_string()))
    }

    /// Writes to the lead, once for each ID.
    pub(crate) fn tell_lead(&self, draft: Draft, id: MessageId) -> Result<()> {
        let (lead, entry) = (MemberName::lead(), draft.into_entry(id, self.now()));
        self.with_inbox_lock(&lead, |held| self.deliver_once(held, &lead, &entry))
    }
}
