//! How often and how long to wait after a transient failure.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// What happens after transient failures: exponential back-off with jitter, or the wait that the server
/// asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// Attempts in all, the first one included.
    pub attempts: u32,
    /// Back-off before the second attempt; it doubles with each further one.
    pub first_wait: Duration,
    /// Ceiling of the back-off.
    pub longest_wait: Duration,
    /// Ceiling of a wait that the server asks for.
    pub longest_retry_after: Duration,
    /// How much waits are spread, so that many agents do not come back together: 0 not at all, 1 over the
    /// whole wait.
    pub jitter: f64,
}

impl Default for RetryPolicy {
    /// About two minutes in all when the server does not say how long to wait.
    fn default() -> Self {
        Self {
            attempts: 10,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(32),
            longest_retry_after: Duration::from_mins(10),
            jitter: 0.5,
        }
    }
}

impl RetryPolicy {
    /// The wait after failed attempt number `failed` (from 1). A server's wish is never undercut, only
    /// stretched a little; the own back-off is only shortened.
    pub(super) fn wait(&self, failed: u32, retry_after: Option<Duration>) -> Duration {
        let spread = self.jitter.clamp(0.0, 1.0) * random_fraction();
        if let Some(wish) = retry_after.filter(|wish| !wish.is_zero()) {
            let wait = wish.min(self.longest_retry_after);
            return wait.saturating_add(wait.mul_f64(spread / 5.0));
        }
        let doublings = failed.saturating_sub(1).min(31);
        let wait = self.first_wait.saturating_mul(1 << doublings);
        wait.min(self.longest_wait).mul_f64(1.0 - spread)
    }
}

/// The wait a response asks for: milliseconds in `retry-after-ms`, which OpenAI sends beside the other, or in
/// `retry-after` seconds or an HTTP date. A date counts from the server's own `date` where there is one, since the
/// two clocks may differ.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let exact = headers.get("retry-after-ms").and_then(|wish| {
        let wish: f64 = wish.to_str().ok()?.trim().parse().ok()?;
        Duration::try_from_secs_f64(wish / 1000.0).ok()
    });
    if exact.is_some() {
        return exact;
    }
    let wish = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = wish.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = http_date(wish)?;
    let server_time = headers
        .get(DATE)
        .and_then(|date| http_date(date.to_str().ok()?));
    let wait = until.duration_since(server_time.unwrap_or_else(Timestamp::now));
    Some(Duration::try_from(wait).unwrap_or(Duration::ZERO))
}

fn http_date(text: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

/// A number from 0 to 1 from the standard library's random hash keys; good enough to spread waits.
pub(super) fn random_fraction() -> f64 {
    let bits = u32::try_from(RandomState::new().hash_one(0u8) >> 32).unwrap_or(0);
    f64::from(bits) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn policy(jitter: f64) -> RetryPolicy {
        RetryPolicy {
            attempts: 5,
            first_wait: Duration::from_millis(100),
            longest_wait: Duration::from_secs(1),
            longest_retry_after: Duration::from_mins(1),
            jitter,
        }
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn back_off_doubles_up_to_its_ceiling() {
        let waits: Vec<u128> = (1..=6)
            .map(|failed| policy(0.0).wait(failed, None).as_millis())
            .collect();
        assert_eq!(waits, [100, 200, 400, 800, 1000, 1000]);
        assert_eq!(
            policy(0.0).wait(u32::MAX, None),
            Duration::from_secs(1),
            "many attempts must not overflow"
        );
    }

    #[test]
    fn the_servers_wish_goes_before_the_back_off_up_to_its_ceiling() {
        let wait = |seconds| policy(0.0).wait(1, Some(Duration::from_secs(seconds)));
        assert_eq!(wait(7), Duration::from_secs(7));
        assert_eq!(wait(3600), Duration::from_mins(1));
        assert_eq!(wait(0), Duration::from_millis(100));
    }

    #[test]
    fn retry_after_is_read_as_seconds_or_as_a_date() {
        let read = |pairs: &[(&'static str, &str)]| retry_after(&headers(pairs));
        assert_eq!(
            read(&[("retry-after", "12")]),
            Some(Duration::from_secs(12))
        );
        assert_eq!(
            read(&[("retry-after", "0.25")]),
            Some(Duration::from_millis(250))
        );
        let date = ("date", "Wed, 21 Oct 2026 07:28:00 GMT");
        assert_eq!(
            read(&[date, ("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT")]),
            Some(Duration::from_secs(30))
        );
        assert_eq!(
            read(&[date, ("retry-after", "Wed, 21 Oct 2026 07:27:30 GMT")]),
            Some(Duration::ZERO)
        );
        assert_eq!(
            read(&[("retry-after", "2"), ("retry-after-ms", "1250")]),
            Some(Duration::from_millis(1250))
        );
        assert_eq!(
            read(&[("retry-after", "2"), ("retry-after-ms", "soon")]),
            Some(Duration::from_secs(2))
        );
        for nonsense in ["soon", "-3", "NaN", "1e300"] {
            assert_eq!(read(&[("retry-after", nonsense)]), None, "{nonsense}");
        }
        assert_eq!(read(&[]), None);
    }

    proptest! {
        #[test]
        fn waits_stay_within_their_bounds(failed in 1u32..40, wish in proptest::option::of(0u64..10_000), jitter in 0.0f64..1.0) {
            let policy = policy(jitter);
            let wait = policy.wait(failed, wish.map(Duration::from_secs));
            match wish.filter(|wish| *wish > 0) {
                Some(wish) => {
                    let wish = Duration::from_secs(wish).min(policy.longest_retry_after);
                    prop_assert!(wait >= wish && wait <= wish.mul_f64(1.2));
                }
                None => prop_assert!(wait <= policy.longest_wait),
            }
        }
    }
}
