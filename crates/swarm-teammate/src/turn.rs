//! One turn, with an eye on the mail: a shutdown request starts the clock.

use std::time::Duration;

use swarm_engine::{Session, TurnOutcome};
use swarm_fs::Subscription;
use swarm_protocol::RequestId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::desk::MailDesk;

/// Runs the session's turn to its end. It is cut short when the process is told to end, and when a shutdown request
/// has waited for `grace` without being refused.
pub(crate) async fn run_turn(
    session: &mut Session,
    desk: &MailDesk,
    inbox: &mut Subscription,
    terminate: &CancellationToken,
    grace: Duration,
) -> TurnOutcome {
    let cancel = terminate.child_token();
    let turn = session.run_turn(cancel.clone());
    tokio::pin!(turn);
    let mut clock = None;
    loop {
        let time_up = async {
            match &clock {
                Some((_, end)) => tokio::time::sleep_until(*end).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            outcome = &mut turn => return outcome,
            () = time_up => {
                let asked = clock.clone();
                look(desk, &mut clock, grace);
                if asked == clock {
                    clock = None;
                    cancel.cancel();
                }
            }
            () = inbox.changed(), if !cancel.is_cancelled() => look(desk, &mut clock, grace),
        }
    }
}

/// Keeps the clock in line with the request that waits: each has a grace of its own, and one that was refused has none.
fn look(desk: &MailDesk, clock: &mut Option<(RequestId, Instant)>, grace: Duration) {
    let waiting = match desk.waiting_shutdown() {
        Ok(waiting) => waiting,
        Err(error) => {
            // The asker has a deadline of its own behind this one.
            tracing::warn!(member = %desk.seat.name, %error, "inbox not read during a turn");
            return;
        }
    };
    if waiting.as_ref() != clock.as_ref().map(|(id, _)| id) {
        *clock = waiting.map(|id| (id, Instant::now() + grace));
    }
}
