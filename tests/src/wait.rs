//! Waiting for a condition that has a name.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// How long a condition may take before the test gives up. Generous, since the machine may be busy; a test that
/// passes never waits for it.
pub const DEADLINE: Duration = Duration::from_mins(1);

/// How often a condition outside of the process is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Looks until `condition` gives a value, and gives up with the name of what was waited for.
///
/// # Errors
/// When the deadline passes.
pub fn wait_until<T>(
    what: &str,
    deadline: Duration,
    mut condition: impl FnMut() -> Option<T>,
) -> Result<T, String> {
    let until = Instant::now() + deadline;
    loop {
        if let Some(value) = condition() {
            return Ok(value);
        }
        if Instant::now() >= until {
            return Err(format!("waited {deadline:?} for this in vain: {what}"));
        }
        std::thread::park_timeout(LOOK);
    }
}

/// [`wait_until`] with the usual deadline; panics with the name and with what `report` shows.
///
/// # Panics
/// When the deadline passes.
#[track_caller]
pub fn wait_for<T, R: Display>(
    what: &str,
    report: impl FnOnce() -> R,
    condition: impl FnMut() -> Option<T>,
) -> T {
    match wait_until(what, DEADLINE, condition) {
        Ok(value) => value,
        Err(in_vain) => panic!("{in_vain}\n{}", report()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_comes_true_gives_its_value() {
        let mut looks = 0;
        let value = wait_until("three looks", DEADLINE, || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(value, Ok(3));
    }

    #[test]
    fn a_condition_that_never_comes_true_is_named() {
        let outcome = wait_until("the moon", Duration::ZERO, || None::<()>);
        assert!(outcome.unwrap_err().contains("the moon"));
    }
}
