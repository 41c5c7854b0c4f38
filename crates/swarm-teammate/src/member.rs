//! The life of a teammate.

use std::sync::Arc;

use swarm_engine::Session;
use swarm_fs::{FolderWatcher, NameFilter, Subscription};
use swarm_protocol::{Event, MemberState, TeamName};
use swarm_store::{StoreError, TeamStore};
use swarm_team::{Seat, ShutdownVerdict, approve_shutdown};
use swarm_tools::processes;
use tokio_util::sync::CancellationToken;

use crate::assemble::{Assembled, assemble};
use crate::desk::MailDesk;
use crate::idle::send_idle_notice;
use crate::parts::ProcessFacts;
use crate::reporter::Reporter;
use crate::start::{await_commit, hello, take_life};
use crate::turn::run_turn;
use crate::{TeammateError, TeammateParts};

/// How a teammate's life ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It agreed to a shutdown request.
    ShutDown,
    /// The process was told to end.
    Terminated,
    /// Its spawn was called off before it began.
    NotWanted,
    /// Its team or its place in the roster is gone.
    Removed,
}

/// Runs a teammate from its first breath to its end. On return no process that its shell started is left.
///
/// # Errors
/// [`TeammateError`] when the team's files or the transcript cannot be used.
pub async fn run(parts: TeammateParts) -> Result<Ending, TeammateError> {
    let store = Arc::clone(&parts.store);
    let order = parts.order.clone();
    let process = parts.process.clone();
    let clock = Arc::clone(&parts.clock);
    let terminate = parts.terminate.clone();
    let watcher = Arc::new(FolderWatcher::new());
    let inbox_name = format!("{}.json", order.agent.name).into();
    let inbox = watcher.subscribe(
        &store.inbox_folder(&order.agent.team),
        NameFilter::Exact(vec![inbox_name]),
    );

    let _life = take_life(&*store, &order, &process)?;
    let assembled = assemble(parts, &watcher)?;
    let tools = assembled.tool_names.clone();
    store.write_hello(
        &order.agent.team,
        &order.agent.name,
        &hello(&order, &process, tools),
    )?;
    let Some(member) = await_commit(&*store, &watcher, &order, clock.now()).await? else {
        assembled
            .reporter
            .notice("this spawn was called off; leaving");
        return Ok(Ending::NotWanted);
    };
    let Assembled {
        session,
        seat,
        desk,
        reporter,
        ..
    } = assembled;
    desk.joined(member.joined_at);
    let mut life = Life {
        team: order.agent.team.clone(),
        model: order.model.clone(),
        grace: order.limits.shutdown_grace(),
        store,
        session,
        seat,
        desk,
        reporter,
        inbox,
        terminate,
        process,
        resting: false,
    };
    let ending = life.go_on().await;
    processes::end_marked(
        "SWARM_SPAWN_ID",
        &order.spawn_id.to_string(),
        processes::GRACE,
    )
    .await;
    ending
}

struct Life {
    team: TeamName,
    model: String,
    grace: std::time::Duration,
    store: Arc<dyn TeamStore>,
    session: Session,
    seat: Arc<Seat>,
    desk: Arc<MailDesk>,
    reporter: Arc<Reporter>,
    inbox: Subscription,
    terminate: CancellationToken,
    process: ProcessFacts,
    /// Has said that it is idle.
    resting: bool,
}

impl Life {
    async fn go_on(&mut self) -> Result<Ending, TeammateError> {
        loop {
            match self.step().await {
                Ok(Some(ending)) => return Ok(ending),
                Ok(None) => {}
                Err(TeammateError::Store(StoreError::TeamNotFound { .. })) => {
                    return Ok(Ending::Removed);
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn step(&mut self) -> Result<Option<Ending>, TeammateError> {
        if self.terminate.is_cancelled() {
            // Not by the handshake, so the lead is to hear of it as of any other death. What waits stays unread.
            self.reporter.state(
                MemberState::Dead,
                Some("its process was told to end".to_owned()),
            );
            return Ok(Some(Ending::Terminated));
        }
        if !self.has_its_place()? {
            return Ok(Some(Ending::Removed));
        }
        self.receive()?;
        if let ShutdownVerdict::Open(request) = self.desk.shutdown.verdict() {
            self.reporter
                .state(MemberState::Stopping, request.reason.clone());
            let pane = self.process.pane.clone();
            approve_shutdown(
                &self.seat,
                &self.team,
                &request,
                pane,
                &self.process.backend,
            )?;
            self.desk.shutdown_answered()?;
            self.reporter.state(MemberState::Stopped, None);
            return Ok(Some(Ending::ShutDown));
        }
        if self.session.needs_turn() {
            self.turn().await?;
        } else {
            self.rest().await;
        }
        Ok(None)
    }

    /// Waits for mail. Only who really waits says that it is idle, and says it once.
    async fn rest(&mut self) {
        if !std::mem::replace(&mut self.resting, true) {
            self.reporter.state(MemberState::Idle, None);
        }
        tokio::select! {
            () = self.inbox.changed() => {}
            () = self.terminate.cancelled() => {}
        }
    }

    /// Whether this spawn is still the member of its name. An entry that another program has stripped of our mark
    /// counts.
    fn has_its_place(&self) -> Result<bool, StoreError> {
        match self.store.config(&self.team) {
            Ok(config) => Ok(config.member(&self.seat.name).is_some_and(|member| {
                member
                    .spawn_id()
                    .is_none_or(|spawn| spawn == self.seat.spawn_id)
            })),
            Err(error @ StoreError::TeamNotFound { .. }) => Err(error),
            Err(error) => {
                // A roster that cannot be read says nothing about who is in it.
                tracing::warn!(team = %self.team, member = %self.seat.name, %error, "roster not read");
                Ok(true)
            }
        }
    }

    /// Takes what waits in the inbox into the transcript, and only then acknowledges it.
    fn receive(&mut self) -> Result<(), TeammateError> {
        let messages = self.desk.take()?;
        let (known, fresh): (Vec<_>, Vec<_>) = messages
            .into_iter()
            .partition(|message| message.id().is_some_and(|id| self.session.has_message(id)));
        let mut ids: Vec<_> = known
            .iter()
            .filter_map(|message| message.id().cloned())
            .collect();
        if !fresh.is_empty() {
            let delivery = self.session.deliver(self.desk.inject(&fresh))?;
            ids.extend(delivery.added);
            ids.extend(delivery.known);
            // Before the mail counts as read: at no moment does this member look idle with nothing to do.
            self.resting = false;
            self.reporter.state(MemberState::Working, None);
        }
        self.desk.delivered(&ids)?;
        Ok(())
    }

    async fn turn(&mut self) -> Result<(), TeammateError> {
        self.resting = false;
        self.set_active(true);
        let outcome = run_turn(
            &mut self.session,
            &self.desk,
            &mut self.inbox,
            &self.terminate,
            self.grace,
        )
        .await;
        self.store.journal(
            &self.team,
            Event::TurnEnded {
                member: self.seat.name.clone(),
                outcome: outcome.word().to_owned(),
                usage: outcome.spent().usage,
                model: self.model.clone(),
            },
        )?;
        self.set_active(false);
        send_idle_notice(&self.seat, &self.team, &outcome, &self.reporter.turn_mail())?;
        Ok(())
    }

    fn set_active(&self, active: bool) {
        if let Err(error) = self.store.set_active(&self.team, &self.seat.name, active) {
            // `isActive` is a courtesy to other programs; our own state report says the same.
            tracing::debug!(member = %self.seat.name, %error, "isActive not written");
        }
    }
}
