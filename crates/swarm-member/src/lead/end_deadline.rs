//! Deadline for cleaning up a stopped run.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Maximum time from stopping a run to its end, including the lead's call, hooks, members, servers
/// and leftover processes.
pub(super) const LONGEST: Duration = Duration::from_millis(1700);

/// Minimum time for a step that starts after the deadline: enough to send a signal.
const LEAST: Duration = Duration::from_millis(50);

/// The deadline, once started.
#[derive(Debug, Default)]
pub(super) struct EndDeadline(OnceLock<Instant>);

impl EndDeadline {
    /// Starts the deadline, unless it is already started.
    pub(super) fn begin(&self) {
        self.left();
    }

    /// Returns the time for a step: at most `most`, limited by the deadline.
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
