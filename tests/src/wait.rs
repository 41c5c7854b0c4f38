//! Waiting for named conditions.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// Timeout of a condition. Generous because the machine may be busy; a passing test never reaches
/// it.
pub const DEADLINE: Duration = Duration::from_mins(1);

/// Polling interval for conditions outside the process.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Polls until `condition` returns a value; the error names the condition.
///
/// # Errors
/// On timeout.
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
            return Err(format!("timed out after {deadline:?} waiting for: {what}"));
        }
        std::thread::park_timeout(POLL_INTERVAL);
    }
}

/// [`wait_until`] with the default timeout; panics with the name and the output of `report`.
///
/// # Panics
/// On timeout.
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
    fn a_fulfilled_condition_returns_its_value() {
        let mut looks = 0;
        let value = wait_until("three looks", DEADLINE, || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(value, Ok(3));
    }

    #[test]
    fn an_unfulfilled_condition_is_named() {
        let outcome = wait_until("the moon", Duration::ZERO, || None::<()>);
        assert!(outcome.unwrap_err().contains("the moon"));
    }
}
