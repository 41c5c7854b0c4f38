//! When everything of a run that is cut short is to have ended.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Longest time from the stop of a run to its end: the lead's call, hooks, members, servers and
/// what they left.
const LONGEST: Duration = Duration::from_millis(1700);

/// What a step gets that begins after that: enough to signal.
const LEAST: Duration = Duration::from_millis(50);

/// When everything is to have ended.
#[derive(Debug, Default)]
pub(super) struct EndDeadline(OnceLock<Instant>);

impl EndDeadline {
    /// Starts the time, unless it runs already.
    pub(super) fn begin(&self) {
        self.left();
    }

    /// How long a step may take that would take at most `most` by itself.
    pub(super) fn within(&self, most: Duration) -> Duration {
        self.left().max(LEAST).min(most)
    }

    fn left(&self) -> Duration {
        let end = *self.0.get_or_init(|| Instant::now() + LONGEST);
        end.saturating_duration_since(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_steps_share_one_deadline_and_each_can_still_signal() {
        let deadline = EndDeadline::default();
        deadline.begin();
        let first = deadline.within(Duration::from_secs(10));
        assert!(first <= LONGEST, "{first:?}");
        assert!(deadline.within(Duration::from_secs(10)) <= first);
        let short = Duration::from_millis(20);
        assert_eq!(deadline.within(short), short);
        let over = EndDeadline(OnceLock::from(Instant::now()));
        assert_eq!(over.within(Duration::from_secs(10)), LEAST);
    }
}
