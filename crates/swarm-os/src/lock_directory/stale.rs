//! When a lock directory that another program made counts as left behind.

use std::time::{Duration, Instant, SystemTime};

/// How old an untouched foreign lock directory must be. npm's proper-lockfile, which Claude Code uses, refreshes
/// its own every 5 s and breaks others' at 10 s; waiting longer keeps us from duelling with it.
const STALE_AFTER: Duration = Duration::from_secs(15);

/// How far apart two looks at it must be.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// What one look at a lock directory shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// Device and inode.
    pub(crate) identity: (u64, u64),
    /// When it was last refreshed, by the clock of whoever did.
    pub(crate) refreshed: SystemTime,
}

/// Watches one foreign lock directory for as long as we wait for it.
#[derive(Debug, Default)]
pub(crate) struct StaleWatch {
    unchanged_since: Option<(Look, Instant)>,
}

impl StaleWatch {
    /// Whether the directory counts as left behind after one more look at it.
    ///
    /// The age by the wall clock decides, confirmed by a second look. A time in the future (a clock was
    /// turned back, or another machine's is ahead) says nothing, so only our own monotonic time counts then.
    pub(crate) fn is_stale(&mut self, look: Look, wall: SystemTime, monotonic: Instant) -> bool {
        let since = match self.unchanged_since {
            Some((before, since)) if before == look => since,
            _ => {
                self.unchanged_since = Some((look, monotonic));
                return false;
            }
        };
        let unchanged_for = monotonic.saturating_duration_since(since);
        match wall.duration_since(look.refreshed) {
            Ok(age) => age > STALE_AFTER && unchanged_for >= BETWEEN_LOOKS,
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

        fn look(&self, watch: &mut StaleWatch, refreshed: SystemTime) -> bool {
            let look = Look {
                identity: (1, 2),
                refreshed,
            };
            watch.is_stale(look, self.wall, self.monotonic)
        }
    }

    #[test]
    fn an_old_directory_needs_two_looks_apart() {
        let mut clocks = Clocks::start();
        let mut watch = StaleWatch::default();
        let long_ago = clocks.wall - 16 * SECOND;
        assert!(!clocks.look(&mut watch, long_ago), "first look");
        clocks.advance(Duration::from_millis(199));
        assert!(!clocks.look(&mut watch, long_ago), "too soon");
        clocks.advance(Duration::from_millis(1));
        assert!(clocks.look(&mut watch, long_ago));
    }

    #[test]
    fn a_young_directory_is_never_stale_however_often_we_look() {
        let mut clocks = Clocks::start();
        let mut watch = StaleWatch::default();
        let made = clocks.wall;
        for _ in 0..150 {
            clocks.advance(SECOND / 10);
            assert!(!clocks.look(&mut watch, made));
        }
        clocks.advance(SECOND / 10);
        assert!(clocks.look(&mut watch, made), "now it is over 15 s old");
    }

    #[test]
    fn a_refresh_starts_the_looking_anew() {
        let mut clocks = Clocks::start();
        let mut watch = StaleWatch::default();
        let old = clocks.wall - 60 * SECOND;
        assert!(!clocks.look(&mut watch, old));
        clocks.advance(SECOND);
        assert!(!clocks.look(&mut watch, old + SECOND), "it changed");
        clocks.advance(SECOND);
        assert!(clocks.look(&mut watch, old + SECOND));
    }

    #[test]
    fn another_directory_in_its_place_starts_the_looking_anew() {
        let mut clocks = Clocks::start();
        let mut watch = StaleWatch::default();
        let old = clocks.wall - 60 * SECOND;
        assert!(!clocks.look(&mut watch, old));
        clocks.advance(SECOND);
        let other = Look {
            identity: (1, 3),
            refreshed: old,
        };
        assert!(!watch.is_stale(other, clocks.wall, clocks.monotonic));
    }

    #[test]
    fn a_time_in_the_future_is_fresh_until_15_s_of_our_own_have_passed() {
        let mut clocks = Clocks::start();
        let mut watch = StaleWatch::default();
        let future = clocks.wall + 3600 * SECOND;
        assert!(!clocks.look(&mut watch, future));
        clocks.advance(15 * SECOND);
        assert!(!clocks.look(&mut watch, future));
        clocks.advance(SECOND / 100);
        assert!(clocks.look(&mut watch, future));
    }

    #[test]
    fn a_future_time_that_moves_stays_fresh() {
        let mut clocks = Clocks::start();
        let mut watch = StaleWatch::default();
        for _ in 0..10 {
            let future = clocks.wall + 3600 * SECOND;
            assert!(!clocks.look(&mut watch, future));
            clocks.advance(5 * SECOND);
        }
    }

    proptest! {
        /// However two clocks disagree, and whenever we look.
        #[test]
        fn whoever_refreshes_within_15_s_is_never_broken(
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
                prop_assert!(!clocks.look(&mut watch, refreshed));
            }
        }

        #[test]
        fn whatever_is_never_refreshed_is_broken_at_some_time(ahead in -3600..3600_i64) {
            let mut clocks = Clocks::start();
            let mut watch = StaleWatch::default();
            let apart = Duration::from_secs(ahead.unsigned_abs());
            let refreshed = if ahead < 0 { clocks.wall - apart } else { clocks.wall + apart };
            let mut looks = 0;
            while !clocks.look(&mut watch, refreshed) {
                clocks.advance(Duration::from_millis(100));
                looks += 1;
                prop_assert!(looks < 400);
            }
        }
    }
}
