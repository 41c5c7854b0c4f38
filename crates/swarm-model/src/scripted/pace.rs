//! Playback speed of a scenario.

use std::time::Duration;

/// A multiplier for all delays of a scenario, so that one file works for demos and tests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace(f64);

impl Pace {
    /// Unchanged delays.
    pub const HUMAN: Self = Self(1.0);
    /// No delays.
    pub const INSTANT: Self = Self(0.0);

    /// Multiplies every delay by `factor`. A negative or non-finite factor counts as zero.
    pub fn times(factor: f64) -> Self {
        Self(if factor.is_finite() {
            factor.max(0.0)
        } else {
            0.0
        })
    }

    /// Scales a delay. On overflow it becomes [`Duration::MAX`].
    pub(super) fn scaled(self, delay: Duration) -> Duration {
        Duration::try_from_secs_f64(delay.as_secs_f64() * self.0).unwrap_or(Duration::MAX)
    }
}

impl Default for Pace {
    /// [`Pace::HUMAN`].
    fn default() -> Self {
        Self::HUMAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_scale_and_invalid_factors_count_as_zero() {
        let second = Duration::from_secs(1);
        assert_eq!(Pace::HUMAN.scaled(second), second);
        assert_eq!(Pace::INSTANT.scaled(second), Duration::ZERO);
        assert_eq!(Pace::times(0.25).scaled(second), second / 4);
        for odd in [-1.0, f64::NAN, f64::NEG_INFINITY] {
            assert_eq!(Pace::times(odd).scaled(second), Duration::ZERO);
        }
        assert_eq!(Pace::times(f64::MAX).scaled(second), Duration::MAX);
    }
}
