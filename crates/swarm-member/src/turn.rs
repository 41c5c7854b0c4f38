//! One turn of a member: while the model works, mail, the person at the terminal and the role are watched.

use std::sync::Arc;
use std::time::Duration;

use swarm_engine::{SubAgents, TurnOutcome, TurnSignals};
use swarm_ui::PaneInput;

use crate::mail::MailHandler;
use crate::member_loop::MemberLoop;
use crate::person::Person;
use crate::reporter::Reporter;
use crate::role::Role;

/// How long a turn runs before anything else is watched: its mail has just been taken, and the request for an answer
/// goes first.
const HEAD_START: Duration = Duration::from_millis(5);

/// A running turn, as a role sees it.
pub(crate) struct Turn {
    pub(crate) mail: Arc<MailHandler>,
    pub(crate) reporter: Arc<Reporter>,
    pub(crate) sub_agents: Arc<SubAgents>,
    pub(crate) signals: TurnSignals,
}

impl Turn {
    /// Whether the turn was told to end.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.signals.cancel.is_cancelled()
    }

    /// Handles what the person at the terminal typed.
    fn take_input(&self, person: &mut Person, input: PaneInput) {
        match input {
            PaneInput::Interrupt => {
                self.reporter.notice("interrupted by you");
                self.signals.cancel.cancel();
            }
            PaneInput::Background => {
                let line = match self.sub_agents.send_to_background(None) {
                    0 => "no sub-agent is waited for".to_owned(),
                    1 => "the sub-agent goes on in the background".to_owned(),
                    many => format!("{many} sub-agents go on in the background"),
                };
                self.reporter.notice(line);
            }
            input => person.take(input, Some("read between two calls")),
        }
    }
}

impl<R: Role> MemberLoop<R> {
    /// Runs the session's turn to its end. It is interrupted when the member is to stop and by the person; the role
    /// interrupts or suspends it.
    pub(crate) async fn run_turn(&mut self) -> TurnOutcome {
        let turn = Turn {
            mail: Arc::clone(&self.mail),
            reporter: Arc::clone(&self.reporter),
            sub_agents: Arc::clone(&self.sub_agents),
            signals: TurnSignals::from(self.stop.child_token()),
        };
        self.role.turn_begins(&turn);
        let running = self.session.run_turn(turn.signals.clone());
        tokio::pin!(running);
        tokio::select! {
            biased;
            outcome = &mut running => return outcome,
            // Every task runs once: where there is a connection, the request is sent then.
            () = tokio::task::yield_now() => {}
        }
        turn.mail.begin_writes();
        tokio::select! {
            biased;
            outcome = &mut running => return outcome,
            () = tokio::time::sleep(HEAD_START) => {}
        }
        self.role.request_sent(&turn);
        loop {
            tokio::select! {
                biased;
                outcome = &mut running => return outcome,
                event = self.role.turn_event(&turn) => self.role.on_turn_event(&turn, event),
                () = self.inbox.changed(), if !turn.is_cancelled() => self.role.on_turn_mail(&turn),
                input = self.person.next() => turn.take_input(&mut self.person, input),
            }
        }
    }
}
