//! What the lead is still to be told.

use std::collections::VecDeque;
use std::sync::Arc;

use swarm_protocol::{ControlFrame, IdleNotification, MemberName, TeamName};
use swarm_store::StoreError;
use swarm_team::Seat;

/// Idle notices on their way to the lead, which may not get through at once: its inbox is full, or the disk is.
#[derive(Debug)]
pub(crate) struct Outbox {
    seat: Arc<Seat>,
    team: TeamName,
    waiting: VecDeque<IdleNotification>,
}

impl Outbox {
    pub(crate) fn new(seat: Arc<Seat>, team: TeamName) -> Self {
        Self {
            seat,
            team,
            waiting: VecDeque::new(),
        }
    }

    pub(crate) fn put(&mut self, notice: IdleNotification) {
        self.waiting.push_back(notice);
    }

    /// Sends what waits, oldest first. What cannot be sent stays for the next call.
    pub(crate) fn send(&mut self) -> Result<(), StoreError> {
        while let Some(notice) = self.waiting.front() {
            let frame = ControlFrame::IdleNotification(notice.clone());
            let draft = self.seat.control(&frame);
            self.seat
                .store
                .send(&self.team, &MemberName::lead(), draft)?;
            self.waiting.pop_front();
        }
        Ok(())
    }
}
