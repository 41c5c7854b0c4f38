//! The life of a member: mail, turns, and the times without turns.

use std::sync::Arc;
use std::time::Duration;

use swarm_engine::{Injected, Session, SubAgents, TurnOutcome};
use swarm_fs::{FolderWatcher, Subscription};
use swarm_protocol::{
    Event, LeadProcess, MemberState, OnLost, ShutdownRequest, TeamConfig, TeamName,
};
use swarm_store::{StoreError, TeamStore};
use swarm_team::{Incoming, Seat, ShutdownVerdict, approve_shutdown};
use tokio_util::sync::CancellationToken;

use crate::reporter::Reporter;
use crate::teammate::debrief::Debrief;
use crate::teammate::desk::MailDesk;
use crate::teammate::hold::{Hold, PauseWatch, Takeover, loss};
use crate::teammate::hooks::IdleVerdict;
use crate::teammate::lead_duty::LeadDuty;
use crate::teammate::lead_watch::LeadWatch;
use crate::teammate::parts::ProcessFacts;
use crate::teammate::person::Person;
use crate::teammate::turn::{ShutdownDeadline, TurnWatch};
use crate::teammate::{Ending, TeammateError};

/// A member between its commit and its end.
pub(crate) struct Life {
    pub(crate) team: TeamName,
    pub(crate) model: String,
    pub(crate) grace: Duration,
    pub(crate) on_lost: OnLost,
    pub(crate) store: Arc<dyn TeamStore>,
    pub(crate) session: Session,
    pub(crate) seat: Arc<Seat>,
    pub(crate) desk: Arc<MailDesk>,
    pub(crate) reporter: Arc<Reporter>,
    pub(crate) sub_agents: Arc<SubAgents>,
    pub(crate) watcher: Arc<FolderWatcher>,
    pub(crate) inbox: Subscription,
    pub(crate) lead: LeadWatch,
    pub(crate) pause: PauseWatch,
    pub(crate) person: Person,
    pub(crate) terminate: CancellationToken,
    pub(crate) process: ProcessFacts,
    /// Stands before the first prompt, until there is one.
    pub(crate) initial_prompt: Option<String>,
    /// Why no turn is taken.
    pub(crate) hold: Option<Hold>,
    /// Woken when somebody may have taken the lead; only there while parked.
    pub(crate) takeover: Option<Takeover>,
    pub(crate) debrief: Debrief,
    /// What hooks have to say to the model before its next message.
    pub(crate) context: Vec<Injected>,
    /// How often in a row hooks have kept it from going idle.
    pub(crate) kept_busy: u32,
    /// Why a hook ends it.
    pub(crate) ended_by_hook: Option<String>,
    /// What it has said of itself that it is idle.
    pub(crate) resting: Option<(MemberState, Option<String>)>,
    /// What keeps it from going on, and how long it waits before it tries again.
    pub(crate) trouble: Option<Trouble>,
    /// Until when a shutdown request waits for the agent.
    pub(crate) shutdown_deadline: Option<ShutdownDeadline>,
}

/// The shortest and the longest wait after an error.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// An error that may pass: a lock that is held, a full disk, a lead whose inbox is full.
#[derive(Debug)]
pub(crate) struct Trouble {
    what: String,
    wait: Duration,
}

impl Life {
    /// Lives until something ends it.
    pub(crate) async fn go_on(&mut self) -> Result<Ending, TeammateError> {
        loop {
            match self.step().await {
                Ok(Some(ending)) => return Ok(ending),
                Ok(None) => self.trouble = None,
                Err(TeammateError::Store(StoreError::TeamNotFound { .. })) => {
                    return Ok(Ending::Removed);
                }
                Err(error) => self.bear(&error.to_string()).await,
            }
        }
    }

    /// Says what went wrong, once, and waits before it tries again. Nothing is lost meanwhile: mail stays unread, and
    /// what the lead is to be told is kept.
    async fn bear(&mut self, what: &str) {
        let before = self.trouble.take().filter(|before| before.what == what);
        let wait = if let Some(before) = before {
            (before.wait * 2).min(PATIENCE.1)
        } else {
            self.reporter.notice(format!("not done yet: {what}"));
            self.reporter.detail(format!("not done yet: {what}"));
            self.resting = None;
            PATIENCE.0
        };
        self.trouble = Some(Trouble {
            what: what.to_owned(),
            wait,
        });
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = self.terminate.cancelled() => {}
        }
    }

    async fn step(&mut self) -> Result<Option<Ending>, TeammateError> {
        if self.terminate.is_cancelled() {
            // What waits in the inbox stays unread.
            self.debrief.leaves();
            return Ok(Some(Ending::Terminated));
        }
        let roster = self.roster()?;
        if !self.has_its_place(roster.as_ref()) {
            return Ok(Some(Ending::Removed));
        }
        let lost = self.lead_lost(roster.as_ref());
        self.hold_for(lost.as_ref(), roster.as_ref());
        self.debrief.send();
        self.person.post();
        self.receive_from_sub_agents()?;
        let messages = self.mail()?;
        if let Some(request) = self.agreed_shutdown() {
            // Messages that have come since stay unread.
            self.desk.go_on_writing();
            self.debrief.leaves();
            self.agree(&request)?;
            return Ok(Some(Ending::ShutDown));
        }
        let asked_here = !messages.is_empty() && self.hold.is_some();
        self.receive(messages).await?;
        if !self.session.needs_turn() || (self.hold.is_some() && !asked_here) {
            // Where a turn follows, it begins with its request.
            self.desk.go_on_writing();
        }
        if !self.session.needs_turn() && self.agreed_shutdown().is_some() {
            // A hook has withheld the request from the model.
            return Ok(None);
        }
        if let Some(why) = self.ended_by_hook.take() {
            let detail = format!("a hook ends it: {why}");
            self.reporter.state(MemberState::Stopped, Some(detail));
            return Ok(Some(Ending::ShutDown));
        }
        if let Some(lead) = lost.filter(|_| self.on_lost == OnLost::Stop) {
            self.debrief.leaves();
            self.reporter.state(MemberState::Stopped, Some(loss(&lead)));
            return Ok(Some(Ending::LeadLost));
        }
        if asked_here && self.session.needs_turn() {
            self.turn().await?;
            self.tell_hold();
        } else if self.hold.is_some() {
            self.stand_by().await;
        } else if self.session.needs_turn() {
            self.turn().await?;
        } else if let Some(outcome) = self
            .debrief
            .overdue()
            .filter(|_| !self.sub_agents.is_busy())
        {
            // They ended without a word that would have made a turn: whoever stopped them knows.
            self.end_turn(&outcome).await?;
        } else {
            self.rest().await;
        }
        Ok(None)
    }

    /// What is to be read. While it is parked, only the words of the person who sits at its pane are; while it is paused,
    /// nothing is.
    fn mail(&self) -> Result<Vec<Incoming>, StoreError> {
        let mut messages = self.desk.take()?;
        messages.retain(|message| match &self.hold {
            None => true,
            Some(Hold::Parked(_)) => self.desk.is_typed_here(message),
            Some(Hold::Paused(_)) => false,
        });
        Ok(messages)
    }

    /// The open shutdown request, once nothing is left to wait for: it is forced, the model was told and has ended its turn
    /// without a refusal, the deadline has passed, or no turn is taken in which the model could refuse.
    fn agreed_shutdown(&self) -> Option<ShutdownRequest> {
        let ShutdownVerdict::Open(request) = self.desk.shutdown.verdict() else {
            return None;
        };
        let id = &request.request_id;
        let deadline = self.shutdown_deadline.as_ref();
        let is_over = request.force
            || self.hold.is_some()
            || self.desk.shutdown.was_told(id)
            || deadline.is_some_and(|deadline| deadline.is_over(id));
        is_over.then_some(request)
    }

    /// The program agrees to a shutdown request.
    fn agree(&mut self, request: &ShutdownRequest) -> Result<(), StoreError> {
        self.reporter
            .state(MemberState::Stopping, request.reason.clone());
        let pane = self.process.pane.clone();
        approve_shutdown(&self.seat, &self.team, request, pane, &self.process.backend)?;
        self.desk.shutdown_answered()?;
        self.reporter.state(MemberState::Stopped, None);
        Ok(())
    }

    /// The lead that has died, where that matters to this member.
    fn lead_lost(&mut self, roster: Option<&TeamConfig>) -> Option<LeadProcess> {
        if self.on_lost == OnLost::Continue {
            return None;
        }
        self.lead.lost_in(roster)
    }

    /// Finds out whether turns may be taken, and tells of every change of that.
    fn hold_for(&mut self, lost: Option<&LeadProcess>, roster: Option<&TeamConfig>) {
        let parked = lost.filter(|_| self.on_lost == OnLost::Park);
        let hold = match (parked, self.pause.mark_in(roster)) {
            (Some(lead), _) => Some(Hold::Parked(lead.clone())),
            (None, Some(mark)) => Some(Hold::Paused(mark)),
            (None, None) => None,
        };
        // A turn that was suspended holds them before this is known here.
        self.sub_agents.hold(hold.is_some());
        if hold == self.hold {
            return;
        }
        let before = std::mem::replace(&mut self.hold, hold);
        self.takeover = None;
        self.resting = None;
        let (member, event) = (self.seat.name.clone(), self.hold.as_ref());
        let event = match (event, before) {
            (Some(hold), _) => hold.event(member),
            (None, Some(before)) => {
                let from = before.state();
                self.reporter
                    .notice(format!("no longer {}; going on", from.name()));
                Event::MemberContinued { member, from }
            }
            (None, None) => return,
        };
        self.tell_hold();
        self.enter(event);
    }

    fn tell_hold(&self) {
        if let Some(hold) = &self.hold {
            self.reporter
                .state(hold.state(), Some(hold.detail(&self.team)));
        }
    }

    /// Waits for the reason to go that keeps it from taking turns.
    async fn stand_by(&mut self) {
        let parked = matches!(self.hold, Some(Hold::Parked(_)));
        if parked && self.takeover.is_none() {
            // Looked at once more before the wait: the lead may have come back before we watched.
            self.takeover = Some(Takeover::watch(&*self.store, &self.watcher, &self.team));
            return;
        }
        let takeover = async {
            match &mut self.takeover {
                Some(takeover) => takeover.changed().await,
                None => std::future::pending().await,
            }
        };
        let input = tokio::select! {
            input = self.person.next() => input,
            () = takeover => return,
            () = self.inbox.changed() => return,
            () = self.pause.changed() => return,
            () = self.lead.fallen() => return,
            () = self.terminate.cancelled() => return,
        };
        let when = (!parked).then_some("read when this member continues");
        self.person.take(input, when);
    }

    /// Waits for mail. Only who really waits says that it is idle, and says it once.
    async fn rest(&mut self) {
        let rest = self.at_rest();
        if self.resting.as_ref() != Some(&rest) {
            self.resting = Some(rest.clone());
            self.reporter.state(rest.0, rest.1);
        }
        tokio::select! {
            input = self.person.next() => self.person.take(input, None),
            () = self.inbox.changed() => {}
            () = self.pause.changed() => {}
            () = self.lead.fallen() => {}
            // A question of one may have been answered, after which the member is said to work.
            () = self.sub_agents.changed() => self.resting = None,
            () = self.terminate.cancelled() => {}
        }
    }

    /// The roster, read once for all that is looked for in it; none where it cannot be read, which says nothing about who
    /// is in it.
    fn roster(&self) -> Result<Option<TeamConfig>, StoreError> {
        match self.store.config(&self.team) {
            Ok(config) => Ok(Some(config)),
            Err(error @ StoreError::TeamNotFound { .. }) => Err(error),
            Err(error) => {
                tracing::warn!(team = %self.team, member = %self.seat.name, %error, "roster not read");
                Ok(None)
            }
        }
    }

    /// Whether this spawn is still the member of its name. An entry that another program has stripped of our mark
    /// counts.
    fn has_its_place(&self, roster: Option<&TeamConfig>) -> bool {
        let Some(roster) = roster else {
            return true;
        };
        roster.member(&self.seat.name).is_some_and(|member| {
            member
                .spawn_id()
                .is_none_or(|spawn| spawn == self.seat.spawn_id)
        })
    }

    /// Takes the ends of sub-agents into the transcript. They wait while no turn is taken.
    fn receive_from_sub_agents(&mut self) -> Result<(), TeammateError> {
        if self.hold.is_none() && self.sub_agents.deliver_to(&mut self.session)? {
            self.resting = None;
        }
        Ok(())
    }

    /// What it says of itself while it takes no turn.
    fn at_rest(&mut self) -> (MemberState, Option<String>) {
        let background = self.sub_agents.background();
        if background.is_empty() {
            self.debrief.at_rest()
        } else {
            (MemberState::Background, Some(background.join(", ")))
        }
    }

    /// Takes messages into the transcript, and acknowledges them once they are there on disk; the model may be asked
    /// meanwhile.
    async fn receive(&mut self, messages: Vec<Incoming>) -> Result<(), TeammateError> {
        // What is begun here counts as there.
        self.session.flush()?;
        let (known, fresh): (Vec<_>, Vec<_>) = messages
            .into_iter()
            .partition(|message| message.id().is_some_and(|id| self.session.has_message(id)));
        let mut ids: Vec<_> = known
            .iter()
            .filter_map(|message| message.id().cloned())
            .collect();
        if !fresh.is_empty() {
            self.desk.note_told(&fresh);
            let initial = self.initial_prompt.clone().map(Injected::prompt);
            let prompts = initial.into_iter().chain(self.desk.inject(&fresh));
            let (context, prompts) = (self.context.clone(), prompts.collect());
            let submitted = self.session.submit(context, prompts, &self.terminate);
            let submitted = submitted.await?;
            self.context.clear();
            self.initial_prompt = None;
            self.desk.tell_senders(&fresh, &submitted.withheld);
            let delivery = submitted.delivery;
            ids.extend(delivery.added);
            ids.extend(delivery.known);
            self.resting = None;
            self.reporter.state_later(MemberState::Working, None);
        }
        if !ids.is_empty() {
            // Before the mail counts as read: at no moment does this member look idle with nothing to do.
            let reporter = Arc::clone(&self.reporter);
            self.desk.write_later(move || reporter.catch_up());
        }
        self.desk.delivered(ids, self.session.settling());
        Ok(())
    }

    async fn turn(&mut self) -> Result<(), TeammateError> {
        self.resting = None;
        self.debrief.turn_begins();
        self.desk.turn_begins();
        // A turn of a parked member is one that the person at its pane asked for.
        let minds_the_lead = self.on_lost != OnLost::Continue && self.hold.is_none();
        let watch = TurnWatch {
            desk: &self.desk,
            reporter: &self.reporter,
            inbox: &mut self.inbox,
            pause: &mut self.pause,
            person: &mut self.person,
            sub_agents: &self.sub_agents,
            lead: minds_the_lead.then_some(LeadDuty {
                watch: &mut self.lead,
                on_lost: self.on_lost,
                store: &*self.store,
                watcher: &self.watcher,
                team: &self.team,
                takeover: None,
                was_lost: false,
            }),
            terminate: &self.terminate,
            grace: self.grace,
            deadline: &mut self.shutdown_deadline,
        };
        let outcome = watch.run(&mut self.session).await;
        self.desk.turn_ends();
        self.enter(Event::TurnEnded {
            member: self.seat.name.clone(),
            outcome: outcome.word().to_owned(),
            usage: outcome.spent().usage,
            model: self.model.clone(),
        });
        self.end_turn(&outcome).await
    }

    /// What follows a turn. While a sub-agent works in the background the member is not idle: nobody is told so, and
    /// nothing is called forgotten, until that is over.
    async fn end_turn(&mut self, outcome: &TurnOutcome) -> Result<(), TeammateError> {
        let goes_on = self.desk.shutdown.verdict() == ShutdownVerdict::None;
        if goes_on && self.sub_agents.is_busy() && self.debrief.waits(outcome) {
            return Ok(());
        }
        if goes_on {
            match self.may_go_idle(outcome).await? {
                IdleVerdict::Idle => {}
                IdleVerdict::GoesOn => return Ok(()),
                IdleVerdict::Ends(why) => self.ended_by_hook = Some(why),
            }
        }
        let goes_on = goes_on && self.ended_by_hook.is_none();
        if let Some(reminder) = self.debrief.turn_ends(outcome, goes_on) {
            self.session.deliver(vec![reminder])?;
        }
        Ok(())
    }

    /// Enters an event. The journal is an account of what happened, and nothing may fail for want of it.
    fn enter(&self, event: Event) {
        if let Err(error) = self.store.journal(&self.team, event) {
            tracing::warn!(team = %self.team, member = %self.seat.name, %error, "event not entered in the journal");
        }
    }
}
