//! Runs a sub-agent from its first turn to its last.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::child::Child;
use super::record::{Finding, Record, StoppedBy, SubAgentStatus};
use super::sink::ChildSink;
use crate::{Totals, TurnOutcome};

/// Interval between checks for a stall while none can be due.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct Ended {
    pub(super) status: SubAgentStatus,
    pub(super) finding: Finding,
}

/// Runs turns until the sub-agent has no more input, is stopped, or fails.
pub(super) async fn drive(
    child: &mut Child,
    record: &Record,
    cancel: CancellationToken,
    stall: Option<Duration>,
) -> Ended {
    let before = child.session.totals();
    loop {
        let outcome = turn(child, record, &cancel, stall).await;
        let totals = child.session.totals().since(before);
        if outcome.is_finished() {
            record.wait_for_commands(&cancel).await;
        }
        match close(record, &outcome, totals) {
            Some(ended) => return ended,
            // Input that arrived during the last turn starts another one.
            None if outcome.is_finished() => {
                let mail = std::mem::take(&mut record.live().mail);
                let ids = match child.session.deliver(mail.clone()) {
                    Ok(delivery) => delivery.added,
                    Err(error) => {
                        // The input is delivered when the sub-agent is resumed.
                        let mut live = record.live();
                        live.mail.splice(0..0, mail);
                        live.open = false;
                        return failed(error.to_string(), totals);
                    }
                };
                child.session.parts().interjections.delivered(&ids).await;
            }
            None => {}
        }
    }
}

async fn turn(
    child: &mut Child,
    record: &Record,
    cancel: &CancellationToken,
    stall: Option<Duration>,
) -> TurnOutcome {
    let turn = child.session.run_turn(cancel.clone());
    tokio::pin!(turn);
    tokio::select! {
        biased;
        outcome = &mut turn => return outcome,
        () = stalled(&child.sink, record, stall) => record.stop(StoppedBy::Stall),
    }
    turn.await
}

/// Resolves when a background sub-agent has been silent for longer than the stall limit.
async fn stalled(sink: &ChildSink, record: &Record, limit: Option<Duration>) {
    let Some(limit) = limit else {
        return std::future::pending().await;
    };
    loop {
        let silent = sink.silent_since().filter(|_| record.view().background);
        let end = silent.map(|since| since + limit);
        match end {
            Some(end) if end <= Instant::now() => return,
            Some(end) => tokio::time::sleep_until(end).await,
            None => tokio::time::sleep(CHECK_INTERVAL.min(limit)).await,
        }
    }
}

/// Closes the run after a turn; returns `None` if there is more input.
fn close(record: &Record, outcome: &TurnOutcome, totals: Totals) -> Option<Ended> {
    let mut live = record.live();
    let stopped_by = live.stopped_by;
    let has_mail = !live.mail.is_empty();
    let (status, error) = match (&outcome.end, stopped_by) {
        (Ok(()), _) if has_mail && stopped_by.is_none() => return None,
        (Ok(()), _) => (SubAgentStatus::Completed, None),
        (_, Some(StoppedBy::Stall)) => (
            SubAgentStatus::Failed,
            Some("the model was silent for longer than the stall limit".to_owned()),
        ),
        (_, Some(StoppedBy::Agent)) => (SubAgentStatus::Killed, None),
        (_, Some(StoppedBy::Parent | StoppedBy::Process)) => (SubAgentStatus::Interrupted, None),
        (Err(_), None) => (SubAgentStatus::Failed, outcome.trouble()),
    };
    // From here on nothing is added to its mail.
    live.open = false;
    drop(live);
    let text = outcome.text.trim().to_owned();
    let finding = Finding {
        text,
        error,
        totals,
        ..Finding::default()
    };
    Some(Ended { status, finding })
}

pub(super) fn failed(error: String, totals: Totals) -> Ended {
    Ended {
        status: SubAgentStatus::Failed,
        finding: Finding {
            error: Some(error),
            totals,
            ..Finding::default()
        },
    }
}
