//! What the lead is told of a member's death.

use swarm_protocol::{Event, LEAD_NAME, MemberName, MessageId, TaskId};

use crate::reconcile::Departure;
use crate::team_files::TeamFiles;
use crate::{Draft, Result};

impl TeamFiles<'_> {
    /// Writes to the lead that a member died. The message has the id of the spawn, so that it is sent once however
    /// often this is called: whoever enters a death may be killed before the roster says that it is entered.
    pub(crate) fn tell_of_death(&self, departure: &Departure) -> Result<()> {
        let id = MessageId::new(departure.spawn_id.to_string());
        let lead = MemberName::lead();
        let entries = self.events_from(0)?.entries;
        let mut released = &departure.released;
        for entry in &entries {
            match &entry.event {
                Event::Queued { msg_id, .. } if *msg_id == id => return Ok(()),
                // What an earlier call gave back, this one did not.
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
}

/// The message; its first words are also its summary.
fn news(departure: &Departure, released: &[TaskId]) -> Draft {
    let (member, reason) = (&departure.member, &departure.reason);
    let died = format!("{member} died unexpectedly ({reason}).");
    let tasks = match released {
        [] => String::new(),
        ids => {
            let ids: Vec<String> = ids.iter().map(|id| format!("#{id}")).collect();
            format!(" Given back: {}.", ids.join(", "))
        }
    };
    let text = format!(
        "{died}{tasks} Spawn it again under the same name to carry on its conversation, or give its work to somebody \
         else."
    );
    Draft::system(LEAD_NAME, text).with_summary(died)
}
