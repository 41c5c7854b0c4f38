//! One turn, with an eye on the mail, the lead and the person who may want a pause.

use std::time::Duration;

use swarm_engine::{Session, SubAgents, TurnOutcome, TurnSignals};
use swarm_fs::Subscription;
use swarm_protocol::{RequestId, ShutdownRequest};
use swarm_team::ShutdownVerdict;
use swarm_ui::PaneInput;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::reporter::Reporter;
use crate::teammate::desk::MailDesk;
use crate::teammate::hold::PauseWatch;
use crate::teammate::lead_duty::LeadDuty;
use crate::teammate::person::Person;

/// How long a turn runs before anything else is looked at: its mail has just been taken, and what is on its way first is
/// the request for an answer.
const HEAD_START: Duration = Duration::from_millis(5);

/// What is looked at while a turn runs.
pub(crate) struct TurnWatch<'a> {
    pub(crate) desk: &'a MailDesk,
    pub(crate) reporter: &'a Reporter,
    pub(crate) inbox: &'a mut Subscription,
    pub(crate) pause: &'a mut PauseWatch,
    pub(crate) person: &'a mut Person,
    pub(crate) sub_agents: &'a SubAgents,
    /// Absent where the turn goes on without a lead.
    pub(crate) lead: Option<LeadDuty<'a>>,
    pub(crate) terminate: &'a CancellationToken,
    /// How long a shutdown request waits for the agent.
    pub(crate) grace: Duration,
    /// The one that waits, kept from turn to turn.
    pub(crate) deadline: &'a mut Option<ShutdownDeadline>,
}

/// When the program agrees to a shutdown request for its agent.
#[derive(Debug, Clone)]
pub(crate) struct ShutdownDeadline {
    request: RequestId,
    at: Instant,
}

impl ShutdownDeadline {
    /// Whether this request has waited long enough.
    pub(crate) fn is_over(&self, request: &RequestId) -> bool {
        self.request == *request && Instant::now() >= self.at
    }
}

impl TurnWatch<'_> {
    /// Runs the session's turn to its end. It is interrupted when the process is told to end, when a shutdown request is
    /// forced, and when one has waited for `grace` without being refused. It is suspended when the team loses its lead.
    pub(crate) async fn run(mut self, session: &mut Session) -> TurnOutcome {
        let signals = TurnSignals::from(self.terminate.child_token());
        let (cancel, suspend) = (signals.cancel.clone(), signals.suspend.clone());
        let turn = session.run_turn(signals);
        tokio::pin!(turn);
        tokio::select! {
            biased;
            outcome = &mut turn => return outcome,
            // Until every task has had its say: where there is a connection, the request is in it then.
            () = tokio::task::yield_now() => {}
        }
        self.desk.go_on_writing();
        tokio::select! {
            biased;
            outcome = &mut turn => return outcome,
            () = tokio::time::sleep(HEAD_START) => {}
        }
        if let ShutdownVerdict::Open(request) = self.desk.shutdown.verdict() {
            self.wait_for(Some(request), &cancel);
        }
        loop {
            let end = self.deadline.as_ref().map(|deadline| deadline.at);
            let is_cut = cancel.is_cancelled();
            let time_up = async {
                match end.filter(|_| !is_cut) {
                    Some(end) => tokio::time::sleep_until(end).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                outcome = &mut turn => return outcome,
                () = time_up => {
                    // Another request may have taken its place meanwhile.
                    self.look_for_shutdown(&cancel);
                    if self.deadline.as_ref().map(|deadline| deadline.at) == end {
                        cancel.cancel();
                    }
                }
                () = lead_changed(&mut self.lead) => self.look_for_lead(&suspend),
                () = self.inbox.changed(), if !is_cut => {
                    self.look_for_shutdown(&cancel);
                    self.look_for_lead(&suspend);
                }
                () = self.pause.changed() => self.look_for_pause(),
                input = self.person.next() => self.take(input, &cancel),
            }
        }
    }

    fn look_for_shutdown(&mut self, cancel: &CancellationToken) {
        match self.desk.waiting_shutdown() {
            Ok(waiting) => self.wait_for(waiting, cancel),
            Err(error) => {
                // The asker has a deadline of its own behind this one.
                tracing::warn!(member = %self.desk.seat.name, %error, "inbox not read during a turn");
            }
        }
    }

    /// Keeps the deadline in line with the request that waits: each has its own, and one that was refused has none. A
    /// forced one interrupts the turn.
    fn wait_for(&mut self, waiting: Option<ShutdownRequest>, cancel: &CancellationToken) {
        let Some(request) = waiting else {
            *self.deadline = None;
            return;
        };
        if request.force {
            cancel.cancel();
        }
        let known = self.deadline.as_ref().map(|deadline| &deadline.request);
        if known != Some(&request.request_id) {
            *self.deadline = Some(ShutdownDeadline {
                request: request.request_id,
                at: Instant::now() + self.grace,
            });
        }
    }

    fn take(&mut self, input: PaneInput, cancel: &CancellationToken) {
        match input {
            PaneInput::Interrupt => {
                self.reporter.notice("interrupted by you");
                cancel.cancel();
            }
            PaneInput::Background => {
                let line = match self.sub_agents.send_to_background(None) {
                    0 => "no sub-agent is waited for".to_owned(),
                    1 => "the sub-agent goes on in the background".to_owned(),
                    many => format!("{many} sub-agents go on in the background"),
                };
                self.reporter.notice(line);
            }
            input => self.person.take(input, Some("read between two calls")),
        }
    }

    fn look_for_lead(&mut self, suspend: &CancellationToken) {
        let Some(duty) = &mut self.lead else {
            return;
        };
        let look = duty.look();
        if let Some((state, detail)) = look.news {
            self.reporter.state(state, Some(detail));
        }
        if look.is_lost && !suspend.is_cancelled() {
            suspend.cancel();
            // The turn does not wait for what asks its model no more; whoever takes up the turn is told of its end.
            self.sub_agents.hold(true);
            self.sub_agents.send_to_background(None);
        }
    }

    fn look_for_pause(&mut self) {
        let before = self.pause.known();
        let line = match (before, self.pause.mark()) {
            (false, Some(mark)) => format!("{} pauses this member when its turn ends", mark.by),
            (true, None) => "the pause is called off".to_owned(),
            _ => return,
        };
        self.reporter.notice(line);
    }
}

async fn lead_changed(lead: &mut Option<LeadDuty<'_>>) {
    match lead {
        Some(lead) => lead.changed().await,
        None => std::future::pending().await,
    }
}
