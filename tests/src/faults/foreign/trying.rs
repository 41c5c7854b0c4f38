//! Mutations of sound data, one after the other.

use std::path::Path;
use std::time::{Duration, Instant};

use super::mutate::mutated;
use super::seeds::seeds;
use super::{TARGETS, transcript};
use crate::faults::dice::{Dice, Seed};

/// Where the repository is.
fn repository() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests)
}

/// What is longer is cut: time is better spent on more of them.
const LONGEST: usize = 8 * 1024;

/// How much is tried on each parser.
#[derive(Debug, Clone, Copy)]
pub enum Effort {
    /// So many pieces of data: with one seed the same ones on every machine.
    Times(u64),
    /// As many as there is time for.
    For(Duration),
}

/// Tries mutations of sound data on each parser. Returns how many were tried.
///
/// # Panics
/// When a parser breaks a promise; what it was given is said before.
pub fn try_all(seed: Seed, effort: Effort) -> u64 {
    let mut tried = 0;
    for (name, check) in TARGETS.into_iter().chain([transcript::TARGET]) {
        let mut dice = Dice::new(seed.of(name));
        let pool = seeds(name, repository());
        for sound in &pool {
            tell_on_panic(name, sound, check);
        }
        let (begun, mut times) = (Instant::now(), 0);
        while match effort {
            Effort::Times(most) => times < most,
            Effort::For(time) => begun.elapsed() < time,
        } {
            times += 1;
            let mut bytes = dice.pick(&pool).clone();
            for _ in 0..=dice.below(6) {
                bytes = mutated(&bytes, &pool, &mut dice);
            }
            bytes.truncate(LONGEST);
            tell_on_panic(name, &bytes, check);
        }
        tried += times;
    }
    tried
}

fn tell_on_panic(name: &str, bytes: &[u8], check: fn(&[u8])) {
    struct Given<'a>(&'a str, &'a [u8]);
    impl Drop for Given<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("{} was given: \"{}\"", self.0, self.1.escape_ascii());
            }
        }
    }
    let _given = Given(name, bytes);
    check(bytes);
}
