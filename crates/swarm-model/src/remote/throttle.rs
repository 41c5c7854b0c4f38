//! The wait that all clients of a server share.

use std::fmt::Debug;
use std::time::Duration;

use super::retry::random_fraction;

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
