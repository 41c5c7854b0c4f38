//! Retry policy and back-off after transient failures.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// Retry policy for transient failures: exponential back-off with jitter, or the wait that the
/// server requests.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// Maximum number of attempts, including the first one.
    pub attempts: u32,
    /// Back-off before the second attempt; it doubles with each further attempt.
    pub first_wait: Duration,
    /// Upper limit of the back-off.
    pub longest_wait: Duration,
    /// Upper limit of a wait that the server requests.
    pub longest_retry_after: Duration,
    /// Jitter as a fraction of the wait, from 0 to 1, so that many agents do not retry at the same
    /// moment.
    pub jitter: f64,
}

impl Default for RetryPolicy {
    /// Retries for about two minutes if the server does not request a wait.
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
    /// Returns the wait after failed attempt number `failed` (from 1). Jitter only lengthens a wait
    /// that the server requested, and only shortens the back-off.
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

/// Returns the wait that a response requests: milliseconds in `retry-after-ms`, which OpenAI sends
/// in addition, or seconds or an HTTP date in `retry-after`. A date is relative to the server's
/// `date` header if there is one, since the clocks may differ.
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

/// Returns a random number from 0 to 1, based on the standard library's random hash keys, which
/// suffice for jitter.
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
    fn back_off_doubles_up_to_its_limit() {
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
    fn a_requested_wait_overrides_the_back_off_up_to_its_limit() {
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
