//! Chance that can be had again: a run names its seed, and the same seed throws the same.

use std::fmt;
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// One that no earlier run had.
    pub fn fresh() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self((since.as_secs() << 20) ^ u64::from(since.subsec_nanos()))
    }

    /// The seed of a part of this run, so that each part can be had alone.
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

/// Numbers in an order that the seed alone decides (`SplitMix64`).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Begins at a seed.
    pub fn new(seed: Seed) -> Self {
        Self(seed.0)
    }

    /// The next number.
    pub fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.throw() % bound).unwrap_or(0)
    }

    /// One of several.
    ///
    /// # Panics
    /// When there is none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// `count` of them in their order, or all where there are not so many.
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

    /// Lets other processes get an unknown bit further, up to `longest`.
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
    fn one_seed_throws_the_same_twice_and_another_does_not() {
        let throws = |seed| {
            let mut dice = Dice::new(Seed(seed));
            [dice.throw(), dice.throw(), dice.throw()]
        };
        assert_eq!(throws(7), throws(7));
        assert_ne!(throws(7), throws(8));
        assert_ne!(Seed(7).of("mail"), Seed(7).of("tasks"));
    }

    #[test]
    fn a_sample_is_of_the_size_and_in_order() {
        let all: Vec<usize> = (0..50).collect();
        let sample = Dice::new(Seed(1)).sample(&all, 10);
        assert_eq!(sample.len(), 10);
        assert!(sample.is_sorted());
        assert_eq!(Dice::new(Seed(1)).sample(&all, 99), all);
    }
}
