//! How a hub is reached.

use std::path::PathBuf;
use std::time::Duration;

use async_nats::ServerAddr;
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

impl HubSettings {
    /// Returns whether a text can be [`Self::url`]: the address of one server, without a path.
    pub fn is_url(text: &str) -> bool {
        let has_scheme = text.starts_with("nats://") || text.starts_with("tls://");
        let Ok(address) = text.parse::<ServerAddr>() else {
            return false;
        };
        let url = address.into_inner();
        let is_host = |host: &str| !host.is_empty() && !host.contains(',');
        has_scheme
            && url.host_str().is_some_and(is_host)
            && url.port() != Some(0)
            && matches!(url.path(), "" | "/")
            && url.query().is_none()
            && url.fragment().is_none()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_hub_is_that_of_one_server() {
        for url in [
            "nats://hub",
            "nats://192.0.2.7:4222",
            "tls://hub.example:4222/",
            "nats://[::1]:4222",
        ] {
            assert!(HubSettings::is_url(url), "{url}");
        }
        for text in [
            "hub:4222",
            "http://hub",
            "nats://",
            "nats://:4222",
            "nats://hub:99999",
            "nats://hub:0",
            "nats://hub:4222/foo",
            "nats://hub?a=b",
            "nats://a:4222,nats://b:4222",
            "nats://a,b",
        ] {
            assert!(!HubSettings::is_url(text), "{text}");
        }
    }
}
