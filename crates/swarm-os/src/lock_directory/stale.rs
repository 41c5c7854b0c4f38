//! Detection of stale lock directories of other programs.

use std::time::{Duration, Instant, SystemTime};

/// Age after which a foreign lock directory is stale. npm's proper-lockfile, which Claude Code
/// uses, refreshes its locks every 5 s and breaks those of others after 10 s; a longer threshold
/// avoids that both break the same lock.
const STALE_AFTER: Duration = Duration::from_secs(15);

/// Minimum interval between two checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// State of a lock directory at one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockState {
    /// Device and inode.
    pub(crate) identity: (u64, u64),
    /// Time of the last refresh, by the clock of the holder.
    pub(crate) refreshed: SystemTime,
}

/// Observes a foreign lock directory during a wait.
#[derive(Debug, Default)]
pub(crate) struct StaleWatch {
    unchanged_since: Option<(LockState, Instant)>,
}

impl StaleWatch {
    /// Returns whether the directory is stale after a further check. The age by the wall clock
    /// decides, confirmed by a second check. If the time is in the future (a clock was set back, or
    /// that of another machine is ahead), the monotonic time of this process decides.
    pub(crate) fn is_stale(
        &mut self,
        state: LockState,
        wall: SystemTime,
        monotonic: Instant,
    ) -> bool {
        let since = match self.unchanged_since {
            Some((before, since)) if before == state => since,
            _ => {
                self.unchanged_since = Some((state, monotonic));
                return false;
            }
        };
        let unchanged_for = monotonic.saturating_duration_since(since);
        match wall.duration_since(state.refreshed) {
            Ok(age) => age > STALE_AFTER && unchanged_for >= CHECK_INTERVAL,
            Err(_) => unchanged_for > STALE_AFTER,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    struct Clocks {
        wall: SystemTime,
        monotonic: Instant,
    }

    impl Clocks {
        fn start() -> Self {
            Self {
                wall: SystemTime::UNIX_EPOCH + 1_000_000 * SECOND,
                monotonic: Instant::now(),
            }
        }

        fn advance(&mut self, by: Duration) {
            self.wall += by;
            self.monotonic += by;
        }

        fn check(&self, watch: &mut StaleWatch, refreshed: SystemTime) -> bool {
            let state = LockState {
                identity: (1, 2),
                refreshed,
            };
            watch.is_stale(state, self.wall, self.monotonic)
        }
    }

    #[test]
    fn an_old_directory_is_stale_after_two_separate_checks() {
        let mut clocks = Clocks::start();
        let mut watch = StaleWatch::default();
        let long_ago = clocks.wall - 16 * SECOND;
        assert!(!clocks.check(&mut watch, long_ago), "first check");
        clocks.advance(Duration::from_millis(199));
        assert!(!clocks.check(&mut watch, long_ago), "too soon");
        clocks.advance(Duration::from_millis(1));
        assert!(clocks.check(&mut watch, long_ago));
    }

    #[test]
    fn a_young_directory_is_never_stale_however_often_it_is_checked() {
        let mut clocks = Clocks::start();
        let mut watch = StaleWatch::default();
        let made = clocks.wall;
        for _ in 0..150 {
            clocks.advance(SECOND / 10);
            assert!(!clocks.check(&mut watch, made));
        }
        clocks.advance(SECOND / 10);
        assert!(clocks.check(&mut watch, made), "it is more than 15 s old");
    }

    #[test]
    fn a_refresh_restarts_the_detection() {
        let mut clocks = Clocks::start();
        let mut watch = StaleWatch::default();
        let old = clocks.wall - 60 * SECOND;
        assert!(!clocks.check(&mut watch, old));
        clocks.advance(SECOND);
        assert!(!clocks.check(&mut watch, old + SECOND), "it changed");
        clocks.advance(SECOND);
        assert!(clocks.check(&mut watch, old + SECOND));
    }

    #[test]
    fn a_replaced_directory_restarts_the_detection() {
        let mut clocks = Clocks::start();
        let mut watch = StaleWatch::default();
        let old = clocks.wall - 60 * SECOND;
        assert!(!clocks.check(&mut watch, old));
        clocks.advance(SECOND);
        let other = LockState {
            identity: (1, 3),
            refreshed: old,
        };
        assert!(!watch.is_stale(other, clocks.wall, clocks.monotonic));
    }

    #[test]
    fn a_time_in_the_future_is_stale_after_15_s_of_monotonic_time() {
        let mut clocks = Clocks::start();
        let mut watch = StaleWatch::default();
        let future = clocks.wall + 3600 * SECOND;
        assert!(!clocks.check(&mut watch, future));
        clocks.advance(15 * SECOND);
        assert!(!clocks.check(&mut watch, future));
        clocks.advance(SECOND / 100);
        assert!(clocks.check(&mut watch, future));
    }

    #[test]
    fn a_changing_future_time_is_never_stale() {
        let mut clocks = Clocks::start();
        let mut watch = StaleWatch::default();
        for _ in 0..10 {
            let future = clocks.wall + 3600 * SECOND;
            assert!(!clocks.check(&mut watch, future));
            clocks.advance(5 * SECOND);
        }
    }

    proptest! {
        /// Under any clock skew and any times of checks.
        #[test]
        fn a_lock_refreshed_within_15_s_is_never_broken(
            skew in 0..7_200_000_u64,
            steps in proptest::collection::vec((0..400_u64, any::<bool>()), 1..200),
        ) {
            let mut clocks = Clocks::start();
            let mut watch = StaleWatch::default();
            let theirs = |clocks: &Clocks| clocks.wall + Duration::from_millis(skew);
            let (mut refreshed, mut since) = (theirs(&clocks), Duration::ZERO);
            for (pause, refreshes) in steps {
                let pause = Duration::from_millis(pause * 20);
                clocks.advance(pause);
                since += pause;
                if refreshes || since > STALE_AFTER {
                    (refreshed, since) = (theirs(&clocks), Duration::ZERO);
                }
                prop_assert!(!clocks.check(&mut watch, refreshed));
            }
        }

        #[test]
        fn a_lock_that_is_never_refreshed_is_eventually_broken(ahead in -3600..3600_i64) {
            let mut clocks = Clocks::start();
            let mut watch = StaleWatch::default();
            let apart = Duration::from_secs(ahead.unsigned_abs());
            let refreshed = if ahead < 0 { clocks.wall - apart } else { clocks.wall + apart };
            let mut checks = 0;
            while !clocks.check(&mut watch, refreshed) {
                clocks.advance(Duration::from_millis(100));
                checks += 1;
                prop_assert!(checks < 400);
            }
        }
    }
}
