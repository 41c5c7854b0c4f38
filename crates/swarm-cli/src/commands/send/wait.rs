//! `swarm send --wait`: waits until a message is delivered or acknowledged.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use swarm_protocol::{ErrorKind, Event, MemberName, MessageId};
use swarm_store::{BlockOn as _, Cursor, Inbox, Team, Topic};
use swarm_team::Sent;

use super::report::{DeliveryState, Tracked};
use crate::commands::members::is_over;
use crate::commands::watch::{Watch, deadline};
use crate::failure::{Failure, Result};

/// How far a message has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum WaitFor {
    /// Stored in the recipient's transcript.
    Delivered,
    /// Acknowledged by the recipient.
    Acked,
}

/// A wait that starts before the messages are sent, so that it misses no event.
#[derive(Debug)]
pub(super) struct Waiting {
    team: Arc<dyn Team>,
    goal: DeliveryState,
    seconds: Option<u64>,
    deadline: Option<Instant>,
    watch: Watch,
    /// Position to continue reading the journal.
    position: Cursor,
    delivered: HashSet<MessageId>,
    superseded: HashSet<MessageId>,
    /// Inboxes that were damaged and moved aside.
    set_aside: HashSet<MemberName>,
}

impl Waiting {
    pub(super) fn new(team: &Arc<dyn Team>, goal: WaitFor, seconds: Option<u64>) -> Result<Self> {
        let mut watch = Watch::new()?;
        for topic in [Topic::AllMail, Topic::Journal] {
            watch.topic(&**team, topic);
        }
        Ok(Self {
            position: team.events().block_on()?.next,
            team: Arc::clone(team),
            goal: match goal {
                WaitFor::Delivered => DeliveryState::Delivered,
                WaitFor::Acked => DeliveryState::Acked,
            },
            seconds,
            deadline: deadline(seconds),
            watch,
            delivered: HashSet::new(),
            superseded: HashSet::new(),
            set_aside: HashSet::new(),
        })
    }

    /// Waits until every message has reached the state, and updates the state of each.
    pub(super) fn wait(mut self, sent: &mut [Tracked]) -> Result<()> {
        // No message was sent yet, so an interrupt needs no report.
        self.watch.heed_ctrl_c()?;
        let mut in_time = true;
        loop {
            // A recipient may acknowledge a message and stop, so its state is read before the
            // delivery state.
            let ended = self.ended()?;
            self.look(sent)?;
            let late: Vec<&Tracked> = sent
                .iter()
                .filter(|sent| sent.reached < self.goal)
                .collect();
            let Some(first) = late.first() else {
                return Ok(());
            };
            if let Some(gone) = late.iter().find(|sent| sent.reached.is_gone()) {
                return Err(Self::gone(gone));
            }
            if let Some(lost) = late.iter().find(|sent| ended.contains(&sent.sent.to)) {
                return Err(self.never(&lost.sent));
            }
            if self.watch.was_interrupted() {
                return Err(self.interrupted(&first.sent));
            }
            if !in_time {
                return Err(self.too_late(&first.sent));
            }
            in_time = self.watch.wait(self.deadline);
        }
    }

    fn look(&mut self, sent: &mut [Tracked]) -> Result<()> {
        self.follow_journal()?;
        for Tracked { sent, reached } in sent {
            if *reached >= self.goal || reached.is_gone() {
                continue;
            }
            let inbox = match self.team.inbox(&sent.to).block_on() {
                Ok(inbox) => inbox,
                // The next writer moves the inbox aside, and the message counts as lost.
                Err(error) if error.kind() == ErrorKind::Damaged => continue,
                Err(error) => return Err(error.into()),
            };
            *reached = match self.standing(&inbox, sent) {
                Some(reached) => reached,
                None => self.fate(sent, *reached)?,
            };
        }
        Ok(())
    }

    /// Returns the state of a message that is in its inbox.
    fn standing(&self, inbox: &Inbox, sent: &Sent) -> Option<DeliveryState> {
        let id = &sent.posted.msg_id;
        let mut entries = inbox.entries.iter();
        let entry = entries.find(|entry| entry.msg_id.as_ref() == Some(id))?;
        Some(if entry.read {
            DeliveryState::Acked
        } else if self.delivered.contains(id) {
            DeliveryState::Delivered
        } else {
            DeliveryState::Queued
        })
    }

    /// Returns the state of a message that is not in its inbox.
    fn fate(&mut self, sent: &Sent, reached: DeliveryState) -> Result<DeliveryState> {
        // Another program may be writing. Removals are recorded in the journal before the inbox is
        // unlocked.
        let inbox = match self.team.inbox_at_rest(&sent.to).block_on() {
            Ok(inbox) => inbox,
            Err(error) if error.kind() == ErrorKind::Damaged => return Ok(reached),
            Err(error) => return Err(error.into()),
        };
        self.follow_journal()?;
        if let Some(reached) = self.standing(&inbox, sent) {
            return Ok(reached);
        }
        let id = &sent.posted.msg_id;
        Ok(if self.superseded.contains(id) {
            DeliveryState::Superseded
        } else if self.set_aside.contains(&sent.to) && !self.delivered.contains(id) {
            DeliveryState::Lost
        } else {
            DeliveryState::Acked
        })
    }

    fn follow_journal(&mut self) -> Result<()> {
        let events = self.team.events_from(self.position).block_on()?;
        self.position = events.next;
        for entry in events.entries {
            match entry.event {
                Event::Delivered { msg_id, .. } => {
                    self.delivered.insert(msg_id);
                }
                Event::Queued { superseded, .. } => self.superseded.extend(superseded),
                Event::FileDamaged { inbox, .. } => self.set_aside.extend(inbox),
                _ => {}
            }
        }
        Ok(())
    }

    fn ended(&self) -> Result<HashSet<MemberName>> {
        let views = self.team.member_view().block_on()?;
        let over = views.into_iter().filter(|view| is_over(view.state));
        Ok(over.map(|view| view.member.name).collect())
    }

    fn gone(Tracked { sent, reached }: &Tracked) -> Failure {
        if *reached == DeliveryState::Superseded {
            let message = format!(
                "a newer message with the same key replaced this one before {} read it",
                sent.to
            );
            return Failure::conflict(message)
                .with_hint("wait for the newer one, or omit `--supersede`");
        }
        let message = format!(
            "{}'s inbox was damaged and moved aside before the message was read",
            sent.to
        );
        Failure::new(ErrorKind::Damaged, message)
            .with_hint("`swarm log --type file_damaged` shows where it is kept; send it again")
    }

    fn too_late(&self, sent: &Sent) -> Failure {
        let message = format!(
            "{} has not {} the message within {} s; it stays queued",
            sent.to,
            self.verb(),
            self.seconds.unwrap_or_default(),
        );
        Failure::timed_out(message).with_hint("see what it is doing with `swarm status`")
    }

    fn interrupted(&self, sent: &Sent) -> Failure {
        let message = format!(
            "interrupted before {} had {} the message; it stays queued and will be read later",
            sent.to,
            self.verb(),
        );
        Failure::interrupted(message)
            .with_hint(format!("`swarm inbox {}` shows how far it is", sent.to))
    }

    fn never(&self, sent: &Sent) -> Failure {
        let message = format!(
            "{} stopped before it had {} the message; it stays queued",
            sent.to,
            self.verb(),
        );
        Failure::new(ErrorKind::AgentFailed, message).with_hint(format!(
            "`swarm spawn {}` restarts it, and it then reads its mail",
            sent.to
        ))
    }

    fn verb(&self) -> &'static str {
        match self.goal {
            DeliveryState::Acked => "acknowledged",
            _ => "received",
        }
    }
}
