//! Waiting for the end of an order.

use std::pin::pin;
use std::time::Duration;

use swarm_protocol::{OrderId, OrderOutcome, OrderState};
use swarm_store::{Changes, Orders, StoreError};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// How a wait for an order has ended.
#[derive(Debug)]
pub(crate) enum OrderEnd {
    /// It was carried out.
    Done(OrderOutcome),
    /// Another process has removed it.
    Removed,
    /// It was not taken or not carried out in time.
    TimedOut,
    /// The caller has cancelled it.
    Cancelled,
    /// The process for which it is does not run any more. It may have recorded an outcome.
    Lost,
}

/// Waits for an order: at most `taken` until a process takes it, and `done` until it is carried out. `lost`
/// resolves when the process for which it is does not run any more.
pub(crate) async fn wait_for_order(
    (orders, id): (&Orders, OrderId),
    changes: &mut Changes,
    (taken, done): (Duration, Duration),
    cancel: &CancellationToken,
    lost: impl Future<Output = Result<(), StoreError>>,
) -> Result<OrderEnd, StoreError> {
    let since = Instant::now();
    let mut lost = pin!(lost);
    loop {
        let end = match orders.order(id).await?.map(|order| order.state) {
            Some(OrderState::Done(outcome)) => return Ok(OrderEnd::Done(outcome)),
            None => return Ok(OrderEnd::Removed),
            Some(OrderState::Open) => since + taken,
            Some(OrderState::Taken(_) | OrderState::Withdrawn(_)) => since + done,
        };
        tokio::select! {
            woken = timeout_at(end, changes.changed()) => if woken.is_err() {
                return Ok(OrderEnd::TimedOut);
            },
            () = cancel.cancelled() => return Ok(OrderEnd::Cancelled),
            lost = &mut lost => return lost.map(|()| OrderEnd::Lost),
        }
    }
}
