//! What all members do with their mail: take it, and put it into the conversation.

use swarm_engine::Injected;
use swarm_protocol::TeamName;
use swarm_store::StoreError;
use swarm_team::{Incoming, Seat, sort_mail};

/// Takes the unread mail and returns what the model is to read, oldest first and still unread. What the program
/// handles itself is acknowledged.
pub(crate) fn take(
    seat: &Seat,
    team: &TeamName,
    mut is_handled: impl FnMut(&Incoming) -> bool,
) -> Result<Vec<Incoming>, StoreError> {
    let mut messages = Vec::new();
    let mut handled = Vec::new();
    for incoming in sort_mail(seat.store.take_unread(team, &seat.name)?) {
        if is_handled(&incoming) {
            handled.extend(incoming.id().cloned());
        } else {
            messages.push(incoming);
        }
    }
    if !handled.is_empty() {
        seat.store.ack(team, &seat.name, &handled)?;
    }
    Ok(messages)
}

/// The form in which messages go into the transcript.
pub(crate) fn inject(messages: &[Incoming]) -> Vec<Injected> {
    let injected = messages.iter().map(|incoming| Injected {
        text: incoming.render(),
        message_ids: incoming.id().cloned().into_iter().collect(),
    });
    injected.collect()
}
