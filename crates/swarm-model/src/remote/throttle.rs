//! The wait that everybody who asks one server has in common.

use std::fmt::Debug;
use std::time::Duration;

use super::retry::random_fraction;

/// A wait that all clients of a server share, also those of other processes: what a server asks of one client holds for
/// all that use the same account.
pub trait Throttle: Debug + Send + Sync {
    /// How long no request may be sent from now on; zero when one may.
    fn remaining(&self) -> Duration;

    /// No client sends a request for so long. A longer wait that is known already stays.
    fn hold(&self, wait: Duration);
}

/// The part of a wait over which its end is spread.
const SPREAD: f64 = 0.2;

/// The most that a client waits longer than it has to.
const LONGEST_SPREAD: Duration = Duration::from_secs(5);

/// How long one client waits, so that not all come back at the same moment.
pub(super) fn staggered(remaining: Duration) -> Duration {
    let spread = remaining.mul_f64(SPREAD * random_fraction());
    remaining.saturating_add(spread.min(LONGEST_SPREAD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_wait_is_never_cut_and_little_longer() {
        for seconds in [0, 1, 30, 600] {
            let remaining = Duration::from_secs(seconds);
            for _ in 0..50 {
                let wait = staggered(remaining);
                assert!(wait >= remaining && wait <= remaining + LONGEST_SPREAD);
                assert!(wait <= remaining.mul_f64(1.0 + SPREAD));
            }
        }
    }
}
