//! Foreign data, damaged on purpose: every parser is given what nobody would write.

mod checks;
mod mutate;
mod seeds;
mod transcript;

pub use checks::TARGETS;

use std::path::Path;
use std::time::{Duration, Instant};

use super::dice::{Dice, Seed};
use mutate::mutated;
use seeds::seeds;

/// Where the repository is.
fn repository() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests)
}

/// What is longer is cut: time is better spent on more of them.
const LONGEST: usize = 8 * 1024;

/// Tries mutations of sound data on each parser, for so long on each. Returns how many were tried.
///
/// # Panics
/// When a parser breaks a promise; what it was given is said before.
pub fn try_all(seed: Seed, time: Duration) -> u64 {
    let mut tried = 0;
    for (name, check) in TARGETS.into_iter().chain([transcript::TARGET]) {
        let mut dice = Dice::new(seed.of(name));
        let pool = seeds(name, repository());
        for sound in &pool {
            tell_on_panic(name, sound, check);
        }
        let until = Instant::now() + time;
        while Instant::now() < until {
            let mut bytes = dice.pick(&pool).clone();
            for _ in 0..=dice.below(6) {
                bytes = mutated(&bytes, &pool, &mut dice);
            }
            bytes.truncate(LONGEST);
            tell_on_panic(name, &bytes, check);
            tried += 1;
        }
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
