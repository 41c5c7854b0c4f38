//! How fast a scenario is played.

use std::time::Duration;

/// A multiplier for every delay of a scenario, so that one file serves a demo and a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace(f64);

impl Pace {
    /// Delays as the scenario gives them.
    pub const HUMAN: Self = Self(1.0);
    /// No delays at all.
    pub const INSTANT: Self = Self(0.0);

    /// Every delay times `factor`; a negative factor or one that is no number counts as zero.
    pub fn times(factor: f64) -> Self {
        Self(if factor.is_finite() {
            factor.max(0.0)
        } else {
            0.0
        })
    }

    /// A delay at this pace. One too long to be told apart from forever becomes the longest there is.
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
    fn delays_scale_and_odd_factors_do_no_harm() {
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
