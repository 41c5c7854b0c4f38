//! One turn, with an eye on the mail, the lead and the person who may want a pause.

use std::time::Duration;

use swarm_engine::{Session, SubAgents, TurnOutcome, TurnSignals};
use swarm_fs::Subscription;
use swarm_protocol::RequestId;
use swarm_ui::PaneInput;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::desk::MailDesk;
use crate::hold::PauseWatch;
use crate::lead_duty::LeadDuty;
use crate::person::Person;
use crate::reporter::Reporter;

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
    /// How long a shutdown request waits for the end of the turn.
    pub(crate) grace: Duration,
}

impl TurnWatch<'_> {
    /// Runs the session's turn to its end. It is cut short when the process is told to end, and when a shutdown request
    /// has waited for `grace` without being refused. It is suspended when the team loses its lead.
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
        let mut clock = None;
        loop {
            let time_up = async {
                match &clock {
                    Some((_, end)) => tokio::time::sleep_until(*end).await,
                    None => std::future::pending().await,
                }
            };
            let is_cut = cancel.is_cancelled();
            tokio::select! {
                biased;
                outcome = &mut turn => return outcome,
                () = time_up => {
                    let asked = clock.clone();
                    self.look_for_shutdown(&mut clock);
                    if asked == clock {
                        clock = None;
                        cancel.cancel();
                    }
                }
                () = lead_changed(&mut self.lead) => self.look_for_lead(&suspend),
                () = self.inbox.changed(), if !is_cut => {
                    self.look_for_shutdown(&mut clock);
                    self.look_for_lead(&suspend);
                }
                () = self.pause.changed() => self.look_for_pause(),
                input = self.person.next() => self.take(input, &cancel),
            }
        }
    }

    /// Keeps the clock in line with the request that waits: each has a grace of its own, and one that was refused has
    /// none.
    fn look_for_shutdown(&self, clock: &mut Option<(RequestId, Instant)>) {
        let waiting = match self.desk.waiting_shutdown() {
            Ok(waiting) => waiting,
            Err(error) => {
                // The asker has a deadline of its own behind this one.
                tracing::warn!(member = %self.desk.seat.name, %error, "inbox not read during a turn");
                return;
            }
        };
        if waiting.as_ref() != clock.as_ref().map(|(id, _)| id) {
            *clock = waiting.map(|id| (id, Instant::now() + self.grace));
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
