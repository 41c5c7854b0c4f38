//! Connection settings that all APIs share, and the wait that all clients of a server share. The
//! caller collects the settings; nothing here reads the environment.

use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::Duration;

use super::retry::{RetryPolicy, random_fraction};

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

/// A wait that all clients of a server share, across processes: a rate limit applies to all clients
/// that use the same account.
pub trait Throttle: Debug + Send + Sync {
    /// Returns the time until the next request may be sent; zero if it may be sent now.
    fn remaining(&self) -> Duration;

    /// Whether the requests of all clients per minute are limited.
    fn has_rate(&self) -> bool {
        false
    }

    /// Takes one of the requests that may be sent in this minute, and returns zero, or returns the
    /// time until there is one again. May wait for a lock.
    fn take(&self) -> Duration {
        Duration::ZERO
    }

    /// Blocks requests of all clients for `wait`. Never shortens an existing wait.
    fn hold(&self, wait: Duration);
}

/// Maximum jitter as a fraction of the wait.
const JITTER: f64 = 0.2;

const MAX_JITTER: Duration = Duration::from_secs(5);

/// Adds jitter to a wait, so that not all clients continue at the same moment.
pub(super) fn staggered(remaining: Duration) -> Duration {
    let spread = remaining.mul_f64(JITTER * random_fraction());
    remaining.saturating_add(spread.min(MAX_JITTER))
}

/// A key or token. Its `Debug` output does not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret. Surrounding white space, such as the line break of a key file, is removed.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(text.as_ref().trim().to_owned())
    }

    /// Returns the secret. Only for sending and redacting it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_never_shortens_a_shared_wait_and_is_limited() {
        for seconds in [0, 1, 30, 600] {
            let remaining = Duration::from_secs(seconds);
            for _ in 0..50 {
                let wait = staggered(remaining);
                assert!(wait >= remaining && wait <= remaining + MAX_JITTER);
                assert!(wait <= remaining.mul_f64(1.0 + JITTER));
            }
        }
    }
}
