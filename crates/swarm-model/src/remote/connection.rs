//! Settings that are the same for every API. The caller collects them; nothing here reads the environment.

use std::sync::Arc;
use std::time::Duration;

use super::retry::RetryPolicy;
use super::throttle::Throttle;
use crate::secret::Secret;

/// How a model server is reached, and how patiently.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Address of a proxy, with its user and password if it wants them. Servers on the loopback address are reached
    /// without it.
    pub proxy: Option<Secret>,
    /// Hosts reached without the proxy, separated by commas, as in the variable `NO_PROXY`.
    pub no_proxy: Option<String>,
    /// The longest time to set up a connection.
    pub connect_timeout: Duration,
    /// The longest silence: before the answer starts and between two events of its stream. An answer may
    /// take as long as it likes.
    pub idle_timeout: Duration,
    /// What happens after transient failures.
    pub retry: RetryPolicy,
    /// The wait that all clients of the server share; `None` where nobody else asks it.
    pub throttle: Option<Arc<dyn Throttle>>,
}

impl Connection {
    /// Connections to a service that answers at once or says that it cannot.
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

    /// Connections to a server that may run on the user's own machine: such a one is silent while it loads a model and
    /// while it reads a long prompt, both of which can take minutes.
    pub fn to_own_server() -> Self {
        Self {
            idle_timeout: Duration::from_mins(10),
            ..Self::to_service()
        }
    }
}
