//! One turn of the lead, with its mail handled meanwhile.

use swarm_engine::{Session, TurnOutcome};
use swarm_fs::Subscription;
use tokio_util::sync::CancellationToken;

use super::desk::LeadDesk;

/// Runs the session's turn to its end, or until `cancel`. Frames that come in are handled at once; messages wait.
pub(super) async fn run_turn(
    session: &mut Session,
    desk: &LeadDesk,
    inbox: &mut Option<Subscription>,
    cancel: &CancellationToken,
) -> TurnOutcome {
    let turn = session.run_turn(cancel.child_token());
    tokio::pin!(turn);
    loop {
        let mail = async {
            match inbox.as_mut() {
                Some(inbox) => inbox.changed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            outcome = &mut turn => return outcome,
            () = mail => {
                if let Err(error) = desk.take() {
                    tracing::warn!(%error, "mail of the lead not read");
                }
            }
        }
    }
}
