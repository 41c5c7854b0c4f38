//! Runs mutations of valid data.

use std::path::Path;
use std::time::{Duration, Instant};

use super::mutate::mutated;
use super::seeds::seeds;
use super::{TARGETS, transcript};
use crate::faults::dice::{Dice, Seed};

/// Path of the repository.
fn repository() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests)
}

/// Maximum length; more inputs are more useful than longer ones.
const LONGEST: usize = 8 * 1024;

/// Amount of trials for each parser.
#[derive(Debug, Clone, Copy)]
pub enum Effort {
    /// This number of inputs; a seed reproduces them on every machine.
    Times(u64),
    /// As many as possible in this time.
    For(Duration),
}

/// Runs mutations of valid data on each parser. Returns the number of inputs.
///
/// # Panics
/// If a parser violates a property; the input is printed first.
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
