//! Reproducible randomness: a run prints its seed, and the same seed produces the same sequence.

use std::fmt;
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Seed of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// Creates a new random seed.
    pub fn fresh() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self((since.as_secs() << 20) ^ u64::from(since.subsec_nanos()))
    }

    /// Derives the seed of a part of this run, so that each part can be reproduced alone.
    #[must_use]
    pub fn of(self, part: &str) -> Self {
        let mut dice = Dice::new(self);
        Self(part.bytes().fold(dice.throw(), |mixed, byte| {
            mixed.rotate_left(7).wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte)
        }))
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Seed {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// A random number generator (`SplitMix64`).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Creates a generator from a seed.
    pub fn new(seed: Seed) -> Self {
        Self(seed.0)
    }

    /// Returns the next number.
    pub fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.throw() % bound).unwrap_or(0)
    }

    /// Returns one element.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Returns `count` elements in order, or all if there are fewer.
    pub fn sample<T: Clone>(&mut self, from: &[T], count: usize) -> Vec<T> {
        let mut left = count.min(from.len());
        let mut sample = Vec::with_capacity(left);
        for (at, item) in from.iter().enumerate() {
            if left > 0 && self.below(from.len() - at) < left {
                sample.push(item.clone());
                left -= 1;
            }
        }
        sample
    }

    /// Sleeps for a random time up to `longest`.
    pub fn linger(&mut self, longest: Duration) {
        let micros = usize::try_from(longest.as_micros()).unwrap_or(usize::MAX);
        let until = Instant::now() + Duration::from_micros(self.below(micros) as u64);
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            thread::park_timeout(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_reproducible_and_others_differ() {
        let throws = |seed| {
            let mut dice = Dice::new(Seed(seed));
            [dice.throw(), dice.throw(), dice.throw()]
        };
        assert_eq!(throws(7), throws(7));
        assert_ne!(throws(7), throws(8));
        assert_ne!(Seed(7).of("mail"), Seed(7).of("tasks"));
    }

    #[test]
    fn a_sample_has_the_requested_size_and_order() {
        let all: Vec<usize> = (0..50).collect();
        let sample = Dice::new(Seed(1)).sample(&all, 10);
        assert_eq!(sample.len(), 10);
        assert!(sample.is_sorted());
        assert_eq!(Dice::new(Seed(1)).sample(&all, 99), all);
    }
}
