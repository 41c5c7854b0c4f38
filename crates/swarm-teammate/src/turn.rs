//! One turn, with an eye on the mail: a shutdown request starts the clock.

use std::time::Duration;

use swarm_engine::{Session, TurnOutcome};
use swarm_fs::Subscription;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::desk::MailDesk;

/// Runs the session's turn to its end. It is cut short when the process is told to end, and when a shutdown request
/// has waited for `grace`.
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
    let mut deadline: Option<Instant> = None;
    loop {
        let cut_off = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            outcome = &mut turn => return outcome,
            () = cut_off => {
                deadline = None;
                cancel.cancel();
            }
            () = inbox.changed(), if deadline.is_none() && !cancel.is_cancelled() => {
                if desk.shutdown_waits().unwrap_or(false) {
                    deadline = Some(Instant::now() + grace);
                }
            }
        }
    }
}
