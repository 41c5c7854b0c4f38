//! One turn of a member: while the model works, mail, the person at the terminal and the role are
//! watched.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use swarm_agent::{TurnOutcome, TurnSignals};
use tokio_util::sync::CancellationToken;

use crate::person::Person;
use crate::role::{Compacted, InboxWatch, MemberLoop, Role, Turn};

/// How long a turn runs before other events are watched: its mail was just read, and the model
/// request has priority.
const HEAD_START: Duration = Duration::from_millis(5);

impl<R: Role> MemberLoop<R> {
    /// Runs the session's turn to its end. It is interrupted when the member is to stop and by the
    /// person; the role interrupts or suspends it.
    pub(crate) async fn run_turn(&mut self) -> TurnOutcome {
        let turn = self.new_turn();
        self.role.turn_begins(&turn).await;
        let (runtime, signals) = (self.runtime.as_ref(), turn.signals.clone());
        let running = self.session.run_turn_with(runtime, signals);
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
        watched(
            running,
            &mut self.role,
            &mut self.inbox,
            &mut self.person,
            &turn,
        )
        .await
    }

    /// Compacts the conversation between two turns. It is interrupted as a turn is.
    pub(crate) async fn run_compaction(&mut self, wish: Option<&str>) -> Compacted {
        let turn = self.new_turn();
        let signals = turn.signals.clone();
        let running = self.session.compact_by_hand(wish, signals);
        tokio::pin!(running);
        let (role, inbox, person) = (&mut self.role, &mut self.inbox, &mut self.person);
        match watched(running, role, inbox, person, &turn).await {
            Ok(()) => Compacted::Done,
            Err(_) if self.stop.is_cancelled() => Compacted::Suspended,
            Err(_) if turn.is_cancelled() => Compacted::Failed("it was interrupted".to_owned()),
            Err(_) if turn.signals.suspend.is_cancelled() => Compacted::Suspended,
            Err(error) => Compacted::Failed(error.to_string()),
        }
    }

    fn new_turn(&self) -> Turn {
        Turn {
            mail: Arc::clone(&self.mail),
            reporter: Arc::clone(&self.reporter),
            sub_agents: Arc::clone(&self.sub_agents),
            signals: TurnSignals::from(self.stop.child_token()),
        }
    }
}

/// Runs work on the conversation to its end while watching the lease, mail, the terminal and the role. Handlers may
/// wait for a hub that does not answer, so the work, the lease and the terminal do not wait for them. A handler that
/// has begun is completed: it may have acknowledged mail.
async fn watched<R: Role, T>(
    running: Pin<&mut impl Future<Output = T>>,
    role: &mut R,
    inbox: &mut InboxWatch,
    person: &mut Person,
    turn: &Turn,
) -> T {
    let over = CancellationToken::new();
    let lost = role.lease_lost();
    let work = async {
        let outcome = running.await;
        over.cancel();
        outcome
    };
    let lease = async {
        tokio::select! {
            () = over.cancelled() => {}
            () = lost => turn.signals.cancel.cancel(),
        }
    };
    let events = async {
        loop {
            tokio::select! {
                biased;
                () = over.cancelled() => return,
                // Looks at the conditions again.
                () = turn.signals.cancel.cancelled(), if !turn.is_cancelled() => {}
                event = role.turn_event(turn) => role.on_turn_event(turn, event).await,
                () = inbox.changed(), if !turn.is_cancelled() => role.on_turn_mail(turn).await,
            }
        }
    };
    let inputs = async {
        loop {
            tokio::select! {
                biased;
                () = over.cancelled() => return,
                input = person.next() => turn.take_input(person, input).await,
            }
        }
    };
    // The lease is first: a process that was frozen stops its work before it goes on.
    let ((), outcome, (), ()) = tokio::join!(biased; lease, work, events, inputs);
    outcome
}
