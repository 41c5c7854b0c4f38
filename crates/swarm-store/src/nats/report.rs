//! The state of a hub.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use swarm_protocol::TeamName;

use super::requests::Requests;
use crate::StoreError;
use crate::records::{Answered, NoAnswer};

/// State of a hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubReport {
    /// Version of the server.
    pub version: String,
    /// Bytes that its streams use.
    pub used: u64,
    /// Limit of [`Self::used`] for these credentials, if there is one.
    pub limit: Option<u64>,
    /// By how many milliseconds the server's clock is ahead of this machine's. `None` if it was not
    /// measured, because nothing is stored under the name.
    pub clock_ahead_ms: Option<i64>,
}

/// What the server says about an account.
#[derive(Debug, Deserialize)]
struct Account {
    #[serde(default)]
    storage: u64,
    limits: Limits,
}

#[derive(Debug, Deserialize)]
struct Limits {
    /// -1 without a limit.
    max_storage: i64,
}

/// Asks a hub for its state. The team exists on it, except for the name of the nodes, in whose place
/// there is nothing until the first node or session joins.
pub(super) fn report(requests: &Arc<Requests>, at_most: Duration) -> Answered<HubReport> {
    let requests = Arc::clone(requests);
    let hub = Arc::clone(&requests.hub);
    hub.wait(at_most, async move {
        let client = requests.hub.client().await?;
        // The client's own type needs fields of newer servers.
        let account = requests.jetstream().await?.request("INFO", &()).await;
        let account: Account = account.map_err(|error| requests.failed(&error))?;
        let now = match requests.measure_clock().await {
            Err(NoAnswer::Failed(StoreError::NotOnHub { team, .. }))
                if team == TeamName::nodes() =>
            {
                None
            }
            measured => Some(measured?),
        };
        let here = SystemTime::now().duration_since(UNIX_EPOCH);
        let here = i128::try_from(here.unwrap_or_default().as_nanos()).unwrap_or(i128::MAX);
        let ahead = |now: i128| i64::try_from((now - here) / 1_000_000).unwrap_or(i64::MAX);
        Ok(HubReport {
            version: client.server_info().version,
            used: account.storage,
            limit: u64::try_from(account.limits.max_storage).ok(),
            clock_ahead_ms: now.map(ahead),
        })
    })
}
