//! Time: milliseconds since the Unix epoch, and the ISO text that inboxes carry.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::wraps_text;

/// Milliseconds since the Unix epoch, UTC.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct UnixMs(pub u64);

impl UnixMs {
    /// Formats the instant as ISO-8601 in UTC with milliseconds.
    pub fn iso(self) -> IsoTime {
        let at = i64::try_from(self.0)
            .ok()
            .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        let at = at.unwrap_or(jiff::Timestamp::MAX);
        IsoTime(format!("{at:.3}"))
    }

    /// Returns whether this is the epoch, which means "unknown".
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// Returns the milliseconds from `earlier` to this instant; zero if the clock went backwards.
    pub fn since(self, earlier: UnixMs) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// A timestamp in a file that other programs write too: normally ISO-8601 UTC with milliseconds;
/// any other text is preserved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IsoTime(String);

impl IsoTime {
    /// Wraps a timestamp as read.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Parses the timestamp; `None` if it is malformed.
    pub fn unix_ms(&self) -> Option<UnixMs> {
        let at: jiff::Timestamp = self.0.parse().ok()?;
        u64::try_from(at.as_millisecond()).ok().map(UnixMs)
    }
}

wraps_text!(IsoTime);

/// Source of timestamps. Timestamps are informative only: liveness and ordering never depend on
/// them.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Returns the current time.
    fn now(&self) -> UnixMs;
}

/// The system clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> UnixMs {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        UnixMs(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_times_have_exactly_three_digits_of_milliseconds() {
        assert_eq!(
            UnixMs(1_795_195_646_000).iso().as_str(),
            "2026-11-20T17:27:26.000Z"
        );
        assert_eq!(
            UnixMs(1_795_195_646_590).iso().as_str(),
            "2026-11-20T17:27:26.590Z"
        );
        assert_eq!(
            UnixMs(1_795_195_646_590).iso().unix_ms(),
            Some(UnixMs(1_795_195_646_590))
        );
        assert_eq!(IsoTime::new("yesterday").unix_ms(), None);
        assert!(UnixMs(u64::MAX).iso().as_str().starts_with("9999"));
    }
}
