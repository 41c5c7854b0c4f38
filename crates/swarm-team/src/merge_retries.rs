//! How long and how often a refused merge is attempted again.

use std::time::{Duration, Instant};

use crate::MergeError;

/// Attempts of one merge while other programs move its target.
const ATTEMPTS: u32 = 3;

/// What precedes the next attempt of a merge.
#[derive(Debug, PartialEq, Eq)]
pub enum MergeRetry<'a> {
    /// Nothing: the target moved.
    Immediate,
    /// The wait for uncommitted changes in the checkout of the target.
    AfterWait {
        /// The changes, as the object of a sentence.
        awaited: &'a str,
        /// The remaining time.
        within: Duration,
    },
}

/// The retries of one or several merges, whose waits end at the same time.
#[derive(Debug)]
pub struct MergeRetries {
    wait: Duration,
    /// End of the waits, from the first one on.
    until: Option<Instant>,
    /// How often the target of the present merge moved.
    moves: u32,
}

impl MergeRetries {
    /// Limits the waits for uncommitted changes to a total of `wait`, counted from the first one.
    pub fn new(wait: Duration) -> Self {
        Self {
            wait,
            until: None,
            moves: 0,
        }
    }

    /// Begins with the next merge.
    pub fn begin_merge(&mut self) {
        self.moves = 0;
    }

    /// Returns what precedes the next attempt after an error; `None` if the error is final.
    pub fn after<'a>(&mut self, error: &'a MergeError) -> Option<MergeRetry<'a>> {
        self.after_at(error, Instant::now())
    }

    fn after_at<'a>(&mut self, error: &'a MergeError, now: Instant) -> Option<MergeRetry<'a>> {
        match error {
            MergeError::TargetMoved(_) => {
                self.moves += 1;
                (self.moves < ATTEMPTS).then_some(MergeRetry::Immediate)
            }
            MergeError::TargetChanged { awaited, .. } => {
                let until = *self.until.get_or_insert(now + self.wait);
                let within = until.saturating_duration_since(now);
                (!within.is_zero()).then_some(MergeRetry::AfterWait { awaited, within })
            }
            MergeError::Refused(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_mins(1);

    fn changed() -> MergeError {
        MergeError::TargetChanged {
            awaited: "changes".to_owned(),
            why: "dirty".to_owned(),
        }
    }

    #[test]
    fn all_waits_end_at_the_same_time_also_for_the_next_merge() {
        let (mut retries, now) = (MergeRetries::new(WAIT), Instant::now());
        for waited in [0, 30, 59] {
            let waited = Duration::from_secs(waited);
            let expected = MergeRetry::AfterWait {
                awaited: "changes",
                within: WAIT.saturating_sub(waited),
            };
            assert_eq!(retries.after_at(&changed(), now + waited), Some(expected));
            retries.begin_merge();
        }
        assert_eq!(retries.after_at(&changed(), now + WAIT), None);
    }

    #[test]
    fn a_merge_does_not_wait_without_time_for_it() {
        assert_eq!(MergeRetries::new(Duration::ZERO).after(&changed()), None);
    }

    #[test]
    fn waits_are_not_attempts_and_each_merge_has_its_own() {
        let mut retries = MergeRetries::new(WAIT);
        let moved = MergeError::TargetMoved("moved".to_owned());
        for _ in 0..2 {
            for _ in 1..ATTEMPTS {
                assert_eq!(retries.after(&moved), Some(MergeRetry::Immediate));
                assert!(retries.after(&changed()).is_some());
            }
            assert_eq!(retries.after(&moved), None);
            retries.begin_merge();
        }
        assert_eq!(retries.after(&MergeError::Refused("no".to_owned())), None);
    }
}
