//! Connection settings that all APIs share. The caller collects them; nothing here reads the
//! environment.

use std::sync::Arc;
use std::time::Duration;

use super::retry::RetryPolicy;
use super::throttle::Throttle;
use crate::secret::Secret;

/// Proxy, timeouts and retry policy of connections to a model server.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Address of a proxy, with user and password if required. Not used for loopback addresses.
    pub proxy: Option<Secret>,
    /// Hosts reached without the proxy, separated by commas, as in the variable `NO_PROXY`.
    pub no_proxy: Option<String>,
    /// Timeout for establishing a connection.
    pub connect_timeout: Duration,
    /// Timeout without data: before the answer starts and between two events of its stream. The
    /// total duration is not limited.
    pub idle_timeout: Duration,
    /// Retries after transient failures.
    pub retry: RetryPolicy,
    /// The wait that all clients of the server share; `None` if this is the only client.
    pub throttle: Option<Arc<dyn Throttle>>,
}

impl Connection {
    /// Returns the defaults for a hosted service, which responds promptly.
    pub fn to_service() -> Self {
        Self {
            proxy: None,
            no_proxy: None,
            connect_timeout: Duration::from_secs(20),
            idle_timeout: Duration::from_secs(90),
            retry: RetryPolicy::default(),
            throttle: None,
        }
    }

    /// Returns the defaults for a server that may run on the user's machine. It sends nothing while
    /// it loads a model or reads a long prompt, both of which can take minutes.
    pub fn to_own_server() -> Self {
        Self {
            idle_timeout: Duration::from_mins(10),
            ..Self::to_service()
        }
    }
}
