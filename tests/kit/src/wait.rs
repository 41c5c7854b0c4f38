//! Waiting for named conditions.

use std::time::{Duration, Instant};

/// Timeout of a condition. Generous because the machine may be busy; a passing test never reaches
/// it.
pub const DEADLINE: Duration = Duration::from_mins(1);

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Waits until a condition returns a value; the failure names the condition.
pub async fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < end, "timed out waiting for: {what}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Like [`until`], on a plain thread.
#[track_caller]
pub fn wait_for<T>(what: &str, condition: impl FnMut() -> Option<T>) -> T {
    wait_until(what, DEADLINE, condition).unwrap()
}

/// Like [`wait_for`] with another timeout; the error names the condition.
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
