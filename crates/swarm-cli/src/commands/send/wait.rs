//! `swarm send --wait`: until a message is delivered, or acknowledged.

use std::collections::HashSet;
use std::time::Instant;

use swarm_fs::NameFilter;
use swarm_protocol::{ErrorKind, Event, MemberName, MessageId, TeamName};

use super::message::Sent;
use crate::app::App;
use crate::args::WaitFor;
use crate::commands::members::is_over;
use crate::commands::watch::{Watch, deadline};
use crate::failure::Failure;

/// How far a message has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reached {
    Queued,
    Delivered,
    Acked,
}

impl Reached {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Delivered => "delivered",
            Self::Acked => "acked",
        }
    }
}

/// A wait that was begun before the messages were sent, so that it misses nothing.
#[derive(Debug)]
pub(super) struct Waiting {
    team: TeamName,
    goal: Reached,
    seconds: Option<u64>,
    deadline: Option<Instant>,
    watch: Watch,
    /// Where to go on in the journal.
    position: u64,
    delivered: HashSet<MessageId>,
}

impl Waiting {
    pub(super) fn new(
        app: &App,
        team: &TeamName,
        goal: WaitFor,
        seconds: Option<u64>,
    ) -> Result<Self, Failure> {
        let mut watch = Watch::new()?;
        watch.also(&app.store.inbox_folder(team), NameFilter::Suffix(".json"));
        watch.file(&app.store.journal_path(team));
        Ok(Self {
            position: app.store.events(team)?.next,
            team: team.clone(),
            goal: match goal {
                WaitFor::Delivered => Reached::Delivered,
                WaitFor::Acked => Reached::Acked,
            },
            seconds,
            deadline: deadline(seconds),
            watch,
            delivered: HashSet::new(),
        })
    }

    /// Waits until every message has come so far; notes in each how far it has.
    pub(super) fn wait(mut self, app: &App, sent: &mut [Sent]) -> Result<(), Failure> {
        let mut in_time = true;
        loop {
            // A receiver may take the message in and end, so who has ended is asked before how far it came.
            let ended = self.ended(app)?;
            self.look(app, sent)?;
            let late: Vec<&Sent> = sent
                .iter()
                .filter(|sent| sent.reached < self.goal)
                .collect();
            let Some(first) = late.first() else {
                return Ok(());
            };
            if let Some(lost) = late.iter().find(|sent| ended.contains(&sent.to)) {
                return Err(self.never(lost));
            }
            if !in_time {
                return Err(self.too_late(first));
            }
            in_time = self.watch.wait(self.deadline);
        }
    }

    fn look(&mut self, app: &App, sent: &mut [Sent]) -> Result<(), Failure> {
        let events = app.store.events_from(&self.team, self.position)?;
        self.position = events.next;
        for entry in events.entries {
            if let Event::Delivered { msg_id, .. } = entry.event {
                self.delivered.insert(msg_id);
            }
        }
        for sent in sent.iter_mut().filter(|sent| sent.reached < self.goal) {
            let inbox = app.store.inbox(&self.team, &sent.to)?;
            let entry = inbox
                .entries
                .iter()
                .find(|entry| entry.msg_id.as_ref() == Some(&sent.msg_id));
            sent.reached = match entry {
                Some(entry) if !entry.read => {
                    if self.delivered.contains(&sent.msg_id) {
                        Reached::Delivered
                    } else {
                        Reached::Queued
                    }
                }
                _ => Reached::Acked,
            };
        }
        Ok(())
    }

    /// The names of everybody who is not at work any more.
    fn ended(&self, app: &App) -> Result<HashSet<MemberName>, Failure> {
        let views = app.store.member_view(&self.team)?;
        let over = views.into_iter().filter(|view| is_over(view.state));
        Ok(over.map(|view| view.member.name).collect())
    }

    fn too_late(&self, sent: &Sent) -> Failure {
        let message = format!(
            "{} has not {} the message within {} s; it stays queued",
            sent.to,
            self.verb(),
            self.seconds.unwrap_or_default(),
        );
        Failure::new(ErrorKind::TimedOut, message)
            .with_hint("see what it is doing with `swarm status`")
    }

    fn never(&self, sent: &Sent) -> Failure {
        let message = format!(
            "{} has ended without having {} the message; it stays queued",
            sent.to,
            self.verb(),
        );
        Failure::new(ErrorKind::AgentFailed, message).with_hint(format!(
            "`swarm spawn {}` starts it again, and it reads its mail then",
            sent.to
        ))
    }

    fn verb(&self) -> &'static str {
        match self.goal {
            Reached::Acked => "acknowledged",
            Reached::Queued | Reached::Delivered => "taken in",
        }
    }
}
