//! How a hub is reached.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Address of a hub, as in `swarm/hub.json` of a team.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HubSettings {
    /// `nats://HOST:PORT`, or `tls://` for connections that are always encrypted.
    pub url: String,
    /// File with a NATS credentials file (JWT), an `NKey` seed, or `USER:PASSWORD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
    /// PEM file with the certificates of the authority that signed the server's certificate, if the
    /// system does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
}

/// How leases on a hub are kept. All machines of a team must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTerms {
    /// A holder renews its lease this often.
    pub renewal: Duration,
    /// A lease that was not renewed for this time, by the server's clock, has ended.
    pub term: Duration,
}

impl Default for LeaseTerms {
    fn default() -> Self {
        Self {
            renewal: Duration::from_secs(3),
            term: Duration::from_secs(12),
        }
    }
}
