//! Waiting for the end of an order.

use std::pin::pin;
use std::time::Duration;

use swarm_protocol::{OrderId, OrderOutcome, OrderState, SpawnId};
use swarm_store::{Changes, Orders, StoreError};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// How a wait for an order has ended.
#[derive(Debug)]
pub(crate) enum OrderEnd {
    /// It was carried out.
    Done(OrderOutcome),
    /// Another process has removed it.
    Removed {
        /// No process had taken it when it was last seen.
        was_open: bool,
    },
    /// It was not taken or not carried out in time.
    TimedOut,
    /// The caller has cancelled it.
    Cancelled,
    /// The process for which it is does not run any more. It may have recorded an outcome.
    Lost,
}

/// Waits for an order: at most `taken` until a process takes it, and `done` until it is carried
/// out, which begins anew whenever the process ends another order: it may carry them out one after
/// the other. `lost` resolves when the process for which it is does not run any more.
pub(crate) async fn wait_for_order(
    (orders, id): (&Orders, OrderId),
    changes: &mut Changes,
    (taken, done): (Duration, Duration),
    cancel: &CancellationToken,
    lost: impl Future<Output = Result<(), StoreError>>,
) -> Result<OrderEnd, StoreError> {
    let mut since = Instant::now();
    let mut begun = 0;
    let mut was_open = true;
    let mut lost = pin!(lost);
    loop {
        let state = orders.order(id).await?.map(|order| order.state);
        was_open &= matches!(state, None | Some(OrderState::Open));
        let end = match state {
            Some(OrderState::Done(outcome)) => return Ok(OrderEnd::Done(outcome)),
            None => return Ok(OrderEnd::Removed { was_open }),
            Some(OrderState::Open) => since + taken,
            Some(OrderState::Taken(by)) => {
                let before = begun;
                begun = begun_by(orders, by).await?;
                if begun < before {
                    since = Instant::now();
                }
                since + done
            }
            Some(OrderState::Withdrawn(_)) => since + done,
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

/// Returns how many orders a process has taken and not carried out.
async fn begun_by(orders: &Orders, by: SpawnId) -> Result<usize, StoreError> {
    let all = orders.open_or_taken(by).await?.into_iter();
    Ok(all.filter(|order| order.state != OrderState::Open).count())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use swarm_protocol::{Order, SystemClock, TeamName};
    use swarm_store::{MemoryStore, NewTeam, TeamStore as _};

    use super::*;

    /// Time for one order. Two take longer.
    const DONE: Duration = Duration::from_millis(900);

    #[tokio::test]
    async fn an_order_behind_another_one_has_its_whole_time() {
        let directory = tempfile::tempdir().unwrap();
        let store = MemoryStore::new(directory.path().to_owned(), Arc::new(SystemClock));
        let name = TeamName::parse("crew").unwrap();
        let new = NewTeam::new(name.clone(), directory.path(), "person");
        store.create_team(new).await.unwrap();
        let orders = store.team(&name).orders().unwrap();
        let (node, mut ids) = (SpawnId::random(), Vec::new());
        for _ in 0..2 {
            let order = Order::new(vec!["peek".to_owned()]);
            ids.push(order.id);
            let placed = orders.place(order, Duration::from_mins(1));
            placed.await.unwrap();
        }
        for id in &ids {
            orders.take(*id, node).await.unwrap().unwrap();
        }
        let one_after_the_other = async {
            for id in &ids {
                tokio::time::sleep(DONE * 2 / 3).await;
                let outcome = OrderOutcome {
                    code: 0,
                    stdout: String::new(),
                    stderr: String::new(),
                };
                assert!(orders.finish(*id, node, outcome).await.unwrap());
            }
        };
        let (mut changes, cancel) = (orders.watch(), CancellationToken::new());
        let last = (&orders, ids[1]);
        let never = std::future::pending();
        let waiting = wait_for_order(last, &mut changes, (DONE, DONE), &cancel, never);
        let (end, ()) = tokio::join!(waiting, one_after_the_other);
        assert!(matches!(end, Ok(OrderEnd::Done(_))), "{end:?}");
    }
}
